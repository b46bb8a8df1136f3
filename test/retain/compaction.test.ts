/**
 * Goal: merging rows changes nothing that a client can see: ids, records, pages in both directions,
 * time ranges; nor what a rebuilt projection holds; nor what is counted.
 * Method: random small segments of several nodes in a real PostgreSQL, read through the routes'
 * own code and the workers' before and after. Rows that overlap are made on purpose.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Random } from '../../bench/random.ts'
import {
  COMPACT_AGE_MS,
  COMPACT_MEMBERS_MAX,
  COMPACT_WAIT_MS_MAX,
  COMPACT_WALK_ROWS_MAX,
  COMPACT_WINDOW_MS,
} from '../../src/limits.ts'
import { CatchUp } from '../../src/materialize/catch-up.ts'
import type { SegmentId } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { COMPACT_STREAMS_MAX } from '../../src/retain/compactor.ts'
import { eventRoutes } from '../../src/serve/event-routes.ts'
import { ProjectionStore } from '../../src/store/projection/projection-store.ts'
import { CheckpointStore } from '../../src/store/raw/checkpoint-store.ts'
import { CHECKPOINT_TABLES } from '../../src/store/raw/compaction-store.ts'
import { EventStore } from '../../src/store/raw/event-store.ts'
import { SegmentReader } from '../../workers/read-segment.ts'
import { ReplayPipeline } from '../../workers/replay.ts'
import { RestHarness } from '../serve/rest-harness.ts'
import { rounds, testSeed } from '../support/fuzzing.ts'
import { commitMixed, leftover, NOTHING } from './mixed-rows.ts'
import { type NewSegment, RetainHarness } from './retain-harness.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)
const random = new Random(seed)
const ROUNDS = rounds(4)

const NOON = Math.floor(Date.now() / 86_400_000) * 86_400_000 - 86_400_000 * 1.5
const MINUTE_MS = 60_000

let harness: RetainHarness
let rest: RestHarness
/** What happens between listing segments and reading their rows. */
let meanwhile: () => Promise<void> = async () => undefined

class MovingEventStore extends EventStore {
  override async readPayloads(...args: Parameters<EventStore['readPayloads']>) {
    const act = meanwhile
    meanwhile = async () => undefined
    await act()
    return super.readPayloads(...args)
  }
}

before(async () => {
  harness = await RetainHarness.start({ clickhouse: true })
  const reader = new SegmentReader()
  rest = await RestHarness.start(harness.postgres, ({ resolveToken, control }) =>
    eventRoutes({
      resolveToken,
      streams: control,
      events: new MovingEventStore(harness.postgres),
      readSegments: async (reads) => {
        return { json: reader.run(structuredClone(reads)), damaged: reader.damaged }
      },
    }),
  )
  for (const node of [0, 1, 2, 3]) await harness.checkpoint(node)
})

after(async () => {
  await rest?.close().finally(() => harness.close())
})

function randomLines(): string[] {
  const count = random.chance(0.7) ? 1 : 1 + random.below(5)
  return Array.from({ length: count }, () => {
    const time = random.chance(0.3) ? `"ts":"2026-01-02T03:04:${10 + random.below(49)}Z",` : ''
    return `{${time}"n":${random.below(1e9)},"s":"${random.hex(random.below(20))}"}`
  })
}

/** Small segments of several nodes, close together in places, over some windows. */
function randomSegments(count: number): NewSegment[] {
  let ms = NOON
  return Array.from({ length: count }, () => {
    ms += random.chance(0.02) ? COMPACT_WINDOW_MS : random.below(8_000)
    return { ms, node: random.below(4), lines: randomLines() }
  })
}

interface Page {
  readonly events: readonly { readonly id: string; readonly ingested_at: string }[]
  readonly next: string | null
  readonly previous: string | null
}

async function page(streamId: StreamId, query: string): Promise<Page> {
  const { status, json } = await rest.call('GET', `/v1/streams/${streamId}/events?${query}`)
  assert.equal(status, 200)
  return json
}

/** Every page from the newest on, as the server gives them. */
async function walk(streamId: StreamId, limit: number, range = ''): Promise<Page[]> {
  const pages: Page[] = []
  let cursor = ''
  for (;;) {
    const next = await page(streamId, `limit=${limit}${range}${cursor}`)
    pages.push(next)
    if (next.next === null) return pages
    cursor = `&before=${next.next}`
  }
}

/** Every page upwards from the oldest event. */
async function walkUp(streamId: StreamId, limit: number): Promise<Page[]> {
  const pages: Page[] = []
  let cursor = '0-0'
  for (;;) {
    const next = await page(streamId, `limit=${limit}&after=${cursor}`)
    if (next.events.length === 0) return pages
    pages.push(next)
    cursor = next.previous ?? ''
  }
}

/** All that a client can see, in pages of one size; pages must not depend on how rows lie. */
async function look(streamId: StreamId, options: { limit: number; at: number[]; ids: string[] }) {
  const iso = (ms: number) => new Date(ms).toISOString()
  const [from, to] = options.at as [number, number]
  const single = []
  for (const id of options.ids) {
    single.push((await rest.call('GET', `/v1/streams/${streamId}/events/${id}`)).text)
  }
  return {
    down: await walk(streamId, options.limit),
    up: await walkUp(streamId, options.limit),
    range: await walk(streamId, options.limit, `&from=${iso(from)}&to=${iso(to)}`),
    single,
  }
}

async function compact(nowMs = Date.now()): Promise<void> {
  const lock = await harness.heldLock()
  await harness.untilIdle(harness.newCompactor(lock, () => nowMs))
  await lock.stop()
}

test('random small segments: everything reads the same when they are merged', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const streamId = await harness.newStream()
    const segments = randomSegments(20 + random.below(250))
    // Some come late, with times between the others: rows then overlap.
    const late = segments.filter(() => random.chance(0.05))
    const early = segments.filter((segment) => !late.includes(segment))
    await harness.commit(streamId, early)
    if (round % 2 === 1) await compact()
    await harness.commit(streamId, late)
    const all = (await walk(streamId, 1_000)).flatMap(({ events }) => events)
    const times = [random.pick(segments).ms, random.pick(segments).ms].sort((a, b) => a - b)
    const ids = [random.pick(all).id, random.pick(all).id, `${random.pick(all).id}9`]
    const options = { limit: 2 + random.below(40), at: times, ids }
    const seen = await look(streamId, options)
    const rowsBefore = await harness.rowIds(streamId)
    // Once more from the start: also what was late.
    await harness.postgres.query(
      'UPDATE stream_storage SET compacted_before = 0 WHERE stream_id = $1',
      [streamId],
    )
    await compact()
    const rows = await harness.rowIds(streamId)
    assert.ok(rows.length <= rowsBefore.length && rows.length < segments.length / 2)
    assert.deepEqual(await look(streamId, options), seen, `round ${round}`)
    await harness.assertUsageIsTrue(streamId)
    assert.equal(seen.down.flatMap(({ events }) => events).length, all.length)
    const up = seen.up.toReversed().flatMap(({ events }) => events)
    assert.deepEqual(up, all, 'both directions see the same')
  }
})

test('a mark amid a merged row hides its first segments, and the row goes later', async () => {
  const streamId = await harness.newStream()
  const segments = Array.from({ length: 30 }, (_, n) => ({
    ms: NOON + n * 1_000,
    lines: [`{"n":${n}}`],
  }))
  const ids = await harness.commit(streamId, segments)
  await compact()
  assert.equal((await harness.rowIds(streamId)).length, 1)
  const markAt = async (id: bigint) => {
    await harness.postgres.query(
      'UPDATE stream_storage SET removed_before = $2 WHERE stream_id = $1',
      [streamId, String(id)],
    )
    const lock = await harness.heldLock()
    await harness.untilIdle(harness.newRemover(lock))
    await lock.stop()
  }
  await markAt(ids[12]!)
  const seen = (await walk(streamId, 7)).flatMap(({ events }) => events.map(({ id }) => id))
  assert.deepEqual(
    seen,
    ids
      .slice(12)
      .reverse()
      .map((id) => `${id}-0`),
  )
  const { status } = await rest.call('GET', `/v1/streams/${streamId}/events/${ids[11]}-0`)
  assert.equal(status, 404)
  assert.equal((await harness.rowIds(streamId)).length, 1)
  await markAt(ids[29]! + 1n)
  assert.deepEqual(await harness.rowIds(streamId), [])
  await harness.assertUsageIsTrue(streamId)
})

test('segments whose rows are merged between listing and reading are found', async () => {
  const streamId = await harness.newStream()
  await harness.commit(streamId, randomSegments(50))
  const seen = await page(streamId, 'limit=20')
  meanwhile = compact
  assert.deepEqual(await page(streamId, 'limit=20'), seen)
  assert.ok((await harness.rowIds(streamId)).length < 50)
})

test('mixed rows: all reads the same before, while and after they are split', async () => {
  const [streamId, other] = [await harness.newStream(), await harness.newStream()]
  const segments = randomSegments(60)
  for (const { ms, node, lines } of segments) {
    const runs = [other, streamId].map((id) => ({ streamId: id, lines }))
    if (random.chance(0.2)) await harness.commit(streamId, [{ ms, node, lines }])
    else await commitMixed(harness, { ms, node: node ?? 1, runs })
  }
  const all = (await walk(streamId, 1_000)).flatMap(({ events }) => events)
  const at = [segments[10]!.ms, segments[40]!.ms]
  const options = { limit: 7, at, ids: [random.pick(all).id, `${random.pick(all).id}9`] }
  const seen = await look(streamId, options)
  const first = await page(streamId, 'limit=20')
  meanwhile = compact
  assert.deepEqual(await page(streamId, 'limit=20'), first)
  assert.deepEqual(await leftover(harness, [streamId, other]), NOTHING)
  assert.deepEqual(await look(streamId, options), seen)
})

test('what waits: a checkpoint behind, a window that is not over; and for how long', async () => {
  const end = Math.ceil(NOON / COMPACT_WINDOW_MS) * COMPACT_WINDOW_MS + COMPACT_WINDOW_MS
  const streamId = await harness.newStream()
  const lines = ['{"a":1}']
  const rowsOf = (node: number) => [0, 1, 2].map((n) => ({ ms: end - 100 + n, node, lines }))
  await harness.commit(streamId, rowsOf(1))
  await compact(end + COMPACT_AGE_MS - 1)
  assert.equal((await harness.rowIds(streamId)).length, 3, 'commits may still be under way')
  await compact(end + COMPACT_AGE_MS)
  assert.equal((await harness.rowIds(streamId)).length, 1)

  const waiting = await harness.newStream()
  await harness.commit(
    waiting,
    [...rowsOf(1), ...rowsOf(77)].sort((a, b) => a.ms - b.ms),
  )
  await compact(end + COMPACT_AGE_MS)
  assert.equal((await harness.rowIds(waiting)).length, 6, 'node 77 has no checkpoint')
  await harness.checkpoint(77, end - 1_000)
  await compact(end + COMPACT_AGE_MS)
  assert.equal((await harness.rowIds(waiting)).length, 6, 'it is behind')
  await compact(end + COMPACT_WAIT_MS_MAX + 1_000)
  assert.equal((await harness.rowIds(waiting)).length, 6, 'passed by: no run without it')
  await harness.checkpoint(77)
  await compact()
  assert.equal((await harness.rowIds(waiting)).length, 6, 'and not looked at again')
})

test('more rows than one look, members than one row, streams than one round', async () => {
  const count = COMPACT_WALK_ROWS_MAX + 100
  const streamId = await harness.newStream()
  const start = Math.ceil(NOON / COMPACT_WINDOW_MS) * COMPACT_WINDOW_MS
  const segments = Array.from({ length: count }, (_, n) => {
    return { ms: start + n * 10, lines: [`{"n":${n}}`] }
  })
  await harness.commit(streamId, segments)
  const many = await Promise.all(
    Array.from({ length: COMPACT_STREAMS_MAX + 3 }, () => harness.newStream()),
  )
  await Promise.all(many.map((id) => harness.commit(id, segments.slice(0, 2))))
  await compact()
  await compact()
  assert.equal((await harness.rowIds(streamId)).length, Math.ceil(count / COMPACT_MEMBERS_MAX))
  for (const id of many) assert.equal((await harness.rowIds(id)).length, 1)
  const events = (await walk(streamId, 1_000)).flatMap((each) => each.events)
  assert.equal(new Set(events.map(({ id }) => id)).size, count)
  await harness.assertUsageIsTrue(streamId)
})

test('a row waits for all followers of its node', async () => {
  const streamId = await harness.newStream()
  const at = (n: number) => ({ ms: NOON + n, node: 78, lines: ['{"a":1}'] })
  await harness.commit(streamId, [at(0), at(1)])
  const start = Math.ceil(NOON / COMPACT_WINDOW_MS) * COMPACT_WINDOW_MS + COMPACT_WINDOW_MS
  for (const table of CHECKPOINT_TABLES) {
    await compact(start + COMPACT_AGE_MS)
    assert.equal((await harness.rowIds(streamId)).length, 2, `before ${table}`)
    await harness.postgres.query(`INSERT INTO ${table} (node_id, segment_id) VALUES (78, $1)`, [
      String(BigInt(NOON + 10) << 21n),
    ])
  }
  await compact(start + COMPACT_AGE_MS)
  assert.equal((await harness.rowIds(streamId)).length, 1)
})

test('a segment of a merged row is read by itself, with its own events', async () => {
  const streamId = await harness.newStream()
  const segments = [3, 1, 2].map((count, n) => ({
    ms: NOON + n,
    lines: Array.from({ length: count }, (_, i) => `{"n":${n},"i":${i}}`),
  }))
  const ids = await harness.commit(streamId, segments)
  await compact()
  const store = new EventStore(harness.postgres)
  const places = []
  for (const segmentId of ids) {
    const found = (await store.readPayloads([{ streamId, segmentId }])).get(segmentId)
    places.push([found?.firstEvent, found?.eventCount])
  }
  assert.deepEqual(places, [
    [0, 3],
    [3, 1],
    [4, 2],
  ])
  const beyond = (ids[2]! + 1n) as SegmentId
  assert.equal((await store.readPayloads([{ streamId, segmentId: beyond }])).size, 0)
})

test('a row that cannot be merged is left alone, and the others are merged', async () => {
  const streamId = await harness.newStream()
  const lines = ['{"a":1}']
  const at = (minutes: number) => ({ ms: NOON + minutes * MINUTE_MS, lines })
  const ids = await harness.commit(streamId, [at(0), at(1), at(2), at(120), at(121)])
  await harness.postgres.query(
    `UPDATE segments SET payload = '\\x07' WHERE stream_id = $1 AND segment_id = $2`,
    [streamId, String(ids[1])],
  )
  await compact()
  assert.deepEqual(await harness.rowIds(streamId), ids.slice(0, 4))
  assert.ok(harness.observed.some((line) => line.startsWith('skipped')))
})

test('a projection rebuilt from merged rows has the same rows, those it lacked only', async () => {
  const streamId = await harness.newStream()
  const segments = randomSegments(120)
  const ids = await harness.commit(streamId, segments)
  const present = ids.map((_, index) => index).filter(() => random.chance(0.4))
  await harness.project(streamId, ids, segments)
  const rowsOf = () =>
    harness.clickhouse!.query(
      `SELECT toString(segment_id) AS id, ordinal, toString(ingested_at) AS ingested,
         toString(event_time) AS event, toString(shape) AS shape, toString(payload) AS payload
       FROM ${harness.clickhouse!.database}.events_${streamId} ORDER BY segment_id, ordinal`,
    )
  const expected = await rowsOf()
  await compact()
  assert.ok((await harness.rowIds(streamId)).length < 40)
  await harness.clickhouse!.command(
    `TRUNCATE TABLE ${harness.clickhouse!.database}.events_${streamId}`,
  )
  const pick = <T>(all: readonly T[]) => present.map((index) => all[index]!)
  await harness.project(streamId, pick(ids), pick(segments))

  const replay = new ReplayPipeline()
  const projection = new ProjectionStore(harness.clickhouse!, { nodeId: 9, epoch: 1n })
  let replayed = 0
  for (const node of [0, 1, 2, 3]) {
    const catchUp = new CatchUp({
      readAfter: async (after, limit) => {
        const checkpoints = new CheckpointStore(harness.postgres, { nodeId: node, epoch: 0n })
        const rows = await checkpoints.readAfter(after, limit)
        return rows.filter((row) => row.streamId === streamId)
      },
      settleInserts: async () => undefined,
      findPresent: (some) => projection.findPresent(some),
      rebuild: async ({ payload }, part) => {
        replayed++
        const { block } = replay.run(payload, streamId, part)
        return { ...block, bytes: Uint8Array.from(block.bytes) }
      },
      insert: (stream, blocks, rows) => projection.insert(stream, blocks, rows),
      setAside: () => assert.fail('set aside'),
      readRetries: async () => [],
      forgetSetAside: async () => undefined,
    })
    let after = (BigInt(segments[0]!.ms - 1) << 21n) as SegmentId
    for (
      let step = await catchUp.step(after);
      step !== undefined;
      step = await catchUp.step(after)
    ) {
      after = step.last
    }
  }
  assert.deepEqual(await rowsOf(), expected)
  assert.ok(replayed > 0 && replayed <= ids.length - present.length)
})
