/**
 * Goal: what observe keeps in memory is bounded, whatever a client sends: its caps, the cache of
 * streams, what waits to be loaded, what waits to be looked up.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  FIELD_REFRESH_MS,
  FIELD_SAMPLE_MS,
  FIELD_SAMPLES_MAX,
  OBSERVE_CACHE_BYTES_MAX,
  OBSERVE_WAITING_BYTES_MAX,
  SHAPE_PATHS_BYTES_MAX,
} from '../../src/limits.ts'
import type { SchemaDelta } from '../../src/model/batch/schema-delta.ts'
import { encodeLeaf, SCHEMA_CAPS_DEFAULT } from '../../src/model/schema.ts'
import type { KnownSchema } from '../../src/model/schema-changes.ts'
import { makeSegmentId, type SegmentId } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { Lookups, OBSERVE_LOOKUPS_MAX } from '../../src/observe/lookups.ts'
import { SchemaCache } from '../../src/observe/schema-cache.ts'
import { StreamSchema } from '../../src/observe/stream-schema.ts'

const START_MS = 1_700_000_000_000
const idAt = (ms: number) => makeSegmentId({ ms: START_MS + ms, node: 1, counter: 0 })

function known(streamId = 1, parts: Partial<KnownSchema> = {}): KnownSchema {
  return {
    streamId: streamId as StreamId,
    caps: SCHEMA_CAPS_DEFAULT,
    generation: 0n,
    fields: 0,
    shapes: 0,
    mark: 0n as SegmentId,
    typesByPath: new Map(),
    describedByShape: new Map(),
    ...parts,
  }
}

function deltaOf(shape: string, leaves: readonly string[] | undefined): SchemaDelta {
  return {
    shapes: [{ shape, count: 1, firstOrdinal: 0, leaves }],
    shapesSkipped: 0,
    largePaths: [],
  }
}

const skipped = () => ({ fields: 0, shapes: 0 })

test('past the hard caps nothing is kept, and what is known goes on being counted', () => {
  const schema = new StreamSchema(known())
  const past = skipped()
  const { fieldsHard, shapesHard } = SCHEMA_CAPS_DEFAULT
  for (let i = 0; i < 20_000; i++) {
    schema.add(idAt(i), deltaOf(`s${i}`, [encodeLeaf(`path${i}`, 'string', ['"x"'])]), past)
  }
  assert.deepEqual(schema.sizes, { fields: fieldsHard, shapes: shapesHard })
  assert.deepEqual(past, { fields: 20_000 - fieldsHard, shapes: 20_000 - shapesHard })
  assert(schema.bytes < 400_000, `${schema.bytes} bytes`)
  schema.add(idAt(20_000), deltaOf('s0', undefined), past)
  const change = schema.take()
  assert.deepEqual([change.fields.length, change.shapes.length], [fieldsHard, shapesHard])
  assert.equal(change.shapes[0]!.count, 2)
  assert.equal(schema.hasChanges, false)
})

test('a field that is known is written again only now and then, a new type at once', () => {
  const schema = new StreamSchema(known())
  const fieldsAt = (ms: number, type: string, samples: readonly string[]) => {
    schema.add(idAt(ms), deltaOf('s', [encodeLeaf('a', type, samples)]), skipped())
    return schema.take().fields.length
  }
  assert.equal(fieldsAt(0, 'integer', ['1']), 1)
  assert.equal(fieldsAt(FIELD_SAMPLE_MS - 1, 'integer', ['2']), 0)
  assert.equal(fieldsAt(FIELD_SAMPLE_MS, 'integer', ['3', '4', '5', '6']), 1)
  assert.equal(fieldsAt(2 * FIELD_SAMPLE_MS, 'integer', ['7']), 0)
  assert.equal(fieldsAt(2 * FIELD_SAMPLE_MS + 1, 'string', []), 1)
  assert.equal(fieldsAt(2 * FIELD_SAMPLE_MS + FIELD_REFRESH_MS, 'string', []), 0)
  assert.equal(fieldsAt(2 * FIELD_SAMPLE_MS + FIELD_REFRESH_MS + 1, 'string', []), 1)
})

test('samples of one change are the newest, each once', () => {
  const schema = new StreamSchema(known())
  for (let i = 0; i < 10; i++) {
    const leaves = [encodeLeaf('a', 'integer', [`${i}`, '0'])]
    schema.add(idAt(i), deltaOf('s', leaves), skipped())
  }
  const { samples } = schema.take().fields[0]!
  assert.equal(samples.length, FIELD_SAMPLES_MAX)
  assert.deepEqual(samples.slice(0, 3), ['9', '0', '8'])
})

test('of the paths of a shape SHAPE_PATHS_BYTES_MAX are kept with it', () => {
  const schema = new StreamSchema(known())
  const leaves = Array.from({ length: 1_000 }, (_, i) =>
    encodeLeaf(`${i}${'é'.repeat(200)}`, 'null', []),
  )
  schema.add(idAt(1), deltaOf('s', leaves), skipped())
  const change = schema.take()
  assert.equal(change.fields.length, 1_000)
  const bytes = Buffer.byteLength(JSON.stringify(change.shapes[0]!.paths))
  assert(bytes <= SHAPE_PATHS_BYTES_MAX && bytes > SHAPE_PATHS_BYTES_MAX * 0.9, `${bytes}`)
})

test('past OBSERVE_CACHE_BYTES_MAX written streams are forgotten, the oldest first', () => {
  const cache = new SchemaCache()
  const paths = Array.from({ length: 1_000 }, (_, i) => `${i}${'p'.repeat(500)}`)
  const typesByPath = new Map(paths.map((path) => [path, 1]))
  const COUNT = 100
  const ids = Array.from({ length: COUNT }, (_, i) => (i + 1) as StreamId)
  cache.loaded(
    ids,
    ids.map((id) => known(id, { typesByPath })),
  )
  assert(cache.bytes > OBSERVE_CACHE_BYTES_MAX)
  cache.add(2 as StreamId, idAt(1), deltaOf('s', undefined)) // Not written yet.
  cache.evict()
  assert(cache.bytes <= OBSERVE_CACHE_BYTES_MAX, `${cache.bytes}`)
  assert.deepEqual(cache.missing(ids).includes(1 as StreamId), true)
  assert.deepEqual(cache.missing([2, COUNT] as StreamId[]), [])
})

test('what waits for streams to be loaded is bounded by OBSERVE_WAITING_BYTES_MAX', () => {
  const cache = new SchemaCache()
  const leaves = Array.from({ length: 100 }, (_, i) => encodeLeaf(`path${i}`, 'null', []))
  const delta = deltaOf('s', leaves)
  let added = 0
  for (; !cache.isOverfull; added++) cache.add((added % 7) as StreamId, idAt(added), delta)
  assert(cache.bytes > OBSERVE_WAITING_BYTES_MAX && cache.bytes < OBSERVE_WAITING_BYTES_MAX * 1.01)
  const waited = cache.loaded([3 as StreamId], [known(3)])
  assert(!cache.isOverfull && Math.abs(waited.length - added / 7) <= 1)
  cache.clear()
  assert.equal(cache.bytes, 0)
})

test('OBSERVE_LOOKUPS_MAX shapes wait to be looked up; one segment answers for several', () => {
  const lookups = new Lookups()
  const streamId = 1 as StreamId
  for (let i = 0; i < OBSERVE_LOOKUPS_MAX + 10; i++) {
    lookups.add({ streamId, shape: `${i}`, segmentId: idAt(i % 10) })
    lookups.add({ streamId, shape: `${i}`, segmentId: idAt(99) })
  }
  assert.equal(lookups.size, OBSERVE_LOOKUPS_MAX)
  const taken = lookups.take()
  assert.equal(taken.length, Math.ceil(OBSERVE_LOOKUPS_MAX / 10))
  assert(taken.every(({ segmentId }) => segmentId === idAt(0)))
})

test('fields with large integers are written once, and past the hard cap none is kept', () => {
  const schema = new StreamSchema(known())
  const { fieldsHard } = SCHEMA_CAPS_DEFAULT
  const add = (ms: number, ...largePaths: string[]) => {
    schema.add(idAt(ms), { shapes: [], shapesSkipped: 0, largePaths }, skipped())
  }
  const taken = () => {
    const { largePaths, isPartial } = schema.take()
    return [largePaths, isPartial]
  }
  add(1, 'a', 'b')
  add(2, 'b', 'c')
  assert.deepEqual(taken(), [['a', 'b', 'c'], false])
  add(3, 'a')
  assert.deepEqual(taken(), [[], false])
  const before = schema.bytes
  add(4, ...Array.from({ length: 2 * fieldsHard }, (_, n) => `path${n}`))
  const [paths, isPartial] = taken()
  assert.deepEqual([(paths as string[]).length, isPartial], [fieldsHard - 3, true])
  assert.ok(schema.bytes > before)
  add(5, 'a')
  assert.deepEqual(taken(), [[], false])
  schema.add(idAt(6), { shapes: [], shapesSkipped: 0, largePaths: undefined }, skipped())
  assert.deepEqual(taken(), [[], true], 'too many to be told')
})
