/**
 * Goal: what a token is made with comes back as it was: an expiry to the millisecond, up to the
 * last that can be written, and the streams that it is limited to, which are its owner's.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { TOKEN_STREAMS_MAX } from '../../src/limits.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { streamRoutes } from '../../src/serve/streams.ts'
import { tokenRoutes } from '../../src/serve/tokens.ts'
import { RestHarness, startDatabase, type TestDatabase } from './rest-harness.ts'

let database: TestDatabase
let rest: RestHarness

before(async () => {
  database = await startDatabase()
  rest = await RestHarness.start(database.postgres, (harness) => [
    ...streamRoutes(harness),
    ...tokenRoutes(harness),
  ])
})

after(async () => {
  await rest?.close().finally(() => database.close())
})

test('an expiry at the end of what can be written comes back as it was, to the ms', async () => {
  const cases = [
    ['9999-12-31T23:59:59.999999999Z', '9999-12-31T23:59:59.999Z'],
    ['9999-12-31T23:59:60Z', '9999-12-31T23:59:59.999Z'],
    ['9999-12-31T23:59:59-23:59', '9999-12-31T23:59:59.999Z'],
    ['2100-01-01T00:00:00.123456Z', '2100-01-01T00:00:00.123Z'],
  ] as const
  for (const [expires_at, shown] of cases) {
    const body = { scopes: ['streams:read'], expires_at }
    const { status, json } = await rest.call('POST', '/v1/tokens', { body })
    assert.deepEqual([status, json.expires_at], [201, shown])
  }
  const { json } = await rest.call('GET', '/v1/tokens')
  const listed = json.tokens.filter((token: { expires_at: string }) => {
    return token.expires_at === '9999-12-31T23:59:59.999Z'
  })
  assert.equal(listed.length, 3)
})

test('a token is limited to streams of its owner, and knows what it may do', async () => {
  const owner = 'limits'
  const newStream = async (of: string, name: string) => {
    const token = await rest.token(of, ['streams:write'])
    return (await rest.call('POST', '/v1/streams', { token, body: { name } })).json.id as string
  }
  const ids = [await newStream(owner, 'a'), await newStream(owner, 'b')]
  const others = await newStream('elsewhere', 'c')
  const make = async (streams: unknown, more: object = {}) => {
    const body = { owner, scopes: ['streams:read'], streams, ...more }
    return await rest.call('POST', '/v1/tokens', { body })
  }
  const created = await make([ids[1], ids[1]])
  const { token, ...record } = created.json
  assert.deepEqual([created.status, record.streams], [201, [ids[1]]])
  const { json: listed } = await rest.call('GET', '/v1/streams', { token })
  assert.deepEqual(
    listed.streams.map(({ id }: { id: string }) => id),
    [ids[1]],
  )
  const own = await rest.call('GET', '/v1/me', { token })
  assert.deepEqual([own.status, own.json], [200, record])
  assert.equal((await make('*')).json.streams, '*')
  assert.equal((await rest.call('GET', '/v1/me')).json.streams, '*')
  assert.equal((await rest.call('GET', '/v1/me', { token: '' })).status, 401)
  // No list and an empty one are not the same.
  const none = await rest.token(owner, ['streams:read'], [])
  assert.deepEqual((await rest.call('GET', '/v1/streams', { token: none })).json.streams, [])
  await assert.rejects(rest.token(owner, ['admin'], [1 as StreamId]), /admin_sees_all/)
  // What is left of it when its streams are gone is a token that sees nothing.
  await rest.call('DELETE', `/v1/streams/${ids[1]}`)
  assert.deepEqual((await rest.call('GET', '/v1/streams', { token })).json.streams, [])
  for (const [answer, status, words] of [
    [
      await make([ids[0], others]),
      404,
      `the owner of the token has no stream with the id ${others}`,
    ],
    [await make([ids[1]]), 404, 'the owner of the token has no stream with the id'],
    [await make([]), 400, 'TOKEN_STREAMS_MAX (100)'],
    [await make(Array(TOKEN_STREAMS_MAX + 1).fill(ids[0])), 400, 'has 101 elements, over 100'],
    [await make(['01']), 400, '"streams"[0] must be an id such as "17"'],
    [await make(7), 400, '"streams" must be a list of ids of streams such as ["1", "7"], or "*"'],
    [await make([ids[0]], { scopes: ['admin'] }), 400, 'with the scope admin, which sees every'],
  ] as const) {
    assert.equal(answer.status, status, answer.text)
    assert.ok(answer.json.detail.includes(words), answer.text)
  }
  assert.equal((await make(Array(TOKEN_STREAMS_MAX).fill(ids[0]))).status, 201)
})
