/**
 * Moves days of the projection that are old enough to the last volume of the tables' storage
 * policy, one at a time, when nothing merges them any more. Which days are left is seen in
 * ClickHouse: nothing is remembered.
 */
import type { ColdParts, WarmDay } from '../store/projection/cold-parts.ts'

export interface ColdMoverOptions {
  readonly parts: Pick<ColdParts, 'findColdVolume' | 'listWarm' | 'isBusy' | 'startMove'>
  readonly policy: string
  /** Age from which a day is moved. */
  readonly days: number
  readonly onMoved: (day: WarmDay) => void
  /** For tests. */
  readonly nowMs?: () => number
}

const DAY_MS = 86_400_000

export class ColdMover {
  readonly #options: ColdMoverOptions

  constructor(options: ColdMoverOptions) {
    this.#options = options
  }

  /** Throws `StoreError`. */
  async round(signal: AbortSignal): Promise<boolean> {
    const { parts, policy, days, onMoved, nowMs = Date.now } = this.#options
    const { volume, disks } = await parts.findColdVolume(policy)
    const failures: unknown[] = []
    const before = dayOf(nowMs() - days * DAY_MS)
    for (const day of await parts.listWarm(before, disks)) {
      if (signal.aborted) return false
      // The next round looks again: merging a day on slow disks would cost more than waiting.
      if (await parts.isBusy(day)) continue
      try {
        await parts.startMove(day, volume)
        onMoved(day)
        break
      } catch (cause) {
        // A day that cannot be moved holds up no other.
        failures.push(cause)
      }
    }
    if (failures.length > 0) throw failures[0]
    return false
  }
}

/** `20260505`, as partitions are called. */
function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10).replaceAll('-', '')
}
