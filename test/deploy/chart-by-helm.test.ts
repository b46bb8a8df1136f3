/**
 * Goal: Helm takes the chart, makes of it what lies beside it, and refuses with a clear message
 * what a schema cannot tell.
 * Method: Helm itself, from HELM or the path; without it these tests are skipped. Helm comes as a
 * Go module, too: `go install helm.sh/helm/v3/cmd/helm@v3.19.2`.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { CHART, RENDERED, readRendered, renderedFile, renderedText } from './chart-files.ts'

const HELM = process.env.HELM || 'helm'
const skip =
  spawnSync(HELM, ['version']).error !== undefined &&
  `there is no ${HELM} here; HELM=path names one`

/** A version of Kubernetes, as a Helm that was built from its module knows none. */
function helm(...args: readonly string[]) {
  const where = [CHART, '--kube-version', '1.31.0']
  const { status, stdout, stderr } = spawnSync(HELM, [...args, ...where], { encoding: 'utf8' })
  return { status, stdout, stderr }
}

const setsOf = (sets: readonly string[]) => sets.flatMap((one) => ['--set', one])

for (const [name, sets] of Object.entries(RENDERED)) {
  test(`what lies beside the chart is what Helm makes of it: ${name}`, { skip }, () => {
    const lint = helm('lint', '--strict', ...setsOf(sets))
    assert.equal(lint.status, 0, lint.stdout + lint.stderr)
    const { status, stdout, stderr } = helm('template', 'sluice', ...setsOf(sets))
    assert.equal(status, 0, stderr)
    const text = renderedText(name, stdout)
    if (process.env.UPDATE_DOCS === '1') writeFileSync(renderedFile(name), text)
    assert.equal(readRendered(name), text, 'run it again with UPDATE_DOCS=1')
  })
}

const EXTERNAL = ['postgres.existingSecret=a', 'clickhouse.existingSecret=a']

for (const [sets, message] of [
  [['replicas=2'], /replicas is 2: more than one node needs a PostgreSQL and a ClickHouse/],
  [['replicas=2', 'postgres.existingSecret=a'], /Set postgres\.existingSecret and clickhouse/],
  [[...EXTERNAL, 'replicas=2', 'rebuildProjection=true'], /rebuildProjection needs replicas: 1/],
  [['ingress.enabled=true'], /ingress\.enabled needs ingress\.host/],
  [['options.rate-budgets=1'], /rate-budgets/],
  [['replica=2'], /replica/],
  [['podSecurityContext.fsGroupChangePolicy=Always'], /fsGroupChangePolicy/],
] as const) {
  test(`it refuses ${sets.join(' ')}`, { skip }, () => {
    const { status, stderr } = helm('template', 'sluice', ...setsOf(sets))
    assert.notEqual(status, 0)
    assert.match(stderr, message)
  })
}

test('a pod that is rebuilt, another port and another spread', { skip }, () => {
  const sets = ['rebuildProjection=true', 'containerPort=8080', 'options.host=::']
  // As in a file of values, where all numbers are floating.
  const numbers = ['--set-json', 'options.in-flight-bytes-max=134217728']
  const json = ['--set-json', 'topologySpreadConstraints=[]', ...numbers]
  const { stdout, stderr } = helm('template', 'sluice', ...setsOf(sets), ...json)
  assert.match(stdout, /SLUICE_REBUILD_PROJECTION\n\s+value: 'true'/, stderr)
  assert.match(stdout, /SLUICE_PORT\n\s+value: "8080"/)
  assert.match(stdout, /SLUICE_HOST\n\s+value: "::"/)
  assert.match(stdout, /SLUICE_IN_FLIGHT_BYTES_MAX\n\s+value: "134217728"/)
  assert.doesNotMatch(stdout, /topologySpreadConstraints/)
})
