/** Goal: a node up to CONTROL_CHANGES_MAX changes behind forgets only what they were about. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CONTROL_CHANGES_MAX } from '../../../src/limits.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { eventually } from '../../store/temporary.ts'
import { setUp } from './credential-source.ts'

for (const [changes, isKept] of [
  [CONTROL_CHANGES_MAX, true],
  [CONTROL_CHANGES_MAX + 1, false],
] as const) {
  test(`${changes} changes of others: ${isKept ? 'still' : 'no longer'} cached`, async () => {
    const { source, cache } = setUp({ pollMs: 5 })
    const text = source.issue('key')
    let asked = 0
    const { readVersion } = source
    Object.assign(source, {
      readVersion: () => {
        asked++
        return readVersion()
      },
    })
    cache.start()
    await sleep(30) // The first poll clears the cache.
    await cache.resolveKey(text)
    for (let i = 0; i < changes; i++) source.change({ kind: 'stream', streamId: 8 as StreamId })
    const before = asked
    await eventually('it has heard of them', () => asked >= before + 2)
    assert.equal(cache.tryResolveKey(text) !== 'lookup', isKept)
    await cache.stop()
  })
}
