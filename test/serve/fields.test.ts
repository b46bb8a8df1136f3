/**
 * Goal: the catalog over REST: pages, filters, paths of any spelling, Resolve, shapes, and who may
 * see them.
 * Method: a real PostgreSQL that a real observe has learned into.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { FIELDS_FOUND_AMONG_MAX, FIELDS_FOUND_DEFAULT, FIELDS_FOUND_MAX } from '../../src/limits.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { fieldRoutes } from '../../src/serve/fields.ts'
import { foundFieldsRoutes } from '../../src/serve/found-fields.ts'
import { cachedForSeconds } from '../../src/serve/projection-bytes.ts'
import { FIELD_INDEX_CACHE_MS, FieldIndex } from '../../src/store/catalog/field-index.ts'
import { SchemaStore } from '../../src/store/catalog/schema-store.ts'
import { newStream, TestNode } from '../observe/nodes.ts'
import { RestHarness, startDatabase, type TestDatabase } from './rest-harness.ts'

let database: TestDatabase
let node: TestNode
let rest: RestHarness
let nowMs = 0

before(async () => {
  database = await startDatabase()
  node = await TestNode.create(database.postgres, '00000000-0000-4000-8000-000000000004')
  await node.start()
  rest = await RestHarness.start(database.postgres, ({ resolveToken, control }) => {
    // Nothing is kept: tests learn and look at once.
    const fieldIndex = new FieldIndex(database.postgres, () => (nowMs += FIELD_INDEX_CACHE_MS))
    const deps = { resolveToken, streams: control, fieldIndex }
    const schemas = new SchemaStore(database.postgres)
    return [...fieldRoutes({ ...deps, schemas }), ...foundFieldsRoutes(deps)]
  })
})

after(async () => {
  await node?.stop()
  await rest?.close().finally(() => database.close())
})

async function learn(body: string): Promise<StreamId> {
  const streamId = await newStream(database.postgres)
  await node.commit(streamId, body)
  await node.caughtUp()
  return streamId
}

const get = (streamId: StreamId, what: string) =>
  rest.call('GET', `/v1/streams/${streamId}/${what}`)
const paths = (json: { fields: { path: string }[] }) => json.fields.map(({ path }) => path)

test('fields show path, types, conflict, times and samples with all their digits', async () => {
  const startMs = Date.now()
  const streamId = await learn('{"n":18446744073709551615}\n{"n":"x\\u0000\\""}\n{"n":null}')
  const { status, json, text } = await get(streamId, 'fields')
  assert.equal(status, 200)
  assert.match(text, /"samples":\["x\\u0000\\"",18446744073709551615\]/)
  const [field] = json.fields
  assert.deepEqual(
    [field.path, field.types, field.conflict, field.resolved_at],
    ['n', ['null', 'integer', 'string'], true, null],
  )
  assert(Date.parse(field.first_seen_at) >= startMs && field.first_seen_at === field.last_seen_at)
  assert.equal(json.next, null)
})

test('pages, prefix, type and conflict select', async () => {
  const keys = Array.from({ length: 25 }, (_, i) => `"k${String(i).padStart(2, '0')}":${i % 2}`)
  const streamId = await learn(`{${keys.join(',')},"x%_":true,"é":[]}\n{"k07":"text"}`)
  const seen: string[] = []
  for (let after: string | null = ''; after !== null; ) {
    const { json } = await get(streamId, `fields?limit=10${after && `&after=${after}`}`)
    assert(json.fields.length <= 10)
    seen.push(...paths(json))
    after = json.next === null ? null : encodeURIComponent(json.next)
  }
  assert.deepEqual(seen.length, 27)
  assert.deepEqual(seen, seen.toSorted())
  assert.deepEqual(paths((await get(streamId, 'fields?prefix=k1')).json).length, 10)
  assert.deepEqual(paths((await get(streamId, 'fields?prefix=x%25')).json), ['x%_'])
  assert.deepEqual(paths((await get(streamId, 'fields?type=boolean')).json), ['x%_'])
  assert.deepEqual(paths((await get(streamId, 'fields?type=array&limit=1')).json), ['é'])
  assert.deepEqual(paths((await get(streamId, 'fields?conflict=true')).json), ['k07'])
  assert.equal(paths((await get(streamId, 'fields?conflict=false')).json).length, 26)
  for (const bad of ['limit=0', 'limit=10001', 'type=number', 'conflict=1', 'x=1', 'after=%00']) {
    assert.equal((await get(streamId, `fields?${bad}`)).status, 400, bad)
  }
})

test('a part of the path selects as it does where all fields are in memory', async () => {
  const keys = ['Http.STATUS', 'http.status', 'xstatusx', 'StÄtus', 'a%_b', 'a\\\\b', 'é', 'É']
  const streamId = await learn(`{${keys.map((key) => `"${key}":1`).join(',')}}`)
  for (const part of ['status', 'STATUS', 'p.s', 'ä', 'Ä', 'é', '%_', '\\', '', 'none']) {
    const query = `contains=${encodeURIComponent(part)}`
    const listed = paths((await get(streamId, `fields?${query}`)).json)
    const { json } = await rest.call('GET', `/v1/fields?streams=${streamId}&objects=true&${query}`)
    assert.deepEqual(paths(json).sort(), listed.sort(), part)
    assert.equal(json.total, listed.length)
    if (part === 'STATUS') assert.equal(listed.length, 3)
  }
  const { json } = await rest.call('GET', `/v1/fields?streams=${streamId}&contains=htp.status`)
  assert.ok(json.nearest.some(({ path }: { path: string }) => path === 'http.status'))
  for (const bad of ['contains=%00', `contains=${'x'.repeat(1_025)}`]) {
    assert.equal((await get(streamId, `fields?${bad}`)).status, 400, bad)
    assert.equal((await rest.call('GET', `/v1/fields?${bad}`)).status, 400, bad)
  }
})

test('fields are found among FIELDS_FOUND_AMONG_MAX, FIELDS_FOUND_MAX at a time', async () => {
  const count = FIELDS_FOUND_MAX + 1
  const keys = Array.from({ length: count }, (_, n) => `"found${n}":${n}`)
  const streamId = await learn(`{${keys.join(',')}}`)
  const find = async (query: string) => {
    return (await rest.call('GET', `/v1/fields?streams=${streamId}&${query}`)).json
  }
  assert.equal(paths(await find('contains=found')).length, FIELDS_FOUND_DEFAULT)
  const { fields, total, complete } = await find(`contains=found&limit=${FIELDS_FOUND_MAX}`)
  assert.deepEqual([fields.length, total, complete], [FIELDS_FOUND_MAX, count, true])
  assert.equal((await find(`limit=${count}`)).status, 400)
  await database.postgres.query('UPDATE stream_schemas SET field_count = $2 WHERE stream_id = $1', [
    streamId,
    FIELDS_FOUND_AMONG_MAX + 1,
  ])
  const beyond = await find('contains=found')
  assert.deepEqual([beyond.fields, beyond.complete], [[], false])
})

test('how many events have a field, and each of its types; when it was last seen', async () => {
  const streamId = await learn('{"n":1}\n{"n":2,"m":true}\n{"n":"x"}\n{"m":false}')
  const { json } = await get(streamId, 'fields')
  const [m, n] = json.fields
  assert.deepEqual([m.share, n.share], [0.5, 0.75])
  assert.deepEqual(
    n.seen.map(({ type, share }: { type: string; share: number }) => [type, share]),
    [
      ['integer', 0.5],
      ['string', 0.25],
    ],
  )
  assert(n.seen.every((one: { last_seen_at: string }) => one.last_seen_at === n.last_seen_at))
  const resolved = await rest.call('POST', `/v1/streams/${streamId}/fields/n/resolve`)
  assert.deepEqual(resolved.json.seen.length, 1)
})

test('no cursor is empty, whatever the path', async () => {
  const streamId = await learn('{"":1,"\\"\\"":2,"\\"a":3,"b":4,"\\u0001":5}')
  const seen: string[] = []
  for (let after: string | null = ''; after !== null; ) {
    const { json } = await get(streamId, `fields?limit=1${after && `&after=${after}`}`)
    assert.notEqual(json.next, '')
    seen.push(...paths(json))
    after = json.next === null ? null : encodeURIComponent(json.next)
    assert(seen.length <= 5)
  }
  assert.deepEqual(seen, ['', '\u0001', '""', '"a', 'b'])
  for (const bad of ['%22', '%22a', '%22a%22b', '%22\\u0000%22']) {
    assert.equal((await get(streamId, `fields?after=${bad}`)).status, 400, bad)
  }
})

test('Resolve finds a path however it is spelled, and says when it was resolved', async () => {
  const keys = ['a/b', 'a b', 'ä.ö[]', 'x%2Fy', '?#&', '.a']
  const events = keys.flatMap((key) => [`{"${key}":1}`, `{"${key}":"x"}`])
  const streamId = await learn(events.join('\n'))
  const stream = `/v1/streams/${streamId}`
  for (const key of keys) {
    const path = `${stream}/fields/${encodeURIComponent(key)}/resolve`
    const { status, json } = await rest.call('POST', path)
    assert.equal(status, 200, key)
    assert.deepEqual([json.path, json.conflict, json.types.length], [key, false, 1])
    assert(Date.parse(json.resolved_at) > 0)
  }
  assert.deepEqual((await get(streamId, 'fields?conflict=true')).json.fields, [])
  assert.equal((await rest.call('POST', `${stream}/fields/none/resolve`)).status, 404)
})

test('shapes show paths, counts and an example; the newest first, in pages', async () => {
  const streamId = await learn('{"a":1}\n{"a":2}')
  await new Promise((resolve) => setTimeout(resolve, 2))
  await node.commit(streamId, '{"b":{"c":"x"}}')
  await node.caughtUp()
  const { json } = await get(streamId, 'shapes')
  assert.equal(json.next, null)
  const shown = json.shapes.map(({ events, paths }: { events: number; paths: object[] }) => {
    return [events, paths]
  })
  assert.deepEqual(shown, [
    [
      1,
      [
        { path: 'b.c', type: 'string' },
        { path: 'b', type: 'object' },
      ],
    ],
    [2, [{ path: 'a', type: 'integer' }]],
  ])
  assert.match(json.shapes[1].example_event_id, /^\d+-0$/)
  const first = (await get(streamId, 'shapes?limit=1')).json
  assert.equal(first.next, json.shapes[0].shape)
  const second = (await get(streamId, `shapes?limit=1&after=${first.next}`)).json
  assert.deepEqual(second, { shapes: [json.shapes[1]], next: null })
  assert.equal((await get(streamId, 'shapes?after=zz')).status, 400)
})

test('samples are for those who may read events', async () => {
  const owner = `reader-${process.pid}`
  const streamId = await newStream(database.postgres)
  await database.postgres.query('UPDATE streams SET owner = $2 WHERE stream_id = $1', [
    streamId,
    owner,
  ])
  await node.commit(streamId, '{"secret":"hunter2"}')
  await node.caughtUp()
  const cases = [
    [['streams:read', 'streams:write'], false],
    [['streams:read', 'streams:write', 'events:write'], false],
    [['streams:read', 'streams:write', 'events:read'], true],
    [['admin'], true],
  ] as const
  for (const [scopes, isShown] of cases) {
    const token = await rest.token(owner, [...scopes])
    const list = await rest.call('GET', `/v1/streams/${streamId}/fields`, { token })
    const path = `/v1/streams/${streamId}/fields/secret/resolve`
    const resolved = await rest.call('POST', path, { token })
    for (const { status, field, text } of [
      { ...list, field: list.json.fields[0] },
      { ...resolved, field: resolved.json },
    ]) {
      assert.equal(status, 200, text)
      assert.deepEqual(field.samples, isShown ? ['hunter2'] : [])
      assert.equal(field.samples_withheld, isShown ? undefined : true)
    }
    const shapes = await rest.call('GET', `/v1/streams/${streamId}/shapes`, { token })
    assert.doesNotMatch(shapes.text, /hunter2/)
  }
})

test('only those who see the stream see its catalog, and only writers resolve', async () => {
  const streamId = await learn('{"a":1}\n{"a":"x"}')
  const reader = await rest.token('owner', ['streams:read'])
  const other = await rest.token('other', ['streams:read', 'streams:write'])
  const stream = `/v1/streams/${streamId}`
  const cases = [
    ['GET', `${stream}/fields`, reader, 200],
    ['GET', `${stream}/shapes`, reader, 200],
    ['POST', `${stream}/fields/a/resolve`, reader, 403],
    ['GET', `${stream}/fields`, other, 404],
    ['GET', `${stream}/shapes`, other, 404],
    ['POST', `${stream}/fields/a/resolve`, other, 404],
    ['GET', `${stream}/fields`, '', 401],
  ] as const
  for (const [method, path, token, status] of cases) {
    assert.equal((await rest.call(method, path, { token })).status, status, `${method} ${path}`)
  }
})

test('projection bytes are asked for seldom, and again when they were not told', async () => {
  let now = 0
  let asked = 0
  const answers = [7, null, 9]
  const read = cachedForSeconds(
    async () => answers[asked++] ?? null,
    () => now,
  )
  const streamId = 1 as StreamId
  assert.deepEqual([await read(streamId), await read(streamId)], [7, 7])
  now += 5_000
  assert.equal(await read(streamId), null)
  assert.deepEqual([await read(streamId), await read(streamId), asked], [9, 9, 3])
})
