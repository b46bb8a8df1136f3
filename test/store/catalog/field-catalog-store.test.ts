/**
 * Goal: what the catalog vouches for holds of every stored event, however far observe is behind:
 * also on a node that died, of shapes that nothing described, past caps, after Resolve.
 * Method: a real PostgreSQL, nodes that learn into it or do not; types are asked for by path.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { DELTA_SHAPES_MAX } from '../../../src/limits.ts'
import {
  ANY_TYPES,
  catalogPath,
  type FieldCatalog,
  NO_TEXTLESS,
  NO_TYPES,
} from '../../../src/model/field-catalog.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { TEXT_FIELDS_DEFAULT } from '../../../src/model/text-fields.ts'
import {
  CATALOG_CACHE_FIELDS_MAX,
  CATALOG_CACHE_MS,
  FieldCatalogStore,
} from '../../../src/store/catalog/field-catalog-store.ts'
import { KnownFields } from '../../../src/store/catalog/known-fields.ts'
import { SchemaStore } from '../../../src/store/catalog/schema-store.ts'
import { newStream, TestNode } from '../../observe/nodes.ts'
import { startDatabase, type TestDatabase } from '../../serve/rest-harness.ts'
import { createRandom } from '../../support/random.ts'

let database: TestDatabase
let one: TestNode
let two: TestNode

before(async () => {
  database = await startDatabase()
  one = await TestNode.create(database.postgres, '00000000-0000-4000-8000-000000000001')
  two = await TestNode.create(database.postgres, '00000000-0000-4000-8000-000000000002')
  await one.start()
  await two.start()
})

after(async () => {
  await one?.stop()
  await two?.stop()
  await database?.close()
})

/** As it is now: nothing is remembered. */
async function read(streamId: StreamId, textFields = TEXT_FIELDS_DEFAULT): Promise<FieldCatalog> {
  const store = new FieldCatalogStore(database.postgres)
  const [catalog] = await store.load([{ streamId, textFields }])
  return catalog!
}

/** One that counts as learned from needs a later millisecond behind it. */
async function tick(node: TestNode): Promise<void> {
  const other = await newStream(database.postgres)
  await new Promise((resolve) => setTimeout(resolve, 3))
  await node.commit(other, '{"t":1}')
  await node.caughtUp()
}

const isLearned = ({ learned }: FieldCatalog, ms: number, nodeId: number) => {
  const behind = learned.behind.find((node) => node.nodeId === nodeId)
  return ms < Math.min(learned.untilMs, behind?.untilMs ?? learned.untilMs)
}

test('the types of the projection by those that were seen', async () => {
  const stream = await newStream(database.postgres)
  await one.commit(
    stream,
    [
      '{"i":1,"f":1.5,"s":"x","b":true,"n":null,"o":{"p":1}}',
      '{"i":"x","a":[1,null],"e":[],"m":[{"x":1,"y":["z"]},{"x":2.5}],"d":[[1]],"k[]":5}',
    ].join('\n'),
  )
  await tick(one)
  const catalog = await read(stream)
  const types = (...path: string[]) => catalog.typesOf(path)
  const scalars = (...names: (typeof NO_TYPES.scalars)[number][]) => ({
    ...NO_TYPES,
    scalars: names,
  })
  assert.deepEqual(types('i'), scalars('Int64', 'String'))
  assert.deepEqual(types('f'), scalars('Float64'))
  assert.deepEqual(types('b'), scalars('Bool'))
  assert.deepEqual([types('n'), types('o'), types('none')], [NO_TYPES, NO_TYPES, NO_TYPES])
  assert.deepEqual(types('o.p'), scalars('Int64'))
  assert.deepEqual(types('a'), { ...NO_TYPES, elements: ['Int64', 'UInt64', 'String'] })
  assert.deepEqual(types('e'), { ...NO_TYPES, elements: ['String'] })
  assert.deepEqual(types('m'), { ...NO_TYPES, elements: ['String'], hasObjects: true })
  assert.deepEqual(types('m', 'x'), scalars('Int64', 'UInt64', 'Float64'))
  assert.deepEqual(types('m', 'y'), { ...NO_TYPES, elements: ['String'] })
  assert.deepEqual(types('k[]'), scalars('Int64'))
  assert.deepEqual(types('a\0'), ANY_TYPES)
  const paths = ['a', 'b', 'd', 'e', 'f', 'i', 'k[]', 'm', 'm[].x', 'm[].y', 'o.p', 's']
  assert.deepEqual(catalog.paths.map(catalogPath), paths)
  assert.deepEqual(catalog.paths[8], ['m', 'x'])
})

test('fields with integers past 64 bits signed are learned when the first one comes', async () => {
  const stream = await newStream(database.postgres)
  const scalars = async (...path: string[]) => (await read(stream)).typesOf(path).scalars
  await one.commit(stream, '{"n":1,"o":{"p":-1},"m":7}')
  await tick(one)
  assert.deepEqual(await scalars('n'), ['Int64'])
  // The same shapes, so nothing is described anew.
  await one.commit(stream, '{"n":18446744073709551611,"o":{"p":9223372036854775807},"m":1}')
  await tick(one)
  assert.deepEqual(await scalars('n'), ['Int64', 'UInt64'])
  await two.commit(stream, '{"n":1,"o":{"p":9223372036854775808},"m":1}')
  await tick(two)
  assert.deepEqual(await scalars('o.p'), ['Int64', 'UInt64'])
  assert.deepEqual(await scalars('n'), ['Int64', 'UInt64'], 'of both nodes')
  assert.deepEqual(await scalars('m'), ['Int64'])
  // A node that died before it wrote what it had learned.
  two.crash()
  await two.commit(stream, '{"n":1,"o":{"p":1},"m":18446744073709551615}', false)
  await tick(one)
  assert.deepEqual(await scalars('m'), ['Int64'])
  await two.start()
  await tick(two)
  assert.deepEqual(await scalars('m'), ['Int64', 'UInt64'])
})

test('what a node has not learned is not vouched for, also when it died', async () => {
  const stream = await newStream(database.postgres)
  await one.commit(stream, '{"a":1}')
  const oldMs = Date.now()
  await tick(one)
  await tick(two)
  const before = await read(stream)
  assert(isLearned(before, oldMs - 1_000, one.lease.nodeId))
  two.crash()
  await two.commit(stream, '{"a":"of two"}', false)
  const deadMs = Date.now()
  await tick(one)
  await tick(one)
  const between = await read(stream)
  assert.deepEqual(between.typesOf(['a']).scalars, ['Int64'])
  assert(!isLearned(between, deadMs, two.lease.nodeId))
  await two.start()
  await tick(two)
  const later = await read(stream)
  assert.deepEqual(later.typesOf(['a']).scalars, ['Int64', 'String'])
  assert(isLearned(later, deadMs - 1, two.lease.nodeId))
})

test('a node far behind the others has a time of its own', async () => {
  const stream = await newStream(database.postgres)
  await tick(one)
  await database.postgres.query(
    `INSERT INTO observe_checkpoints (node_id, segment_id) VALUES (77, $1)`,
    [String(1_700_000_000_000n << 21n)],
  )
  const { learned } = await read(stream)
  assert.deepEqual(learned.behind, [{ nodeId: 77, untilMs: 1_700_000_000_000 }])
  assert(learned.untilMs > Date.now() - 60_000)
  await database.postgres.query('DELETE FROM observe_checkpoints WHERE node_id = 77')
})

test('rows of a shape that nothing described are not vouched for', async () => {
  const stream = await newStream(database.postgres)
  await one.commit(stream, '{"a":1}')
  await tick(one)
  await tick(two)
  const shapes = await new SchemaStore(database.postgres).listShapes(stream, {
    after: undefined,
    limit: 1,
  })
  await database.postgres.query('DELETE FROM stream_shape_paths WHERE stream_id = $1', [stream])
  const { learned } = await read(stream)
  assert.equal(learned.untilMs, shapes.shapes[0]!.firstSeenMs)
})

test('a field that was resolved may have any type', async () => {
  const stream = await newStream(database.postgres)
  await one.commit(stream, '{"a":1,"l":[1]}\n{"a":"x","l":[1]}')
  await tick(one)
  await new SchemaStore(database.postgres).resolveField(stream, 'a')
  await new SchemaStore(database.postgres).resolveField(stream, 'l[]')
  const catalog = await read(stream)
  assert.deepEqual(catalog.typesOf(['a']), ANY_TYPES)
  assert.deepEqual(catalog.typesOf(['l']).elements, ANY_TYPES.elements)
})

test('a stream that skipped something is read with all types for good', async () => {
  const capped = await newStream(database.postgres, { fieldsHard: 2, fieldsSoft: 1 })
  await one.commit(capped, '{"a":1,"b":1,"c":1}')
  const shapes = await newStream(database.postgres, { shapesHard: 2, shapesSoft: 1 })
  await one.commit(shapes, '{"a":1}\n{"b":1}\n{"c":1}')
  const many = await newStream(database.postgres)
  const lines = Array.from({ length: DELTA_SHAPES_MAX + 1 }, (_, n) => `{"f${n}":1}`)
  await one.commit(many, lines.join('\n'))
  const long = await newStream(database.postgres)
  const members = Array.from({ length: 1_500 }, (_, n) => `"${'x'.repeat(300)}${n}":1`)
  await one.commit(long, `{${members.join()}}`)
  const whole = await newStream(database.postgres)
  await one.commit(whole, '{"a":1}')
  await tick(one)
  for (const stream of [capped, shapes, many, long]) {
    assert.equal((await read(stream)).learned.untilMs, 0)
  }
  assert((await read(whole)).learned.untilMs > 0)
})

test('what is vouched for holds at every moment while two nodes learn', async () => {
  const stream = await newStream(database.postgres)
  const { next: random, seed } = createRandom()
  console.log(`seed ${seed} (TEST_SEED=${seed} repeats this run)`)
  const kinds = { Int64: '1', Float64: '1.5', String: '"x"', Bool: 'true' } as const
  const names = Object.keys(kinds) as (keyof typeof kinds)[]
  const events: { readonly ms: number; readonly node: number; path: string; type: string }[] = []
  let isOver = false
  const send = async (node: TestNode) => {
    for (let n = 0; n < 150; n++) {
      const path = `f${Math.floor(random() * 40)}`
      const type = names[Math.floor(random() * names.length)]!
      await node.commit(stream, `{"${path}":${kinds[type]}}`)
      const ms = Date.now() // Its id is no later.
      events.push({ ms, node: node.lease.nodeId, path, type })
      await new Promise((resolve) => setTimeout(resolve, random() * 8))
    }
  }
  const senders = Promise.all([send(one), send(two)]).then(() => {
    isOver = true
  })
  let vouched = 0
  while (!isOver) {
    const catalog = await read(stream)
    for (const { ms, node, path, type } of events) {
      if (!isLearned(catalog, ms, node)) continue
      vouched++
      assert((catalog.typesOf([path]).scalars as readonly string[]).includes(type), path)
    }
  }
  await senders
  assert(vouched > 100, String(vouched))
})

test('text fields are told by their names, and shapes whose events have none', async () => {
  const stream = await newStream(database.postgres)
  await one.commit(stream, '{"note":"x","n":1,"o":{"q":"y"},"l":[{"s":"z"}],"tags":["t"]}')
  await tick(one)
  const none = await read(stream)
  assert.deepEqual(none.textFields, TEXT_FIELDS_DEFAULT)
  assert.deepEqual(none.textPaths, [])
  assert.equal(none.textless.shapes?.length, 1)
  assert.deepEqual(none.textless.doubtful, [])
  const paths = [['l'], ['l', 's'], ['note'], ['o.q'], ['tags']]
  assert.deepEqual(none.textless.paths, paths)
  // Other names, and the same shape has text.
  const named = await read(stream, ['Q', 'other'])
  assert.deepEqual([named.textPaths, named.textless], [['o.q'], NO_TEXTLESS])

  await one.commit(stream, '{"Message":"a","deep":{"MSG":"b"},"x":"c"}')
  await one.commit(stream, '{"a":{"message":"b"},"a.message":5,"y":"c"}')
  await one.commit(stream, '{"message":7,"z":"c"}')
  await tick(one)
  const some = await read(stream)
  assert.deepEqual(some.textPaths, ['Message', 'a.message', 'deep.MSG', 'message'])
  assert.equal(some.textless.shapes?.length, 3, 'all but the one that certainly has text')
  assert.deepEqual(some.textless.doubtful, ['a.message'])
  assert.deepEqual(some.textless.paths, [['a.message'], ...paths, ['y'], ['z']])
  // All of their strings, however many.
  const fields = Array.from({ length: 200 }, (_, n) => `"s${n}":"x"`)
  await one.commit(stream, `{${fields.join()}}`)
  await tick(one)
  assert.equal((await read(stream)).textless.paths.length, some.textless.paths.length + 200)
})

test('a catalog is read again after a while, and memory is bounded by fields', async () => {
  let nowMs = 0
  let queries = 0
  const counted = Object.assign(Object.create(database.postgres), {
    query: (sql: string, values: unknown[]) => {
      queries++
      return database.postgres.query(sql, values)
    },
  })
  const store = new FieldCatalogStore(counted, () => nowMs)
  const stream = { streamId: await newStream(database.postgres), textFields: [] }
  await store.load([stream, { ...stream, textFields: ['a'] }])
  assert.equal(queries, 1)
  nowMs = CATALOG_CACHE_MS - 1
  await store.load([stream])
  assert.equal(queries, 1)
  nowMs++
  await store.load([stream])
  assert.equal(queries, 2)
  const others = Array.from({ length: CATALOG_CACHE_FIELDS_MAX }, (_, n) => {
    return { streamId: (n + 1_000_000) as StreamId, textFields: [] }
  })
  await store.load(others)
  await store.load([stream])
  assert.equal(queries, 4, 'it was forgotten for the others')
})

test('hostile paths are read in no time', () => {
  const path = (depth: number) => Array.from({ length: depth }, () => 'a').join('[].')
  const fields = Array.from({ length: 300 }, (_, n) => [
    { path: path(n + 1), types: ['array', 'string'] as const },
    { path: `${path(n + 1)}[]`, types: ['object'] as const },
  ]).flat()
  const known = new KnownFields(fields)
  assert.equal(known.paths.length, 4, 'those that have columns')
})
