/** Goal: what the catalog says of a stream decides over its table's form. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { SCHEMA_CAPS_DEFAULT } from '../../src/model/schema.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { NO_NEEDS } from '../../src/model/table-needs.ts'
import { TableNeedsStore, WIDE_PATHS_MAX } from '../../src/store/catalog/table-needs-store.ts'
import { startDatabase, type TestDatabase } from '../serve/rest-harness.ts'

let database: TestDatabase
let streams = 0

before(async () => {
  database = await startDatabase()
})

after(() => database.close())

async function learned(fields: number, strings: readonly string[], others: readonly string[] = []) {
  const streamId = ++streams as StreamId
  const { postgres } = database
  await postgres.query('INSERT INTO stream_schemas (stream_id, field_count) VALUES ($1, $2)', [
    streamId,
    fields,
  ])
  for (const [paths, column] of [
    [strings, 'seen_string_ms'],
    [others, 'seen_integer_ms'],
  ] as const) {
    await postgres.query(
      `INSERT INTO stream_fields (stream_id, path, first_seen_ms, last_seen_ms, samples, ${column})
       SELECT $1, path, n, 9, '{}', 9 FROM unnest($2::text[]) WITH ORDINALITY AS p (path, n)`,
      [streamId, paths],
    )
  }
  return streamId
}

function storeWith(textFields: readonly string[], fieldsHard: number) {
  const of = <T>(ids: readonly StreamId[], value: T) => new Map(ids.map((id) => [id, value]))
  return new TableNeedsStore(database.postgres, {
    findTextFields: async (ids) => of(ids, textFields),
    findSchemaCaps: async (ids) => of(ids, { ...SCHEMA_CAPS_DEFAULT, fieldsHard }),
  })
}

test('text fields and identifiers that had strings, the former as they are set', async () => {
  const ids = ['trace_id', 'http.requestId', 'Session-ID', 'trace.id', 'items[].trace_id']
  const others = ['span_id', 'grid', 'user.id', 'trace_ids', 'log', 'a.^`b`.trace_id']
  const streamId = await learned(20, [...ids, 'note', 'message', ...others], ['body', 'request_id'])
  const needs = await storeWith(['message', 'body', 'absent', 'note'], 1_000).readOne(streamId)
  assert.deepEqual(needs, {
    isWide: true,
    fields: 20,
    textPaths: ['message', 'note'],
    idPaths: ids.slice(0, -1),
  })
})

test('wide up to WIDE_PATHS_MAX fields, if no more can be there than are known', async () => {
  const store = storeWith(['message'], 1_000)
  const few = await learned(WIDE_PATHS_MAX, [])
  const many = await learned(WIDE_PATHS_MAX + 1, [])
  assert.equal((await store.readOne(few)).isWide, true)
  assert.equal((await store.readOne(many)).isWide, false)
  const capped = await learned(10, [])
  assert.equal((await storeWith([], 10).readOne(capped)).isWide, false)
  assert.equal((await storeWith([], 11).readOne(capped)).isWide, true)
})

test('of a stream without fields nothing is known', async () => {
  const none = await learned(0, [])
  assert.equal(await storeWith([], 10).readOne(none), NO_NEEDS)
  assert.equal(await storeWith([], 10).readOne(4_711 as StreamId), NO_NEEDS)
})
