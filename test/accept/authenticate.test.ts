/**
 * Goal: who gets in, who does not, and what the store is asked, without a store.
 * Method: a source that counts its calls and can be held, changed or switched off.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  CredentialCache,
  type CredentialCacheOptions,
  type CredentialSource,
} from '../../src/accept/authenticate.ts'
import { IngestError } from '../../src/errors.ts'
import {
  type CredentialKind,
  type CredentialUse,
  createCredential,
  type StoredCredential,
} from '../../src/model/credential.ts'
import { SCHEMA_CAPS_DEFAULT } from '../../src/model/schema.ts'
import type { Scope, Stream, StreamId } from '../../src/model/stream.ts'

const STREAM: Stream = {
  streamId: 7 as StreamId,
  name: 'web',
  owner: 'ann',
  retentionMs: 86_400_000,
  maxStoredBytes: null,
  rateBudget: null,
  byteBudget: null,
  schemaCaps: SCHEMA_CAPS_DEFAULT,
  createdAtMs: 0,
  parseUserAgents: false,
  redactSensitive: false,
  redactFields: [],
}

class FakeSource implements CredentialSource {
  readonly stored = new Map<string, StoredCredential>()
  readonly uses: CredentialUse[] = []
  finds = 0
  version = 1
  away = false
  held: Promise<void> | undefined

  issue(kind: CredentialKind, expiresAtMs: number | null = null): string {
    const created = createCredential(kind)
    const { secretSha256 } = created
    const id = this.stored.size + 1
    const principal = { tokenId: id, owner: 'ann', scopes: new Set<Scope>(['streams:read']) }
    const credential: StoredCredential =
      kind === 'key'
        ? { kind, id, secretSha256, stream: STREAM }
        : { kind, id, secretSha256, principal, expiresAtMs }
    this.stored.set(kind + created.prefix, credential)
    return created.text
  }

  revoke(text: string): void {
    this.stored.delete((text.startsWith('lax') ? 'key' : 'token') + text.slice(4, 12))
    this.version++
  }

  readonly findCredential = async (kind: CredentialKind, prefix: string) => {
    this.finds++
    const found = this.stored.get(kind + prefix)
    await this.held
    if (this.away) throw new Error('connection refused')
    return found
  }

  readonly readVersion = async () => {
    if (this.away) throw new Error('connection refused')
    return String(this.version)
  }

  readonly recordUses = async (uses: readonly CredentialUse[]) => {
    this.uses.push(...uses)
  }
}

function setUp(options: Partial<CredentialCacheOptions> = {}) {
  const source = new FakeSource()
  return { source, cache: new CredentialCache({ source, ...options }) }
}

/** The code and message that `promise` rejects with. */
async function failure(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => undefined,
    (cause: unknown) => cause,
  )
  assert.ok(error instanceof IngestError, 'it must fail')
  return `${error.code}: ${error.message}`
}

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

test('missing, malformed, unknown, revoked and wrong secrets get one answer', async () => {
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

test('concurrent look-ups of one prefix share one query, also for unknown ones', async () => {
  const { source, cache } = setUp()
  const text = source.issue('key')
  await Promise.all(Array.from({ length: 50 }, () => cache.resolveKey(text)))
  assert.equal(source.finds, 1)
  const unknown = createCredential('key').text
  await Promise.all(Array.from({ length: 50 }, () => failure(cache.resolveKey(unknown))))
  await failure(cache.resolveKey(unknown))
  assert.equal(source.finds, 2)
})

test('while the store is away cached credentials work and others are unavailable', async () => {
  const { source, cache } = setUp({ pollMs: 5 })
  const cached = source.issue('key')
  const uncached = source.issue('key')
  cache.start()
  await new Promise((resolve) => setTimeout(resolve, 30)) // The first poll has cleared.
  await cache.resolveKey(cached)
  source.away = true
  await new Promise((resolve) => setTimeout(resolve, 30))
  assert.equal((await cache.resolveKey(cached)).stream, STREAM)
  assert.match(await failure(cache.resolveKey(uncached)), /^unavailable: /)
  source.away = false
  assert.equal((await cache.resolveKey(uncached)).stream, STREAM)
  await cache.stop()
})

test('a moved version clears the cache, a version that stands does not', async () => {
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
  const early = cache.resolveKey(text) // Has read the key, and has not answered yet.
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

test('too many look-ups under way are refused, not queued', async () => {
  const { source, cache } = setUp()
  let release: () => void = () => undefined
  source.held = new Promise((resolve) => {
    release = resolve
  })
  const lookups = Array.from({ length: 1_025 }, () =>
    failure(cache.resolveKey(createCredential('key').text)),
  )
  release()
  const answers = await Promise.all(lookups)
  assert.equal(answers.filter((answer) => answer.startsWith('overloaded')).length, 1)
})

test('a use is written once a minute a credential, and at stop', async () => {
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
