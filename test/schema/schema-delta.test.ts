/**
 * Goal: a worker describes each shape by its leaves, with samples of what is stored, again after a
 * while, and never more than its bounds allow.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  BLOCK_PATHS_MAX,
  FIELD_SAMPLES_MAX,
  SHAPE_DESCRIBE_MS,
  SHAPE_LEAVES_CHARS_MAX,
} from '../../src/limits.ts'
import type { SchemaDelta } from '../../src/model/batch/schema-delta.ts'
import { decodeLeaf, FIELD_TYPES, type Leaf } from '../../src/model/schema.ts'
import { CATALOG_TYPE_NAMES } from '../../workers/facts/event-facts.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { ReplayPipeline } from '../../workers/replay.ts'
import {
  DELTA_LEAVES_CHARS_MAX,
  DESCRIBE_CHARS_PER_SECOND,
} from '../../workers/schema/schema-delta.ts'
import { SAMPLE_BYTES_MAX } from '../../workers/schema/shape-leaves.ts'
import { batchOf } from '../workers/batch-of.ts'

function deltaOf(body: string, receivedAtMs = 0, pipeline = new IngestPipeline()): SchemaDelta {
  const [segment] = pipeline.run({ ...batchOf(body), receivedAtMs }).segments
  assert(segment !== undefined)
  return segment.delta
}

function leavesOf(body: string): Leaf[] {
  return deltaOf(body).shapes.flatMap(({ leaves }) => (leaves ?? []).map(decodeLeaf))
}

function samplesOf(body: string, path: string): unknown[] {
  const leaves = leavesOf(body).filter((leaf) => leaf.path === path)
  return leaves.flatMap(({ samples }) => samples.map((sample) => JSON.parse(sample)))
}

const described = ({ shapes }: SchemaDelta) =>
  shapes.filter(({ leaves }) => leaves !== undefined).length

test('the numbers of the types are those of the catalog', () => {
  assert.deepEqual(CATALOG_TYPE_NAMES, FIELD_TYPES)
})

test('samples are the first distinct values, as JSON, of scalars only', () => {
  const values = ['1', '-2.50', '1', '18446744073709551615', '"x"', 'true', 'null', '[]', '{}']
  const body = values.map((value) => `{"a":${value}}`).join('\n')
  const samples = leavesOf(body).map(({ type, samples }) => [type, ...samples].join(' '))
  assert.deepEqual(samples, [
    'integer 1 18446744073709551615',
    'float -2.50',
    'string "x"',
    'boolean true',
    'null',
    'array',
    'object',
  ])
  const many = Array.from({ length: 50 }, (_, i) => `{"a":${i % 7}}`).join('\n')
  assert.deepEqual(samplesOf(many, 'a'), [0, 1, 2, 3, 4].slice(0, FIELD_SAMPLES_MAX))
  assert.equal(samplesOf(`{"a":[${'1,2,3,4,5,6,7,8'}]}`, 'a[]').length, FIELD_SAMPLES_MAX)
})

test('long samples are cut at whole characters and escapes', () => {
  const cut = (json: string) => String(samplesOf(`{"a":${json}}`, 'a')[0])
  assert.equal(cut(JSON.stringify('x'.repeat(1_000))), 'x'.repeat(SAMPLE_BYTES_MAX))
  assert.equal(cut(`"\\n${'x'.repeat(10_000)}"`), `\n${'x'.repeat(SAMPLE_BYTES_MAX - 1)}`)
  for (const unit of ['é', '語', '😀', '\\u00e9', '\\u8a9e', '\\ud83d\\ude00', '\\"', '\\u0041']) {
    const char = String(JSON.parse(`"${unit}"`))
    for (let shift = 0; shift < 4; shift++) {
      const text = cut(`"${'\\t'.repeat(shift)}${unit.repeat(1_000)}"`)
      const bytes = Buffer.byteLength(text)
      assert(bytes <= SAMPLE_BYTES_MAX && bytes > SAMPLE_BYTES_MAX - 4, `${unit}: ${bytes}`)
      assert.equal(text, '\t'.repeat(shift) + char.repeat((text.length - shift) / char.length))
    }
  }
  assert.deepEqual(samplesOf(`{"a":1${'0'.repeat(SAMPLE_BYTES_MAX)}}`, 'a'), [])
})

test('objects around a leaf are fields; a dotted key says the same as a nested one', () => {
  const paths = (body: string) => leavesOf(body).map(({ path, type }) => `${path} ${type}`)
  const nested = paths('{"log":{"http":{"status":200}}}').sort()
  assert.deepEqual(nested, ['log object', 'log.http object', 'log.http.status integer'])
  assert.deepEqual(paths('{"log.http":{"status":1}}').sort(), nested)
  assert.deepEqual(paths('{"log.http.status":1}').sort(), nested)
  assert.deepEqual(paths('{"a":[{"b":{"c":1}}]}').sort(), [
    'a array',
    'a[] object',
    'a[].b object',
    'a[].b.c integer',
  ])
})

test('a path holds no U+0000: PostgreSQL could not store it', () => {
  assert.deepEqual(
    leavesOf('{"a\\u0000b":"\\u0000"}').map(({ path, samples }) => [path, samples]),
    [['a\ufffdb', ['"\\u0000"']]],
  )
})

test('a shape is described again after SHAPE_DESCRIBE_MS, and always on replay', () => {
  const pipeline = new IngestPipeline()
  const at = (ms: number) => described(deltaOf('{"a":1}', 1e12 + ms, pipeline))
  assert.deepEqual([at(0), at(1), at(SHAPE_DESCRIBE_MS - 1)], [1, 0, 0])
  assert.deepEqual([at(SHAPE_DESCRIBE_MS), at(SHAPE_DESCRIBE_MS + 1)], [1, 0])
  const replay = new ReplayPipeline()
  const [segment] = pipeline.run(batchOf('{"a":1}')).segments
  assert.equal(described(replay.describe(segment!.payload, 1)[0]!), 1)
  assert.equal(described(replay.describe(segment!.payload, 1)[0]!), 1)
})

test('what does not fit a delta, or the second, is described later', () => {
  const pipeline = new IngestPipeline()
  const wide = (shape: number) => {
    const keys = Array.from({ length: 40 }, (_, i) => `"s${shape}_${i}_${'k'.repeat(90)}":1`)
    return `{${keys.join(',')}}`
  }
  const lines = Array.from({ length: 50 }, (_, shape) => wide(shape)).join('\n')
  const rounds: number[] = []
  let chars = 0
  for (let round = 0; round < 40; round++) {
    const delta = deltaOf(lines, 1e12 + round, pipeline)
    rounds.push(described(delta))
    const all = delta.shapes.flatMap(({ leaves }) => leaves ?? [])
    const deltaChars = all.join(' ').length
    assert(deltaChars < DELTA_LEAVES_CHARS_MAX + 10_000, `${deltaChars}`)
    chars += deltaChars
  }
  assert(rounds[0]! < 50 && rounds[1]! > 0)
  assert.equal(
    rounds.reduce((sum, count) => sum + count, 0),
    50,
  )
  // Other shapes, until the second is used up: then nothing, and a second later again.
  let last = -1
  for (let shape = 1_000; last !== 0; shape += 60) {
    const body = Array.from({ length: 60 }, (_, i) => wide(shape + i)).join('\n')
    const delta = deltaOf(body, 1e12 + 40, pipeline)
    last = described(delta)
    chars += delta.shapes.flatMap(({ leaves }) => leaves ?? []).join(' ').length
    assert(chars < DESCRIBE_CHARS_PER_SECOND * 1.5, `${chars}`)
  }
  assert(chars > DESCRIBE_CHARS_PER_SECOND * 0.9, `${chars}`)
  assert(described(deltaOf(wide(1), 1e12 + 41 + SHAPE_DESCRIBE_MS, pipeline)) > 0)
})

test('one shape alone is described up to SHAPE_LEAVES_CHARS_MAX', () => {
  const keys = Array.from({ length: 900 }, (_, i) => `"${i}${'k'.repeat(900)}":"v"`)
  const [shape] = deltaOf(`{${keys.join(',')}}`).shapes
  const chars = shape!.leaves!.join(' ').length
  assert(chars <= SHAPE_LEAVES_CHARS_MAX + 2_000 && chars > SHAPE_LEAVES_CHARS_MAX / 2, `${chars}`)
})

test('samples are what is stored: redacted, extracted, rewritten', () => {
  const settings = { parseUserAgents: false, redactSensitive: true, redactFields: ['card.no'] }
  const line = (n: number) => {
    const log = JSON.stringify({ token: `t-${n}`, x: n })
    return JSON.stringify({ plain: `v${n}`, password: `hunter${n}`, card: { no: 4110 + n }, log })
  }
  const body = `${line(1)}\n${line(2)}`
  const pipeline = new IngestPipeline()
  const [segment] = pipeline.run({ ...batchOf(body), settings }).segments
  const leaves = segment!.delta.shapes.flatMap(({ leaves }) => (leaves ?? []).map(decodeLeaf))
  const samples = Object.fromEntries(leaves.map(({ path, samples }) => [path, samples.join(' ')]))
  assert.deepEqual(
    [samples.plain, samples.password, samples['log.token'], samples['log.x']],
    ['"v1" "v2"', '"[REDACTED]"', '"[REDACTED]"', '1 2'],
  )
  assert.doesNotMatch(JSON.stringify(leaves), /hunter|t-1|t-2|4111|4112/)
})

/** What a worker says when the events come, and when they are read again. */
function largeOf(body: string): string[] | undefined {
  const [segment] = new IngestPipeline().run(batchOf(body)).segments
  const [again] = new ReplayPipeline().describe(segment!.payload, 1)
  assert.deepEqual(again?.largePaths, segment!.delta.largePaths)
  return segment!.delta.largePaths?.toSorted()
}

test('fields with integers past 64 bits with a sign are told, also of known shapes', () => {
  const large = '18446744073709551615'
  assert.deepEqual(largeOf('{"a":9223372036854775807,"b":-9223372036854775808,"c":1e19}'), [])
  assert.deepEqual(largeOf('{"a":18446744073709551616}'), [], 'a float')
  assert.deepEqual(largeOf(`{"a":1,"b":{"c":${large}},"d.e":9223372036854775808}`), ['b.c', 'd.e'])
  assert.deepEqual(largeOf(`{"a":${large},"a":1}`), [], 'the last of duplicate keys counts')
  assert.deepEqual(largeOf(`{"a":[${large}],"b":[{"c":${large}}]}`), [], 'in arrays')
  assert.deepEqual(largeOf(`{"a\\u0000":${large}}`), ['a\ufffd'])
  assert.deepEqual(largeOf(`{"${'k'.repeat(2_000)}":${large}}`), [], 'it has no column')
  const pipeline = new IngestPipeline()
  assert.deepEqual(deltaOf('{"n":1}', 0, pipeline).largePaths, [])
  const later = deltaOf(`{"n":1}\n{"n":${large}}`, 1, pipeline)
  assert.deepEqual([described(later), later.largePaths], [0, ['n']])
  const wide = Array.from({ length: BLOCK_PATHS_MAX + 10 }, (_, n) => `"k${n}":${large}`)
  assert.equal(largeOf(`{${wide.slice(0, 100).join(',')}}`)?.length, 100)
  assert.equal(largeOf(`{${wide.join(',')}}`), undefined, 'past the columns of a block')
  const others = Array.from({ length: BLOCK_PATHS_MAX + 10 }, (_, n) => `"o${n}":1`)
  assert.deepEqual(largeOf(`{"a":${large},${others.join(',')},"z":${large}}`), ['a', 'z'])
})
