/**
 * Goal: the load tests run, with the k6 that is there, against the service as it is: what they
 * say was acknowledged is stored, and a refusal is told from a failure.
 * Method: the runner against a service of this test's, two seconds each. k6 is no package: where
 * it is not found that is said, and nothing is run.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { loadSurfaces, RUNNER } from '../load-tests/modules.ts'
import { Api } from '../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../support/service.ts'

/** k6's exit code when a threshold does not hold. */
const EXIT_THRESHOLD = 99
const NO_K6 = 'k6 is not installed: `npm run load -- mixed` says how to get it'

interface Summary {
  readonly total: { readonly events: number; readonly acknowledgements: number }
  readonly answers: Readonly<Record<string, number>>
  readonly failed: number
  readonly stored?: number
  readonly missing?: number
  readonly missingInQueries?: number
  readonly failedThresholds: readonly string[]
  readonly aborts?: {
    readonly requests: number
    readonly endMib: number
    readonly inFlightBytes: number
    readonly inFlightRequests: number
  }
}

const { SURFACES } = await loadSurfaces()
const dataDir = makeDataDir()
let service: Service
let api: Api
let hasK6: boolean

before(async () => {
  // Where there is no k6 it ends before it looks for the service.
  const { code, output } = await runLoad('mixed', { BASE_URL: 'http://127.0.0.1:9', TOKEN: 'x' })
  hasK6 = !output.includes('k6 was not found')
  assert.notEqual(code, 0)
  if (!hasK6) return
  service = await Service.start({ dataDir })
  api = new Api(service)
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

function runLoad(scenario: string, environment: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [fileURLToPath(RUNNER), scenario], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (output += text))
  }
  return new Promise<{ code: number | null; output: string }>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, output }))
  })
}

async function runToSummary(scenario: string, environment: Readonly<Record<string, string>>) {
  const file = join(dataDir, `${scenario}.json`)
  const { code, output } = await runLoad(scenario, {
    BASE_URL: service.url,
    SUMMARY_JSON: file,
    DURATION: '2s',
    VUS: '4',
    ACK_P99_MS_MAX: '60000',
    ...environment,
  })
  const summary = JSON.parse(readFileSync(file, 'utf8')) as Summary
  return { code, output, summary }
}

test('all surfaces at once: as much is stored as was acknowledged', async (t) => {
  if (!hasK6) return t.skip(NO_K6)
  const { code, output, summary } = await runToSummary('mixed', {
    TOKEN: service.token,
    EVENTS_PER_REQUEST: '50',
    STREAMS: '2',
  })
  assert.equal(code, 0, output)
  assert.ok(summary.total.acknowledgements >= 4, output)
  assert.equal(summary.stored, summary.total.events)
  assert.deepEqual([summary.missing, summary.missingInQueries, summary.failed], [0, 0, 0])
  assert.deepEqual(Object.keys(summary.answers), ['200', '204'])
  for (const part of [...Object.keys(SURFACES), 'small', 'all']) {
    assert.match(output, new RegExp(`^${part} +\\d`, 'm'))
  }
  const { streams } = JSON.parse(await api.rest('/v1/streams'))
  assert.deepEqual(streams, [], 'its streams are removed')
})

test('beside clients that go away: the same, and nothing is left in flight', async (t) => {
  if (!hasK6) return t.skip(NO_K6)
  const { code, output, summary } = await runToSummary('mixed', {
    TOKEN: service.token,
    EVENTS_PER_REQUEST: '50',
    STREAMS: '2',
    DURATION: '5s',
    ABORTS: '6',
    MEMORY_GROWTH_MIB_MAX: '2000', // Of seconds it says nothing.
  })
  assert.equal(code, 0, output)
  assert.ok(summary.total.acknowledgements >= 4, output)
  assert.equal(summary.stored, summary.total.events)
  assert.deepEqual([summary.missing, summary.missingInQueries, summary.failed], [0, 0, 0])
  const { aborts } = summary
  assert(aborts !== undefined && aborts.requests >= 10 && aborts.endMib > 0, output)
  assert.deepEqual([aborts.inFlightBytes, aborts.inFlightRequests], [0, 0])
  assert.match(output, /^memory +\d+ MiB at the start, \d+ in the middle, \d+ at the end$/m)
})

test('over a budget: refused, cleanly, and nothing of it is stored', async (t) => {
  if (!hasK6) return t.skip(NO_K6)
  const { id, key } = await api.createStream({ rate_budget: 100 })
  const { code, output, summary } = await runToSummary('mixed', {
    SURFACES: 'native',
    TOKEN: service.token,
    API_KEY: key,
    STREAM_ID: id,
    EVENTS_PER_REQUEST: '100',
  })
  // That nothing is refused is a threshold of this scenario.
  assert.equal(code, EXIT_THRESHOLD, output)
  assert.deepEqual(summary.failedThresholds, ['refused: rate<=0'])
  assert.deepEqual(Object.keys(summary.answers), ['200', '429'])
  assert.equal((await api.usage(id)).events, summary.total.events)
  assert.match(output, /^refusals +all with Retry-After/m)
})

test('a token that is not valid: one line, and that nothing was sent', async (t) => {
  if (!hasK6) return t.skip(NO_K6)
  const { code, output, summary } = await runToSummary('mixed', { TOKEN: 'wrong' })
  assert.notEqual(code, 0)
  assert.match(output, /test aborted: POST \S+\/v1\/streams: 401 /)
  assert.match(output, /FAILED: nothing was sent/)
  assert.deepEqual(summary.answers, {})
})
