/** Goal: wide, sparse and deep events cost a block no more than its bounds allow. */
import '../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  BATCH_BYTES_TARGET,
  BLOCK_PATHS_MAX,
  NESTED_COLUMNS_DEPTH_MAX,
  SHAPE_DESCRIBE_MS,
} from '../../src/limits.ts'
import type { EncodedSegment } from '../../src/model/batch/encoded-batch.ts'
import { decodeLeaf } from '../../src/model/schema.ts'
import { BLOCK_CELLS_MIN, BLOCK_CELLS_PER_BYTE } from '../../workers/block/column-index.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { ReplayPipeline } from '../../workers/replay.ts'
import { SHAPES_KNOWN_MAX } from '../../workers/schema/schema-delta.ts'
import { decodeSegment } from '../../workers/segment/segment.ts'
import { PATH_BYTES_MAX } from '../../workers/tape/path-trie.ts'
import { batchOf } from '../workers/batch-of.ts'

function encode(body: string): EncodedSegment {
  const [segment] = new IngestPipeline().run(batchOf(body)).segments
  assert(segment !== undefined)
  assert.equal(decodeSegment(segment.payload).text.toString(), `${body}\n`)
  const replayed = new ReplayPipeline().run(segment.payload, 1)
  assert(Buffer.from(replayed.block.bytes).equals(Buffer.from(segment.block.bytes)))
  return segment
}

/** An array of `count` objects, nearly all empty, and one with `paths` keys. */
function sparseArray(count: number, paths: number): string {
  const wide = Array.from({ length: paths }, (_, i) => `"${i.toString(36)}":1`).join(',')
  return `[${'{},'.repeat(count)}{${wide}}]`
}

test('sparse rows have at most BLOCK_CELLS_PER_BYTE cells a byte of text', () => {
  const rows = [`{${Array.from({ length: 1_000 }, (_, i) => `"k${i}":1`).join(',')}}`]
  while (rows.length < 8_000) rows.push('{}')
  const body = rows.join('\n')
  const cells = BLOCK_CELLS_PER_BYTE * (body.length + 1)
  assert(cells > BLOCK_CELLS_MIN && cells < rows.length * 1_000)
  const { block, pathsSkipped } = encode(body)
  assert.equal(pathsSkipped, 1_000, 'none of them comes twice')
  const twice = [rows[0], ...rows].slice(0, -1).join('\n')
  const paths = Math.floor((BLOCK_CELLS_PER_BYTE * (twice.length + 1)) / rows.length)
  assert.equal(encode(twice).pathsSkipped, 2 * (1_000 - paths))
  assert(block.bytes.length < cells + rows.length * 40 + 50_000, `${block.bytes.length} bytes`)
})

test('few rows keep all their paths, however short they are', () => {
  const paths = Math.floor(BLOCK_CELLS_MIN / 64)
  assert.equal(paths, BLOCK_PATHS_MAX)
  const wide = `{${Array.from({ length: paths }, (_, i) => `"k${i}":1`).join(',')}}`
  assert.equal(encode([wide, ...Array.from({ length: 63 }, () => '{}')].join('\n')).pathsSkipped, 0)
})

test('of too many paths those that come once go first: a flood of keys leaves the others', () => {
  const flood = (rows: number, keys: number) =>
    Array.from({ length: rows }, (_, i) => {
      const once = Array.from({ length: keys }, (_, k) => `"k${i}x${k}":${k}`)
      return `{${once.join(',')},"level":"info","n":${i}}`
    })
  const { block, pathsSkipped } = encode(flood(200, 10).join('\n'))
  assert.equal(pathsSkipped, 2_000)
  const text = Buffer.from(block.bytes).toString('latin1')
  assert(text.includes('level') && !/k\d+x\d/.test(text))
  assert.equal(encode(flood(100, 5).join('\n')).pathsSkipped, 0, 'there is room for all')
  assert.equal(encode(flood(20, 100).join('\n')).pathsSkipped, 2_000 + 2 - BLOCK_PATHS_MAX)
})

test('a batch of sparse arrays of objects makes no block out of proportion', () => {
  const array = sparseArray(16_000, BLOCK_PATHS_MAX)
  const count = Math.floor(BATCH_BYTES_TARGET / array.length)
  const body = `{${Array.from({ length: count }, (_, i) => `"a${i}":${array}`).join(',')}}`
  const { block, pathsSkipped } = encode(body)
  assert(pathsSkipped > 0)
  const bytesMax = (2 * BLOCK_CELLS_PER_BYTE + 24) * body.length
  assert(block.bytes.length < bytesMax, `${block.bytes.length} bytes from ${body.length}`)
})

test('arrays of objects within arrays of objects stay in proportion as well', () => {
  let value = sparseArray(500, 400)
  for (let depth = 1; depth < NESTED_COLUMNS_DEPTH_MAX; depth++) {
    value = `[${Array.from({ length: 5 }, (_, i) => `{"k${i}":${value}}`).join(',')}]`
  }
  const body = `{"a":${value}}`
  const { block } = encode(body)
  const bytesMax = NESTED_COLUMNS_DEPTH_MAX * (2 * BLOCK_CELLS_PER_BYTE + 24) * body.length
  assert(block.bytes.length < bytesMax, `${block.bytes.length} bytes from ${body.length}`)
})

test('a path of up to PATH_BYTES_MAX has a column, a longer one is in the raw event only', () => {
  for (const extra of [-10, 1, 5_000]) {
    const key = 'k'.repeat(PATH_BYTES_MAX + extra)
    const { block, delta } = encode(`{"a":1,"${key}":2,"o":{"${key}":{"x":3}}}`)
    const isThere = Buffer.from(block.bytes).includes(key)
    assert.equal(isThere, extra < 0)
    assert.deepEqual(delta.shapes[0]?.leaves?.[0], 'a\0integer\x001')
  }
})

test('the longest path has a column and is learned, to the byte, however it is made', () => {
  // What is around the key in the event, and in front of it in the path.
  const places: readonly (readonly [around: (key: string) => string, before: string])[] = [
    [(key) => `{"${key}":1}`, ''],
    [(key) => `{"o":{"${key}":1}}`, 'o.'],
    [(key) => `{"o":{"p":{"${key}":1}}}`, 'o.p.'],
    [(key) => `{"o.p":{"${key}":1}}`, 'o.p.'],
    [(key) => `{"${'o'.repeat(500)}":{"${key}":1}}`, `${'o'.repeat(500)}.`],
    [(key) => `{"\\u00e9":{"${key}":1}}`, 'é.'],
    [(key) => `{"a":[{"${key}":1}]}`, 'a[].'],
    [(key) => `{"a":[[{"${key}":1}]]}`, 'a[][].'],
  ]
  const spellings = ['k', 'é', '語', '\\u00e9', '\\u0041', '\\ud83d\\ude00', '\\u0000']
  for (const [around, before] of places) {
    for (const spelling of spellings) {
      const char = String(JSON.parse(`"${spelling}"`)).replace('\0', '\ufffd')
      for (const bytes of [PATH_BYTES_MAX - 1, PATH_BYTES_MAX, PATH_BYTES_MAX + 1]) {
        const left = bytes - Buffer.byteLength(before)
        const count = Math.floor(left / Buffer.byteLength(char))
        const fill = 'x'.repeat(left - count * Buffer.byteLength(char))
        const path = `${before}${fill}${char.repeat(count)}`
        assert.equal(Buffer.byteLength(path), bytes)
        const { block, delta } = encode(around(fill + spelling.repeat(count)))
        const what = `${before}${spelling}, ${bytes} bytes`
        const isShort = bytes <= PATH_BYTES_MAX
        const leaves = delta.shapes[0]?.leaves?.map((leaf) => decodeLeaf(leaf).path) ?? []
        assert.equal(leaves.includes(path), isShort, `learned: ${what}`)
        if (before.includes('[') || spelling === '\\u0000') continue
        assert.equal(Buffer.from(block.bytes).includes(path), isShort, `a column: ${what}`)
      }
    }
  }
})

test('a worker remembers SHAPES_KNOWN_MAX shapes, and describes a forgotten one again', () => {
  const pipeline = new IngestPipeline()
  let receivedAtMs = 1e12
  const run = (body: string) => {
    receivedAtMs += 100 // For its budget of descriptions to be refilled.
    return pipeline.run({ ...batchOf(body), receivedAtMs }).segments
  }
  const isDescribed = (line: string) => {
    const [segment] = run(line)
    return segment?.delta.shapes[0]?.leaves !== undefined
  }
  assert.equal(isDescribed('{"first":1}'), true)
  assert.equal(isDescribed('{"first":2}'), false)
  const keys = Math.ceil(Math.sqrt(2 * SHAPES_KNOWN_MAX))
  let shapes = 0
  for (let i = 0; i < keys; i++) {
    for (let from = 0; from <= i; from += 200) {
      const lines: string[] = []
      for (let j = from; j <= Math.min(i, from + 199); j++) lines.push(`{"k${i}":1,"v${j}":""}`)
      shapes += run(lines.join('\n'))[0]!.delta.shapes.length
    }
  }
  assert(shapes >= SHAPES_KNOWN_MAX && receivedAtMs < 1e12 + SHAPE_DESCRIBE_MS)
  assert.equal(isDescribed('{"first":3}'), true)
})
