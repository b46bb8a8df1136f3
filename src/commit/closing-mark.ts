/**
 * The closing mark of a node: a time of which it says "I will never again commit an id below this".
 * Who decides something of a window of receipt time, once and for all, waits for the mark of each
 * node.
 *
 * Ids are given out before their transaction, so the mark stays at the first id of the group that
 * is being written. While nothing is written it is now, to which ids are moved in the same step. A
 * group whose outcome nobody knows holds it down until its transaction is known to be over.
 */
import { type SegmentId, type SegmentIdGenerator, segmentIdMs } from '../model/segment-id.ts'

/** The clocks that ids go by: `ClockGuard`. */
export interface ClosingClocks {
  readonly nowMs: number
  /** PostgreSQL's. */
  readonly storeMs: number
}

/** A machine's clock that is further behind PostgreSQL's than this is not waited for. */
export interface ClosingBounds {
  readonly lagMsMax: number
}

export class ClosingMark {
  readonly #ids: SegmentIdGenerator
  readonly #clocks: ClosingClocks
  readonly #lagMsMax: number
  /** The first ids of groups that may still become visible. */
  readonly #open = new Set<SegmentId>()
  #ms = 0

  constructor(ids: SegmentIdGenerator, clocks: ClosingClocks, { lagMsMax }: ClosingBounds) {
    this.#ids = ids
    this.#clocks = clocks
    this.#lagMsMax = lagMsMax
  }

  /** A group that begins with this id is about to be written. */
  open(first: SegmentId): void {
    this.#open.add(first)
  }

  /** Its transaction is over: whatever became of it is visible now. */
  settle(first: SegmentId): void {
    this.#open.delete(first)
  }

  /** Nothing is under way. */
  get isSettled(): boolean {
    return this.#open.size === 0
  }

  /** In milliseconds since 1970. Never falls. */
  read(): number {
    let ms = Number.POSITIVE_INFINITY
    for (const id of this.#open) ms = Math.min(ms, segmentIdMs(id))
    if (ms === Number.POSITIVE_INFINITY) ms = this.#moveIds()
    this.#ms = Math.max(this.#ms, ms)
    return this.#ms
  }

  #moveIds(): number {
    const { nowMs, storeMs } = this.#clocks
    // Nothing is committed meanwhile, and ids must not be moved to a time that is wrong.
    if (this.#ids.isAhead || !Number.isFinite(storeMs)) return this.#ms
    const ms = Math.floor(Math.max(Math.min(nowMs, storeMs), storeMs - this.#lagMsMax))
    this.#ids.moveTo(ms)
    return ms
  }
}
