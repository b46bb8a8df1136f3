/**
 * Goal: a mixed batch makes segments whose runs are what each stream's batch would have been by
 * itself: its events and their bytes, ordinals from 0, its shapes, its sizes.
 * Method: the same streams' batches alone, as the oracle; generated events, bad ones among them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../bench/random.ts'
import { BLOCK_PATHS_MAX, SEGMENT_EVENTS_MAX } from '../../src/limits.ts'
import type { AcceptedBatch, Part } from '../../src/model/batch/accepted-batch.ts'
import type { EncodedSegment } from '../../src/model/batch/encoded-batch.ts'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { ROW_PATH_BYTES_PER_BYTE } from '../../workers/block/shared-json.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { ReplayPipeline } from '../../workers/replay.ts'
import { decodeSegment } from '../../workers/segment/segment.ts'
import { rounds, testSeed } from '../support/fuzzing.ts'
import { batchOfParts } from './batch-of.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)
const random = new Random(seed)

interface StreamInput {
  readonly streamId: StreamId
  /** Bodies of its requests. */
  readonly bodies: readonly string[]
}

function mixedBatch(inputs: readonly StreamInput[], framing: Part['framing']): AcceptedBatch {
  const bodies = inputs.flatMap((input) => input.bodies.map((body) => [framing, body] as const))
  const owners = inputs.map(({ streamId, bodies: own }) => ({ streamId, parts: own.length }))
  return { ...batchOfParts(bodies), streamId: MIXED_STREAM, owners }
}

function ownBatch({ streamId, bodies }: StreamInput, framing: Part['framing']): AcceptedBatch {
  return { ...batchOfParts(bodies.map((body) => [framing, body] as const)), streamId }
}

/** The lines of each run, and the ordinals that its rows have in the block. */
function runsOf(segment: EncodedSegment) {
  const lines = decodeSegment(segment.payload).text.toString().split('\n').slice(0, -1)
  const { bytes } = segment.block
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  // Before the segment ids and their head: "segment_id" and "UInt64".
  const streamsAt = segment.block.segmentIdOffset - 18 - segment.block.rows * 4
  // Behind the segment ids: the head of the next column, "ordinal" and "UInt32".
  const ordinalsAt = segment.block.segmentIdOffset + segment.block.rows * 8 + 1 + 7 + 1 + 6
  let first = 0
  return (segment.runs ?? []).map((run) => {
    const ordinals = Array.from({ length: run.eventCount }, (_, index) => {
      return view.getUint32(ordinalsAt + (first + index) * 4, true)
    })
    for (let row = first; row < first + run.eventCount; row++) {
      assert.equal(view.getUint32(streamsAt + row * 4, true), run.streamId)
    }
    const own = lines.slice(first, first + run.eventCount)
    first += run.eventCount
    return { ...run, lines: own, ordinals }
  })
}

function randomEvent(streamId: number): string {
  const text = 'x'.repeat(random.below(41))
  const paths = random.below(4)
  const extra = Array.from({ length: paths }, (_, i) => `,"k${i}":${random.below(100)}`)
  return random.chance(0.1) ? '{"bad":' : `{"s":${streamId},"t":"${text}"${extra.join('')}}`
}

function randomInputs(): StreamInput[] {
  return Array.from({ length: 1 + random.below(12) }, (_, index) => {
    const streamId = (index * 3 + 1) as StreamId
    const bodies = Array.from({ length: 1 + random.below(4) }, () => {
      return Array.from({ length: random.below(7) }, () => randomEvent(streamId)).join('\n')
    })
    return { streamId, bodies }
  })
}

const ROUNDS = rounds(200)
/** The arena of a thread never shrinks: one of each for all rounds. */
const [together, apart, replay] = [new IngestPipeline(), new IngestPipeline(), new ReplayPipeline()]

test('each run is what its stream would have got alone', () => {
  for (let round = 0; round < ROUNDS; round++) {
    const inputs = randomInputs()
    for (const framing of ['ndjson', 'text'] as const) {
      const mixed = together.run(mixedBatch(inputs, framing))
      const runs = mixed.segments.flatMap(runsOf)
      const parts: unknown[] = []
      const expected = inputs.flatMap((input) => {
        const alone = apart.run(ownBatch(input, framing))
        parts.push(...alone.parts)
        return alone.segments.map((segment) => ({
          streamId: input.streamId,
          eventCount: segment.eventCount,
          rawBytes: segment.rawBytes,
          sentBytes: segment.sentBytes,
          delta: segment.delta,
          lines: decodeSegment(segment.payload).text.toString().split('\n').slice(0, -1),
          ordinals: Array.from({ length: segment.eventCount }, (_, ordinal) => ordinal),
        }))
      })
      assert.deepEqual(runs, expected)
      assert.deepEqual(mixed.parts, parts)
      for (const { runs: some = [], ...segment } of mixed.segments) {
        for (const key of ['eventCount', 'rawBytes', 'sentBytes'] as const) {
          assert.equal(
            segment[key],
            some.reduce((sum, run) => sum + run[key], 0),
          )
        }
        assert.deepEqual(segment.delta, { shapes: [], shapesSkipped: 0, largePaths: [] })
        const counts = some.map(({ eventCount }) => eventCount)
        const streamIds = some.map(({ streamId }) => streamId)
        const part = { first: 0, counts, streamIds }
        const again = replay.run(segment.payload, MIXED_STREAM, part)
        assert(Buffer.from(again.block.bytes).equals(segment.block.bytes), 'replay builds the same')
      }
    }
  }
})

test('nothing accepted makes no segment, whoever sent it', () => {
  const inputs = [1, 2].map((id) => ({ streamId: id as StreamId, bodies: ['x', ''] }))
  assert.deepEqual(new IngestPipeline().run(mixedBatch(inputs, 'ndjson')).segments, [])
})

test('a stream with many paths does not cost its neighbours theirs', () => {
  const wide = (prefix: string) => {
    const keys = Array.from({ length: BLOCK_PATHS_MAX / 2 + 100 }, (_, i) => `"${prefix}${i}":${i}`)
    return `{${keys.join(',')}}`
  }
  const inputs = ['a', 'b', 'c'].map((prefix, index) => {
    return { streamId: (index + 1) as StreamId, bodies: [wide(prefix)] }
  })
  const { segments } = new IngestPipeline().run(mixedBatch(inputs, 'ndjson'))
  assert.deepEqual(
    segments.map(({ runs, pathsSkipped }) => [runs?.map((run) => run.streamId), pathsSkipped]),
    [[[1, 2, 3], 0]],
  )
  const [segment] = segments
  assert.deepEqual(
    runsOf(segment!).map(({ lines }) => lines),
    inputs.map(({ bodies }) => bodies),
  )
})

test('paths that would be many times the text are left out of the projection, and counted', () => {
  const key = 'k'.repeat(900)
  const leaves = Array.from({ length: 1_000 }, (_, i) => `"${i}":1`)
  const hostile = `{"${key}":{${leaves.join(',')}}}`
  const inputs = [hostile, '{"a":1}'].map((body, index) => {
    return { streamId: (index + 1) as StreamId, bodies: [body] }
  })
  const { segments } = new IngestPipeline().run(mixedBatch(inputs, 'ndjson'))
  const [segment] = segments
  assert(segment !== undefined && segment.pathsSkipped > 800)
  const bytesMax = hostile.length * (ROW_PATH_BYTES_PER_BYTE + 4)
  assert(segment.block.bytes.length < bytesMax, `${segment.block.bytes.length} bytes`)
  assert.deepEqual(runsOf(segment)[0]?.lines, [hostile])
})

test('a run of more events than a segment holds is several, of one stream after the other', () => {
  const count = SEGMENT_EVENTS_MAX * 2 + 5
  const body = Array.from({ length: count }, (_, i) => String(i % 10)).join('\n')
  const input = { streamId: 3 as StreamId, bodies: [body] }
  const { segments } = new IngestPipeline().run(mixedBatch([input], 'text'))
  const all = segments.flatMap(({ runs }) => runs ?? [])
  assert.deepEqual(
    all.map(({ streamId, eventCount }) => [streamId, eventCount]),
    [SEGMENT_EVENTS_MAX, SEGMENT_EVENTS_MAX, 5].map((events) => [3, events]),
  )
  const sent = new IngestPipeline().run(ownBatch(input, 'text')).parts[0]?.acceptedBytes
  assert.equal(
    all.reduce((sum, run) => sum + run.sentBytes, 0),
    sent,
  )
})

test('no mixed segment holds over SEGMENT_EVENTS_MAX events', () => {
  const inputs = Array.from({ length: 5 }, (_, index) => {
    const streamId = (index + 1) as StreamId
    return { streamId, bodies: ['{}\n'.repeat(SEGMENT_EVENTS_MAX / 2)] }
  })
  const { segments } = new IngestPipeline().run(mixedBatch(inputs, 'ndjson'))
  const all = segments.flatMap(({ runs }) => runs ?? [])
  assert.deepEqual(
    all.map(({ streamId, eventCount }) => [streamId, eventCount]),
    inputs.map(({ streamId }) => [streamId, SEGMENT_EVENTS_MAX / 2]),
  )
  assert(segments.every(({ eventCount }) => eventCount <= SEGMENT_EVENTS_MAX))
  assert(segments.length < inputs.length)
})

test('bulk: items name the ordinals of their own stream', () => {
  const bulk = (count: number) => '{"index":{}}\n{"a":1}\n'.repeat(count)
  const inputs = [1, 2, 3].map((id) => {
    return { streamId: id as StreamId, bodies: [bulk(id), bulk(2)] }
  })
  const { parts } = new IngestPipeline().run(mixedBatch(inputs, 'bulk'))
  const ordinals = parts.map(({ bulkItems }) => {
    return [
      ...Buffer.from(bulkItems!.json)
        .toString()
        .matchAll(/"_id":"0+-(\d+)"/g),
    ].map(([, n]) => n)
  })
  const expected = inputs.flatMap(({ streamId }) => {
    const all = Array.from({ length: streamId + 2 }, (_, n) => String(n))
    return [all.slice(0, streamId), all.slice(streamId)]
  })
  assert.deepEqual(ordinals, expected)
})

test('of a mixed segment each stream is told of its own', () => {
  const inputs = [7, 8, 9].map((id) => ({
    streamId: id as StreamId,
    bodies: [`{"n":${id === 8 ? '1' : '9223372036854775808'},"m${id}":9223372036854775808}`],
  }))
  const [segment] = new IngestPipeline().run(mixedBatch(inputs, 'ndjson')).segments
  assert.deepEqual(
    segment?.runs?.map(({ delta }) => [...(delta.largePaths ?? [])].sort()),
    [['m7', 'n'], ['m8'], ['m9', 'n']],
  )
})
