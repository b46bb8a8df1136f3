/**
 * Goal: whoever reads while a store fails is told that, and whoever operates the service as well:
 * an error with its status, an export that ends with the reason and without its end, exit codes,
 * tools of agents; a metric and `/readyz`.
 * Method: a real service on a ClickHouse that answers pings and fails the reads that a test says.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, afterEach, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startEmbeddedClickHouse } from '../../../src/embedded/clickhouse.ts'
import type { EmbeddedStore } from '../../../src/embedded/supervisor.ts'
import { EXPORT_CHUNK_EVENTS } from '../../../src/read/search/export.ts'
import { eventually, recordingLog } from '../../store/temporary.ts'
import { Api, call, NDJSON_TYPE, type Stream } from '../../support/api.ts'
import {
  FAULT_NAME,
  FAULT_SECRET,
  type Fault,
  type FaultyClickHouse,
  openFaultyClickHouse,
} from '../../support/faulty-clickhouse.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'
import { connectAgent } from '../agents/agent-client.ts'

const CLI = fileURLToPath(new URL('../../../src/cli.js', import.meta.url))
const EVENTS = 4 * EXPORT_CHUNK_EVENTS
const WHY = `ClickHouse answered with an error (${FAULT_NAME})`

const [storeDir, dataDir] = [makeDataDir(), makeDataDir()]
let store: EmbeddedStore
let clickHouse: FaultyClickHouse
let service: Service
let api: Api
let stream: Stream

before(async () => {
  store = await startEmbeddedClickHouse({ dataDir: storeDir, log: recordingLog() })
  clickHouse = await openFaultyClickHouse(store.url)
  service = await Service.start({ dataDir, env: { SLUICE_CLICKHOUSE_URL: clickHouse.url } })
  api = new Api(service)
  stream = await api.createStream()
  for (let at = 0; at < EVENTS; at += EXPORT_CHUNK_EVENTS) {
    const lines = Array.from({ length: EXPORT_CHUNK_EVENTS }, (_, n) => {
      return JSON.stringify({ n: at + n, level: 'info', message: `event ${at + n}` })
    })
    await api.ingest(stream.key, lines.join('\n'), { 'content-type': NDJSON_TYPE })
  }
  await api.untilProjected(stream.id)
})

afterEach(() => {
  clickHouse.fault = () => undefined
})

after(async () => {
  await service?.kill()
  await clickHouse?.close()
  await store?.stop()
  for (const path of [storeDir, dataDir]) await removeDataDir(path)
})

/** From now on reads fail, but for the next `passing` ones. */
function failReads(fault: Fault, passing = 0): void {
  let left = passing
  clickHouse.fault = ({ lane, text }) => {
    const isRead = lane === 'read' || text.includes('bytes_on_disk) FROM')
    return isRead && left-- <= 0 ? fault : undefined
  }
}

async function failures(read: string, reason: string): Promise<number> {
  const { text } = await call(`${api.url}/metrics`)
  const line = new RegExp(
    `^ingest_read_failures_total\\{read="${read}",reason="${reason}"\\} (\\d+)$`,
    'm',
  )
  return Number(line.exec(text)?.[1])
}

async function degraded(): Promise<Readonly<Record<string, string>>> {
  const { status, text } = await call(`${api.url}/readyz`)
  assert.equal(status, 200)
  return (JSON.parse(text) as { degraded: Record<string, string> }).degraded
}

const READS = [
  { path: 'search?query=event', read: 'search' },
  { path: 'query?query=event', read: 'aggregate' },
  { path: 'histogram?query=event', read: 'aggregate' },
  { path: 'facets?query=event&fields=level', read: 'facets' },
  { path: 'compare?query=event&fields=level', read: 'compare' },
  { path: 'explain?query=event', read: 'explain' },
  { path: 'fields/level/stats?query=event', read: 'aggregate' },
] as const

for (const { path, read } of READS) {
  test(`${path}: a store that fails is told as such, and counted`, async () => {
    for (const [fault, status, reason, detail] of [
      ['error', 500, 'error', `${WHY}; the server's log has the details`],
      ['cut', 503, 'away', /does not answer/],
      ['late', 503, 'timeout', /took over|was over/],
    ] as const) {
      const before = await failures(read, reason)
      failReads(fault)
      const answer = await api.tryRest(`/v1/streams/${stream.id}/${path}`)
      assert.ok((await failures(read, reason)) > before, `${fault} is counted`)
      assert.ok(!answer.text.includes(FAULT_SECRET))
      if (answer.status === 200) {
        // What it has in no time it answers with, and says so; so few events need no ClickHouse.
        const isWhole = read === 'search' && fault === 'cut'
        if (!isWhole) assert.match(answer.text, /"complete":false|"clauses":\[\]/, fault)
        continue
      }
      assert.equal(answer.status, status, `${fault}: ${answer.text}`)
      const problem = JSON.parse(answer.text) as { readonly detail: string }
      if (typeof detail === 'string') assert.equal(problem.detail, detail)
      else assert.match(problem.detail, detail)
    }
  })
}

test('reads that go on without the store are counted, too', async () => {
  failReads('error')
  const [values, sizes] = [await failures('values', 'error'), await failures('sizes', 'error')]
  const proposed = await api.rest(`/v1/streams/${stream.id}/complete?query=message:ev`)
  assert.match(proposed, /"proposals":\[\]/)
  await api.rest(`/v1/streams/${stream.id}/usage`)
  assert.equal(await failures('values', 'error'), values + 1)
  assert.equal(await failures('sizes', 'error'), sizes + 1)
})

test('/readyz tells of searches that fail again and again, while ClickHouse is well', async () => {
  failReads('error')
  for (let n = 0; n < 3; n++) await api.tryRest(`/v1/streams/${stream.id}/search?query=event`)
  const { reads, ...others } = await degraded()
  assert.match(reads ?? '', new RegExp(`^these fail again and again: .*search \\(${FAULT_NAME}\\)`))
  assert.deepEqual(others, {})
})

interface Exported {
  readonly status: number
  readonly lines: readonly string[]
  readonly isBroken: boolean
}

async function exported(accept: string, query = ''): Promise<Exported> {
  const url = `${api.url}/v1/streams/${stream.id}/search?query=event&fields=n${query}`
  const headers = { authorization: `Bearer ${api.token}`, accept }
  const answer = await fetch(url, { headers })
  let text = ''
  let isBroken = false
  const decoder = new TextDecoder()
  try {
    for await (const chunk of answer.body!) text += decoder.decode(chunk, { stream: true })
  } catch {
    isBroken = true
  }
  const lines = text.split(/\r?\n/)
  assert.equal(lines.at(-1), '', 'the last line has its end')
  return { status: answer.status, lines: lines.slice(0, -1), isBroken }
}

const BROKEN = [
  ['error', WHY],
  ['late', 'the time was over before the whole range was searched (timeout_ms)'],
] as const

for (const [fault, why] of BROKEN) {
  test(`an export that meets "${fault}" later says so last, and breaks off`, async () => {
    failReads(fault, 1)
    const ndjson = await exported(NDJSON_TYPE)
    assert.deepEqual([ndjson.status, ndjson.isBroken], [200, true])
    const last = JSON.parse(ndjson.lines.at(-1)!) as object
    assert.deepEqual(last, { complete: false, reason: `broken off: ${why}` })
    const events = ndjson.lines.slice(0, -1).map((line) => JSON.parse(line) as { fields: object })
    assert.ok(events.length > 0 && events.length < EVENTS, `${events.length} events`)
    failReads(fault, 1)
    const csv = await exported('text/csv')
    assert.deepEqual([csv.status, csv.isBroken], [200, true])
    assert.equal(csv.lines.at(-1), `"incomplete: broken off: ${why}",,,`)
  })

  test(`an export that meets "${fault}" at once is an error with its status`, async () => {
    for (const accept of [NDJSON_TYPE, 'text/csv']) {
      failReads(fault)
      const url = `${api.url}/v1/streams/${stream.id}/search?query=event&fields=n`
      const headers = { authorization: `Bearer ${api.token}`, accept }
      const { status, text } = await call(url, { headers })
      assert.equal(status, fault === 'error' ? 500 : 503, text)
      assert.match(text, new RegExp(fault === 'error' ? FAULT_NAME : '"detail":"'))
    }
  })
}

async function cli(...args: string[]) {
  const child = spawn(process.execPath, [CLI, ...args], {
    env: { PATH: process.env.PATH, SLUICE_URL: service.url, SLUICE_TOKEN: service.token },
  })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, out, err }
}

test('an export of so few events needs no ClickHouse: it is whole', async () => {
  failReads('cut', 1)
  const { status, lines, isBroken } = await exported(NDJSON_TYPE)
  assert.deepEqual([status, isBroken, lines.length], [200, false, EVENTS])
  assert.doesNotMatch(lines.at(-1)!, /complete/)
})

test('an export whose PostgreSQL goes away says so last, and breaks off', async () => {
  const { postmaster } = service.stores()
  let steps = 0
  clickHouse.fault = ({ lane }) => {
    if (lane === 'read' && steps++ === 1) process.kill(postmaster!, 'SIGKILL')
    return undefined
  }
  const { status, lines, isBroken } = await exported(NDJSON_TYPE)
  assert.deepEqual([status, isBroken], [200, true])
  const reason = 'broken off: a store does not answer now'
  assert.deepEqual(JSON.parse(lines.at(-1)!), { complete: false, reason })
  assert.ok(lines.length > 1 && lines.length < EVENTS)
  await eventually('ready', async () => (await call(`${api.url}/readyz`)).status === 200, 30_000)
})

test('the command line tells the status of a failure, and what broke off', async () => {
  failReads('error')
  const first = await cli('search', stream.id, 'event')
  assert.deepEqual(first, {
    code: 3,
    out: '',
    err: `sluice: the server answered 500: ${WHY}; the server's log has the details\n`,
  })
  failReads('busy')
  const query = await cli('query', stream.id, 'event')
  assert.equal(query.code, 3)
  assert.match(query.err, /^sluice: the server answered 503: a store does not answer now\n$/)
  failReads('error', 1)
  const byReceipt = ['--time-basis', 'receipt', '--all', '--json']
  const later = await cli('search', stream.id, 'event', ...byReceipt)
  assert.equal(later.code, 3)
  const lines = later.out.trimEnd().split('\n')
  assert.ok(lines.length > 0 && lines.length < EVENTS)
  assert.ok(lines.every((line) => line.startsWith('{"id":')))
  assert.match(later.err, /not all: broken off: ClickHouse answered with an error/)
  assert.match(later.err, /sluice: the answer broke off/)
})

test('tools of agents tell that it was a store', async () => {
  const agent = await connectAgent(service, api.token)
  failReads('error')
  const found = await agent.call('search_events', { stream: stream.id, query: 'event' })
  assert.equal(found.isError, true)
  assert.match(
    found.text,
    new RegExp(`^internal: ClickHouse answered with an error \\(${FAULT_NAME}`),
  )
  failReads('busy')
  const counted = await agent.call('aggregate', { stream: stream.id, query: 'event' })
  assert.equal(counted.isError, true)
  assert.match(counted.text, /^unavailable: a store does not answer now\. Try again in 1 s\.$/)
  await agent.close()
})

test('the failures are in the log, with their reason', async () => {
  await eventually('logged', async () => /reads fail again and again/.test(service.output))
})

test('an export of a service that stops says so last, and breaks off', async () => {
  // The second step waits, until the service gives it up.
  let steps = 0
  clickHouse.fault = ({ lane }) => (lane === 'read' && steps++ > 0 ? 'hang' : undefined)
  const reading = exported(NDJSON_TYPE)
  await eventually('the second step', async () => steps > 1)
  const [{ status, lines, isBroken }] = await Promise.all([reading, service.stop()])
  assert.deepEqual([status, isBroken], [200, true])
  const reason = 'broken off: the service stops'
  assert.deepEqual(JSON.parse(lines.at(-1)!), { complete: false, reason })
  assert.ok(lines.length > 1 && lines.length < EVENTS)
})
