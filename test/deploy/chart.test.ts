/**
 * Goal: the chart makes pods that live as docs/operations.md says, and refuses values that would
 * not work.
 * Method: its rendered manifests lie beside it, with a checksum of what they were rendered from:
 * so they are judged here without Helm. `chart-by-helm.test.ts` renders them where Helm is.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import { parse, parseAllDocuments } from 'yaml'
import { OPTIONS } from '../../src/config.ts'
import type { Option } from '../../src/config-values.ts'
import { chartFile, chartSum, RENDERED, readRendered, sumOf } from './chart-files.ts'
import { optionSchemas } from './values-schema.ts'

const VALUES_MARK = '<!-- values -->\n'
const SCHEMA = chartFile('values.schema.json')
const values = parse(readFileSync(chartFile('values.yaml'), 'utf8')) as Record<string, unknown>

function chartText(name: string): string {
  return readFileSync(chartFile(name), 'utf8')
}

function readSchema() {
  return JSON.parse(readFileSync(SCHEMA, 'utf8'))
}

interface Container {
  readonly env: readonly { readonly name: string; readonly value?: string; valueFrom?: object }[]
  readonly securityContext: Readonly<Record<string, unknown>>
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
  readonly [probe: string]: unknown
}

/** The pod of the StatefulSet of a rendered file. */
function podOf(name: string) {
  const set = manifests(name).find(({ kind }) => kind === 'StatefulSet')
  const pod = set?.spec.template.spec
  return { set, pod, container: pod.containers[0] as Container }
}

function manifests(name: string) {
  return parseAllDocuments(readRendered(name))
    .map((document) => document.toJS())
    .filter((document) => document !== null)
}

test('the manifests beside the chart are what it renders now', () => {
  for (const name of Object.keys(RENDERED)) {
    const how = 'run UPDATE_DOCS=1 HELM=path/to/helm npm test -- deploy/chart-by-helm'
    assert.equal(sumOf(readRendered(name)), chartSum(name), `${name} is stale: ${how}`)
  }
})

test('the chart is of the same version as the program', () => {
  const { version } = JSON.parse(
    readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
  )
  assert.equal(parse(chartText('Chart.yaml')).appVersion, version)
})

test('the options of the chart are those of the program', () => {
  const schema = readSchema()
  schema.properties.options.properties = optionSchemas()
  const text = `${JSON.stringify(schema, undefined, 2)}\n`
  if (process.env.UPDATE_DOCS === '1') writeFileSync(SCHEMA, text)
  const how = 'run UPDATE_DOCS=1 npm test -- deploy/chart, then npx biome check --write deploy'
  assert.deepEqual(readSchema(), schema, how)
})

test('the README of the chart has all values', () => {
  const [head = '', old = ''] = chartText('README.md').split(VALUES_MARK)
  if (process.env.UPDATE_DOCS === '1') {
    writeFileSync(chartFile('README.md'), head + VALUES_MARK + valuesTable())
  } else assert.equal(old, valuesTable(), 'run UPDATE_DOCS=1 npm test -- deploy/chart')
})

interface ValueSchema {
  readonly description: string
  readonly properties?: Readonly<Record<string, ValueSchema>>
  readonly additionalProperties?: boolean
}

function valuesTable(): string {
  const rows: string[] = []
  const add = (path: string, { description }: ValueSchema, value: unknown) => {
    rows.push(`| \`${path}\` | \`${JSON.stringify(value)}\` | ${description} |`)
  }
  const top = readSchema().properties as Readonly<Record<string, ValueSchema>>
  for (const [name, value] of Object.entries(values)) {
    const schema = top[name]!
    if (schema.additionalProperties !== false || name === 'options') {
      add(name, schema, value)
      continue
    }
    for (const [key, inner] of Object.entries(value as Record<string, unknown>)) {
      add(`${name}.${key}`, schema.properties![key]!, inner)
    }
  }
  return `| Value | Default | What it is |\n|---|---|---|\n${rows.join('\n')}\n`
}

test('values.yaml is by the schema; what is wrong is refused', () => {
  const validate = new Ajv({ strict: false }).compile(readSchema())
  assert.ok(validate(values), JSON.stringify(validate.errors))
  const wrong: Record<string, unknown>[] = [
    { replica: 2 },
    { replicas: '2' },
    { replicas: 513 },
    { options: { 'rate-budgets': 1 } },
    { options: { workers: 0 } },
    { options: { 'postgres-url': 'postgres://u:p@h/d' } },
    { postgres: { url: 'postgres://u:p@h/d' } },
    { postgres: { existingSecret: 'Not A Name', secretKey: 'url' } },
    { podSecurityContext: { fsGroup: 1000, fsGroupChangePolicy: 'Always' } },
    { persistence: { size: '50 GB' } },
    { persistence: { size: '1Gi', accessModes: ['ReadWriteMany'] } },
    { containerPort: 80 },
  ]
  for (const part of wrong) {
    assert.ok(!validate({ ...values, ...part }), `${JSON.stringify(part)} is taken`)
  }
})

test('templates use values that there are, and each value is used', () => {
  const used = new Set<string>()
  const texts = readdirSync(chartFile('templates')).map((name) => chartText(`templates/${name}`))
  for (const [, path = ''] of texts.join('\n').matchAll(/\.Values\.([\w.]+)/g)) used.add(path)
  for (const path of used) {
    let at: unknown = values
    for (const part of path.split('.')) {
      assert.ok(typeof at === 'object' && at !== null && part in at, `.Values.${path}`)
      at = (at as Record<string, unknown>)[part]
    }
  }
  const tops = new Set([...used].map((path) => path.split('.')[0]))
  assert.deepEqual([...tops].sort(), Object.keys(values).sort())
})

test('it sets variables that Sluice knows', () => {
  const known = new Set(Object.values(OPTIONS).map((option: Option) => option.env))
  for (const name of Object.keys(RENDERED)) {
    const { env } = podOf(name).container
    for (const { name: variable } of env.filter((one) => one.name.startsWith('SLUICE_'))) {
      assert.ok(known.has(variable), `${name}: ${variable}`)
    }
    assert.equal(new Set(env.map((one) => one.name)).size, env.length)
  }
  // The image's own: a pod that listens on the loopback alone would never be ready.
  const dockerfile = readFileSync(new URL('../../../Dockerfile', import.meta.url), 'utf8')
  assert.match(dockerfile, /^ {4}SLUICE_HOST=0\.0\.0\.0\b/m)
  const { env } = podOf('stores').container
  assert.deepEqual(env.find(({ name }) => name === 'SLUICE_IN_FLIGHT_BYTES_MAX')?.value, '67108864')
})

test('URLs of stores are references to a Secret and nothing else', () => {
  const { env } = podOf('stores').container
  for (const store of ['POSTGRES', 'CLICKHOUSE']) {
    const { value, valueFrom } = env.find(({ name }) => name === `SLUICE_${store}_URL`) ?? {}
    assert.equal(value, undefined)
    assert.deepEqual(valueFrom, {
      secretKeyRef: { name: 'sluice-stores', key: `${store.toLowerCase()}-url` },
    })
  }
  for (const name of Object.keys(RENDERED)) {
    assert.ok(!manifests(name).some(({ kind }) => kind === 'Secret'))
    assert.doesNotMatch(readRendered(name), /:\/\/\w+:\w+@/)
  }
})

test('no store that is away gets a pod restarted, and a recovery has its time', () => {
  for (const name of Object.keys(RENDERED)) {
    const { container } = podOf(name)
    const probes = ['startupProbe', 'livenessProbe', 'readinessProbe'].map((probe) => {
      return container[probe] as Record<string, number> & { httpGet: { path: string } }
    })
    assert.deepEqual(
      probes.map(({ httpGet }) => httpGet.path),
      ['/healthz', '/healthz', '/readyz'],
    )
    const [startup] = probes
    const seconds = startup!.periodSeconds! * startup!.failureThreshold!
    assert.ok(seconds >= 600 + 120, 'ten minutes of recovery and two of waiting for migrations')
  }
})

test('a pod that ends has the time that a stop takes', () => {
  const graces = Object.keys(RENDERED).map((name) => podOf(name).pod.terminationGracePeriodSeconds)
  // 5 s before it, twice the time for draining (30 s, and 45 s where it is set), a minute.
  assert.deepEqual(graces, [5 + 60 + 60, 5 + 90 + 60])
})

test('a pod has no rights that it does not need', () => {
  for (const name of Object.keys(RENDERED)) {
    const { pod, container } = podOf(name)
    assert.equal(pod.automountServiceAccountToken, false)
    assert.equal(pod.securityContext.runAsNonRoot, true)
    assert.equal(pod.securityContext.seccompProfile.type, 'RuntimeDefault')
    assert.deepEqual(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
  }
})

test('what was found by trying stays: links of services, group of files, place of the data', () => {
  for (const name of Object.keys(RENDERED)) {
    const { pod, container } = podOf(name)
    assert.equal(pod.enableServiceLinks, false, 'a Service "sluice" would set SLUICE_PORT')
    assert.equal(pod.securityContext.fsGroupChangePolicy, 'OnRootMismatch')
    const mount = container.volumeMounts.find((one) => one.name === 'data')?.mountPath
    const data = container.env.find((one) => one.name === 'SLUICE_DATA')?.value
    assert.ok(data?.startsWith(`${mount}/`), 'a directory of its own inside the volume')
  }
})

test('embedded stores have shared memory; nodes with stores of their own spread', () => {
  const has = (name: string) => podOf(name).container.volumeMounts.map((one) => one.mountPath)
  assert.ok(has('one-node').includes('/dev/shm'))
  assert.ok(!has('stores').includes('/dev/shm'))
  const { set, pod } = podOf('stores')
  assert.equal(set.spec.replicas, 3)
  assert.equal(set.spec.persistentVolumeClaimRetentionPolicy.whenScaled, 'Retain')
  assert.deepEqual(
    pod.topologySpreadConstraints.map((one: { topologyKey: string }) => one.topologyKey),
    ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'],
  )
})

test('selectors find the pods, and the monitor the headless service alone', () => {
  for (const name of Object.keys(RENDERED)) {
    const all = manifests(name)
    const labels = podOf(name).set.spec.template.metadata.labels
    const finds = (selector: object, of: Record<string, string>) =>
      Object.entries(selector).every(([key, value]) => of[key] === value)
    const services = all.filter(({ kind }) => kind === 'Service')
    assert.equal(services.length, 2)
    for (const { spec } of services) assert.ok(finds(spec.selector, labels))
    const budget = all.find(({ kind }) => kind === 'PodDisruptionBudget')
    assert.ok(finds(budget.spec.selector.matchLabels, labels))
    for (const { spec } of all.filter(({ kind }) => kind === 'ServiceMonitor')) {
      const found = services.filter((one) => finds(spec.selector.matchLabels, one.metadata.labels))
      assert.deepEqual(
        found.map((one) => one.metadata.name),
        [podOf(name).set.spec.serviceName],
      )
    }
  }
})

test('the way in from outside leaves out what needs no credential', () => {
  const ingress = manifests('stores').find(({ kind }) => kind === 'Ingress')
  const paths = ingress.spec.rules[0].http.paths.map((one: { path: string }) => one.path)
  assert.deepEqual(paths, ['/v1', '/console', '/mcp'])
  assert.ok(!manifests('one-node').some(({ kind }) => /Ingress|ServiceMonitor/.test(kind)))
})
