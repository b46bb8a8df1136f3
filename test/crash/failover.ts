/** A service on two PostgreSQL servers under load, and a failover from the one to the other. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Api } from '../support/api.ts'
import { call } from '../support/api.ts'
import type { Load } from '../support/load.ts'
import type { PostgresPair } from '../support/postgres-pair.ts'

const BACK_MS_MAX = 60_000

/** Waits until requests that began after now are acknowledged. */
export async function untilAcknowledged(load: Load, output: () => string): Promise<void> {
  const before = load.counts.acknowledged
  const deadline = performance.now() + BACK_MS_MAX
  // As many may have been under way.
  while (load.counts.acknowledged <= before + load.writers.length) {
    assert.ok(performance.now() < deadline, `nothing is acknowledged: ${output()}`)
    await sleep(5)
  }
}

export async function untilReadyz(api: Api, status: number): Promise<string> {
  const deadline = performance.now() + BACK_MS_MAX
  for (;;) {
    const answer = await call(`${api.url}/readyz`)
    if (answer.status === status) return answer.text
    assert.ok(performance.now() < deadline, `readyz does not answer ${status}: ${answer.text}`)
    await sleep(10)
  }
}

/**
 * Kills the primary, promotes the standby after a while, and waits until the load goes on. Returns
 * how long that took from the promotion on, in milliseconds.
 */
export async function failOver(
  pair: PostgresPair,
  load: Load,
  { awayMs, output }: { readonly awayMs: number; readonly output: () => string },
): Promise<number> {
  await pair.killPrimary()
  await sleep(awayMs)
  await pair.promote()
  const startMs = performance.now()
  await untilAcknowledged(load, output)
  return performance.now() - startMs
}
