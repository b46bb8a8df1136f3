/**
 * Goal: replay builds byte for byte the block that ingest built, for whatever was stored, so that a
 * crash shows in nothing.
 */
import '../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Random } from '../../bench/random.ts'
import type { EncodedBatch } from '../../src/model/batch/encoded-batch.ts'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { ReplayPipeline } from '../../workers/replay.ts'
import { documentTree, render } from '../block/value-trees.ts'
import { forMilliseconds, fuzzed, testSeed } from '../support/fuzzing.ts'
import { randomObject } from '../tape/json-cases.ts'
import { batchOf } from './batch-of.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

// One of each for all tests: what they have met before must not matter either.
const ingest = new IngestPipeline()
const replay = new ReplayPipeline()

function assertReplayed({ segments }: EncodedBatch, hint = ''): void {
  for (const { eventCount, payload, block, pathsSkipped } of segments) {
    const again = replay.run(payload, 1)
    assert.deepEqual([again.eventCount, again.pathsSkipped], [eventCount, pathsSkipped], hint)
    const { bytes, ...rest } = again.block
    const { bytes: expected, ...expectedRest } = block
    assert(Buffer.from(bytes).equals(Buffer.from(expected)), `${hint}: the blocks differ`)
    assert.deepEqual(rest, expectedRest, hint)
  }
}

const bodies: fc.Arbitrary<readonly [string, string]> = fc
  .tuple(
    fc.constantFrom('ndjson', 'array', 'text', 'document'),
    fc.array(documentTree.map(render), { minLength: 1, maxLength: 12 }),
  )
  .map(([framing, events]) => {
    if (framing === 'array') return [framing, events.join('\n, ')] as const
    if (framing === 'document') return [framing, events[0]!.replaceAll('":', '":\n')] as const
    return [framing, events.join('\r\n')] as const
  })

test('blocks are equal for events of every framing', () => {
  fc.assert(
    fc.property(bodies, ([framing, body]) => assertReplayed(ingest.run(batchOf(body, framing)))),
    fuzzed(seed, 1_000, 600),
  )
})

test('blocks are equal for recurring and for hostile events, with times and without', () => {
  let round = seed
  forMilliseconds(500, () => {
    const random = new Random(++round)
    const shapes = Array.from({ length: 3 }, () => randomObject(random, 4))
    const times = ['"2026-01-02T03:04:05.000000001Z"', '"1969-12-31 23:59"', '"now"', '7']
    const lines = Array.from({ length: 1 + random.below(30) }, () => {
      if (random.chance(0.3)) return `{"ts":${random.pick(times)},"n":${random.below(99)}}`
      return random.chance(0.8) ? random.pick(shapes) : randomObject(random, 4)
    })
    assertReplayed(ingest.run(batchOf(lines.join('\n'))), `round ${round}`)
  })
})

test('repaired UTF-8, empty events and too many paths replay alike', () => {
  const wide = `{${Array.from({ length: 1_100 }, (_, i) => `"k${i}":${i}`).join(',')}}`
  assertReplayed(ingest.run(batchOf(`{}\n${wide}\n{}`)))
  assertReplayed(ingest.run(batchOf(Buffer.from('{"a":"\xff"}\n{"\xff":1}', 'latin1'))))
  assertReplayed(ingest.run(batchOf('{}')))
})

test('a damaged segment throws: replay never invents a block', () => {
  const [segment] = ingest.run(batchOf('{"a":1}\n{"a":2}')).segments
  const payload = Buffer.from(segment!.payload)
  assert.throws(() => replay.run(payload.subarray(0, payload.length - 2), 1))
  assert.throws(() => replay.run(payload.fill(9, 0, 1), 1), /format/)
})

test('of a part with several segments each says what it would by itself', () => {
  const lines = ['{"a":1}', '{"a":2}', '{"b":"x"}', '{"a":1.5}', '{"b":"y"}', '{"a":3}']
  const [segment] = ingest.run(batchOf(lines.join('\n'))).segments
  const { payload } = segment!
  const deltas = replay.describe(payload, 1, { first: 1, counts: [2, 1, 2] })
  const alone = [
    [1, 2],
    [3, 1],
    [4, 2],
  ].map(([first, count]) => replay.describe(payload, 1, { first: first!, counts: [count!] })[0])
  assert.deepEqual(deltas, alone)
  assert.deepEqual(
    deltas.map(({ shapes }) => shapes.map(({ count, firstOrdinal }) => [count, firstOrdinal])),
    [
      [
        [1, 0],
        [1, 1],
      ],
      [[1, 0]],
      [
        [1, 0],
        [1, 1],
      ],
    ],
  )
})

test('patterns are of the text fields of each stream, in either table', () => {
  const ours = ['summary']
  const textFields = new Map([[2 as StreamId, ours]])
  const batch = batchOf('{"message":"by default","summary":"of our own"}')
  const own = { ...batch, settings: { ...batch.settings, textFields: ours } }
  const bytesOf = ({ segments }: EncodedBatch) => segments.map(({ block }) => block.bytes)
  const [byDefault, byOurs] = [batch, own].map((each) => ingest.run(each)) as [
    EncodedBatch,
    EncodedBatch,
  ]
  assert.notDeepEqual(bytesOf(byDefault), bytesOf(byOurs))
  const { payload } = byOurs.segments[0]!
  assert.deepEqual([replay.run(payload, 2, undefined, textFields).block.bytes], bytesOf(byOurs))
  assert.deepEqual([replay.run(payload, 3, undefined, textFields).block.bytes], bytesOf(byDefault))
  const mixed = { ...own, owners: [{ streamId: 2 as StreamId, parts: 1 }] }
  const shared = ingest.run(mixed).segments[0]!
  const part = { first: 0, counts: [1], streamIds: [2 as StreamId] }
  const again = replay.run(shared.payload, MIXED_STREAM, part, textFields)
  assert.deepEqual(again.block.bytes, shared.block.bytes)
})

test('the pattern is of the text as it is stored: redacted, extracted, with siblings', () => {
  const batch = batchOf(
    [
      '{"message":"login of key AKIAQ3EGVTX7PLQ2MZ4D at 7","user":"x"}',
      '{"log":"{\\"message\\":\\"from within 7\\"}"}',
      '{"msg":"password: hunter2hunter2, done","user_agent":"curl/8.9.1"}',
    ].join('\n'),
  )
  const settings = { parseUserAgents: true, redactSensitive: true, redactFields: ['user'] }
  const all = ingest.run({ ...batch, settings })
  assert.ok(Buffer.from(all.segments[0]!.block.bytes).includes('REDACTED'))
  assertReplayed(all)
})
