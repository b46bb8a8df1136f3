/**
 * Goal: the reserve of descriptors, and when it is looked, told and tried again, are what the
 * limits say. Method: a process that seems to have as many descriptors as the test says, with time
 * in its hands. Real ones: `descriptors.test.ts`.
 */
import assert from 'node:assert/strict'
import fs from 'node:fs'
import fsPromises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { type TestContext, test } from 'node:test'
import {
  DESCRIPTORS_CHECK_MS,
  DESCRIPTORS_LOG_MS,
  DESCRIPTORS_ROOM_MS,
  DescriptorGuard,
} from '../../src/http/descriptors.ts'
import { DESCRIPTORS_RESERVED_MAX, LISTEN_RETRY_MS_MAX } from '../../src/limits.ts'
import { settle } from '../support/virtual-time.ts'

const USED = 40

async function setUp(t: TestContext, limit: number) {
  let nowMs = 0
  /** What is open, and the number that the next one gets. */
  const state = { used: USED, next: USED, failure: undefined as string | undefined }
  const seen = {
    pauses: [] as number[],
    resumes: [] as number[],
    short: [] as number[],
    reserved: 0,
  }
  const readFileSync = fs.readFileSync
  t.mock.method(fs, 'readFileSync', (...all: Parameters<typeof readFileSync>) =>
    all[0] === '/proc/self/limits'
      ? `Max open files            ${limit}                 ${limit}                 files\n`
      : readFileSync(...all),
  )
  t.mock.method(fs, 'openSync', () => state.next)
  t.mock.method(fs, 'closeSync', () => undefined)
  const readdir = (async () => new Array(state.used).fill('')) as unknown
  t.mock.method(fsPromises, 'readdir', readdir as typeof fsPromises.readdir)
  t.mock.method(performance, 'now', () => nowMs)
  t.mock.timers.enable({ apis: ['setInterval'] })
  syncBuiltinESMExports()
  t.after(() => {
    guard.stop()
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
  const server = {
    pauseListening: () => void seen.pauses.push(nowMs),
    resumeListening: async () => {
      seen.resumes.push(nowMs)
      return state.failure
    },
  }
  const guard = await DescriptorGuard.start(server, {
    onShort: ({ reserved }) => {
      seen.short.push(nowMs)
      seen.reserved = reserved
    },
    onTaken: () => undefined,
    onAvailable: () => undefined,
  })
  const pass = async (ms: number) => {
    for (let step = 0; step < ms / DESCRIPTORS_CHECK_MS; step++) {
      nowMs += DESCRIPTORS_CHECK_MS
      t.mock.timers.tick(DESCRIPTORS_CHECK_MS)
      await settle()
    }
  }
  const useUp = () => {
    state.used = limit
    state.next = limit
  }
  return { state, seen, pass, useUp, tick: (ms: number) => t.mock.timers.tick(ms) }
}

test('a third of what is free is reserved, up to DESCRIPTORS_RESERVED_MAX', async (t) => {
  for (const [free, reserved] of [
    [3 * (DESCRIPTORS_RESERVED_MAX - 1), DESCRIPTORS_RESERVED_MAX - 1],
    [3 * DESCRIPTORS_RESERVED_MAX, DESCRIPTORS_RESERVED_MAX],
    [300 * DESCRIPTORS_RESERVED_MAX, DESCRIPTORS_RESERVED_MAX],
  ] as const) {
    await t.test(`${free} are free`, async (each) => {
      const { seen, pass, useUp } = await setUp(each, USED + free)
      useUp()
      await pass(DESCRIPTORS_CHECK_MS)
      assert.equal(seen.reserved, reserved)
    })
  }
})

test('it is looked every DESCRIPTORS_CHECK_MS', async (t) => {
  const { seen, useUp, tick } = await setUp(t, 4_096)
  useUp()
  tick(DESCRIPTORS_CHECK_MS - 1)
  assert.deepEqual(seen.pauses, [])
  tick(1)
  assert.equal(seen.pauses.length, 1)
})

test('whether there is room again, DESCRIPTORS_ROOM_MS later', async (t) => {
  const { state, seen, pass, useUp } = await setUp(t, 4_096)
  useUp()
  await pass(DESCRIPTORS_CHECK_MS)
  state.used = state.next = USED
  await pass(DESCRIPTORS_ROOM_MS - DESCRIPTORS_CHECK_MS)
  assert.deepEqual(seen.resumes, [])
  await pass(DESCRIPTORS_CHECK_MS)
  assert.deepEqual(seen.resumes, [seen.pauses[0]! + DESCRIPTORS_ROOM_MS])
})

test('a lack of descriptors is logged every DESCRIPTORS_LOG_MS', async (t) => {
  const { seen, pass, useUp } = await setUp(t, 4_096)
  useUp()
  await pass(2 * DESCRIPTORS_LOG_MS + DESCRIPTORS_ROOM_MS)
  const [first = 0, ...later] = seen.short
  assert.deepEqual(later, [first + DESCRIPTORS_LOG_MS, first + 2 * DESCRIPTORS_LOG_MS])
})

test('a taken port is tried again later and later, up to LISTEN_RETRY_MS_MAX', async (t) => {
  const { state, seen, pass, useUp } = await setUp(t, 4_096)
  useUp()
  await pass(DESCRIPTORS_CHECK_MS)
  state.used = state.next = USED
  state.failure = 'taken'
  await pass(5 * LISTEN_RETRY_MS_MAX)
  const waits = seen.resumes.slice(1).map((at, index) => at - seen.resumes[index]!)
  assert.deepEqual(
    waits.slice(0, 4),
    [1, 2, 4, 8].map((times) => times * DESCRIPTORS_ROOM_MS),
  )
  assert.equal(waits.at(-1), LISTEN_RETRY_MS_MAX)
  assert.equal(Math.max(...waits), LISTEN_RETRY_MS_MAX)
})
