/**
 * Goal: a client that sends nothing but new keys and new shapes fills no memory, slows its
 * neighbours down only by what its own events cost, and loses none of them.
 * Method: 100,000 keys and 20,000 shapes on one stream, a well-behaved stream beside it; then the
 * memory in use after a collection. A larger version is `bench/observe/`.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { SCHEMA_CAPS_DEFAULT } from '../../src/model/schema.ts'
import { SchemaStore } from '../../src/store/catalog/schema-store.ts'
import { startDatabase, type TestDatabase } from '../serve/rest-harness.ts'
import { cpuNow } from '../support/cpu-time.ts'
import { newStream, TestNode } from './nodes.ts'

const KEYS = 100_000
const SHAPES = 20_000
const EVENTS_A_BATCH = 200
const MIB = 1024 * 1024

let database: TestDatabase
let node: TestNode

before(async () => {
  database = await startDatabase()
  node = await TestNode.create(database.postgres, '00000000-0000-4000-8000-000000000003')
  await node.start()
})

after(async () => {
  await node?.stop()
  await database?.close()
})

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

function usedBytes(): number {
  collect()
  return process.memoryUsage().heapUsed
}

test('keys and shapes without end leave memory where it was', async (t) => {
  const schemas = new SchemaStore(database.postgres)
  const hostile = await newStream(database.postgres)
  const neighbour = await newStream(database.postgres)
  const KEYS_AN_EVENT = KEYS / SHAPES
  let sent = 0
  let observeMs = 0
  const send = async (events: number) => {
    for (const end = sent + events; sent < end; sent += EVENTS_A_BATCH) {
      const lines = Array.from({ length: EVENTS_A_BATCH }, (_, i) => {
        const first = (sent + i) * KEYS_AN_EVENT
        const keys = Array.from({ length: KEYS_AN_EVENT }, (_, k) => `"key-${first + k}":${k}`)
        return `{${keys.join(',')}}`
      })
      const segments = node.encode(hostile, lines.join('\n'))
      await node.commitSegments(hostile, segments)
      const startedAt = cpuNow()
      await node.commit(neighbour, `{"known":1,"round":"${sent % 1_000}"}`)
      observeMs += cpuNow() - startedAt
    }
    await node.caughtUp()
  }
  await send(SHAPES / 4) // Past the caps, and the tables of workers have grown.
  const before = usedBytes()
  await send((SHAPES * 3) / 4)
  const grown = usedBytes() - before
  t.diagnostic(`heap ${(grown / MIB).toFixed(1)} MiB, cache ${node.observer.cacheBytes} bytes`)
  t.diagnostic(`neighbour ${((observeMs / SHAPES) * EVENTS_A_BATCH).toFixed(2)} ms a request`)
  assert(grown < 16 * MIB, `${grown} bytes more`)
  assert(node.observer.cacheBytes < 1 * MIB, `${node.observer.cacheBytes}`)
  const { fields, shapes } = await schemas.readState(hostile)
  const { fieldsHard, shapesHard } = SCHEMA_CAPS_DEFAULT
  assert.deepEqual([fields, shapes], [fieldsHard, shapesHard])
  assert(node.skippedShapes > SHAPES / 2)
  const page = { after: undefined, limit: 10, prefix: undefined, type: undefined }
  const own = await schemas.listFields(neighbour, { ...page, conflict: undefined })
  assert.deepEqual(
    own.map(({ path }) => path),
    ['known', 'round'],
  )
  const counted = (await schemas.listShapes(neighbour, page)).shapes[0]!.events
  assert.equal(counted, SHAPES / EVENTS_A_BATCH)
  const { rows } = await database.postgres.query<{ events: string }>(
    'SELECT sum(event_count)::text AS events FROM segments WHERE stream_id = $1',
    [hostile],
  )
  assert.equal(Number(rows[0]!.events), SHAPES, 'every event is stored')
  assert.deepEqual(node.errors, [])
})
