/**
 * Compares this machine's clock with PostgreSQL's. Segment ids hold the receipt time and only ever
 * rise on a node: one that is committed years ahead would give that time to everything after it.
 *
 * The subtle idea: between two comparisons, PostgreSQL's time is carried on by the monotonic clock.
 * So a step of this machine's clock is noticed at the moment it happens, without asking anybody.
 * After the machine was suspended the monotonic clock is behind, and ingest is refused for the
 * seconds until the next comparison.
 */
import { CLOCK_LEAD_MS_MAX } from '../../limits.ts'
import type { Queryable } from '../postgres.ts'
import { StoreError } from '../store-error.ts'

/** SQL for PostgreSQL's clock in milliseconds since 1970. */
export const STORE_NOW_MS = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::float8'

export interface Clocks {
  /** Milliseconds since 1970, as this machine has it. */
  readonly nowMs: () => number
  /** Milliseconds that never step. */
  readonly monotonicMs: () => number
}

const SYSTEM_CLOCKS: Clocks = { nowMs: Date.now, monotonicMs: () => performance.now() }

export class ClockGuard {
  readonly #clocks: Clocks
  #storeMs = Number.POSITIVE_INFINITY
  #comparedAtMs = 0

  constructor(clocks: Clocks = SYSTEM_CLOCKS) {
    this.#clocks = clocks
  }

  /** Asks PostgreSQL. Throws `StoreError` when this machine's clock is too far ahead of it. */
  async compare(sql: Queryable): Promise<void> {
    const askedAtMs = this.monotonicMs
    const { rows } = await sql.query<{ now_ms: number }>(`SELECT ${STORE_NOW_MS} AS now_ms`)
    const [row] = rows
    if (row !== undefined) this.told(row.now_ms, askedAtMs)
    if (!this.isAhead) return
    const text = (ms: number) => new Date(ms).toISOString()
    throw new StoreError(
      'other',
      `this machine's clock says ${text(this.nowMs)}, PostgreSQL's ${text(this.storeMs)}: it may ` +
        `be ${CLOCK_LEAD_MS_MAX / 1000} seconds ahead at most (CLOCK_LEAD_MS_MAX), or events ` +
        'would get receipt times in the future. Set whichever is wrong (with NTP), start again',
    )
  }

  get monotonicMs(): number {
    return this.#clocks.monotonicMs()
  }

  get nowMs(): number {
    return this.#clocks.nowMs()
  }

  /** PostgreSQL's clock said `storeMs`, some time after the monotonic clock said `askedAtMs`. */
  told(storeMs: number, askedAtMs: number): void {
    this.#storeMs = storeMs
    this.#comparedAtMs = askedAtMs
  }

  /** PostgreSQL's clock now, at the latest: it is behind this by at most the round trip. */
  get storeMs(): number {
    return this.#storeMs + this.monotonicMs - this.#comparedAtMs
  }

  /** The latest receipt time that may be given out now; no bound before the first comparison. */
  get latestMs(): number {
    return this.storeMs + CLOCK_LEAD_MS_MAX
  }

  /** How far this machine's clock is ahead of PostgreSQL's; below 0 it is behind. */
  get leadMs(): number {
    return this.#storeMs === Number.POSITIVE_INFINITY ? 0 : this.nowMs - this.storeMs
  }

  get isAhead(): boolean {
    return this.leadMs > CLOCK_LEAD_MS_MAX
  }
}
