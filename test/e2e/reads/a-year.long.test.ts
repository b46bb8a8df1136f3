/**
 * Goal: a year of data, a partition for each of its days, is answered in time and to the event; and
 * compaction, which merges the rows of the raw store meanwhile, makes no search or export lose an
 * event or have one twice.
 * Method: one small segment is copied in both stores to five moments of each day of the year, by
 * SQL, as it would lie there. Compaction finds all of it to do, and exports and searches run until
 * it has done.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startEmbeddedClickHouse } from '../../../src/embedded/clickhouse.ts'
import { startEmbeddedPostgres } from '../../../src/embedded/postgres.ts'
import type { EmbeddedStore } from '../../../src/embedded/supervisor.ts'
import { COMPACT_WINDOW_MS } from '../../../src/limits.ts'
import { SEGMENT_ID_MS_SHIFT } from '../../../src/model/segment-id.ts'
import { ClickHouse } from '../../../src/store/clickhouse.ts'
import { Postgres } from '../../../src/store/postgres.ts'
import { recordingLog } from '../../store/temporary.ts'
import { Api, type EventPage, NDJSON_TYPE, type Stream } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'
import { openTcpFront, type TcpFront } from '../../support/store-socket.ts'

const DAYS = 365
const COPIES = 5
const SEGMENTS = 1 + DAYS * COPIES
const EVENTS = 20
const FROM = '-370d'
/** What an answer may take on a machine that others use, too. */
const MS_MAX = 15_000

const storesDir = makeDataDir()
const dataDir = makeDataDir()
const stores: EmbeddedStore[] = []
const fronts: TcpFront[] = []
let service: Service
let api: Api
let engine: ClickHouse
let postgres: Postgres
let stream: Stream

before(async () => {
  const log = recordingLog()
  stores.push(await startEmbeddedPostgres({ dataDir: storesDir, log }))
  stores.push(await startEmbeddedClickHouse({ dataDir: storesDir, log }))
  for (const { url } of stores) fronts.push(await openTcpFront(url))
  const [SLUICE_POSTGRES_URL = '', SLUICE_CLICKHOUSE_URL = ''] = fronts.map(({ url }) => url)
  service = await Service.start({ dataDir, env: { SLUICE_POSTGRES_URL, SLUICE_CLICKHOUSE_URL } })
  api = new Api(service)
  postgres = new Postgres({ url: stores[0]!.url, log })
  engine = new ClickHouse({ url: stores[1]!.url })
  stream = await api.createStream({ retention: '2y' })
})

after(async () => {
  await engine?.close()
  await postgres?.end()
  await service?.kill()
  for (const front of fronts) await front.close()
  for (const store of stores.reverse()) await store.stop()
  for (const path of [storesDir, dataDir]) await removeDataDir(path)
})

/** Copies what the stream has to each day of the year before. */
async function fillYear(): Promise<void> {
  const tables = await engine.query<{ name: string }>(
    "SELECT name FROM system.tables WHERE database = 'sluice' AND engine = 'MergeTree'",
  )
  for (const { name } of tables) {
    await engine.command(
      `INSERT INTO sluice.${name} SELECT t.* REPLACE (
         t.segment_id - bitShiftLeft(c.ms, 21) AS segment_id,
         t.ingested_at - toIntervalMillisecond(c.ms) AS ingested_at,
         t.event_time - toIntervalMillisecond(c.ms) AS event_time)
       FROM sluice.${name} AS t CROSS JOIN (
         SELECT (1 + intDiv(number, ${COPIES})) * 86400000 + number % ${COPIES} * 1000 AS ms
         FROM numbers(${DAYS * COPIES})) AS c`,
      undefined,
      { settings: { max_partitions_per_insert_block: '0' } },
    )
  }
  await postgres.query(
    `INSERT INTO segments (stream_id, segment_id, ingested_at, event_count, raw_bytes, sent_bytes,
       payload)
     SELECT stream_id, segment_id - (ms << 21), ingested_at - ms * interval '1 millisecond',
       event_count, raw_bytes, sent_bytes, payload
     FROM segments, generate_series(1, ${DAYS}) AS day, generate_series(0, ${COPIES - 1}) AS copy,
       LATERAL (SELECT day::bigint * 86400000 + copy * 1000 AS ms) AS away
     WHERE stream_id = $1`,
    [Number(stream.id)],
  )
}

async function rowsLeft(): Promise<number> {
  const { rows } = await postgres.query<{ count: string }>(
    'SELECT count(*) AS count FROM segments WHERE stream_id = $1',
    [Number(stream.id)],
  )
  return Number(rows[0]!.count)
}

/** Each becomes one row; a day's copies may lie in two of them. */
async function stretches(): Promise<number> {
  const { rows } = await postgres.query<{ count: string }>(
    'SELECT count(DISTINCT (segment_id >> $2) / $3) AS count FROM segments WHERE stream_id = $1',
    [Number(stream.id), SEGMENT_ID_MS_SHIFT, COMPACT_WINDOW_MS],
  )
  return Number(rows[0]!.count)
}

function assertAll(ids: readonly string[], count: number, what: string): void {
  assert.equal(ids.length, count, what)
  assert.equal(new Set(ids).size, count, `${what}: each once`)
}

async function exportAll(order: string): Promise<void> {
  const url = `${api.url}/v1/streams/${stream.id}/search?query=common&from=${FROM}&order=${order}`
  const headers = { authorization: `Bearer ${api.token}`, accept: NDJSON_TYPE }
  const text = await (await fetch(url, { headers })).text()
  const lines = text.trimEnd().split('\n')
  const ids = lines.map((line) => (JSON.parse(line) as { readonly id: string }).id)
  assertAll(ids, SEGMENTS * EVENTS, `export, ${order} first`)
}

async function searchAll(): Promise<void> {
  const ids: string[] = []
  let before: string | null = null
  do {
    const body = { query: 'n:7', from: FROM, limit: 500, ...(before !== null && { before }) }
    const text = await api.rest(`/v1/streams/${stream.id}/search`, 'POST', body)
    const page = JSON.parse(text) as EventPage & { readonly complete: boolean }
    assert.equal(page.complete, true, text.slice(0, 300))
    ids.push(...page.events.map(({ id }) => id))
    before = page.next
  } while (before !== null)
  assertAll(ids, SEGMENTS, 'pages of a search')
}

test('while compaction merges a year, exports and searches have each event once', async () => {
  const lines = Array.from({ length: EVENTS }, (_, n) => `{"n":${n},"message":"common word${n}"}\n`)
  // In a segment of its own.
  const headers = { 'content-type': NDJSON_TYPE, 'idempotency-key': 'one' }
  assert.equal((await api.ingest(stream.key, lines.join(''), headers)).status, 200)
  await api.untilCounted(stream.id, EVENTS)
  assert.equal(await rowsLeft(), 1)
  await fillYear()
  const counts = [await rowsLeft()]
  assert.equal(counts[0], SEGMENTS)
  const merged = await stretches()
  const deadline = performance.now() + 120_000
  while (counts.at(-1)! > merged && performance.now() < deadline) {
    // One after another: compaction takes only threads that are idle.
    for (const read of [() => exportAll('oldest'), () => exportAll('newest'), searchAll]) {
      await read()
    }
    counts.push(await rowsLeft())
  }
  console.log(`rows of the raw store between exports: ${counts.join(', ')}`)
  assert.equal(counts.at(-1), merged, 'compaction came to an end')
  await Promise.all([exportAll('oldest'), searchAll()])
})

test('a year is counted, charted and searched in time', async () => {
  const asked: readonly (readonly [path: string, body: object, total: number])[] = [
    ['query', { group_by: ['n'] }, SEGMENTS * EVENTS],
    ['query', { query: 'word7', group_by: [{ bucket: '1d' }] }, SEGMENTS],
    ['histogram', { query: 'n:>=10' }, (SEGMENTS * EVENTS) / 2],
  ]
  for (const [path, body, total] of asked) {
    const startedAt = performance.now()
    const text = await api.rest(`/v1/streams/${stream.id}/${path}`, 'POST', { from: FROM, ...body })
    const answer = JSON.parse(text) as { readonly total: number; readonly complete: boolean }
    assert.deepEqual([answer.total, answer.complete], [total, true], text.slice(0, 300))
    const tookMs = performance.now() - startedAt
    assert(tookMs < MS_MAX, `${path} took ${tookMs} ms`)
  }
})
