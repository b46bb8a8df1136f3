/**
 * Goal: the catalog is written for a bounded number of streams at a time, and within a bounded time
 * however slow writing is. Method: stores in memory, time in the test's hands.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { OBSERVE_FLUSH_MS, OBSERVE_FLUSH_MS_MAX, OBSERVE_FLUSH_SHARE } from '../../src/limits.ts'
import { SCHEMA_CAPS_DEFAULT } from '../../src/model/schema.ts'
import { makeSegmentId, type SegmentId } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { OBSERVE_WRITE_STREAMS_MAX, Observer } from '../../src/observe/observer.ts'
import { someBlock } from '../commit/some-segments.ts'
import { virtualTime } from '../support/virtual-time.ts'

function setUp(t: TestContext, writeMs = 0) {
  const time = virtualTime(t)
  const seen = { loaded: [] as number[], written: [] as number[], endsMs: [] as number[] }
  let counter = 0
  const observer = new Observer({
    stores: {
      load: async (streamIds) => {
        seen.loaded.push(streamIds.length)
        return streamIds.map((streamId) => ({
          ...{ streamId, caps: SCHEMA_CAPS_DEFAULT, generation: 0n, fields: 0, shapes: 1 },
          ...{ mark: 0n as SegmentId, typesByPath: new Map(), describedByShape: new Map() },
        }))
      },
      write: async (changes) => {
        seen.written.push(changes.length)
        time.work(writeMs)
        seen.endsMs.push(time.nowMs)
        return changes.map(({ streamId }) => ({
          ...{ streamId, caps: SCHEMA_CAPS_DEFAULT, generation: 0n, fields: 0, shapes: 1 },
        }))
      },
      readAfter: async () => [],
      readSegment: async () => undefined,
      readUndescribed: async () => [],
      learn: () => assert.fail('nothing is to be learned again'),
    },
    observer: {
      onWrite: () => undefined,
      onSkipped: () => undefined,
      onReplayed: () => undefined,
      onError: assert.fail,
      onPassedOver: assert.fail,
      onModeChange: () => undefined,
    },
    checkpoint: 0n as SegmentId,
  })
  observer.start()
  const add = (streams: number) => {
    for (let id = 1; id <= streams; id++) {
      const segmentId = makeSegmentId({ ms: 1_000, node: 1, counter: counter++ })
      const shape = { shape: 's', count: 1, firstOrdinal: 0, leaves: [] }
      const delta = { shapes: [shape], shapesSkipped: 0, largePaths: [] }
      const streamId = id as StreamId
      observer.add({
        segments: [{ streamId, segmentId, eventCount: 1, block: someBlock(), delta }],
      })
    }
  }
  return { time, seen, add, observer }
}

test('OBSERVE_WRITE_STREAMS_MAX streams are loaded and written at a time', async (t) => {
  const { time, seen, add } = setUp(t)
  await time.pass(100)
  seen.written.length = 0 // What it wrote of its checkpoint at start.
  const max = OBSERVE_WRITE_STREAMS_MAX
  add(2 * max + 1)
  await time.pass(10_000)
  assert.deepEqual(seen.loaded, [max, max, 1])
  assert.deepEqual(
    seen.written.filter((count) => count > 0),
    [max, max, 1],
  )
})

test('changes are written every OBSERVE_FLUSH_MS', async (t) => {
  const { time, seen, add } = setUp(t)
  for (let ms = 0; ms < 6 * OBSERVE_FLUSH_MS; ms += 100) {
    add(1)
    await time.pass(100)
  }
  const [, ...ends] = seen.endsMs
  const gaps = ends.slice(1).map((endMs, index) => endMs - ends[index]!)
  assert.ok(gaps.length >= 3, `${gaps.length} waits`)
  for (const ms of gaps) assert.ok(ms >= OBSERVE_FLUSH_MS && ms <= OBSERVE_FLUSH_MS + 50, `${ms}`)
})

test('however long writing takes, changes wait OBSERVE_FLUSH_MS_MAX at most', async (t) => {
  const writeMs = 2 * OBSERVE_FLUSH_MS_MAX * OBSERVE_FLUSH_SHARE
  const { time, seen, add } = setUp(t, writeMs)
  for (let ms = 0; ms < 6 * OBSERVE_FLUSH_MS_MAX; ms += 100) {
    add(1)
    await time.pass(100)
  }
  const [, , ...ends] = seen.endsMs
  const gaps = ends.slice(1).map((endMs, index) => endMs - ends[index]!)
  assert.ok(gaps.length >= 2, `${gaps.length} waits`)
  for (const ms of gaps) {
    assert.ok(ms >= OBSERVE_FLUSH_MS_MAX && ms <= OBSERVE_FLUSH_MS_MAX + 500, `${ms} ms`)
  }
})
