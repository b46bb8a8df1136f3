/**
 * Goal: a page is full in both directions where rows overlap: where one that came late begins
 * within a merged one. So is the newest event the newest, whichever row has it.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { SEGMENT_ID_MAX } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { type PageQuery, planPage, segmentsToList } from '../../src/read/event-page.ts'
import { EventStore } from '../../src/store/raw/event-store.ts'
import { UsageStore } from '../../src/store/raw/usage-store.ts'
import { RetainHarness } from './retain-harness.ts'

const LIMIT = 7
const NOON = Math.floor(Date.now() / 86_400_000) * 86_400_000 - 86_400_000 * 1.5

let harness: RetainHarness

before(async () => {
  harness = await RetainHarness.start({ clickhouse: false })
  await harness.checkpoint(1)
})

after(async () => {
  await harness?.close()
})

/** How many events each page has, from one end of the stream to the other. */
async function pageSizes(streamId: StreamId, newestFirst: boolean): Promise<number[]> {
  const store = new EventStore(harness.postgres)
  const sizes = []
  let [start, end] = [0n, SEGMENT_ID_MAX]
  for (;;) {
    // Segments have one event each: a page goes on at the next id.
    const cursor = { segmentId: (newestFirst ? end : start - 1n) as never, ordinal: 0 }
    const cursors = newestFirst
      ? { before: cursor, after: undefined }
      : { before: undefined, after: cursor }
    const query: PageQuery = { limit: LIMIT, start, end, ...cursors }
    const limit = segmentsToList(query)
    const segments = await store.listSegments({ streamId, start, end, newestFirst, limit })
    const { slices, hasMore } = planPage(query, segments)
    sizes.push(slices.length)
    if (!hasMore) return sizes
    if (newestFirst) end = slices.at(-1)!.segmentId
    else start = slices[0]!.segmentId + 1n
  }
}

/** When the newest event came, in seconds after noon, by all that tell it. */
async function newestOf(streamId: StreamId): Promise<number> {
  const store = new UsageStore(harness.postgres)
  const [span, [summary], [overview]] = await Promise.all([
    store.readSpan(streamId),
    store.readSummaries([streamId]),
    store.readOverviews([streamId]),
  ])
  assert.equal(span.oldestMs, NOON)
  assert.deepEqual([summary?.newestMs, overview?.newestMs], [span.newestMs, span.newestMs])
  return (span.newestMs! - NOON) / 1_000
}

test('pages of a stream with a late row amid a merged one', async () => {
  const streamId = await harness.newStream()
  const at = (n: number) => ({ ms: NOON + n * 1_000, lines: [`{"n":${n}}`] })
  await harness.commit(
    streamId,
    Array.from({ length: 30 }, (_, n) => at(n)),
  )
  const lock = await harness.heldLock()
  await harness.untilIdle(harness.newCompactor(lock, () => Date.now()))
  await lock.stop()
  assert.equal((await harness.rowIds(streamId)).length, 1)
  assert.equal(await newestOf(streamId), 29, 'of a merged row its last one')
  await harness.commit(streamId, [at(3.5)])
  assert.equal(await newestOf(streamId), 29)
  await harness.commit(streamId, [at(40), at(41)])
  assert.equal(await newestOf(streamId), 41)
  assert.equal((await harness.rowIds(streamId)).length, 4, 'one merged row and three')
  assert.deepEqual(await pageSizes(streamId, false), [7, 7, 7, 7, 5])
  assert.deepEqual(await pageSizes(streamId, true), [7, 7, 7, 7, 5])
})
