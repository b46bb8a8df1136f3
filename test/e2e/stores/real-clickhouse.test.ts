/**
 * Goal: a ClickHouse server in place of the embedded engine: tables, ingest, every kind of read,
 * retention, and the server's death, with the rights that docs/operations.md names.
 * Method: the engine's own HTTP server; what it was asked is read from its log of queries, and what
 * an answer should be is a line of JavaScript. How our client speaks to it is the subject of
 * `test/store/clickhouse-server.test.ts`.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ClickHouse } from '../../../src/store/clickhouse.ts'
import { eventually } from '../../store/temporary.ts'
import { Api, call, type EventPage, NDJSON_TYPE, type Stream } from '../../support/api.ts'
import { ONLY_LONG } from '../../support/fuzzing.ts'
import { Load } from '../../support/load.ts'
import { noRealClickHouse, RealClickHouse } from '../../support/real-clickhouse.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'
import { openTestPostgres, type TestStore } from '../../support/stores.ts'
import { TailReader } from '../../support/tail-reader.ts'
import { verify } from '../../support/verify.ts'

const QUERY_WAS_CANCELLED = 394
const skip = noRealClickHouse()
const EVENTS = 30_000
const KILLS = ONLY_LONG ? 1 : 5
const START_MS = Date.now() - 7_200_000
const EVENT_TIMES = {
  time_basis: 'event_time',
  from: new Date(START_MS - 1).toISOString(),
  to: new Date().toISOString(),
}

const dataDir = makeDataDir()
let server: RealClickHouse
let watcher: ClickHouse
let postgres: TestStore
let service: Service
let api: Api
let large: Stream
/** Streams with tables of their own come first; these share one. */
let small: Stream[]

interface Payload {
  readonly n: number
  readonly level: string
  readonly service: string
  readonly message: string
  readonly trace_id: string
  readonly ms: number
}

const LEVELS = ['debug', 'info', 'warn', 'error']
const TEXTS = ['connection timeout', 'disk full', 'full disk', 'user logged in', 'Größe überall']

function makeEvent(n: number): Payload {
  return {
    n,
    level: LEVELS[n % 4]!,
    service: `svc-${n % 7}`,
    message: `${TEXTS[n % 5]} after ${n % 100} ms`,
    trace_id: `t${n % 1_000}`,
    ms: n % 100,
  }
}

const all = Array.from({ length: EVENTS }, (_, n) => makeEvent(n))

function toLines(events: readonly Payload[]): string {
  const time = (n: number) => new Date(START_MS + n * 50).toISOString()
  return events.map((event) => JSON.stringify({ ...event, timestamp: time(event.n) })).join('\n')
}

async function send(stream: Stream, body: string): Promise<void> {
  const answer = await api.ingest(stream.key, body, { 'content-type': NDJSON_TYPE })
  assert.equal(answer.status, 200, answer.text)
}

before(async () => {
  if (skip) return
  ;[server, postgres] = await Promise.all([RealClickHouse.start(), openTestPostgres()])
  watcher = new ClickHouse({ url: server.watcherUrl })
  const env = { SLUICE_CLICKHOUSE_URL: server.url, SLUICE_POSTGRES_URL: postgres.url }
  const args = ['--materialize-delay-ms', '300']
  service = await Service.start({ dataDir, env, args })
  api = new Api(service)
  const streams: Stream[] = []
  for (let n = 0; n < 12; n++) streams.push(await api.createStream())
  ;[large, small] = [streams[0]!, streams.slice(8)]
  await send(large, toLines(all.slice(0, 1_000))) // Its fields are learned from these.
  await api.untilCounted(large.id, 1_000)
  await send(large, toLines(all.slice(1_000)))
  for (const [n, stream] of streams.slice(1).entries()) {
    await send(stream, toLines(all.slice(n * 10, n * 10 + 10)))
  }
  for (const stream of [...streams.slice(0, 2), ...small]) await api.untilProjected(stream.id)
  // Seen by the last test: its table goes after a while.
  await api.rest(`/v1/streams/${streams[1]!.id}`, 'DELETE')
})

after(async () => {
  await watcher?.close()
  await service?.kill()
  await server?.close()
  await postgres?.close()
  await removeDataDir(dataDir)
})

async function ask<T>(path: string, body: object, stream = large): Promise<T> {
  return JSON.parse(await api.rest(`/v1/streams/${stream.id}/${path}`, 'POST', body)) as T
}

/** How many rows the server read of the large stream's table for `work`, and from what. */
async function readFor(work: () => Promise<unknown>) {
  const [row] = await watcher.query<{ now: string }>('SELECT toString(now64(6)) AS now')
  await work()
  await watcher.command('SYSTEM FLUSH LOGS')
  const [read] = await watcher.query<{ rows: number; from: string[] }>(
    `SELECT toFloat64(sum(read_rows)) AS rows,
       groupUniqArrayArray(arrayConcat(tables, projections)) AS from FROM system.query_log
     WHERE type = 'QueryFinish' AND user = 'sluice' AND query_kind = 'Select'
       AND has(tables, 'sluice.events_1') AND event_time_microseconds > {now:String}`,
    { now: row?.now },
  )
  return read!
}

test('tables of both kinds with their indexes and counts; nothing was refused', {
  skip,
}, async () => {
  const parts = await watcher.query<{ table: string; rows: number; projections: string[] }>(
    `SELECT table, toFloat64(sum(rows)) AS rows, arraySort(groupUniqArrayArray(projections))
       AS projections FROM system.parts
     WHERE database = 'sluice' AND active AND table IN ('events_0', 'events_1')
     GROUP BY table ORDER BY table`,
  )
  assert.deepEqual(parts, [
    { table: 'events_0', rows: 40, projections: ['counts_minute'] },
    { table: 'events_1', rows: EVENTS, projections: ['counts_by_second', 'counts_minute'] },
  ])
  const indexes = await watcher.query<{ kind: string }>(
    `SELECT DISTINCT splitByChar('_', name)[1] AS kind FROM system.data_skipping_indices
     WHERE database = 'sluice' AND table = 'events_1' ORDER BY kind`,
  )
  assert.deepEqual(
    indexes.map(({ kind }) => kind),
    ['id', 'shape', 'text', 'time'],
  )
  assert.doesNotMatch(service.output, /"level":"(warn|error)"/)
  const { password } = new URL(server.url)
  for (const text of [password, decodeURIComponent(password)]) {
    assert.ok(!service.output.includes(text))
  }
  const { text } = await call(`${api.url}/readyz`)
  assert.deepEqual(JSON.parse(text).degraded ?? {}, {})
})

const QUERIES: readonly (readonly [query: string, test: (event: Payload) => boolean])[] = [
  ['timeout', ({ message }) => message.includes('timeout')],
  ['"disk full"', ({ message }) => message.includes('disk full')],
  ['größe -level:debug', ({ n, level }) => n % 5 === 4 && level !== 'debug'],
  [
    'message:/^(disk|user) .*1[0-9] ms$/',
    ({ n, ms }) => /[13]/.test(`${n % 5}`) && ms > 9 && ms < 20,
  ],
  ['level:error service:svc-3', (event) => event.level === 'error' && event.service === 'svc-3'],
  ['ms:[20 TO 22} OR trace_id:t999', ({ n, ms }) => ms === 20 || ms === 21 || n % 1_000 === 999],
  ['nothing.has:this', () => false],
]

for (const [query, isMeant] of QUERIES) {
  test(`found: ${query}`, { skip }, async () => {
    const meant = all.filter(isMeant).map(({ n }) => n)
    assert.equal((await api.count(large.id, { query })).total, meant.length)
    for (const order of ['newest', 'oldest']) {
      const page = await ask<EventPage>('search', { ...EVENT_TIMES, query, order, limit: 200 })
      const expected = order === 'newest' ? meant.toReversed() : meant
      assert.deepEqual(
        page.events.map(({ payload }) => payload.n),
        expected.slice(0, 200),
      )
    }
  })
}

const countBy = (key: (event: Payload) => string) => {
  const counts: Record<string, number> = {}
  for (const event of all) counts[key(event)] = (counts[key(event)] ?? 0) + 1
  return counts
}

test('counts come from the counts beside the rows', { skip }, async () => {
  let levels: Record<string, number> = {}
  const { rows, from } = await readFor(async () => {
    const answer = await api.count(large.id, { group_by: '_level' })
    levels = Object.fromEntries(answer.rows.map(({ _level, count }) => [String(_level), count]))
  })
  assert.deepEqual(
    levels,
    countBy(({ level }) => level),
  )
  // By themselves, or found by the server.
  assert.match(from.join(), /mergeTreeProjection|\.counts_(minute|second)/)
  assert.ok(rows < EVENTS / 10, `${rows} rows read`)
  const explained = await api.rest(`/v1/streams/${large.id}/explain?query=timeout`)
  assert.equal((JSON.parse(explained) as { clauses: object[] }).clauses.length, 1)
})

test('a histogram, facets, the largest groups', { skip }, async () => {
  const { buckets } = await ask<{ buckets: { _bucket: string; levels: Record<string, number> }[] }>(
    'histogram',
    { ...EVENT_TIMES, bucket: '1m', query: 'level:info' },
  )
  const minute = ({ n }: Payload) => Math.floor((START_MS + n * 50) / 60_000) * 60_000
  const infos = all.filter(({ level }) => level === 'info')
  for (const { _bucket, levels } of buckets) {
    const meant = infos.filter((event) => minute(event) === Date.parse(_bucket))
    assert.equal(levels.info ?? 0, meant.length, _bucket)
  }
  const { facets } = await ask<{ facets: { field: string; distinct: number; values: object[] }[] }>(
    'facets',
    { ...EVENT_TIMES, fields: ['_service', 'ms'], limit: 2 },
  )
  assert.deepEqual(
    facets.map(({ field, distinct, values }) => [field, distinct, values.length]),
    [
      ['_service', 7, 2],
      ['ms', 100, 2],
    ],
  )
  const { rows, groups } = await ask<{ rows: object[]; groups: number }>('query', {
    ...EVENT_TIMES,
    query: 'ms:>=90',
    group_by: ['trace_id'],
    aggregates: [{ fn: 'max', field: 'n', as: 'last' }],
    limit: 3,
  })
  assert.equal(groups, 100)
  assert.deepEqual(
    rows,
    [999, 998, 997].map((n) => ({ trace_id: `t${n}`, last: EVENTS - 1_000 + n })),
  )
})

test('streams that share a table', { skip }, async () => {
  for (const [at, stream] of small.entries()) {
    const meant = all.slice((at + 7) * 10, (at + 8) * 10)
    const { events } = await ask<EventPage>('search', { query: '', order: 'oldest' }, stream)
    assert.deepEqual(
      events.map(({ payload }) => payload.n),
      meant.map(({ n }) => n),
    )
    const errors = meant.filter(({ level }) => level === 'error').length
    assert.equal((await api.count(stream.id, { query: 'level:error' })).total, errors)
  }
})

test('a live tail, and the largest query in the largest answer', { skip }, async () => {
  const stream = small[0]!
  const tail = new TailReader(api, stream.id, { query: 'level:error' })
  await tail.untilOpen()
  const text = 'x'.repeat(10_000)
  const events = Array.from({ length: 900 }, (_, n) => ({
    level: n % 9 ? 'info' : 'error',
    n,
    text,
  }))
  await send(stream, events.map((each) => JSON.stringify(each)).join('\n'))
  await tail.until(() => tail.events.length === 100, 'a hundred events')
  await tail.stop()
  await api.untilProjected(stream.id)
  const clauses = Array.from({ length: 100 }, (_, n) => `a[].b[].c[]:{x:${n} NOT y:z}`)
  const query = `text:* -(${clauses.join(' ')})`
  const body = { query, group_by: ['n', 'text'], limit: 1_000 }
  const { rows, total } = await ask<{ rows: object[]; total: number }>('query', body, stream)
  assert.deepEqual([rows.length, total], [900, 900])
})

/** Reading by the service that runs at the server now. */
async function running(): Promise<number> {
  const [row] = await watcher.query<{ n: number }>(
    `SELECT toUInt32(count()) AS n FROM system.processes
     WHERE user = 'sluice' AND position(query, 'events_1') > 0 AND elapsed > 0.1`,
  )
  return row!.n
}

test('a query past its time, and one whose client is gone, end at the server', {
  skip,
}, async () => {
  const clauses = Array.from({ length: 60 }, (_, n) => `*:/([a-y]*[^z]){9}x{${n}}z.{9}q/`)
  const body = { ...EVENT_TIMES, query: clauses.join(' OR '), group_by: ['message'] }
  const path = `/v1/streams/${large.id}/query`
  const late = await api.tryRest(path, 'POST', { ...body, timeout_ms: 300 })
  assert.deepEqual([late.status, JSON.parse(late.text).reason], [503, 'timeout'], late.text)
  await eventually('it has ended', async () => (await running()) === 0)
  const gone = new AbortController()
  const asked = fetch(`${api.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${api.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: gone.signal,
  })
  asked.catch(() => undefined) // It is rejected before it is awaited.
  await eventually('it runs', async () => (await running()) === 1)
  gone.abort()
  await assert.rejects(asked)
  await eventually('it has ended, too', async () => (await running()) === 0)
  await watcher.command('SYSTEM FLUSH LOGS')
  const ends = await watcher.query<{ code: number }>(
    `SELECT exception_code AS code FROM system.query_log
     WHERE type LIKE 'Exception%' AND user = 'sluice' AND query_kind = 'Select'
     ORDER BY event_time_microseconds`,
  )
  assert.equal(ends.at(-1)?.code, QUERY_WAS_CANCELLED)
})

test('the table of a stream that was deleted goes, whatever its size', { skip }, async () => {
  const find = "SELECT 1 FROM system.tables WHERE database = 'sluice' AND name = 'events_2'"
  await eventually('it is gone', async () => (await watcher.query(find)).length === 0, 40_000)
})

test('killed under load: ingest goes on, reads say why not, nothing is lost', {
  skip: skip || ONLY_LONG,
}, async (t) => {
  const load = await Load.create(api, ['single', 'ndjson', 'text'], { pauseMs: 20 })
  t.after(() => load.stop())
  const { stream } = load.writers[0]!
  load.start()
  await api.untilCounted(stream.id, 100)
  for (let round = 0; round < KILLS; round++) {
    await sleep(500)
    await server.kill()
    const away = await api.tryRest(`/v1/streams/${stream.id}/query`, 'POST', {})
    assert.equal(away.status, 503, away.text)
    assert.match(away.text, /"detail":"a store does not answer now"/)
    await eventually('it is told', async () => {
      const { status, text } = await call(`${api.url}/readyz`)
      assert.equal(status, 200)
      return text.includes('"degraded":{"clickhouse":')
    })
    await server.startAgain()
    await eventually('it is well again', async () => {
      return !(await call(`${api.url}/readyz`)).text.includes('"clickhouse":')
    })
  }
  await load.stop()
  const verified = await verify(api, load)
  t.diagnostic(JSON.stringify({ ...load.counts, ...verified }))
  assert.deepEqual([...load.statuses.keys()], [200], 'no writer noticed')
})
