/** Goal: what keys send is counted once, by the hour, and written seldom however many they are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyUsage } from '../../../src/accept/admission/key-usage.ts'
import { type KeyCounts, NO_KEY } from '../../../src/model/batch/usage-counts.ts'
import type { StreamId } from '../../../src/model/stream.ts'

const [ONE, TWO] = [1 as StreamId, 2 as StreamId]
const HOUR_MS = 3_600_000

test('requests of a key are added up; agents, who have none, are told by stream', async () => {
  const written: KeyCounts[] = []
  let nowMs = 500_000 * HOUR_MS + 7
  let isAway = true
  const usage = new KeyUsage(
    async (counts) => {
      if (isAway) throw new Error('away')
      written.push(...counts.map((each) => ({ ...each })))
    },
    () => nowMs,
  )
  usage.add(ONE, 11, 100, 5_000)
  await usage.flush()
  usage.add(ONE, 11, 1, 50)
  usage.add(ONE, NO_KEY, 2, 20)
  usage.add(TWO, NO_KEY, 3, 30)
  isAway = false
  await usage.flush()
  nowMs += HOUR_MS
  usage.add(ONE, 11, 4, 40)
  await usage.stop()
  const step = { start: 500_000 * 60, minutes: 60 }
  assert.deepEqual(written, [
    { streamId: ONE, keyId: 11, ...step, requests: 2, events: 101, bytes: 5_050 },
    { streamId: ONE, keyId: NO_KEY, ...step, requests: 1, events: 2, bytes: 20 },
    { streamId: TWO, keyId: NO_KEY, ...step, requests: 1, events: 3, bytes: 30 },
    {
      ...{ streamId: ONE, keyId: 11, start: 500_001 * 60, minutes: 60 },
      ...{ requests: 1, events: 4, bytes: 40 },
    },
  ])
})

test('counts are written without a call after a while', async () => {
  let wrote: (count: number) => void = () => undefined
  const done = new Promise<number>((resolve) => {
    wrote = resolve
  })
  const usage = new KeyUsage(async (counts) => wrote(counts.length), Date.now)
  usage.add(ONE, 1, 1, 1)
  const keepAlive = setTimeout(() => undefined, 5_000)
  assert.equal(await done, 1)
  clearTimeout(keepAlive)
})
