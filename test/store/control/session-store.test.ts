/**
 * Goal: a browser that showed a token once is known by its cookie, on every node, until it signs
 * out, its time is over, or the token ends; how many there are of a token is bounded.
 * Method: the routes over a real PostgreSQL; the cache of a second node beside that of the first.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sessionCookieName } from '../../../src/http/session-cookie.ts'
import {
  CONTROL_POLL_MS,
  SESSION_IDLE_MS_MAX,
  SESSION_MS_MAX,
  SESSIONS_PER_TOKEN_MAX,
} from '../../../src/limits.ts'
import { sha256 } from '../../../src/model/credential.ts'
import { sessionRoutes } from '../../../src/serve/session.ts'
import { tokenRoutes } from '../../../src/serve/tokens.ts'
import { SessionStore } from '../../../src/store/control/session-store.ts'
import {
  type Answer,
  RestHarness,
  startDatabase,
  type TestDatabase,
} from '../../serve/rest-harness.ts'

const ORIGIN = 'http://logs.example.com'
let database: TestDatabase
let rest: RestHarness
let store: SessionStore
let cookieName = ''

before(async () => {
  database = await startDatabase()
  store = new SessionStore(database.postgres, (change) => rest.cache.forget(change))
  cookieName = sessionCookieName(await store.readInstallation())
  rest = await RestHarness.start(database.postgres, (harness) => {
    const { control, resolveToken } = harness
    const resolve = (text: string, origin: string) => harness.cache.resolveSession(text, origin)
    const guard = { control, resolveToken, sessions: { cookieName, resolve } }
    const browsers = { sessionStore: store, cookieName, isTls: false }
    return [...tokenRoutes(guard), ...sessionRoutes({ ...guard, ...browsers })]
  })
})

after(async () => {
  await rest?.close().finally(() => database.close())
})

const begin = (token: string, headers: Readonly<Record<string, string>> = {}) =>
  rest.call('POST', '/v1/session', { token, headers: { origin: ORIGIN, ...headers } })

const secretOf = ({ headers }: Answer): string =>
  new RegExp(`^${cookieName}=(las_\\w+);`).exec(headers.get('set-cookie') ?? '')?.[1] ?? ''

/** As the page asks, with nothing but the cookie. */
const ask = (secret: string, method = 'GET', path = '/v1/me') => {
  const headers = { cookie: `${cookieName}=${secret}`, 'x-sluice-session': '1', origin: ORIGIN }
  return rest.call(method, path, { token: '', headers })
}

test('a token is exchanged for a cookie, which is worth what the token is', async () => {
  const token = await rest.token('ann', ['events:read'])
  const begun = await begin(token)
  assert.equal(begun.status, 201)
  assert.equal(begun.json.idle_seconds, SESSION_IDLE_MS_MAX / 1_000)
  const lasts = Date.parse(begun.json.expires_at) - Date.now()
  assert.ok(Math.abs(lasts - SESSION_MS_MAX) < 60_000, `${lasts} ms`)
  assert.equal(begun.headers.get('cache-control'), 'no-store')
  assert.match(cookieName, /^sluice_[0-9a-f]{8}$/)
  const secret = secretOf(begun)
  assert.ok(!begun.text.includes(secret) && secret !== '')
  assert.equal((await ask(secret)).text, (await rest.call('GET', '/v1/me', { token })).text)
  // A session makes no other one: it would never end.
  assert.equal((await ask(secret, 'POST', '/v1/session')).status, 403)
})

test('of the secret there is only a hash', async () => {
  const secret = secretOf(await begin(await rest.token('ann', [])))
  const { rows } = await database.postgres.query<Record<string, unknown>>(
    'SELECT * FROM sessions WHERE prefix = $1',
    [secret.slice(4, 12)],
  )
  assert.deepEqual(rows[0]?.secret_sha256, sha256(secret.slice(13)))
  assert.ok(!JSON.stringify(rows).includes(secret.slice(13)))
})

test('signing out ends it on the server, and only there; or everywhere', async () => {
  const token = await rest.token('ann', [])
  const [one, two, three] = [await begin(token), await begin(token), await begin(token)]
  const secrets = [one, two, three].map(secretOf)
  const out = await ask(secrets[0]!, 'DELETE', '/v1/session')
  assert.equal(out.status, 204)
  assert.match(out.headers.get('set-cookie') ?? '', new RegExp(`^${cookieName}=; Max-Age=0;`))
  const statuses = async () =>
    await Promise.all(secrets.map(async (secret) => (await ask(secret)).status))
  assert.deepEqual(await statuses(), [401, 200, 200])
  const bare = await rest.call('DELETE', '/v1/session', { token })
  assert.deepEqual([bare.status, bare.json.code], [400, 'malformed'])
  assert.equal((await ask(secrets[1]!, 'DELETE', '/v1/session?everywhere=true')).status, 204)
  assert.deepEqual(await statuses(), [401, 401, 401])
  // Who has no session at hand ends them with the token.
  const last = secretOf(await begin(token))
  await rest.call('DELETE', '/v1/session?everywhere=true', { token })
  assert.equal((await ask(last)).status, 401)
})

test('on another node it ends within a second: signed out, or with its token', async () => {
  const node = RestHarness.newCache(database.postgres)
  node.start()
  try {
    const token = await rest.token('ann', [])
    const { tokenId } = await node.resolveToken(token)
    const secrets = [secretOf(await begin(token)), secretOf(await begin(token))]
    for (const secret of secrets) await node.resolveSession(secret, ORIGIN)
    const isOver = (secret: string) =>
      node.resolveSession(secret, ORIGIN).then(
        () => false,
        () => true,
      )
    await ask(secrets[0]!, 'DELETE', '/v1/session')
    for (let waited = 0; !(await isOver(secrets[0]!)); waited += 20) {
      assert.ok(waited < 10 * CONTROL_POLL_MS)
      await sleep(20)
    }
    assert.equal(await isOver(secrets[1]!), false)
    await rest.control.revokeToken(tokenId)
    for (let waited = 0; !(await isOver(secrets[1]!)); waited += 20) {
      assert.ok(waited < 10 * CONTROL_POLL_MS)
      await sleep(20)
    }
    assert.equal((await ask(secrets[1]!)).status, 401)
  } finally {
    await node.stop()
  }
})

test('it lives no longer than its token, and rows past their time are removed', async () => {
  const expiresAtMs = Date.now() + 200
  const made = { name: '', owner: 'ann', scopes: [], expiresAtMs }
  const { text } = await rest.control.createToken(made)
  const begun = await begin(text)
  assert.ok(Date.parse(begun.json.expires_at) <= expiresAtMs)
  const prefix = secretOf(begun).slice(4, 12)
  await sleep(210)
  assert.equal((await ask(secretOf(begun))).status, 401)
  assert.equal((await begin(text)).status, 401)
  await begin(await rest.token('ann', []))
  const { rows } = await database.postgres.query('SELECT 1 FROM sessions WHERE prefix = $1', [
    prefix,
  ])
  assert.equal(rows.length, 0)
})

test('of SESSIONS_PER_TOKEN_MAX the one used least lately makes room', async () => {
  const token = await rest.token('ann', [])
  const { tokenId } = await rest.cache.resolveToken(token)
  const first = secretOf(await begin(token))
  const second = secretOf(await begin(token))
  await ask(first)
  await database.postgres.query(
    `INSERT INTO sessions (token_id, prefix, secret_sha256, origin, expires_at)
     SELECT $1, 'x' || n, '', '', now() + interval '1 day' FROM generate_series(1, $2::int) AS n`,
    [tokenId, SESSIONS_PER_TOKEN_MAX - 2],
  )
  await ask(second)
  await database.postgres.query(
    "UPDATE sessions SET last_used_at = now() + interval '1 s' WHERE prefix = $1",
    [first.slice(4, 12)],
  )
  const last = secretOf(await begin(token))
  const statuses = await Promise.all(
    [first, second, last].map(async (one) => (await ask(one)).status),
  )
  assert.deepEqual(statuses, [200, 401, 200])
  const { rows } = await database.postgres.query<{ readonly count: string }>(
    'SELECT count(*) FROM sessions WHERE token_id = $1',
    [tokenId],
  )
  assert.equal(Number(rows[0]?.count), SESSIONS_PER_TOKEN_MAX)
})

test('by HTTPS the cookie goes nowhere else', async () => {
  const token = await rest.token('ann', [])
  const set = async (headers: Readonly<Record<string, string>>) =>
    (await begin(token, headers)).headers.get('set-cookie') ?? ''
  assert.doesNotMatch(await set({}), /Secure|Path|Domain/)
  assert.match(await set({ origin: 'https://logs.example.com' }), /; HttpOnly.*; Secure$/)
  assert.equal((await begin(token, { origin: 'null' })).status, 400)
})
