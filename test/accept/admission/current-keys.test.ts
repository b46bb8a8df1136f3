/**
 * Goal: a key is checked again before a commit, with what this node knows by then, and the store is
 * queried only when that is not enough.
 * Method: as in `authenticate.test.ts`.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CONTROL_STALE_MS_MAX } from '../../../src/limits.ts'
import { createCredential } from '../../../src/model/credential.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { failure, STREAM, setUp } from './credential-source.ts'

test('before a commit, a key is checked by what the node knows, rarely by a query', async () => {
  const { source, cache } = setUp()
  const text = source.issue('key')
  const key = await cache.resolveKey(text)
  assert.equal(cache.isCurrent(key), true)
  cache.forget({ kind: 'credential', prefix: createCredential('key').prefix })
  assert.equal(cache.isCurrent(key), true, 'another key was revoked')
  cache.forget({ kind: 'stream', streamId: STREAM.streamId })
  assert.equal(cache.isCurrent(key), false)
  source.finds = 0
  await Promise.all([cache.confirm(key), cache.confirm(key)])
  assert.equal(source.finds, 1, 'its stream was changed, not deleted')
  source.revoke(text)
  cache.forget({ kind: 'credential', prefix: text.slice(4, 12) })
  assert.equal(cache.isCurrent(key), false)
  assert.match(await failure(cache.confirm(key)), /^unauthenticated: .*revoked.*nothing/)
  source.away = true
  cache.invalidate()
  assert.match(await failure(cache.confirm(key)), /^unavailable/)
})

test('a key that fell out of the cache is current until something changes', async () => {
  const { source, cache } = setUp({ entriesMax: 1 })
  const key = await cache.resolveKey(source.issue('key'))
  await cache.resolveKey(source.issue('key'))
  assert.equal(cache.isCurrent(key), true)
  cache.forget({ kind: 'stream', streamId: 99 as StreamId })
  assert.equal(cache.isCurrent(key), false)
  await cache.confirm(key)
})

test('known keys are confirmed by a query when polls have failed for long', async (t) => {
  const clock = t.mock.method(performance, 'now', () => 0)
  const { source, cache } = setUp({ pollMs: 5 })
  const text = source.issue('key')
  cache.start()
  await sleep(30)
  const key = await cache.resolveKey(text)
  assert.equal(cache.isCurrent(key), true)
  source.away = true
  clock.mock.mockImplementation(() => CONTROL_STALE_MS_MAX + 1)
  assert.equal(cache.isCurrent(key), false)
  assert.match(await failure(cache.confirm(key)), /^unavailable/)
  source.away = false
  await cache.confirm(key)
  assert.equal(cache.isCurrent(key), true)
  await cache.stop()
})
