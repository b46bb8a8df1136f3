/**
 * Goal: when writing the catalog takes long, as with many streams, it is done less often.
 * Method: stores in memory whose writes take a set time, while something is learned all the time.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { OBSERVE_FLUSH_SHARE } from '../../src/limits.ts'
import { SCHEMA_CAPS_DEFAULT } from '../../src/model/schema.ts'
import { makeSegmentId, type SegmentId } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { Observer, type ObserveStores } from '../../src/observe/observer.ts'
import { someBlock } from '../commit/some-segments.ts'

const STREAM = 1 as StreamId
const RUN_MS = 1_500

/** How often it writes in RUN_MS when a write takes `writeMs`. */
async function countWrites(writeMs: number): Promise<number> {
  let writes = 0
  const counts = { streamId: STREAM, caps: SCHEMA_CAPS_DEFAULT, generation: 0n, fields: 0 }
  const known = { ...counts, shapes: 1, mark: 0n as SegmentId }
  const stores: ObserveStores = {
    load: async () => [{ ...known, typesByPath: new Map(), describedByShape: new Map() }],
    write: async () => {
      writes++
      await sleep(writeMs)
      return [{ ...counts, shapes: 1 }]
    },
    readAfter: async () => [],
    readSegment: async () => undefined,
    readUndescribed: async () => [],
    learn: () => assert.fail('nothing is to be learned again'),
  }
  const observer = new Observer({
    stores,
    observer: {
      onWrite: () => undefined,
      onSkipped: () => undefined,
      onReplayed: () => undefined,
      onError: assert.fail,
      onPassedOver: assert.fail,
      onModeChange: () => undefined,
    },
    checkpoint: 0n as SegmentId,
    flushMs: 20,
  })
  observer.start()
  const endMs = performance.now() + RUN_MS
  for (let counter = 0; performance.now() < endMs; counter++) {
    const shape = { shape: 's', count: 1, firstOrdinal: 0, leaves: [] }
    const segmentId = makeSegmentId({ ms: 1_000, node: 1, counter })
    const delta = { shapes: [shape], shapesSkipped: 0, largePaths: [] }
    observer.add({
      segments: [{ streamId: STREAM, segmentId, eventCount: 1, block: someBlock(), delta }],
    })
    await sleep(5)
  }
  const inTime = writes
  await observer.stop(2_000)
  return inTime
}

test('writes take at most OBSERVE_FLUSH_SHARE of the time', async () => {
  const writeMs = 40
  const writes = await countWrites(writeMs)
  const most = (RUN_MS * OBSERVE_FLUSH_SHARE) / writeMs + 2
  assert(writes >= 2 && writes <= most, `${writes} writes, not 2 to ${most}`)
})
