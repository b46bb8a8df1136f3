/**
 * Goal: which credentials are accepted, and which queries that takes, without a store.
 * Method: a source that counts its calls and can be held, changed or switched off.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CredentialLookups } from '../../../src/accept/admission/credential-lookups.ts'
import type { IngestError } from '../../../src/errors.ts'
import {
  CREDENTIAL_LOOKUP_BATCH_MAX,
  CREDENTIAL_LOOKUP_MS_MAX,
  CREDENTIAL_LOOKUPS_MAX,
} from '../../../src/limits.ts'
import { createCredential, type StoredCredential } from '../../../src/model/credential.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { failure, STREAM, setUp } from './credential-source.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test('a key resolves to its stream, from the store once and then without waiting', async () => {
  const { source, cache } = setUp()
  const text = source.issue('key')
  assert.equal(cache.tryResolveKey(text), 'lookup')
  assert.equal((await cache.resolveKey(text)).stream, STREAM)
  const resolved = cache.tryResolveKey(text)
  assert.ok(resolved !== undefined && resolved !== 'lookup')
  assert.equal(resolved.stream, STREAM)
  assert.equal(source.finds, 1)
})

test('missing, malformed, unknown, revoked and wrong secrets get the same answer', async () => {
  const { source, cache } = setUp()
  const good = source.issue('key')
  await cache.resolveKey(good)
  const wrong = good.slice(0, -1) + (good.endsWith('a') ? 'b' : 'a')
  const revoked = source.issue('key')
  source.revoke(revoked)
  const expired = source.issue('token', Date.now() - 1)
  const answers = new Set<string>()
  const unknown = createCredential('key').text
  const unknownToken = createCredential('token').text
  for (const text of ['', 'x', unknown, unknownToken, wrong, revoked, expired]) {
    answers.add(await failure(cache.resolveKey(text)))
    answers.add(await failure(cache.resolveToken(text)))
  }
  assert.deepEqual([...answers], ['unauthenticated: a valid credential is required'])
  for (const text of ['', 'x', unknown, wrong, revoked]) {
    assert.equal(cache.tryResolveKey(text), undefined, text)
  }
})

test('a valid credential of the wrong kind is forbidden', async () => {
  const { source, cache } = setUp()
  const token = source.issue('token')
  const key = source.issue('key')
  assert.match(await failure(cache.resolveKey(token)), /^forbidden: an access token cannot ingest/)
  assert.match(await failure(cache.resolveToken(key)), /^forbidden: an API key can only ingest/)
  assert.equal((await cache.resolveToken(token)).owner, 'ann')
})

test('concurrent look-ups of one prefix share one query, even if it is unknown', async () => {
  const { source, cache } = setUp()
  const text = source.issue('key')
  await Promise.all(Array.from({ length: 50 }, () => cache.resolveKey(text)))
  assert.equal(source.finds, 1)
  const unknown = createCredential('key').text
  await Promise.all(Array.from({ length: 50 }, () => failure(cache.resolveKey(unknown))))
  await failure(cache.resolveKey(unknown))
  assert.equal(source.finds, 2)
})

test('while the store is away, cached credentials work and others are unavailable', async () => {
  const { source, cache } = setUp({ pollMs: 5 })
  const cached = source.issue('key')
  const uncached = source.issue('key')
  cache.start()
  await new Promise((resolve) => setTimeout(resolve, 30)) // The first poll clears the cache.
  await cache.resolveKey(cached)
  source.away = true
  await new Promise((resolve) => setTimeout(resolve, 30))
  assert.equal((await cache.resolveKey(cached)).stream, STREAM)
  assert.match(await failure(cache.resolveKey(uncached)), /^unavailable: /)
  source.away = false
  assert.equal((await cache.resolveKey(uncached)).stream, STREAM)
  await cache.stop()
})

test('that the store is away is told once until it answers', async () => {
  const told: unknown[] = []
  const { source, cache } = setUp({ pollMs: 5, onError: (cause) => told.push(cause) })
  cache.start()
  for (const times of [1, 2]) {
    source.away = true
    await new Promise((resolve) => setTimeout(resolve, 60)) // Several polls.
    assert.equal(told.length, times)
    assert.match(String(told[times - 1]), /connection refused/)
    source.away = false
    await new Promise((resolve) => setTimeout(resolve, 60))
  }
  assert.equal(told.length, 2)
  await cache.stop()
})

test('a revocation is noticed, an unchanged version changes nothing', async () => {
  const { source, cache } = setUp({ pollMs: 5 })
  const text = source.issue('key')
  cache.start()
  await new Promise((resolve) => setTimeout(resolve, 30))
  await cache.resolveKey(text)
  await new Promise((resolve) => setTimeout(resolve, 30))
  assert.notEqual(cache.tryResolveKey(text), 'lookup')
  source.revoke(text)
  await new Promise((resolve) => setTimeout(resolve, 60))
  assert.equal(cache.tryResolveKey(text), 'lookup')
  assert.match(await failure(cache.resolveKey(text)), /^unauthenticated/)
  await cache.stop()
})

test('an answer from before an invalidation is not cached', async () => {
  const { source, cache } = setUp()
  const text = source.issue('key')
  let release: () => void = () => undefined
  source.held = new Promise((resolve) => {
    release = resolve
  })
  const early = cache.resolveKey(text) // It has read the key but not answered yet.
  await turn()
  source.revoke(text)
  cache.invalidate()
  release()
  await early
  assert.equal(cache.tryResolveKey(text), 'lookup')
  assert.match(await failure(cache.resolveKey(text)), /^unauthenticated/)
})

test('the cache is bounded, and made-up prefixes do not push out those in use', async () => {
  const { source, cache } = setUp({ entriesMax: 4 })
  const text = source.issue('key')
  await cache.resolveKey(text)
  for (let i = 0; i < 20; i++) await failure(cache.resolveKey(createCredential('key').text))
  assert.notEqual(cache.tryResolveKey(text), 'lookup')
  for (let i = 0; i < 4; i++) await cache.resolveKey(source.issue('key'))
  assert.equal(cache.tryResolveKey(text), 'lookup')
})

test('a burst of credentials shares few queries, and none is refused', async () => {
  const { source, cache } = setUp()
  const keys = Array.from({ length: 3_000 }, () => source.issue('key'))
  const resolved = await Promise.all(keys.map((key) => cache.resolveKey(key)))
  assert.equal(resolved.length, 3_000)
  assert.equal(source.asked, 3_000)
  assert.ok(source.finds <= Math.ceil(3_000 / CREDENTIAL_LOOKUP_BATCH_MAX) + 1, `${source.finds}`)
})

test('a credential waits CREDENTIAL_LOOKUP_MS_MAX for its query', async (t) => {
  const lookups = new CredentialLookups('key', () => new Promise(() => undefined))
  for (let i = 0; i < 2; i++) {
    lookups.ask(`held${i}`).catch(assert.fail) // The queries that may run.
    await turn()
  }
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let outcome = ''
  failure(lookups.ask('waits')).then((text) => {
    outcome = text
  }, assert.fail)
  t.mock.timers.tick(CREDENTIAL_LOOKUP_MS_MAX - 1)
  await turn()
  assert.equal(outcome, '')
  t.mock.timers.tick(1)
  await turn()
  assert.match(outcome, /^overloaded: /)
})

test('a change makes the cache forget what it was about, and nothing else', async () => {
  const { source, cache } = setUp({ pollMs: 5 })
  const other = { ...STREAM, streamId: 8 as StreamId }
  const own = source.issue('key')
  const own2 = source.issue('key')
  const ofOther = source.issue('key', null, other)
  const token = source.issue('token')
  cache.start()
  await sleep(30)
  const all = [own, own2, ofOther]
  const warm = async () => {
    for (const key of all) await cache.resolveKey(key)
    await cache.resolveToken(token)
    source.asked = 0
  }
  const isCached = () => all.map((key) => cache.tryResolveKey(key) !== 'lookup')
  await warm()
  source.change({ kind: 'none' })
  await sleep(30)
  assert.deepEqual(isCached(), [true, true, true])
  source.change({ kind: 'credential', prefix: own.slice(4, 12) })
  await sleep(30)
  assert.deepEqual(isCached(), [false, true, true])
  await warm()
  source.change({ kind: 'stream', streamId: STREAM.streamId })
  source.change({ kind: 'none' })
  await sleep(30)
  assert.deepEqual(isCached(), [false, false, true])
  await cache.resolveToken(token)
  assert.equal(source.asked, 0, 'tokens are none of the stream')
  await warm()
  source.change() // By an older node or by hand: it may have been about anything.
  await sleep(30)
  assert.deepEqual(isCached(), [false, false, false])
  await cache.stop()
})

test('an answer from before a change of its stream is not cached', async () => {
  const { source, cache } = setUp()
  const text = source.issue('key')
  const foreign = source.issue('key', null, { ...STREAM, streamId: 8 as StreamId })
  let release: () => void = () => undefined
  source.held = new Promise((resolve) => {
    release = resolve
  })
  const early = [cache.resolveKey(text), cache.resolveKey(foreign)]
  await turn()
  cache.forget({ kind: 'stream', streamId: STREAM.streamId })
  release()
  await Promise.all(early)
  assert.equal(cache.tryResolveKey(text), 'lookup')
  assert.notEqual(cache.tryResolveKey(foreign), 'lookup')
})

test('a new key is found although it was looked up before it existed', async () => {
  const { source, cache } = setUp()
  const text = source.issue('key')
  const prefix = text.slice(4, 12)
  const stored = source.stored.get(`key${prefix}`)!
  source.stored.delete(`key${prefix}`)
  assert.match(await failure(cache.resolveKey(text)), /^unauthenticated/)
  source.stored.set(`key${prefix}`, stored)
  assert.match(await failure(cache.resolveKey(text)), /^unauthenticated/)
  cache.forget({ kind: 'credential', prefix })
  assert.equal((await cache.resolveKey(text)).stream, STREAM)
})

test('look-ups that find the queue full, or wait too long, are overloaded', async () => {
  let release: () => void = () => undefined
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const find = async () => {
    await held
    return new Map<string, StoredCredential>()
  }
  const lookups = new CredentialLookups('key', find, 500)
  const asked = Array.from({ length: CREDENTIAL_LOOKUPS_MAX + 1 }, (_, i) =>
    lookups.ask(String(i)).then(
      () => 'answered',
      (error: IngestError) => `${error.code} ${/CREDENTIAL_\w+/.exec(error.message)?.[0]}`,
    ),
  )
  await sleep(900)
  release()
  const counts = new Map<string, number>()
  for (const answer of await Promise.all(asked)) counts.set(answer, (counts.get(answer) ?? 0) + 1)
  assert.deepEqual(Object.fromEntries(counts), {
    'overloaded CREDENTIAL_LOOKUPS_MAX': 1,
    'overloaded CREDENTIAL_LOOKUP_MS_MAX': CREDENTIAL_LOOKUPS_MAX - 2 * CREDENTIAL_LOOKUP_BATCH_MAX,
    answered: 2 * CREDENTIAL_LOOKUP_BATCH_MAX,
  })
})

test('a use is written once a minute per credential, and at stop', async () => {
  let now = 1_000_000
  const { source, cache } = setUp({ nowMs: () => now })
  const text = source.issue('key')
  await cache.resolveKey(text)
  for (let i = 0; i < 100; i++) cache.tryResolveKey(text)
  await cache.flushUses()
  cache.tryResolveKey(text)
  await cache.flushUses()
  assert.deepEqual(source.uses, [{ kind: 'key', id: 1, atMs: 1_000_000 }])
  now += 60_000
  cache.tryResolveKey(text)
  await cache.stop()
  assert.equal(source.uses.length, 2)
})

test('a token stops at its expiry although it is cached', async () => {
  let now = 1_000
  const { source, cache } = setUp({ nowMs: () => now })
  const text = source.issue('token', 2_000)
  assert.equal((await cache.resolveToken(text)).owner, 'ann')
  now = 2_000
  assert.match(await failure(cache.resolveToken(text)), /^unauthenticated/)
})
