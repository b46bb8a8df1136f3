/**
 * Goal: the rules of streams, keys and tokens, as a client of the HTTP API meets them.
 * Method: one PostgreSQL and one server for the file; each test has owners of its own.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { IngestError } from '../../src/errors.ts'
import { keyRoutes } from '../../src/serve/keys.ts'
import { streamRoutes } from '../../src/serve/streams.ts'
import { tokenRoutes } from '../../src/serve/tokens.ts'
import { ControlStore } from '../../src/store/control/control-store.ts'
import { RestHarness, startDatabase, type TestDatabase, withoutCaps } from './rest-harness.ts'

const LATE_MS = 5_000 // A second, unless the machine is busy.

let database: TestDatabase
let rest: RestHarness

before(async () => {
  database = await startDatabase()
  rest = await RestHarness.start(database.postgres, (harness) => [
    ...streamRoutes(harness),
    ...keyRoutes(harness),
    ...tokenRoutes(harness),
  ])
})

after(async () => {
  await rest.close().finally(() => database.close())
})

const newStream = async (token: string, name: string) => {
  const { status, json } = await rest.call('POST', '/v1/streams', { token, body: { name } })
  assert.equal(status, 201)
  return json.id as string
}

const ownerToken = (owner: string) => rest.token(owner, ['streams:read', 'streams:write'])

test('a stream has the documented fields and defaults', async () => {
  const token = await ownerToken('defaults')
  const created = await rest.call('POST', '/v1/streams', { token, body: { name: 'web' } })
  const { id, created_at: createdAt, text_fields: _, ...others } = withoutCaps(created.json)
  assert.match(id, /^[1-9][0-9]*$/)
  assert.match(createdAt, /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.deepEqual(others, {
    name: 'web',
    owner: 'defaults',
    retention: '30d',
    max_stored_bytes: null,
    parse_user_agents: false,
    redact_sensitive: false,
    redact_fields: [],
    otlp_context: 'drop',
    rate_budget: null,
    byte_budget: null,
  })
  assert.deepEqual([created.status, created.headers.get('location')], [201, `/v1/streams/${id}`])
  const read = await rest.call('GET', `/v1/streams/${id}`, { token })
  assert.deepEqual(read.json, created.json)
  const listed = await rest.call('GET', '/v1/streams', { token })
  assert.deepEqual(listed.json, { streams: [created.json], next: null })
})

test('PATCH changes what it names and nothing else', async () => {
  const token = await ownerToken('patcher')
  const id = await newStream(token, 'web')
  const settings = {
    name: 'web 2',
    retention: '7d',
    max_stored_bytes: 9_007_199_254_740_991,
    parse_user_agents: true,
    redact_sensitive: true,
    redact_fields: ['headers.cookie', 'a.b.c'],
    rate_budget: 1_000,
    byte_budget: 5,
  }
  const all = await rest.call('PATCH', `/v1/streams/${id}`, { token, body: settings })
  assert.equal(all.status, 200)
  assert.deepEqual({ ...all.json, ...settings }, all.json)
  const one = { max_stored_bytes: null }
  const patched = await rest.call('PATCH', `/v1/streams/${id}`, { token, body: one })
  assert.deepEqual(patched.json, { ...all.json, ...one })
  const none = await rest.call('PATCH', `/v1/streams/${id}`, { token, body: {} })
  assert.deepEqual(none.json, patched.json)
})

test('settings out of bounds are refused by name, with the limit', async () => {
  const token = await ownerToken('bounds')
  const id = await newStream(token, 'web')
  const long = 'x'.repeat(201)
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ name: '' }, /"name" must not be blank/],
    [{ name: ' ' }, /"name" must not be blank/],
    [{ name: 1 }, /"name" must be a string/],
    [{ name: null }, /"name" must be a string/],
    [{ name: long }, /"name" is 201 characters, over NAME_CHARS_MAX \(200\)/],
    [{ name: 'a\u0000b' }, /"name" must not hold the character U\+0000/],
    [{ retention: '0d' }, /"retention" must be a duration .* at most 100 years/],
    [{ retention: 30 }, /"retention" must be a duration/],
    [{ retention: '101y' }, /"retention" must be a duration/],
    [{ max_stored_bytes: 0 }, /"max_stored_bytes" must be null or a positive integer/],
    [{ max_stored_bytes: 1.5 }, /"max_stored_bytes"/],
    [{ max_stored_bytes: 2 ** 53 }, /"max_stored_bytes" .* at most 9007199254740991/],
    [{ max_stored_bytes: '5' }, /"max_stored_bytes"/],
    [{ rate_budget: -1 }, /"rate_budget"/],
    [{ byte_budget: true }, /"byte_budget"/],
    [{ parse_user_agents: 1 }, /"parse_user_agents" must be true or false/],
    [{ redact_sensitive: 'yes' }, /"redact_sensitive" must be true or false/],
    [{ redact_fields: 'a' }, /"redact_fields" must be a list/],
    [{ redact_fields: [1] }, /"redact_fields"\[0\] must be a string/],
    [{ redact_fields: [''] }, /"redact_fields"\[0\] .* without empty segments/],
    [{ redact_fields: ['a', 'b..c'] }, /"redact_fields"\[1\] .* without empty segments/],
    [{ redact_fields: ['a', 'A[]'] }, /\[1\] is in the list twice: .* as \[0\]/],
    [{ redact_fields: ['a\u0000'] }, /"redact_fields"\[0\] .* must not hold/],
    [{ redact_fields: ['x'.repeat(513)] }, /513 characters, over REDACT_FIELD_CHARS_MAX \(512\)/],
    [
      { redact_fields: Array.from({ length: 257 }, (_, i) => `f${i}`) },
      /257 paths, over REDACT_FIELDS_MAX \(256\)/,
    ],
    [{ retenton: '1d', nmae: 'x' }, /unknown field "retenton", "nmae"; known are: name, retention/],
    [{ owner: 'me' }, /unknown field "owner"/],
    [{ id: '7' }, /unknown field "id"/],
    [[], /the body must be a JSON object/],
  ]
  for (const [body, message] of cases) {
    for (const [method, path] of [
      ['PATCH', `/v1/streams/${id}`],
      ['POST', '/v1/streams'],
    ] as const) {
      const isNew = method === 'POST' && !Array.isArray(body)
      const sent = isNew ? { name: 'other', ...body } : body
      const { status, json } = await rest.call(method, path, { token, body: sent })
      assert.equal(status, 400, JSON.stringify(body))
      assert.equal(json.code, 'malformed')
      assert.match(json.detail, message)
    }
  }
  const noName = await rest.call('POST', '/v1/streams', { token, body: {} })
  assert.match(noName.json.detail, /"name" is required/)
})

test('a name is unique among the live streams of one owner', async () => {
  const [ann, bob] = [await ownerToken('ann'), await ownerToken('bob')]
  const id = await newStream(ann, 'web')
  await newStream(bob, 'web')
  const again = await rest.call('POST', '/v1/streams', { token: ann, body: { name: 'web' } })
  assert.equal(again.status, 409)
  assert.equal(again.json.code, 'conflict')
  const other = await newStream(ann, 'other')
  const renamed = { token: ann, body: { name: 'web' } }
  assert.equal((await rest.call('PATCH', `/v1/streams/${other}`, renamed)).status, 409)
  assert.equal((await rest.call('DELETE', `/v1/streams/${id}`, { token: ann })).status, 204)
  assert.equal((await rest.call('PATCH', `/v1/streams/${other}`, renamed)).status, 200)
})

test('of creations of one name at the same time one succeeds', async () => {
  const token = await ownerToken('racer')
  const calls = Array.from({ length: 8 }, () =>
    rest.call('POST', '/v1/streams', { token, body: { name: 'one' } }),
  )
  const statuses = (await Promise.all(calls)).map((answer) => answer.status).sort()
  assert.deepEqual(statuses, [201, 409, 409, 409, 409, 409, 409, 409])
})

test("another owner's stream, a deleted one and none at all answer the same 404", async () => {
  const [owner, stranger] = [await ownerToken('owner'), await ownerToken('stranger')]
  const id = await newStream(owner, 'mine')
  const deleted = await newStream(stranger, 'gone')
  await rest.call('DELETE', `/v1/streams/${deleted}`, { token: stranger })
  const answers = new Set<string>()
  for (const path of [id, deleted, '999999999', '0', '99999999999', 'x', '1%2F2', '-1', '01']) {
    for (const [method, rests, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { name: 'x' }],
      ['DELETE', '', undefined],
      ['GET', '/keys', undefined],
      ['POST', '/keys', {}],
      ['DELETE', '/keys/1', undefined],
    ] as const) {
      const options = { token: stranger, body }
      const answer = await rest.call(method, `/v1/streams/${path}${rests}`, options)
      answers.add(`${answer.status} ${answer.text}`)
    }
  }
  assert.equal(answers.size, 1, [...answers].join('\n'))
  assert.match([...answers][0] ?? '', /^404 .*"code":"not_found"/)
  assert.equal((await rest.call('GET', `/v1/streams/${id}`)).status, 200, 'an admin sees it')
  const listed = await rest.call('GET', '/v1/streams', { token: stranger })
  assert.deepEqual(listed.json.streams, [])
})

test('scopes: read does not write, neither manages tokens, admin does all', async () => {
  const reader = await rest.token('scoped', ['streams:read'])
  const writer = await rest.token('scoped', ['streams:write'])
  const events = await rest.token('scoped', ['events:read', 'events:write'])
  const id = await newStream(writer, 'web')
  const cases = [
    ['GET', '/v1/streams', undefined, [200, 403, 403, 200]],
    ['GET', `/v1/streams/${id}`, undefined, [200, 403, 403, 200]],
    ['PATCH', `/v1/streams/${id}`, { rate_budget: 5 }, [403, 200, 403, 200]],
    ['GET', `/v1/streams/${id}/keys`, undefined, [200, 403, 403, 200]],
    ['POST', `/v1/streams/${id}/keys`, {}, [403, 201, 403, 201]],
    ['GET', '/v1/tokens', undefined, [403, 403, 403, 200]],
    ['POST', '/v1/tokens', { scopes: ['events:read'] }, [403, 403, 403, 201]],
  ] as const
  for (const [method, path, body, expected] of cases) {
    const statuses: number[] = []
    for (const token of [reader, writer, events, rest.adminToken]) {
      statuses.push((await rest.call(method, path, { token, body })).status)
    }
    assert.deepEqual(statuses, expected, `${method} ${path}`)
  }
})

test('without a valid token: 401 with WWW-Authenticate; with an API key: 403', async () => {
  const id = await newStream(rest.adminToken, 'wrong kind')
  const { json } = await rest.call('POST', `/v1/streams/${id}/keys`, { body: { name: 'k' } })
  const bad = `lap_${'a'.repeat(8)}_${'b'.repeat(40)}`
  for (const token of ['', 'x', bad, bad.replace('lap', 'lax')]) {
    const answer = await rest.call('GET', '/v1/streams', { token })
    assert.equal(answer.status, 401)
    assert.equal(answer.headers.get('www-authenticate'), 'Bearer realm="sluice"')
    assert.equal(answer.json.detail, 'a valid credential is required')
  }
  assert.equal((await rest.call('GET', '/v1/streams', { token: json.key })).status, 403)
  const header = { token: '', headers: { 'X-API-Key': json.key } }
  assert.equal((await rest.call('GET', '/v1/streams', header)).status, 403)
})

test('a key shows its secret once, and is listed with when it was used and revoked', async () => {
  const token = await ownerToken('keys')
  const id = await newStream(token, 'web')
  const path = `/v1/streams/${id}/keys`
  const created = await rest.call('POST', path, { token, body: { name: 'shipper' } })
  assert.equal(created.status, 201)
  const { key, ...record } = created.json
  assert.match(key, /^lax_[a-z0-9]{8}_[A-Za-z0-9]{40}$/)
  assert.equal(created.headers.get('location'), `${path}/${record.id}`)
  assert.equal(record.prefix, key.slice(4, 12))
  const unused = { name: 'shipper', last_used_at: null, revoked_at: null }
  assert.deepEqual({ ...record, ...unused }, record)
  const listed = await rest.call('GET', path, { token })
  assert.deepEqual(listed.json, { keys: [record] })
  assert.ok(!listed.text.includes(key.slice(13)))

  assert.equal((await rest.cache.resolveKey(key)).stream.name, 'web')
  await rest.cache.flushUses()
  const used = (await rest.call('GET', path, { token })).json.keys[0]
  assert.ok(Math.abs(Date.parse(used.last_used_at) - Date.now()) < 10_000)

  assert.equal((await rest.call('DELETE', `${path}/${record.id}`, { token })).status, 204)
  const revoked = (await rest.call('GET', path, { token })).json.keys[0]
  assert.ok(Math.abs(Date.parse(revoked.revoked_at) - Date.now()) < 10_000)
  assert.equal((await rest.call('DELETE', `${path}/${record.id}`, { token })).status, 204)
  const again = (await rest.call('GET', path, { token })).json.keys[0]
  assert.equal(again.revoked_at, revoked.revoked_at, 'revoking again changes nothing')
  const other = await newStream(token, 'other')
  const elsewhere = `/v1/streams/${other}/keys/${record.id}`
  assert.equal((await rest.call('DELETE', elsewhere, { token })).status, 404)
})

test('a revoked key, and all keys of a deleted stream, refuse elsewhere in a second', async () => {
  const token = await ownerToken('revoker')
  const otherNode = RestHarness.newCache(database.postgres)
  otherNode.start()
  const isRefused = async (key: string) => {
    const failure: unknown = await otherNode.resolveKey(key).catch((cause: unknown) => cause)
    return failure instanceof IngestError && failure.code === 'unauthenticated'
  }
  for (const what of ['key', 'stream'] as const) {
    const id = await newStream(token, `revoked by ${what}`)
    const { json } = await rest.call('POST', `/v1/streams/${id}/keys`, { token, body: {} })
    await otherNode.resolveKey(json.key)
    const path = what === 'key' ? `/v1/streams/${id}/keys/${json.id}` : `/v1/streams/${id}`
    assert.equal((await rest.call('DELETE', path, { token })).status, 204)
    assert.equal(rest.cache.tryResolveKey(json.key), 'lookup', 'this node forgets at once')
    const start = performance.now()
    while (!(await isRefused(json.key))) {
      assert.ok(performance.now() - start < LATE_MS, 'refused soon')
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  await otherNode.stop()
})

test('changed settings reach the key of another node within a second', async () => {
  const token = await ownerToken('changer')
  const id = await newStream(token, 'web')
  const { json } = await rest.call('POST', `/v1/streams/${id}/keys`, { token, body: {} })
  const otherNode = RestHarness.newCache(database.postgres)
  otherNode.start()
  assert.equal((await otherNode.resolveKey(json.key)).stream.redactSensitive, false)
  await rest.call('PATCH', `/v1/streams/${id}`, { token, body: { redact_sensitive: true } })
  const start = performance.now()
  while (!(await otherNode.resolveKey(json.key)).stream.redactSensitive) {
    assert.ok(performance.now() - start < LATE_MS)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  await otherNode.stop()
})

test('a stream has at most KEYS_PER_STREAM_MAX live keys', async () => {
  const id = Number(await newStream(rest.adminToken, 'many keys'))
  await database.postgres.query(
    `INSERT INTO api_keys (stream_id, prefix, secret_sha256, name)
     SELECT $1::integer, 'bulk' || n, '\\x00', '' FROM generate_series(1, 1000) n`,
    [id],
  )
  const path = `/v1/streams/${id}/keys`
  const refused = await rest.call('POST', path, { body: {} })
  assert.equal(refused.status, 409)
  assert.match(refused.json.detail, /KEYS_PER_STREAM_MAX \(1000\)/)
  const { keys } = (await rest.call('GET', path)).json
  await rest.call('DELETE', `${path}/${keys[0].id}`)
  assert.equal((await rest.call('POST', path, { body: {} })).status, 201)
})

test('tokens are made, listed and revoked by admins', async () => {
  const body = { name: 'ci', owner: 'ci', scopes: ['events:read', 'streams:read', 'events:read'] }
  const created = await rest.call('POST', '/v1/tokens', { body })
  assert.equal(created.status, 201)
  const { token, ...record } = created.json
  assert.match(token, /^lap_[a-z0-9]{8}_[A-Za-z0-9]{40}$/)
  assert.deepEqual(record.scopes, ['streams:read', 'events:read'])
  assert.equal(record.owner, 'ci')
  const listed = await rest.call('GET', '/v1/tokens')
  assert.deepEqual(listed.json.tokens.at(-1), record)
  assert.equal((await rest.call('GET', '/v1/streams', { token })).status, 200)
  assert.equal((await rest.call('DELETE', `/v1/tokens/${record.id}`)).status, 204)
  assert.equal((await rest.call('GET', '/v1/streams', { token })).status, 401)
  assert.equal((await rest.call('DELETE', '/v1/tokens/999999')).status, 404)
})

test('bad tokens are refused by name', async () => {
  const cases: readonly (readonly [object, RegExp])[] = [
    [{}, /"scopes" is required: a list of one or more of: streams:read, /],
    [{ scopes: [] }, /"scopes" must be a list/],
    [{ scopes: ['root'] }, /"scopes"\[0\] must be one of/],
    [{ scopes: ['admin'], owner: '' }, /"owner" must not be blank/],
    [{ scopes: ['admin'], expires_at: 'soon' }, /"expires_at" must be an RFC 3339 time/],
    [{ scopes: ['admin'], expires_at: '2001-01-01T00:00:00Z' }, /"expires_at" must be in the fut/],
    [{ scopes: ['admin'], secret: 'x' }, /unknown field "secret"/],
  ]
  for (const [body, message] of cases) {
    const { status, json } = await rest.call('POST', '/v1/tokens', { body })
    assert.equal(status, 400, JSON.stringify(body))
    assert.match(json.detail, message)
  }
})

test('a token ends at its expiry', async () => {
  const expiresAt = new Date(Date.now() + 600).toISOString()
  const body = { scopes: ['streams:read'], expires_at: expiresAt }
  const { json } = await rest.call('POST', '/v1/tokens', { body })
  assert.equal(json.expires_at, expiresAt)
  assert.equal((await rest.call('GET', '/v1/streams', { token: json.token })).status, 200)
  await new Promise((resolve) => setTimeout(resolve, 700))
  assert.equal((await rest.call('GET', '/v1/streams', { token: json.token })).status, 401)
})

test('lists go on from their cursor', async () => {
  const token = await ownerToken('pager')
  const ids: string[] = []
  for (const name of ['a', 'b', 'c']) ids.push(await newStream(token, name))
  const first = await rest.call('GET', '/v1/streams?limit=2', { token })
  assert.deepEqual(
    first.json.streams.map((stream: { id: string }) => stream.id),
    ids.slice(0, 2),
  )
  const rests = await rest.call('GET', `/v1/streams?limit=2&after=${first.json.next}`, { token })
  assert.deepEqual(
    rests.json.streams.map((stream: { id: string }) => stream.id),
    ids.slice(2),
  )
  assert.equal(rests.json.next, null)
  for (const query of [
    'limit=0',
    'limit=1001',
    'limit=x',
    'after=x',
    'page=2',
    'limit=1&limit=2',
  ]) {
    assert.equal((await rest.call('GET', `/v1/streams?${query}`, { token })).status, 400, query)
  }
})

test('of nodes that start together one makes the first admin token', async () => {
  const { postgres } = database
  const revoke = `UPDATE access_tokens SET revoked_at = now() WHERE 'admin' = ANY (scopes)`
  await postgres.query(revoke)
  const stores = Array.from({ length: 6 }, () => new ControlStore(postgres, () => {}))
  const made = await Promise.all(stores.map((store) => store.ensureAdminToken()))
  const texts = made.filter((text) => text !== undefined)
  assert.equal(texts.length, 1)
  rest.cache.invalidate()
  rest.adminToken = texts[0] ?? ''
  assert.equal((await rest.call('GET', '/v1/tokens')).status, 200)
})
