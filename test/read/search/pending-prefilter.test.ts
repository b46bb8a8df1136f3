/**
 * Goal: a search reads only waiting segments that may match, stops looking where most may, and
 * leaves other work its turn.
 * Method: prefilters that say which segments they let through, and count how often they are asked.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as immediate } from 'node:timers/promises'
import { parse } from '../../../src/language/parse.ts'
import type { SourceStream } from '../../../src/model/field-catalog.ts'
import type { SegmentId } from '../../../src/model/segment-id.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { TextNames } from '../../../src/model/text-fields.ts'
import {
  PendingPrefilter,
  PREFILTER_SLICE_MS,
  PREFILTER_VAIN_SEGMENTS,
} from '../../../src/read/search/pending-prefilter.ts'

const streamOf = (id: number) => {
  const catalog = { textNames: new TextNames(['message']) }
  return { streamId: id as StreamId, catalog } as unknown as SourceStream
}
const segmentsOf = (count: number, streamId = 1) =>
  Array.from({ length: count }, (_, n) => ({
    streamId: streamId as StreamId,
    segmentId: BigInt(n) as SegmentId,
    eventCount: 1,
  }))

/** A prefilter for a query, and what it was asked. */
function setUp(text: string, letsThrough: (n: number) => boolean) {
  const asked: number[] = []
  const question = { query: parse(text), streams: [streamOf(1), streamOf(2)] }
  const prefilter = new PendingPrefilter(question, () => (segmentId) => {
    asked.push(Number(segmentId))
    return letsThrough(Number(segmentId))
  })
  return { prefilter, asked }
}

const signal = new AbortController().signal

test('so many are chosen as there may be, and the next ones from there on', async () => {
  const { prefilter, asked } = setUp('f:x', (n) => n % 10 === 0)
  const segments = segmentsOf(100)
  const first = await prefilter.choose(segments, { at: 0, max: 3 }, signal)
  assert.deepEqual(
    [first.chosen.map(({ segmentId }) => segmentId), first.next],
    [[0n, 10n, 20n], 21],
  )
  const rest = await prefilter.choose(segments, { at: first.next, max: 100 }, signal)
  assert.deepEqual([rest.chosen.length, rest.next, asked.length], [7, 100, 100])
})

test('where a query needs nothing that can be looked for, all are chosen', async () => {
  const { prefilter, asked } = setUp('NOT f:x', () => false)
  const { chosen } = await prefilter.choose(segmentsOf(5), { at: 0, max: 9 }, signal)
  assert.deepEqual([chosen.length, asked], [5, []])
})

test('where most have it, it is not looked for any more', async () => {
  const { prefilter, asked } = setUp('f:x', () => true)
  const { chosen } = await prefilter.choose(segmentsOf(500), { at: 0, max: 500 }, signal)
  assert.deepEqual([chosen.length, asked.length], [500, PREFILTER_VAIN_SEGMENTS])
})

test('other work has its turn, and a search that is given up ends', async () => {
  let turns = 0
  let isOver = false
  const others = (async () => {
    while (!isOver) {
      await immediate()
      turns++
    }
  })()
  const slow = (n: number) => {
    const end = performance.now() + PREFILTER_SLICE_MS
    while (performance.now() < end);
    return n < 0
  }
  const { prefilter, asked } = setUp('f:x', slow)
  const { chosen } = await prefilter.choose(segmentsOf(20), { at: 0, max: 20 }, signal)
  assert.deepEqual([chosen.length, asked.length], [0, 20])
  assert.ok(turns >= 10, `${turns} turns`)
  const leaving = new AbortController()
  const search = prefilter.choose(segmentsOf(10_000), { at: 0, max: 1 }, leaving.signal)
  setTimeout(() => leaving.abort(), 20)
  await assert.rejects(search, { name: 'AbortError' })
  assert.ok(asked.length < 1_000)
  isOver = true
  await others
})
