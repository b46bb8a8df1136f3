/** `performance.now` and the `setTimeout` of node:timers/promises in a test's hands. */
import { syncBuiltinESMExports } from 'node:module'
import type { TestContext } from 'node:test'
import timers from 'node:timers/promises'

interface Sleeper {
  readonly dueMs: number
  readonly wake: () => void
}

export interface VirtualTime {
  readonly nowMs: number
  /** Moves the clock at once, as work does that takes so long. */
  work(ms: number): void
  /** Lets so much time pass; who sleeps wakes when due, and does what it does meanwhile. */
  pass(ms: number): Promise<void>
}

/** Until the end of the test. The clock starts at 0. */
export function virtualTime(t: TestContext): VirtualTime {
  const sleepers = new Set<Sleeper>()
  let nowMs = 0
  const sleep = (ms = 0, value?: unknown, options: { readonly signal?: AbortSignal } = {}) =>
    new Promise((resolve, reject) => {
      const leave = () => sleepers.delete(sleeper)
      const sleeper = { dueMs: nowMs + ms, wake: () => resolve(value) }
      const onAbort = () => {
        leave()
        reject(new Error('aborted'))
      }
      if (options.signal?.aborted === true) return onAbort()
      options.signal?.addEventListener('abort', onAbort)
      sleepers.add(sleeper)
    })
  t.mock.method(performance, 'now', () => nowMs)
  t.mock.method(timers, 'setTimeout', sleep as typeof timers.setTimeout)
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
  return {
    get nowMs() {
      return nowMs
    },
    work: (ms) => {
      nowMs += ms
    },
    pass: async (ms) => {
      const endMs = nowMs + ms
      for (;;) {
        await settle()
        const [next] = [...sleepers].sort((a, b) => a.dueMs - b.dueMs)
        if (next === undefined || next.dueMs > endMs) break
        sleepers.delete(next)
        nowMs = Math.max(nowMs, next.dueMs)
        next.wake()
      }
      nowMs = Math.max(nowMs, endMs)
    },
  }
}

/** What is ready to go on goes on. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve))
}
