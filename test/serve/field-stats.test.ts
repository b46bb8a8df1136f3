/**
 * Goal: statistics of a field are those of its values, whatever their types, over a time range.
 * Method: the service's own table in the real engine, filled with blocks that workers made.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { FIELD_PATH_BYTES_MAX } from '../../src/limits.ts'
import { stampBlock } from '../../src/materialize/stamp.ts'
import { makeSegmentId } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { fieldStatsRoutes } from '../../src/serve/field-stats.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { ensureClickHouse } from '../../src/store/migrations/run.ts'
import { ProjectionStore } from '../../src/store/projection/projection-store.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { newStream } from '../observe/nodes.ts'
import { openTestClickHouse } from '../support/stores.ts'
import { batchOf } from '../workers/batch-of.ts'
import { readingDeps } from './reading-deps.ts'
import { RestHarness, startDatabase } from './rest-harness.ts'

const closers: (() => Promise<void>)[] = []
let projection: ProjectionStore
let rest: RestHarness
let create: () => Promise<StreamId>

before(async () => {
  const database = await startDatabase()
  closers.push(() => database.close())
  const engine = await openTestClickHouse()
  closers.push(() => engine.close())
  const clickhouse = new ClickHouse({ url: engine.url })
  closers.push(() => clickhouse.close())
  await ensureClickHouse(clickhouse)
  projection = new ProjectionStore(clickhouse, { nodeId: 1, epoch: 1n })
  const reading = readingDeps(database.postgres, clickhouse)
  rest = await RestHarness.start(database.postgres, ({ resolveToken, control }) =>
    fieldStatsRoutes({ resolveToken, streams: control, ...reading }),
  )
  closers.push(() => rest.close())
  create = () => newStream(database.postgres)
})

after(async () => {
  const failures: unknown[] = []
  for (const close of closers.reverse()) {
    await close().catch((cause: unknown) => failures.push(cause))
  }
  assert.deepEqual(failures, [])
})

let segments = 0

async function fill(events: readonly string[], ms = Date.now()): Promise<StreamId> {
  const streamId = await create()
  const [segment] = new IngestPipeline().run(batchOf(events.join('\n'))).segments
  const { block } = segment!
  stampBlock(block, makeSegmentId({ ms, node: 1, counter: ++segments }))
  await projection.insert(streamId, [block.bytes])
  return streamId
}

function ask(streamId: StreamId, path: string, query = '') {
  const encoded = encodeURIComponent(path)
  return rest.call('GET', `/v1/streams/${streamId}/fields/${encoded}/stats${query}`)
}

test('numbers of all kinds, strings, booleans, absent ones', async () => {
  const values = ['1', '2.5', '18446744073709551615', '-3', '"x"', '"x"', 'true', 'null', '[1,2]']
  const events = values.map((value) => `{"o":{"v":${value}},"n":1}`)
  const { status, json, text } = await ask(await fill([...events, '{}']), 'o.v')
  assert.equal(status, 200, text)
  const { events: seen, count, distinct, numbers, top } = json
  assert.deepEqual([json.path, seen, count, distinct], ['o.v', 10, 8, 7])
  assert.deepEqual([numbers.count, numbers.min, numbers.max], [4, -3, 18446744073709552000])
  assert(numbers.p50 >= 1 && numbers.p50 <= 2.5 && numbers.p99 > 1e18, JSON.stringify(numbers))
  assert.deepEqual(top[0], { value: 'x', count: 2 })
  assert.match(text, /\{"value":18446744073709551615,"count":1\}/)
  assert.deepEqual(
    top.map(({ count }: { count: number }) => count),
    [2, 1, 1, 1, 1, 1, 1],
  )
})

test('quantiles of many values are near the exact ones', async () => {
  const events = Array.from({ length: 5_000 }, (_, i) => `{"ms":${(i * 7_919) % 5_000}}`)
  const { json } = await ask(await fill(events), 'ms', '?limit=3')
  const { numbers } = json
  assert.deepEqual([numbers.min, numbers.max, numbers.average], [0, 4_999, 2_499.5])
  for (const [name, exact] of [
    ['p50', 2_500],
    ['p90', 4_500],
    ['p95', 4_750],
    ['p99', 4_950],
  ]) {
    assert(Math.abs(numbers[String(name)] - Number(exact)) < 50, `${name} ${numbers[String(name)]}`)
  }
  assert.equal(json.top.length, 3)
  assert(Math.abs(json.distinct - 5_000) < 250)
})

test('only events of the time range, by either clock', async () => {
  const ms = Date.parse('2026-03-01T12:00:00Z')
  const events = ['10', '20', '30'].map((minute) => `{"ts":"2026-03-01T11:${minute}:00Z","v":1}`)
  const streamId = await fill(events, ms)
  const count = async (query: string) => (await ask(streamId, 'v', query)).json.count
  const range = (from: string, to: string) => `?from=2026-03-01T${from}Z&to=2026-03-01T${to}Z`
  assert.equal(await count(''), 0, 'the last hour')
  assert.equal(await count(range('12:00:00', '12:00:01')), 3)
  assert.equal(await count(range('11:00:00', '12:00:00')), 0)
  assert.equal(await count(`${range('11:10:00', '11:30:00')}&time_basis=event_time`), 2)
})

test('what is inside arrays cannot be asked, and says so; the longest path can', async () => {
  const long = 'k'.repeat(FIELD_PATH_BYTES_MAX) // The longest that is learned.
  const nested = 'é'.repeat(FIELD_PATH_BYTES_MAX / 2 - 1)
  const streamId = await fill([
    `{"arr":[{"p":1}],"tags":["a"],"odd[]":1,"odd[].p":2,"${long}":3,"o":{"${nested}":4}}`,
  ])
  for (const path of ['arr[].p', 'tags[]', 'arr[]', 'a[].b[].c']) {
    const { status, json } = await ask(streamId, path)
    assert.equal(status, 400, path)
    assert.match(json.detail, /inside arrays/)
  }
  for (const path of ['odd[]', 'odd[].p', long, `o.${nested}`, 'tags']) {
    const { status, json } = await ask(streamId, path)
    assert.deepEqual([status, json.count], [200, 1], path)
  }
})

test('long values are shown by their beginning; no table, no events; bad requests', async () => {
  const streamId = await fill([`{"a\`b":"${'é'.repeat(3_000)}"}`])
  const { json } = await ask(streamId, 'a`b')
  assert.deepEqual(json.top, [{ value: 'é'.repeat(1_024), count: 1 }])
  const empty = await ask(await create(), 'x')
  assert.deepEqual([empty.status, empty.json.events, empty.json.top], [200, 0, []])
  assert.deepEqual((await ask(streamId, 'absent')).json.numbers, null)
  for (const query of [
    '?limit=0',
    '?limit=101',
    '?x=1',
    '?time_basis=no',
    '?from=noon',
    '?query=a:',
  ]) {
    assert.equal((await ask(streamId, 'v', query)).status, 400, query)
  }
  assert.equal((await ask(streamId, 'a.:`String`')).status, 400)
  for (const [path, status] of [
    ['x'.repeat(FIELD_PATH_BYTES_MAX), 200],
    ['x'.repeat(FIELD_PATH_BYTES_MAX + 1), 400],
    ['é'.repeat(FIELD_PATH_BYTES_MAX / 2), 200],
    [`${'é'.repeat(FIELD_PATH_BYTES_MAX / 2)}x`, 400],
  ] as const) {
    assert.equal((await ask(streamId, path)).status, status, `${path.length} characters`)
  }
  const token = await rest.token('owner', ['streams:read'])
  const path = `/v1/streams/${streamId}/fields/v/stats`
  assert.equal((await rest.call('GET', path, { token })).status, 403)
})
