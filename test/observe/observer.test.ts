/**
 * Goal: the catalog says what the stored events say, each of them counted once: with several nodes
 * on the same streams, after crashes, with writes whose answer was lost and with descriptions lost.
 * Method: a real PostgreSQL, the real worker code; what the catalog must hold is worked out from
 * the events.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { StreamId } from '../../src/model/stream.ts'
import { SchemaStore } from '../../src/store/catalog/schema-store.ts'
import { ControlStore } from '../../src/store/control/control-store.ts'
import { CheckpointStore } from '../../src/store/raw/checkpoint-store.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { startDatabase, type TestDatabase } from '../serve/rest-harness.ts'
import { eventually } from '../store/temporary.ts'
import { createRandom } from '../support/random.ts'
import { newStream, TestNode } from './nodes.ts'

let database: TestDatabase
let schemas: SchemaStore
let one: TestNode
let two: TestNode

before(async () => {
  database = await startDatabase()
  schemas = new SchemaStore(database.postgres)
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

const ALL = { after: undefined, limit: 10_000 }
const ALL_FIELDS = { ...ALL, prefix: undefined, type: undefined, conflict: undefined }

async function fieldsOf(streamId: StreamId): Promise<Record<string, string>> {
  const fields = await schemas.listFields(streamId, ALL_FIELDS)
  return Object.fromEntries(fields.map(({ path, types }) => [path, types.join('+')]))
}

/** Events by shape, by the shape's paths in order. */
async function countsOf(streamId: StreamId): Promise<Record<string, number>> {
  const { shapes } = await schemas.listShapes(streamId, ALL)
  return Object.fromEntries(
    shapes.map(({ pathsJson, events }) => {
      const paths = JSON.parse(pathsJson ?? '[]') as string[][]
      return [
        paths
          .map((path) => path.join(':'))
          .sort()
          .join(' '),
        events,
      ]
    }),
  )
}

test('fields, types, samples and counted shapes; what is learned later is added', async () => {
  const stream = await newStream(database.postgres)
  const startMs = Date.now()
  await one.commit(stream, '{"a":1,"b":{"c":"x"}}\n{"a":2,"b":{"c":"y"}}\n{"n":null}')
  await one.caughtUp()
  await one.commit(stream, '{"a":1.5,"b":{"c":"z"}}\n{"a":7,"b":{"c":"x"}}')
  await one.caughtUp()
  assert.deepEqual(await fieldsOf(stream), {
    a: 'integer+float',
    b: 'object',
    'b.c': 'string',
    n: 'null',
  })
  assert.deepEqual(await countsOf(stream), {
    'a:integer b.c:string b:object': 3,
    'a:float b.c:string b:object': 1,
    'n:null': 1,
  })
  const [a] = await schemas.listFields(stream, ALL_FIELDS)
  assert.deepEqual(a!.samples, ['1.5', '1', '2'])
  assert(a!.firstSeenMs >= startMs && a!.firstSeenMs <= a!.lastSeenMs && a!.lastSeenMs < Date.now())
  const state = await schemas.readState(stream)
  assert.deepEqual([state.fields, state.shapes, state.conflicts], [4, 3, 0])
})

test('two nodes on the same streams at once: every event once, caps hold exactly', async (t) => {
  const { seed, next } = createRandom()
  t.diagnostic(`TEST_SEED=${seed}`)
  const streams = await Promise.all(
    [{}, { fieldsHard: 12, shapesHard: 9 }, {}].map((caps) => newStream(database.postgres, caps)),
  )
  const expected = streams.map(() => new Map<number, number>())
  const send = async (node: TestNode) => {
    for (let round = 0; round < 40; round++) {
      const at = Math.floor(next() * streams.length)
      const keys = Array.from({ length: 1 + Math.floor(next() * 20) }, () => {
        const key = Math.floor(next() * 30)
        expected[at]!.set(key, (expected[at]!.get(key) ?? 0) + 1)
        return key
      })
      await node.commit(streams[at]!, keys.map((key) => `{"k${key}":1}`).join('\n'))
    }
  }
  await Promise.all([send(one), send(two)])
  await Promise.all([one.caughtUp(), two.caughtUp()])
  for (const [i, stream] of streams.entries()) {
    const counts = await countsOf(stream)
    const wanted = [...expected[i]!].map(([key, count]) => [`k${key}:integer`, count] as const)
    const { fields, shapes } = await schemas.readState(stream)
    if (i === 1) {
      assert.deepEqual([fields, shapes], [12, 9])
      assert.equal(Object.keys(counts).length, 9)
      for (const [key, count] of Object.entries(counts)) {
        assert(count <= Object.fromEntries(wanted)[key]!, key)
      }
    } else {
      assert.deepEqual(counts, Object.fromEntries(wanted))
      assert.deepEqual([fields, shapes], [wanted.length, wanted.length])
    }
  }
  assert.deepEqual([one.errors, two.errors], [[], []])
})

test('after a crash all that was committed is learned, and nothing counts twice', async () => {
  const stream = await newStream(database.postgres)
  const other = await newStream(database.postgres)
  for (let round = 0; round < 5; round++) {
    for (let i = 0; i < 8; i++) {
      await one.commit(i % 3 === 0 ? other : stream, `{"r${round}":1}\n{"always":"x"}`)
      // Of the last ones observe never heard: the process died right after their commit.
      if (i === 4 && round % 2 === 0) await one.caughtUp()
    }
    await one.commit(stream, `{"untold${round}":1}`, false)
    one.crash()
    await one.start()
  }
  const counts = await countsOf(stream)
  assert.equal(counts['always:string'], 25)
  for (let round = 0; round < 5; round++) {
    assert.equal(counts[`r${round}:integer`], 5)
    assert.equal(counts[`untold${round}:integer`], 1)
  }
  assert.equal((await countsOf(other))['always:string'], 15)
})

test('of a mixed segment each stream learns its own, once, told or read again', async () => {
  const streams = await Promise.all([1, 2, 3].map(() => newStream(database.postgres)))
  const [first, second, third] = streams as [StreamId, StreamId, StreamId]
  const commit = (round: number, isTold = true) => {
    const bodies = [
      [first, '{"a":1}\n{"a":2}'],
      [second, `{"b":"x"}\n{"r${round}":1}`],
      [third, '{"c":{"d":true}}'],
    ] as const
    return one.commitMixed(bodies, isTold)
  }
  await commit(0)
  await one.caughtUp()
  // Of the streams one is ahead of the checkpoint when the process dies in the midst of a write.
  await commit(1)
  await one.commit(second, '{"own":1}')
  await commit(2, false)
  one.crash()
  one.rowsLearned = 0
  await one.start()
  assert(one.rowsLearned <= 3, `${one.rowsLearned}: a row is read once, not for each run`)
  await commit(3)
  await one.caughtUp()
  assert.deepEqual(await countsOf(first), { 'a:integer': 8 })
  const rounds = Object.fromEntries([0, 1, 2, 3].map((round) => [`r${round}:integer`, 1]))
  assert.deepEqual(await countsOf(second), { 'b:string': 4, 'own:integer': 1, ...rounds })
  assert.deepEqual(await countsOf(third), { 'c.d:boolean c:object': 4 })
  one.errors.length = 0 // Those of the dead process.
})

test('after a mixed row the checkpoint is its last run', async () => {
  const streams = await Promise.all([1, 2].map(() => newStream(database.postgres)))
  for (const isTold of [true, false]) {
    await one.commitMixed(
      streams.map((stream) => [stream, '{"a":1}'] as const),
      isTold,
    )
    if (!isTold) one.observer.mustCatchUp()
    await one.caughtUp()
    const checkpoints = new CheckpointStore(database.postgres, one.lease)
    await eventually('the checkpoint', async () => {
      return (await one.writer.readCheckpoint()) === (await checkpoints.readNewest())
    })
  }
})

test('a write whose answer was lost, or that failed, counts once', async () => {
  const stream = await newStream(database.postgres)
  const { write } = one.stores
  let writes = 0
  one.stores.write = async (changes, checkpoint) => {
    const kind = writes++ % 3
    if (kind === 0) throw new StoreError('unavailable', 'refused')
    const counts = await write(changes, checkpoint)
    if (kind === 1) throw new StoreError('unavailable', 'the answer was lost')
    return counts
  }
  for (let i = 0; i < 12; i++) {
    await one.commit(stream, '{"a":1}\n{"b":2}')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  await one.caughtUp()
  one.stores.write = write
  assert(one.errors.splice(0).length >= 2 && writes >= 3)
  assert.deepEqual(await countsOf(stream), { 'a:integer': 12, 'b:integer': 12 })
})

test('a description that was lost with a refused request is looked up', async () => {
  const stream = await newStream(database.postgres)
  one.encode(stream, '{"lost":{"x":1}}') // Its commit failed: observe was never told.
  await one.commit(stream, '{"lost":{"x":2}}\n{"other":1}')
  await eventually('the shape is described', async () => {
    return (await countsOf(stream))['lost.x:integer lost:object'] === 1
  })
  assert.deepEqual(await fieldsOf(stream), {
    lost: 'object',
    'lost.x': 'integer',
    other: 'integer',
  })
})

test('a shape that was not described when the process died is looked up at start', async () => {
  const stream = await newStream(database.postgres)
  const { readSegment } = one.stores
  one.encode(stream, '{"late":true}')
  one.stores.readSegment = async () => undefined
  await one.commit(stream, '{"late":true}')
  await one.caughtUp()
  one.crash()
  one.stores.readSegment = readSegment
  assert.deepEqual(await fieldsOf(stream), {})
  await one.start()
  await eventually('the field is there', async () => (await fieldsOf(stream)).late === 'boolean')
  assert.deepEqual(await countsOf(stream), { 'late:boolean': 1 })
})

test('Resolve keeps the type seen last; what comes again counts again, on every node', async () => {
  const stream = await newStream(database.postgres)
  await one.commit(stream, '{"log":"plain"}')
  await one.caughtUp()
  await two.commit(stream, '{"log":{"level":"info"}}')
  await two.caughtUp()
  assert.deepEqual(await fieldsOf(stream), { log: 'string+object', 'log.level': 'string' })
  assert.equal((await schemas.readState(stream)).conflicts, 1)
  const conflicts = await schemas.listFields(stream, { ...ALL_FIELDS, conflict: true })
  assert.deepEqual(
    conflicts.map(({ path }) => path),
    ['log'],
  )
  const resolved = await schemas.resolveField(stream, 'log')
  assert.deepEqual(resolved!.types, ['object'])
  assert(resolved!.resolvedAtMs !== null)
  assert.equal((await schemas.readState(stream)).conflicts, 0)
  assert.equal(await schemas.resolveField(stream, 'nope'), undefined)
  // Known to both nodes' memory, but forgotten by the catalog: they have to find out.
  await one.commit(stream, '{"log":{"level":"x"}}')
  await one.caughtUp()
  assert.equal((await fieldsOf(stream)).log, 'object')
  await new Promise((resolve) => setTimeout(resolve, 30))
  one.crash() // So that its worker describes the shape again without waiting a minute.
  await one.start()
  await one.commit(stream, '{"log":"plain again"}')
  await one.caughtUp()
  assert.equal((await fieldsOf(stream)).log, 'string+object')
})

test('a type from before the Resolve does not come back when it is written late', async () => {
  const stream = await newStream(database.postgres)
  await one.commit(stream, '{"v":1}\n{"v":"x"}')
  await one.caughtUp()
  await one.commit(stream, '{"v":[]}', false) // Committed before, learned after.
  await new Promise((resolve) => setTimeout(resolve, 5))
  const resolved = await schemas.resolveField(stream, 'v')
  assert.equal(resolved!.types.length, 1)
  one.observer.mustCatchUp()
  await one.caughtUp()
  await one.commit(stream, '{"w":1}')
  await one.caughtUp()
  assert.deepEqual(await fieldsOf(stream), { v: resolved!.types[0], w: 'integer' })
})

test('a raised cap lets in skipped fields; a deleted stream is left alone', async () => {
  const stream = await newStream(database.postgres, { fieldsHard: 2, fieldsSoft: 1 })
  const control = new ControlStore(database.postgres, () => undefined)
  await one.commit(stream, '{"a":1,"b":2,"c":3}')
  await one.caughtUp()
  assert.deepEqual(Object.keys(await fieldsOf(stream)), ['a', 'b'])
  const caps = { fieldsSoft: 1, fieldsHard: 3, shapesSoft: 1, shapesHard: 2 }
  await control.updateStream(stream, { schemaCaps: caps })
  await one.commit(stream, '{"d":1}') // The write tells of the new cap.
  await one.caughtUp()
  await one.commit(stream, '{"e":1,"f":2}')
  await one.caughtUp()
  assert.equal(Object.keys(await fieldsOf(stream)).length, 3)
  await control.deleteStream(stream)
  await one.commit(stream, '{"gone":1}')
  await one.caughtUp()
  assert.equal((await fieldsOf(stream)).gone, undefined)
  await schemas.deleteStream(stream)
  assert.deepEqual(await fieldsOf(stream), {})
  assert.deepEqual(one.errors, [])
})
