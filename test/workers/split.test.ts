/**
 * Goal: whichever events of some payloads are put together, each segment holds just those, byte for
 * byte and in order, with their times, those that stand beside the text included.
 * Method: random payloads and pieces; read by the code that pages are made with.
 */
import '../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../bench/random.ts'
import { NativeBlockEncoder } from '../../workers/block/native-block.ts'
import { tapeSource } from '../../workers/block/native-json.ts'
import { EventFacts, SOURCE_OTLP } from '../../workers/facts/event-facts.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { SegmentReader } from '../../workers/read-segment.ts'
import { decodeSegment, SegmentEncoder } from '../../workers/segment/segment.ts'
import { decodeStoredEvents } from '../../workers/segment/stored-events.ts'
import { SplitPipeline } from '../../workers/split.ts'
import { DecodedEvents } from '../../workers/tape/decoded-events.ts'
import { JsonTape } from '../../workers/tape/json-tape.ts'
import { PathTrie } from '../../workers/tape/path-trie.ts'
import { forMilliseconds, testSeed } from '../support/fuzzing.ts'
import { randomObject } from '../tape/json-cases.ts'
import { batchOf } from './batch-of.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const MS = 1_767_323_045_678
const ingest = new IngestPipeline()
const split = new SplitPipeline()
const reader = new SegmentReader()

interface Mixed {
  readonly payload: Uint8Array
  readonly eventCount: number
}

interface Piece {
  readonly payload: number
  readonly first: number
  readonly count: number
}

function randomMixed(random: Random): Mixed {
  const shapes = Array.from({ length: 3 }, () => randomObject(random, 3))
  const lines = Array.from({ length: 1 + random.below(30) }, (_, n) =>
    random.chance(0.4) ? `{"ts":"2026-01-02T03:04:05.00000000${n % 10}Z"}` : random.pick(shapes),
  )
  const { payload, eventCount } = ingest.run(batchOf(lines.join('\n'))).segments[0]!
  if (random.chance(0.5)) return { payload: Uint8Array.from(payload), eventCount }
  // As OTLP makes it: some of its events have a time that is not in their text.
  const tape = new JsonTape(new PathTrie(0))
  const [events, facts, blocks] = [new DecodedEvents(), new EventFacts(), new NativeBlockEncoder()]
  const source = tapeSource(decodeStoredEvents(payload, tape, events, facts), tape)
  for (let event = 0; event < events.count; event++) {
    if (random.chance(0.5)) continue
    facts.timeMs[event] = MS + random.below(1_000)
    facts.timeNanos[event] = random.below(1_000_000)
    facts.timeSource[event] = SOURCE_OTLP
  }
  const range = { first: 0, count: events.count }
  const index = blocks.index(source, events, facts, range)
  const timed = new SegmentEncoder().encode(source, index, events, facts, range)
  return { payload: timed, eventCount }
}

function randomPiece(mixed: readonly Mixed[], random: Random): Piece {
  const payload = random.below(mixed.length)
  const first = random.below(mixed[payload]!.eventCount)
  return { payload, first, count: 1 + random.below(mixed[payload]!.eventCount - first) }
}

/** Records of a range of events, under an id that says nothing of where they lie. */
function read(payload: Uint8Array, firstEvent: number, count: number): unknown[] {
  const range = { fromOrdinal: 0, toOrdinal: count, firstEvent, newestFirst: false }
  const json = reader.run([{ payload, segmentId: '5', ingestedAtMs: MS, ...range }])
  return JSON.parse(`[${Buffer.from(json)}]`, (key, value) => (key === 'id' ? undefined : value))
}

function run(mixed: readonly Mixed[], rows: readonly (readonly Piece[])[]) {
  return split.run({
    payloads: mixed.map(({ payload }) => payload),
    pieces: Uint32Array.from(rows.flat().flatMap((one) => [one.payload, one.first, one.count])),
    pieceCounts: Uint32Array.from(rows, (row) => row.length),
  })
}

test('any pieces of any payloads are the events that they were', () => {
  let round = seed
  forMilliseconds(1_500, () => {
    const random = new Random(++round)
    const mixed = Array.from({ length: 1 + random.below(5) }, () => randomMixed(random))
    const texts = mixed.map(({ payload }) => decodeSegment(payload).text.toString().split('\n'))
    const rows = Array.from({ length: 1 + random.below(8) }, () =>
      Array.from({ length: 1 + random.below(4) }, () => randomPiece(mixed, random)),
    )
    const { bytes, ends, eventCounts, rawBytes } = run(mixed, rows)
    assert.equal(ends.at(-1), bytes.length)
    for (const [index, row] of rows.entries()) {
      const payload = bytes.slice(index === 0 ? 0 : ends[index - 1], ends[index])
      const lines = row.flatMap((one) => {
        return texts[one.payload]!.slice(one.first, one.first + one.count)
      })
      const text = `${lines.join('\n')}\n`
      assert.equal(decodeSegment(payload).text.toString(), text, `seed ${round}`)
      assert.equal(eventCounts[index], lines.length)
      assert.equal(rawBytes[index], Buffer.byteLength(text))
      const expected = row.flatMap((one) => {
        return read(mixed[one.payload]!.payload, one.first, one.count)
      })
      assert.deepEqual(read(payload, 0, lines.length), expected, `seed ${round}`)
    }
  })
})

test('times beside the text stay with their events', () => {
  const random = new Random(seed)
  let timed: Mixed
  do timed = randomMixed(random)
  while (timed.eventCount < 3 || decodeSegment(timed.payload).times.size === 0)
  const { times } = decodeSegment(timed.payload)
  const last = timed.eventCount - 1
  const rows = [[{ payload: 0, first: 1, count: last }], [{ payload: 0, first: 0, count: 1 }]]
  const { bytes, ends } = run([timed], rows)
  const first = decodeSegment(bytes.slice(0, ends[0])).times
  const second = decodeSegment(bytes.slice(ends[0])).times
  for (let event = 0; event <= last; event++) {
    const found = event === 0 ? second.get(0) : first.get(event - 1)
    assert.deepEqual(found, times.get(event))
  }
})

test('a damaged payload and events that are not there are errors', () => {
  const mixed = [randomMixed(new Random(seed))]
  const { eventCount, payload } = mixed[0]!
  assert.throws(() => run(mixed, [[{ payload: 0, first: 0, count: eventCount + 1 }]]))
  assert.throws(() => run(mixed, [[{ payload: 1, first: 0, count: 1 }]]))
  const cut = [{ eventCount, payload: payload.slice(0, -1) }]
  assert.throws(() => run(cut, [[{ payload: 0, first: 0, count: 1 }]]))
})
