/**
 * Goal: joined blocks are to ClickHouse what they are one by one, whoever made them and in whatever
 * order their paths came.
 * Method: random events, the same ones in other orders, through two pipelines, into tables of the
 * real engine: joined, and each block with an INSERT of its own.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../bench/random.ts'
import { JOINED_ROWS_MAX, joinBlocks, joinInTurns } from '../../src/materialize/join-blocks.ts'
import type { EncodedBatch } from '../../src/model/batch/encoded-batch.ts'
import type { EncodedBlock } from '../../src/model/batch/encoded-block.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { testSeed } from '../support/fuzzing.ts'
import { randomObject } from '../tape/json-cases.ts'
import { batchOf } from '../workers/batch-of.ts'
import { ProjectionHarness } from './projection-harness.ts'

const harness = new ProjectionHarness()
const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

/** Arrays of every kind, empty ones, objects in arrays; some of it in some events only. */
const LINES = [
  '{"ts":"2026-01-02T03:04:05Z","n":1,"s":"a","a":["x",null],"o":[{"k":1},{"k":2,"l":[1,2]}]}',
  '{"s":"b","n":2.5,"a":[],"o":[]}',
  '{"n":-7,"a":[1,2,3],"deep":{"b":true,"o":[{"p":[{"q":"r"}]},{"p":[]}]}}',
  '{"a":["z"],"o":[{"l":[3]},{"k":"s"}],"u":18446744073709551615}',
]

function shuffled<T>(random: Random, items: readonly T[]): T[] {
  const left = items.slice()
  return items.map(() => left.splice(random.below(left.length), 1)[0]!)
}

const blocksOf = (batches: readonly EncodedBatch[]): EncodedBlock[] =>
  batches.flatMap(({ segments }) => segments.map(({ block }) => block))

const total = (pieces: readonly Uint8Array[]) => pieces.reduce((sum, { length }) => sum + length, 0)

const ROW = 'ordinal, event_time, shape, payload, JSONAllPathsWithTypes(payload) AS types'

test('joined they are what they are apart', async () => {
  const random = new Random(seed)
  for (let round = 0; round < 8; round++) {
    const lines = LINES.concat(Array.from({ length: 8 }, () => randomObject(random, 3)))
    const pipelines = [new IngestPipeline(), new IngestPipeline()]
    const batches = Array.from({ length: 6 }, (_, i) => {
      // The last is of other events, as a rule.
      const some = i === 5 ? lines.slice(random.below(lines.length)) : lines
      const batch = batchOf(shuffled(random, some).join('\n'))
      return pipelines[i % 2]!.run(batch)
    })
    const [joined, apart] = [harness.newStream(), harness.newStream()]
    for (const batch of batches) await harness.insert(apart, batch)
    const copies = structuredClone(batches)
    assert.ok(total(joinBlocks(blocksOf(copies), 0)) < total(blocksOf(batches).map((b) => b.bytes)))
    await harness.insert(joined, ...batches)
    assert.deepEqual(await harness.select(joined, ROW), await harness.select(apart, ROW))
  }
})

test('blocks with other columns, other types or no word on their pieces stay as they are', () => {
  const pipeline = new IngestPipeline()
  const run = (line: string) => pipeline.run(batchOf(line)).segments[0]!.block
  for (const [a, b] of [
    ['{"a":1}', '{"b":1}'],
    ['{"a":1}', '{"a":"1"}'],
    ['{"a":1}', '{"a":1,"b":1}'],
    ['{"a":[1]}', '{"a":["1"]}'],
    ['{"a":[{"x":1}]}', '{"a":[{"y":1}]}'],
  ] as const) {
    const blocks = [run(a), run(b)]
    assert.deepEqual(
      joinBlocks(blocks, 0),
      blocks.map(({ bytes }) => bytes),
    )
  }
  const silent = [run('{"a":1}'), run('{"a":1}')].map(({ bytes, rows }) => ({ bytes, rows }))
  assert.deepEqual(
    joinBlocks(silent, 0),
    silent.map(({ bytes }) => bytes),
  )
  assert.deepEqual(joinBlocks([]), [])
})

test('a joined block has JOINED_ROWS_MAX rows at most; neighbours keep their order', async () => {
  const pipeline = new IngestPipeline()
  const rows = Math.floor(JOINED_ROWS_MAX / 2) - 10
  const lines = (n: number) => Array.from({ length: rows }, (_, i) => `{"n":${n},"i":${i}}`)
  const batches = [0, 1, 2, 3].map((n) => pipeline.run(batchOf(lines(n).join('\n'))))
  const small = pipeline.run(batchOf('{"n":4,"i":0}'))
  const stream = harness.newStream()
  // Two and two, and the small one with the second pair.
  const views = joinBlocks(blocksOf(structuredClone([...batches, small])), 0)
  const names = 11 // What is there once a joined block: the counts, and before each column.
  const values = blocksOf([small])[0]!.pieces!.length - names
  assert.equal(views.length, 2 * names + 5 * values)
  await harness.insert(stream, ...batches, small)
  const found = await harness.select<{ n: string; i: string }>(
    stream,
    'payload.n::Int64 AS n, payload.i::Int64 AS i',
  )
  const expected = [0, 1, 2, 3].flatMap((n) => Array.from({ length: rows }, (_, i) => [n, i]))
  assert.deepEqual(
    found.map(({ n, i }) => [Number(n), Number(i)]),
    [...expected, [4, 0]],
  )
})

test('blocks of very small pieces are not worth it', async () => {
  const pipeline = new IngestPipeline()
  const lines = (rows: number) => Array.from({ length: rows }, (_, i) => `{"a":${i},"b":"x${i}"}`)
  const run = (rows: number) => pipeline.run(batchOf(lines(rows).join('\n'))).segments[0]!.block
  const { length } = [run(4), run(4)].map((block) => block.bytes)
  const apart = joinBlocks([run(4), run(4)])
  assert.equal(apart.length, length)
  assert.ok(joinBlocks([run(500), run(500)]).length > length)
  const many = Array.from({ length: 40 }, () => run(500))
  assert.deepEqual(await joinInTurns(structuredClone(many)), joinBlocks(many))
})
