/** Goal: each refusal is counted once, whatever the store does, and writes are rare. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type RefusalCount, Refusals } from '../../../src/accept/admission/refusals.ts'
import type { StreamId } from '../../../src/model/stream.ts'

const [first, second] = [1 as StreamId, 2 as StreamId]

test('counts of one stream and reason are added up and written together', async () => {
  const written: (readonly RefusalCount[])[] = []
  let now = 1_000
  const refusals = new Refusals(
    async (counts) => {
      written.push(counts)
    },
    () => now,
  )
  refusals.add(first, 'too_large')
  now = 2_000
  refusals.add(first, 'too_large')
  refusals.add(first, 'overloaded')
  refusals.add(second, 'too_large')
  await refusals.stop()
  await refusals.stop()
  assert.deepEqual(written, [
    [
      { streamId: first, reason: 'too_large', count: 2, lastAtMs: 2_000 },
      { streamId: first, reason: 'overloaded', count: 1, lastAtMs: 2_000 },
      { streamId: second, reason: 'too_large', count: 1, lastAtMs: 2_000 },
    ],
  ])
})

test('while the store is away, no count is lost or doubled', async () => {
  let isAway = true
  let stored = 0
  const refusals = new Refusals(
    async (counts) => {
      await new Promise((resolve) => setImmediate(resolve))
      if (isAway) throw new Error('away')
      for (const { count } of counts) stored += count
    },
    () => 5,
  )
  refusals.add(first, 'overloaded')
  const flushing = refusals.flush()
  refusals.add(first, 'overloaded') // While the first is being written.
  await flushing
  await refusals.flush()
  assert.equal(stored, 0)
  isAway = false
  await Promise.all([refusals.flush(), refusals.flush()])
  assert.equal(stored, 2)
  await refusals.stop()
  assert.equal(stored, 2)
})

test('counts are written without a call after a while', async () => {
  let resolve: (counts: readonly RefusalCount[]) => void = () => undefined
  const promise = new Promise<readonly RefusalCount[]>((done) => {
    resolve = done
  })
  const refusals = new Refusals(
    async (counts) => resolve(counts),
    () => 1,
  )
  refusals.add(second, 'rate_limited')
  const keepAlive = setTimeout(() => undefined, 5_000)
  assert.equal((await promise)[0]?.count, 1)
  clearTimeout(keepAlive)
})
