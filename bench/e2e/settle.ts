/**
 * Waits until the service has done what the load left it to do: the projection has caught up and
 * merges are over. Otherwise background work would be left out of the bill.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type CpuMicros, totalCpu } from './cpu-ledger.ts'
import type { CpuSample, ProcessWatch } from './process-watch.ts'

const QUIET_MS = 3_000
/** Share of one core that an idle service's own timers may use. */
const QUIET_SHARE_MAX = 0.06
/** The same while it is profiled: sampling its threads takes that much. */
const PROFILED_QUIET_SHARE_MAX = 0.4
const SETTLE_MS_MAX = 120_000
const POLL_MS = 250

export interface Settled {
  /** Taken when the quiet began, so that idling is not billed to the load. */
  readonly sample: CpuSample
  readonly isQuiet: boolean
}

export interface SettleOptions {
  readonly quietMs?: number | undefined
  readonly isProfiled?: boolean
}

/** `isCaughtUp` is asked only once it is quiet: asking costs CPU too. */
export async function settle(
  watch: ProcessWatch,
  isCaughtUp: () => Promise<boolean>,
  { quietMs = QUIET_MS, isProfiled = false }: SettleOptions = {},
): Promise<Settled> {
  const shareMax = isProfiled ? PROFILED_QUIET_SHARE_MAX : QUIET_SHARE_MAX
  const deadlineMs = performance.now() + SETTLE_MS_MAX
  let quietSince = watch.sample()
  for (;;) {
    await sleep(POLL_MS)
    const now = watch.sample()
    if (now.atMs > deadlineMs) return { sample: now, isQuiet: false }
    const elapsedMs = now.atMs - quietSince.atMs
    if (busyMicros(now.cpu, quietSince.cpu) > elapsedMs * 1_000 * shareMax + 20_000) {
      quietSince = now
    } else if (elapsedMs >= quietMs) {
      if (await isCaughtUp()) return { sample: quietSince, isQuiet: true }
      quietSince = watch.sample()
    }
  }
}

function busyMicros(end: CpuMicros, start: CpuMicros): number {
  return totalCpu(end) - totalCpu(start)
}
