/**
 * Waits until the service has done what the load left it to do: the projection has caught up, and
 * no merge runs or is due. Otherwise background work would be left out of the bill. Merges wait for
 * their parts to be a minute old; what an idle service uses meanwhile is taken off the bill.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type CpuMicros, subtractCpu, totalCpu } from '../cpu-ledger.ts'
import type { CpuSample, ProcessWatch } from '../process-watch.ts'

const QUIET_MS = 3_000
/** Share of one core that an idle service's own timers may use. */
const QUIET_SHARE_MAX = 0.06
/** The same while it is profiled: sampling its threads takes that much. */
const PROFILED_QUIET_SHARE_MAX = 0.4
const SETTLE_MS_MAX = 180_000
/** From the first quiet; merges of tables with very many paths are due for longer. */
const DUE_MS_MAX = 100_000
const POLL_MS = 250

export interface Settled {
  /** Taken when the quiet began, so that idling is not billed to the load. */
  readonly sample: CpuSample
  readonly isQuiet: boolean
}

export interface SettleOptions {
  readonly quietMs?: number | undefined
  readonly isProfiled?: boolean
  /** Whether something will be merged in a while. */
  readonly isMergeDue?: () => boolean
}

/** `isCaughtUp` is asked only once it is quiet: asking costs CPU too. */
export async function settle(
  watch: ProcessWatch,
  isCaughtUp: () => Promise<boolean>,
  { quietMs = QUIET_MS, isProfiled = false, isMergeDue = () => false }: SettleOptions = {},
): Promise<Settled> {
  const shareMax = isProfiled ? PROFILED_QUIET_SHARE_MAX : QUIET_SHARE_MAX
  const deadlineMs = performance.now() + SETTLE_MS_MAX
  let quietSince = watch.sample()
  let quietAtMs: number | undefined
  let idle: CpuMicros = { node: 0, postgres: 0, clickhouse: 0, other: 0 }
  let idleMainMicros = 0
  const bill = (sample: CpuSample): CpuSample => ({
    atMs: sample.atMs,
    cpu: subtractCpu(sample.cpu, idle),
    mainThreadMicros: sample.mainThreadMicros - idleMainMicros,
  })
  for (;;) {
    await sleep(POLL_MS)
    const now = watch.sample()
    if (now.atMs > deadlineMs) return { sample: bill(now), isQuiet: false }
    const elapsedMs = now.atMs - quietSince.atMs
    if (busyMicros(now.cpu, quietSince.cpu) > elapsedMs * 1_000 * shareMax + 20_000) {
      quietSince = now
    } else if (elapsedMs >= quietMs) {
      if (!(await isCaughtUp())) {
        quietSince = watch.sample()
        continue
      }
      quietAtMs ??= now.atMs
      const mayBeDue = now.atMs - quietAtMs < DUE_MS_MAX
      if (!mayBeDue || !isMergeDue()) return { sample: bill(quietSince), isQuiet: true }
      idle = subtractCpu(idle, subtractCpu(quietSince.cpu, now.cpu))
      idleMainMicros += now.mainThreadMicros - quietSince.mainThreadMicros
      quietSince = now
    }
  }
}

function busyMicros(end: CpuMicros, start: CpuMicros): number {
  return totalCpu(end) - totalCpu(start)
}
