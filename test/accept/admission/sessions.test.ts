/**
 * Goal: a browser's session is worth what its token is worth, for as long as that and no longer;
 * it ends when nobody uses it, and no other page can show it.
 * Method: the cache over a control store in memory, with a clock of its own.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { SESSION_IDLE_MS_MAX } from '../../../src/limits.ts'
import { failure, setUp } from './credential-source.ts'

const REFUSED = 'unauthenticated: a valid credential is required'
const FAR_MS = 10 * SESSION_IDLE_MS_MAX

function setUpAt(nowMs: number) {
  const clock = { nowMs }
  return { clock, ...setUp({ nowMs: () => clock.nowMs, pollMs: 10 }) }
}

test('a session is who its token is, and asks the store once', async () => {
  const { source, cache } = setUpAt(100_000)
  const token = source.issue('token')
  const session = source.begin(token, FAR_MS)
  const { sessionId, ...principal } = await cache.resolveSession(session, '')
  assert.deepEqual(principal, await cache.resolveToken(token))
  assert.equal(sessionId, 2)
  await cache.resolveSession(session, '')
  assert.equal(source.finds, 2)
  await cache.flushUses()
  assert.deepEqual(source.uses.map(({ kind }) => kind).sort(), ['session', 'token'])
})

test('it is shown by nothing but the cookie', async () => {
  const { source, cache } = setUpAt(1_000)
  const token = source.issue('token')
  const session = source.begin(token, FAR_MS)
  assert.equal(await failure(cache.resolveToken(session)), REFUSED)
  assert.equal(await failure(cache.resolveKey(session)), REFUSED)
  assert.equal(cache.tryResolveKey(session), undefined)
  for (const text of [token, source.issue('key'), '', `${session}x`, session.slice(0, -1)]) {
    assert.equal(await failure(cache.resolveSession(text, '')), REFUSED)
  }
  const other = `${session.slice(0, -1)}${session.endsWith('a') ? 'b' : 'a'}`
  assert.equal(await failure(cache.resolveSession(other, '')), REFUSED)
})

test('a token that is revoked or expires takes its sessions with it', async () => {
  const { source, cache, clock } = setUpAt(1_000)
  const [kept, revoked, late] = [null, null, 2_000].map((ms) => source.issue('token', ms))
  const sessions = [kept!, revoked!, late!].map((token) => source.begin(token, FAR_MS))
  for (const session of sessions) await cache.resolveSession(session, '')
  source.stored.delete(`token${revoked!.slice(4, 12)}`)
  cache.forget({ kind: 'credential', prefix: revoked!.slice(4, 12) })
  clock.nowMs = 2_000
  const ends = await Promise.all(
    sessions.map((session) =>
      cache.resolveSession(session, '').then(
        () => 'works',
        () => 'over',
      ),
    ),
  )
  assert.deepEqual(ends, ['works', 'over', 'over'])
})

test('a session that was ended is over on each node that hears of it', async () => {
  const { source, cache } = setUpAt(1_000)
  const session = source.begin(source.issue('token'), FAR_MS)
  await cache.resolveSession(session, '')
  cache.start()
  source.revoke(session)
  const deadline = performance.now() + 5_000
  let isOver = false
  while (!isOver && performance.now() < deadline) {
    isOver = await cache.resolveSession(session, '').then(
      () => false,
      () => true,
    )
    await sleep(5)
  }
  await cache.stop()
  assert.ok(isOver)
})

test('it ends when its time is over, or after SESSION_IDLE_MS_MAX without a request', async () => {
  const { source, cache, clock } = setUpAt(1_000)
  const token = source.issue('token')
  const short = source.begin(token, 3_000)
  const idle = source.begin(token, FAR_MS, 1_000)
  const used = source.begin(token, FAR_MS, 1_000)
  for (const session of [short, idle, used]) await cache.resolveSession(session, '')
  clock.nowMs = 3_000
  assert.equal(await failure(cache.resolveSession(short, '')), REFUSED)
  clock.nowMs = SESSION_IDLE_MS_MAX
  await cache.resolveSession(used, '')
  clock.nowMs = SESSION_IDLE_MS_MAX + 1_000
  assert.equal(await failure(cache.resolveSession(idle, '')), REFUSED)
  await cache.resolveSession(used, '')
})

test('a session that another node saw meanwhile is not idle', async () => {
  const { source, cache, clock } = setUpAt(1_000)
  const session = source.begin(source.issue('token'), FAR_MS, 1_000)
  await cache.resolveSession(session, '')
  clock.nowMs = 1_000 + SESSION_IDLE_MS_MAX
  const key = `session${session.slice(4, 12)}`
  const stored = source.stored.get(key)
  assert.ok(stored?.kind === 'session')
  source.stored.set(key, { ...stored, usedAtMs: clock.nowMs - 60_000 })
  await cache.resolveSession(session, '')
})

test('it belongs to the page that it was begun from', async () => {
  const { source, cache } = setUpAt(1_000)
  const token = source.issue('token')
  const session = source.begin(token, FAR_MS, 0, 'https://logs.example.com')
  await cache.resolveSession(session, '')
  await cache.resolveSession(session, 'https://logs.example.com')
  for (const origin of ['https://evil.example.com', 'http://logs.example.com', 'null']) {
    assert.equal(await failure(cache.resolveSession(session, origin)), REFUSED)
  }
  const plain = source.begin(token, FAR_MS)
  assert.equal(await failure(cache.resolveSession(plain, 'https://logs.example.com')), REFUSED)
})
