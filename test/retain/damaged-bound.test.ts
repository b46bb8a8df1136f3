/**
 * Goal: mixed rows that cannot be split are passed over, SPLIT_DAMAGED_ROWS_MAX of them; the oldest
 * make way. Method: a store in memory, all of whose rows are damaged.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COMPACT_AGE_MS } from '../../src/limits.ts'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import { makeSegmentId, type SegmentId } from '../../src/model/segment-id.ts'
import type { SizedRow } from '../../src/model/stored-row.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { SPLIT_DAMAGED_ROWS_MAX, Splitter } from '../../src/retain/splitter.ts'
import type { SplitStore, StoredRun } from '../../src/store/raw/split-store.ts'

const NEVER = new AbortController().signal
const MS = Date.parse('2026-05-05T05:05:05Z')
const END = makeSegmentId({ ms: MS + COMPACT_AGE_MS, node: 1, counter: 0 })

/** The rows that are passed over once all of so many were tried. */
async function passedOver(count: number): Promise<ReadonlySet<SegmentId>> {
  const rows = Array.from({ length: count }, (_, counter): SizedRow => {
    const segmentId = makeSegmentId({ ms: MS, node: 1, counter })
    const own = { streamId: 1 as StreamId, segmentId, eventCount: 1 }
    const segments = [{ ...own, firstEvent: 0 }]
    return { ...own, streamId: MIXED_STREAM, rawBytes: 1, payloadBytes: 1, segments }
  })
  let except: ReadonlySet<SegmentId> = new Set()
  const store: Partial<SplitStore> = {
    listMixed: async ({ after, limit }) =>
      rows.filter(({ segmentId }) => segmentId > after).slice(0, limit),
    listRuns: async (mixed) =>
      mixed.flatMap((row) =>
        row.segments.map(
          (run): StoredRun => ({
            ...{ ...run, rowId: row.segmentId },
            ...{ rawBytes: 1, sentBytes: 1, storedBytes: 1 },
          }),
        ),
      ),
    listBetween: async () => new Map(),
    readPayloads: async (ids) => ids.map(() => new Uint8Array(1)),
    findOldest: async (_checkpoints, these) => {
      except = these
      return undefined
    },
  }
  let skipped = 0
  const splitter = new Splitter({
    store: store as SplitStore,
    readCheckpoints: async () => new Map([[1, END]]),
    split: () => Promise.reject(new Error('damaged')),
    hasIdleThread: () => true,
    observer: { onSplit: () => assert.fail(), onSkipped: () => skipped++ },
    nowMs: () => MS + COMPACT_AGE_MS,
    everyMs: 0,
  })
  while (await splitter.round(END, NEVER));
  assert.equal(skipped, count)
  await splitter.findOldest(new Map())
  return except
}

test('SPLIT_DAMAGED_ROWS_MAX damaged rows are passed over', async () => {
  const all = await passedOver(SPLIT_DAMAGED_ROWS_MAX)
  assert.equal(all.size, SPLIT_DAMAGED_ROWS_MAX)
  const most = await passedOver(SPLIT_DAMAGED_ROWS_MAX + 1)
  assert.equal(most.size, SPLIT_DAMAGED_ROWS_MAX)
  const [oldest] = all
  assert.deepEqual([all.has(oldest!), most.has(oldest!)], [true, false])
})
