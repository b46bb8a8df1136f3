/**
 * Goal: a tail hears of each segment under its own id and with its own events, also where it comes
 * so late that its row was merged with others, and of each node's once.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { MIXED_STREAM, type MixedRun } from '../../../src/model/mixed-runs.ts'
import { makeSegmentId, type SegmentId } from '../../../src/model/segment-id.ts'
import { encodeMembers } from '../../../src/model/stored-row.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { CommittedStore } from '../../../src/store/raw/committed-store.ts'
import { startDatabase, type TestDatabase } from '../../serve/rest-harness.ts'

const MS = Date.parse('2026-05-05T05:05:05Z')
const [ONE, TWO] = [1 as StreamId, 2 as StreamId]
let database: TestDatabase
let store: CommittedStore

before(async () => {
  database = await startDatabase()
  store = new CommittedStore(database.postgres)
  for (const node of [1, 2]) {
    await database.postgres.query(
      `INSERT INTO nodes (node_id, identity, epoch, lease_until)
       VALUES ($1, gen_random_uuid(), 1, now())`,
      [node],
    )
  }
})

after(async () => {
  await database?.close()
})

function segment(n: number, node: number, eventCount: number, streamId = ONE): MixedRun {
  return { streamId, segmentId: makeSegmentId({ ms: MS + n, node, counter: 0 }), eventCount }
}

async function insert(streamId: StreamId, segments: readonly MixedRun[]): Promise<void> {
  await database.postgres.query(
    `INSERT INTO segments (stream_id, segment_id, ingested_at, event_count, raw_bytes, sent_bytes,
       payload, last_segment_id, members) VALUES ($1, $2, now(), $3, 1, 1, '', $4, $5)`,
    [
      streamId,
      String(segments[0]!.segmentId),
      segments.reduce((sum, { eventCount }) => sum + eventCount, 0),
      String(segments.at(-1)!.segmentId),
      encodeMembers(streamId, segments),
    ],
  )
}

test('of a merged row the segments of its node are heard of, of a mixed one all', async () => {
  const merged = [segment(0, 1, 3), segment(1, 2, 4), segment(2, 1, 5)]
  const mixed = [segment(10, 2, 6, ONE), segment(11, 2, 7, TWO)]
  await insert(ONE, merged)
  await insert(MIXED_STREAM, mixed)
  await database.postgres.query('INSERT INTO segment_runs VALUES ($1, $2, $2, 0, 6, 1, 1, 1)', [
    ONE,
    String(mixed[0]!.segmentId),
  ])
  const { entries } = await store.readAfter({ after: new Map(), except: undefined, limit: 10 })
  const [first, , third] = merged
  const expected = [
    { ...first!, firstEvent: 0, node: 1 },
    { ...third!, firstEvent: 7, node: 1 },
    { ...mixed[0]!, firstEvent: 0, node: 2 },
    { ...mixed[1]!, firstEvent: 6, node: 2 },
  ]
  assert.deepEqual(entries, expected)
  const upTo = makeSegmentId({ ms: MS + 100, node: 1, counter: 0 })
  const ranges = [1, 2].map((node) => ({ node, after: 0n as SegmentId, upTo }))
  const missed = await store.readMissed({ streamId: ONE, ranges, limit: 10 })
  assert.deepEqual(
    missed.map(({ segmentId }) => segmentId).toSorted((a, b) => (a < b ? -1 : 1)),
    [first!.segmentId, third!.segmentId, mixed[0]!.segmentId],
  )
})
