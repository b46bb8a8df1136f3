/** Goal: cursors say exactly where a reader is; queues are bounded; samples are spread. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { TAIL_WORK_SHARE } from '../../src/app/create-tails.ts'
import {
  TAIL_LIMIT_PER_S_MAX,
  TAIL_POLL_ROWS_MAX,
  TAIL_QUEUE_BYTES_MAX,
  TAIL_QUEUE_EVENTS_MAX,
} from '../../src/limits.ts'
import {
  makeSegmentId,
  NODE_ID_MAX,
  type SegmentId,
  segmentIdNode,
} from '../../src/model/segment-id.ts'
import { CommitSource } from '../../src/tail/commit-source.ts'
import { Sampler } from '../../src/tail/sampler.ts'
import {
  cursorAt,
  encodePositions,
  noPosition,
  placeBelow,
  tryParseCursor,
} from '../../src/tail/tail-cursor.ts'
import { TailQueue } from '../../src/tail/tail-queue.ts'
import { WorkBudget } from '../../src/tail/work-budget.ts'
import { FakeStore, OWN_NODE } from './hub-harness.ts'

const id = fc
  .record({
    ms: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 2 ** 42 - 1 })),
    node: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: NODE_ID_MAX })),
    counter: fc.oneof(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 4095 })),
  })
  .map(makeSegmentId)
const placesOf = (ids: readonly SegmentId[]) => new Map(ids.map((one) => [segmentIdNode(one), one]))

test('a cursor comes back as it was', () => {
  fc.assert(
    fc.property(
      fc.array(id, { minLength: 1 }),
      id,
      fc.nat(2 ** 31 - 1),
      (ids, segmentId, ordinal) => {
        const places = placesOf(ids)
        assert.deepEqual(tryParseCursor(encodePositions(places)), { places })
        const within = tryParseCursor(cursorAt(ordinal, encodePositions(places, segmentId)))
        assert.deepEqual(within?.partial, { segmentId, ordinal })
        const node = segmentIdNode(segmentId)
        places.set(node, placeBelow(segmentId, node))
        assert.deepEqual(within?.places, places)
      },
    ),
  )
})

test('what is no cursor is undefined', () => {
  const twice = encodePositions(placesOf([noPosition(1)]))
  for (const text of ['', '.', 'a', '.A', '.AAAA', 'zzzzzzz.AAAAAAAAAAA', '.__________8']) {
    assert.equal(tryParseCursor(text), undefined, text)
  }
  const bytes = Buffer.from(twice.slice(1), 'base64url')
  const double = Buffer.concat([bytes, bytes]).toString('base64url')
  assert.equal(tryParseCursor(`.${double}`), undefined, 'a node twice')
})

test('the place below an id: nothing of the node lies between', () => {
  fc.assert(
    fc.property(id, id, (one, other) => {
      const node = segmentIdNode(other)
      const below = placeBelow(one, node)
      assert.equal(segmentIdNode(below), node)
      assert.ok(below < one || below === noPosition(node))
      assert.ok(!(other > below && other < one))
    }),
  )
})

test('a queue holds TAIL_QUEUE_EVENTS_MAX events or TAIL_QUEUE_BYTES_MAX, then gaps', () => {
  const sizes = fc.array(fc.constantFrom(1, 10, 3_000, 200_000, TAIL_QUEUE_BYTES_MAX + 1, -1))
  fc.assert(
    fc.property(sizes, fc.integer({ min: 1, max: 400 }), (kinds, repeat) => {
      const queue = new TailQueue()
      const told: number[] = []
      let next = 0
      let max = 0
      for (const size of kinds.flatMap((one) => (one < 100 ? Array(repeat).fill(one) : [one]))) {
        const segmentId = makeSegmentId({ ms: ++next, node: 0, counter: 0 })
        const cursor = String(next)
        if (size < 0) {
          const times = { fromMs: next, toMs: next }
          const reason = next % 2 === 0 ? 'busy' : 'sampled'
          queue.pushGap({ kind: 'gap', reason, events: 1, isExact: false, ...times, cursor })
        } else {
          const record = { length: size } as Uint8Array
          queue.push({ kind: 'event', record, cursor, segmentId, atMs: 0 })
        }
        max = Math.max(max, size)
      }
      let bytes = 0
      let events = 0
      let before = 0
      for (let item = queue.take(); item !== undefined; item = queue.take()) {
        assert.ok(Number(item.cursor) > before, 'cursors rise')
        if (item.kind === 'event') {
          events++
          bytes += item.record.length
          assert.equal(Number(item.cursor), before + 1, 'nothing left out without a gap')
        } else {
          assert.equal(item.events, Number(item.cursor) - before, 'a gap counts all')
          assert.equal(item.fromMs, before + 1)
          assert.equal(item.toMs, Number(item.cursor))
        }
        before = Number(item.cursor)
        told.push(before)
      }
      assert.equal(before, next)
      assert.ok(queue.isEmpty && events <= TAIL_QUEUE_EVENTS_MAX)
      assert.ok(bytes <= TAIL_QUEUE_BYTES_MAX || events === 1)
    }),
  )
})

test('a sampler lets as many pass as it should, in every quarter of a second', () => {
  for (const perSecond of [1, 3, 10, 1_000, TAIL_LIMIT_PER_S_MAX]) {
    const sampler = new Sampler(perSecond)
    let passed = 0
    for (let ms = 0; ms < 20_000; ms += 0.25) if (sampler.passes(ms)) passed++
    const most = Math.min(perSecond, 4_000) * 20
    assert.ok(passed <= most + perSecond && passed >= most * 0.9, `${perSecond}: ${passed}`)
  }
})

test('a poll looks at TAIL_POLL_ROWS_MAX rows of a node, and at once at the next', async () => {
  const store = new FakeStore()
  const heard: bigint[] = []
  const source = new CommitSource({
    ownNode: OWN_NODE,
    store,
    isWatched: () => true,
    findSieved: () => undefined,
    onSegment: ({ segmentId }) => heard.push(segmentId),
    onError: (cause) => assert.fail(String(cause)),
  })
  await source.start()
  for (let i = 0; i < TAIL_POLL_ROWS_MAX * 2.5; i++) store.commit(2, ['x'])
  const deadline = performance.now() + 5_000
  while (heard.length < TAIL_POLL_ROWS_MAX * 2.5 && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  assert.deepEqual(
    heard,
    heard.toSorted((a, b) => (a < b ? -1 : 1)),
  )
  assert.equal(heard.length, TAIL_POLL_ROWS_MAX * 2.5)
  source.stop()
})

test('matching has its share of time, and works a burst off at once', () => {
  const budget = new WorkBudget(TAIL_WORK_SHARE, 0)
  budget.spend(250, 0)
  assert.equal(budget.cooldownMs(0), 0)
  let nowMs = 0
  let workedMs = 0
  for (let i = 0; i < 100; i++) {
    nowMs += 10
    workedMs += 10
    budget.spend(10, nowMs)
    nowMs += budget.cooldownMs(nowMs)
  }
  assert.ok(Math.abs(workedMs / nowMs - TAIL_WORK_SHARE) < 0.01)
})
