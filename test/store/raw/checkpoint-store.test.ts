/**
 * Goal: a node finds its own segments among those of all nodes, and by an index: neither a start
 * nor a catch-up step may read the others'.
 * Method: a real server; every statement of the store is explained before it runs.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { MIXED_STREAM } from '../../../src/model/mixed-runs.ts'
import { makeSegmentId, type SegmentId } from '../../../src/model/segment-id.ts'
import { encodeMembers, placeSegments } from '../../../src/model/stored-row.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { Postgres, type QueryResult } from '../../../src/store/postgres.ts'
import { CheckpointStore } from '../../../src/store/raw/checkpoint-store.ts'
import { openTestPostgres, type TestStore } from '../../support/stores.ts'
import { recordingLog } from '../temporary.ts'

const SEGMENTS = 20_000
/** All segments are of these two; the others have none, which is the worst to find out. */
const OLD_NODE = 3
const NEW_NODE = 7
const NEW_NODE_FROM = SEGMENTS - 100

const log = recordingLog()
let store: TestStore
let postgres: ExplainingPostgres

class ExplainingPostgres extends Postgres {
  plan = ''

  override async query<Row>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<QueryResult<Row>> {
    const { rows } = await super.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${text}`, values)
    this.plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    return super.query(text, values)
  }
}

before(async () => {
  store = await openTestPostgres()
  postgres = new ExplainingPostgres({ url: store.url, log })
  await postgres.query(
    `INSERT INTO segments
     SELECT n % 50, ((n::bigint << 21) | (CASE WHEN n < $2 THEN $3 ELSE $4 END::bigint << 12)),
            now(), 1, 1, 1, ''
       FROM generate_series(1, $1::integer) AS n`,
    [SEGMENTS, NEW_NODE_FROM, OLD_NODE, NEW_NODE],
  )
  const client = await postgres.connect()
  await client.query('ANALYZE segments')
  await client.end()
})

after(async () => {
  await postgres?.end()
  await store?.close()
})

const checkpointsOf = (nodeId: number) => new CheckpointStore(postgres, { nodeId, epoch: 1n })
const idOf = (n: number, node: number) => makeSegmentId({ ms: n, node, counter: 0 })

function assertIndexed(): void {
  assert.match(postgres.plan, /using segments_by_node on segments/)
  assert.match(postgres.plan, /Index Cond: .*segment_id >> 12\) & .*511/)
  assert.doesNotMatch(postgres.plan, /Filter|Sort/, postgres.plan)
}

test("a node's newest segment is found by index, also when it has none", async () => {
  for (const [node, newest] of [
    [OLD_NODE, idOf(NEW_NODE_FROM - 1, OLD_NODE)],
    [NEW_NODE, idOf(SEGMENTS, NEW_NODE)],
    [511, 0n],
  ] as const) {
    assert.equal(await checkpointsOf(node).readNewest(), newest)
    assertIndexed()
  }
})

test("a node's segments past its checkpoint are found by index, in order", async () => {
  const old = checkpointsOf(OLD_NODE)
  const after = idOf(1_000, OLD_NODE)
  const found = await old.readAfter(after, 3)
  assertIndexed()
  const expected = [1_001, 1_002, 1_003].map((n) => idOf(n, OLD_NODE))
  assert.deepEqual(
    found.map(({ segmentId }) => segmentId),
    expected,
  )
  assert.deepEqual(
    found.map(({ streamId }) => streamId),
    [1, 2, 3],
  )

  for (const [node, count] of [
    [NEW_NODE, 64],
    [0, 0],
  ] as const) {
    const rows = await checkpointsOf(node).readAfter(0n as SegmentId, 64)
    assert.equal(rows.length, count)
    assertIndexed()
  }
})

test('a mixed row comes with its runs, and the next ids are above the last of them', async () => {
  const node = 9
  const store = checkpointsOf(node)
  const runs = [4, 5, 2].map((streamId, i) => {
    const segmentId = makeSegmentId({ ms: SEGMENTS + 5, node, counter: i })
    return { streamId: streamId as StreamId, segmentId, eventCount: 10 + i }
  })
  const [first, , last] = runs.map(({ segmentId }) => segmentId)
  const insert = (row: readonly unknown[]) => {
    return postgres.query(
      `INSERT INTO segments (stream_id, segment_id, last_segment_id, members, ingested_at,
         event_count, raw_bytes, sent_bytes, payload)
       VALUES ($1, $2, $3, $4, now(), 33, 1, 1, '\\x07')`,
      row,
    )
  }
  await insert([MIXED_STREAM, String(first), String(last), encodeMembers(MIXED_STREAM, runs)])
  assert.equal(await store.readNewest(), last)
  assertIndexed()
  const [row, ...others] = await store.readAfter(0n as SegmentId, 10)
  assert.deepEqual(row, {
    streamId: MIXED_STREAM,
    segmentId: first,
    eventCount: 33,
    payload: Buffer.of(7),
    segments: placeSegments(runs),
  })
  assert.deepEqual([others, await store.readAfter(last!, 10)], [[], []])
  // A later merged row, whose last segment is another node's.
  const merged = makeSegmentId({ ms: SEGMENTS + 6, node, counter: 0 })
  const foreign = makeSegmentId({ ms: SEGMENTS + 7, node: 8, counter: 0 })
  await insert([4, String(merged), String(foreign), Buffer.of(0, 1, 0x80, 0x80, 0x80, 1, 1)])
  assert.equal(await store.readNewest(), merged)
  assert.deepEqual(
    (await store.readAfter(last!, 10)).map(({ streamId }) => streamId),
    [4],
  )
})

test('of a stream that shares rows, those it is alone in are found by its runs', async () => {
  const store = checkpointsOf(NEW_NODE)
  const at = (ms: number) => idOf(SEGMENTS + 20 + ms, NEW_NODE)
  const insert = async (streams: readonly number[], ms: number) => {
    const runs = streams.map((streamId, i) => {
      const segmentId = (at(ms) + BigInt(i)) as SegmentId
      return { streamId: streamId as StreamId, segmentId, eventCount: 3 }
    })
    const last = runs.at(-1)!.segmentId
    await postgres.query(
      `INSERT INTO segments (stream_id, segment_id, last_segment_id, members, ingested_at,
         event_count, raw_bytes, sent_bytes, payload)
       VALUES ($1, $2, $3, $4, now(), 3, 1, 1, '')`,
      [MIXED_STREAM, String(at(ms)), String(last), encodeMembers(MIXED_STREAM, runs)],
    )
    for (const { streamId, segmentId } of runs) {
      await postgres.query('INSERT INTO segment_runs VALUES ($1, $2, $3, 0, 3, 1, 1, 1)', [
        streamId,
        String(segmentId),
        String(at(ms)),
      ])
    }
  }
  await insert([900], 1)
  await insert([900, 901], 2)
  await insert([901, 900], 3)
  await insert([901], 4)
  await insert([900], 5)
  const read = async (after: SegmentId, limit = 10) => {
    const rows = await store.readAfter(after, limit, 900 as StreamId, 'alone')
    return rows.map(({ segmentId, segments }) => [segmentId, segments.length])
  }
  assert.deepEqual(await read(0n as SegmentId), [
    [at(1), 1],
    [at(5), 1],
  ])
  assert.match(
    postgres.plan,
    /Index Scan using segment_runs_pkey|Bitmap Index Scan on segment_runs/,
  )
  assert.deepEqual(await read(at(1)), [[at(5), 1]])
  assert.deepEqual(await read(0n as SegmentId, 1), [[at(1), 1]])
})
