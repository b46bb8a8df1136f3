/**
 * Goal: a merged payload holds the events of its payloads, byte for byte and in order, with their
 * times, those that stand beside the text included; and replays into the same rows.
 */
import '../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../bench/random.ts'
import { stampBlock, stampMembers } from '../../src/materialize/stamp.ts'
import type { EncodedBlock } from '../../src/model/batch/encoded-block.ts'
import type { SegmentId } from '../../src/model/segment-id.ts'
import { NativeBlockEncoder } from '../../workers/block/native-block.ts'
import { tapeSource } from '../../workers/block/native-json.ts'
import { CompactPipeline } from '../../workers/compact.ts'
import { EventFacts, SOURCE_OTLP } from '../../workers/facts/event-facts.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { SegmentReader } from '../../workers/read-segment.ts'
import { ReplayPipeline } from '../../workers/replay.ts'
import { SegmentEncoder } from '../../workers/segment/segment.ts'
import { decodeStoredEvents } from '../../workers/segment/stored-events.ts'
import { DecodedEvents } from '../../workers/tape/decoded-events.ts'
import { JsonTape } from '../../workers/tape/json-tape.ts'
import { PathTrie } from '../../workers/tape/path-trie.ts'
import { forMilliseconds, testSeed } from '../support/fuzzing.ts'
import { randomObject } from '../tape/json-cases.ts'
import { batchOf } from './batch-of.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

/** The arena of a thread never shrinks: what is made for each of many inputs fills it. */
const ingest = new IngestPipeline()
const coder = {
  tape: new JsonTape(new PathTrie(0)),
  events: new DecodedEvents(),
  facts: new EventFacts(),
  blocks: new NativeBlockEncoder(),
  encoder: new SegmentEncoder(),
}
const compact = new CompactPipeline()
const reader = new SegmentReader()
const replay = new ReplayPipeline()
const MS = 1_767_323_045_678

interface Small {
  readonly payload: Uint8Array
  readonly eventCount: number
}

/** A segment as OTLP makes it: some of its events have a time that is not in their text. */
function withExplicitTimes(payload: Uint8Array, random: Random): Uint8Array {
  const { tape, events, facts, blocks, encoder } = coder
  events.reset()
  const bytes = decodeStoredEvents(payload, tape, events, facts)
  for (let event = 0; event < events.count; event++) {
    if (random.chance(0.5)) continue
    facts.timeMs[event] = MS + random.below(1_000)
    facts.timeNanos[event] = random.below(1_000_000)
    facts.timeSource[event] = SOURCE_OTLP
  }
  const range = { first: 0, count: events.count }
  const source = tapeSource(bytes, tape)
  const index = blocks.index(source, events, facts, range)
  return encoder.encode(source, index, events, facts, range)
}

function randomSmall(random: Random): Small {
  const shapes = Array.from({ length: 2 }, () => randomObject(random, 3))
  const lines = Array.from({ length: 1 + random.below(4) }, () =>
    random.chance(0.4)
      ? `{"ts":"2026-01-02T03:04:05.000000001Z","n":${random.below(99)}}`
      : random.pick(shapes),
  )
  const [segment] = ingest.run(batchOf(lines.join('\n'))).segments
  const payload = Uint8Array.from(segment!.payload)
  const { eventCount } = segment!
  return { eventCount, payload: random.chance(0.5) ? withExplicitTimes(payload, random) : payload }
}

const idOf = (index: number) => ((BigInt(MS) << 21n) + BigInt(index) * 1_000_000n) as SegmentId

function readAll(
  smalls: readonly Small[],
  payloadOf: (index: number) => Uint8Array,
  merged: boolean,
) {
  let firstEvent = 0
  const reads = smalls.map(({ eventCount }, index) => {
    const read = {
      payload: payloadOf(index),
      segmentId: String(idOf(index)),
      ingestedAtMs: Number(idOf(index) >> 21n),
      fromOrdinal: 0,
      toOrdinal: eventCount,
      newestFirst: false,
      firstEvent: merged ? firstEvent : 0,
    }
    firstEvent += eventCount
    return read
  })
  return Buffer.from(reader.run(reads)).toString()
}

/** Columns of fixed width: ids, ordinals and times of every row. */
function fixedColumns(block: EncodedBlock): string[] {
  const buffer = Buffer.from(block.bytes)
  // The ordinals lie between the ids and the header of the receipt times.
  const header = "\x0bingested_at\x14DateTime64(3, 'UTC')"
  const ordinals = block.ingestedAtOffset - header.length - block.rows * 4
  return Array.from({ length: block.rows }, (_, row) =>
    [
      buffer.readBigUInt64LE(block.segmentIdOffset + row * 8),
      buffer.readUInt32LE(ordinals + row * 4),
      buffer.readBigInt64LE(block.ingestedAtOffset + row * 8),
      buffer.readBigInt64LE(block.eventTimeOffset + row * 8),
    ].join(' '),
  )
}

test('a merged payload reads as its payloads did', () => {
  let round = seed
  forMilliseconds(1_000, () => {
    const random = new Random(++round)
    const smalls = Array.from({ length: 1 + random.below(20) }, () => randomSmall(random))
    const merged = compact.run(smalls.map(({ payload }) => payload))
    const counts = smalls.map(({ eventCount }) => eventCount)
    assert.equal(
      merged.eventCount,
      counts.reduce((sum, count) => sum + count),
    )
    const expected = readAll(smalls, (index) => smalls[index]!.payload, false)
    assert.equal(
      readAll(smalls, () => merged.payload, true),
      expected,
      `seed ${round}`,
    )
  })
})

test('a merged payload replays into the rows of its segments, whole or in part', () => {
  let round = seed
  forMilliseconds(700, () => {
    const random = new Random(++round)
    const smalls = Array.from({ length: 1 + random.below(12) }, () => randomSmall(random))
    const expected = smalls.map(({ payload }, index) => {
      const { block } = replay.run(payload, 1)
      stampBlock(block, idOf(index))
      return fixedColumns({ ...block, bytes: Uint8Array.from(block.bytes) })
    })
    const { payload } = compact.run(smalls.map((small) => small.payload))
    const from = random.below(smalls.length)
    const to = from + 1 + random.below(smalls.length - from)
    const counts = smalls.map(({ eventCount }) => eventCount)
    const first = counts.slice(0, from).reduce((sum, count) => sum + count, 0)
    const { block } = replay.run(payload, 1, { first, counts: counts.slice(from, to) })
    const members = counts.slice(from, to).map((eventCount, index) => {
      return { segmentId: idOf(from + index), eventCount }
    })
    stampMembers(block, members)
    assert.deepEqual(fixedColumns(block), expected.slice(from, to).flat(), `seed ${round}`)
  })
})
