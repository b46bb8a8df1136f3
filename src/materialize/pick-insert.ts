/**
 * When streams' blocks are inserted. An insert costs about the same for ten events and for a
 * thousand, so with more streams waiting each waits longer, and has gathered more by then.
 *
 * Few streams: each after `delayMs`. Many: the delay grows with their number up to
 * MATERIALIZE_BUSY_DELAY_MS_MAX. It is a deadline: when many fall due together, the first ones are
 * begun so much earlier that, at the pace inserts go, the last one still makes it.
 */
import {
  MATERIALIZE_BUFFER_BYTES_MAX,
  MATERIALIZE_BUSY_DELAY_MS_MAX,
  MATERIALIZE_INSERT_BYTES,
  MATERIALIZE_INSERT_ROWS,
  MATERIALIZE_STREAM_MS,
} from '../limits.ts'

/** What waits of one stream. */
export interface Waiting {
  /** When the oldest of it came. */
  readonly sinceMs: number
  readonly rows: number
  readonly bytes: number
}

/** Weight of the newest inserts in their mean time. */
const PACE_WEIGHT = 0.1

export class Pace {
  readonly #delayMs: number
  /** What one insert takes of the time of all. */
  #insertMs = MATERIALIZE_STREAM_MS / 4

  constructor(delayMs: number) {
    this.#delayMs = delayMs
  }

  /** How long blocks may wait while so many streams have some. */
  delayMs(streams: number): number {
    const busyMs = Math.min(streams * MATERIALIZE_STREAM_MS, MATERIALIZE_BUSY_DELAY_MS_MAX)
    return Math.max(this.#delayMs, busyMs)
  }

  /** So many inserts, at the same time, took so long. */
  saw(inserts: number, ms: number): void {
    // A large insert says nothing about the many small ones that a long delay is for.
    const each = Math.min(ms / inserts, MATERIALIZE_STREAM_MS)
    this.#insertMs += PACE_WEIGHT * (each - this.#insertMs)
  }

  /**
   * Which stream is to be inserted now, if any. `waiting` is in the order of `sinceMs`; `bytes` is
   * what all have. A full one goes first, then the oldest if time presses, then, when memory
   * does, the largest.
   */
  pick<W extends Waiting>(
    waiting: ReadonlyMap<unknown, W>,
    { nowMs, bytes }: { readonly nowMs: number; readonly bytes: number },
  ): W | undefined {
    let largest: W | undefined
    for (const each of waiting.values()) {
      if (isFull(each)) return each
      if (largest === undefined || each.bytes > largest.bytes) largest = each
    }
    if (this.#isOldestDue(waiting, nowMs)) return waiting.values().next().value
    return bytes > MATERIALIZE_BUFFER_BYTES_MAX / 2 ? largest : undefined
  }

  #isOldestDue(waiting: ReadonlyMap<unknown, Waiting>, nowMs: number): boolean {
    const delayMs = this.delayMs(waiting.size)
    let ahead = 0
    for (const { sinceMs } of waiting.values()) {
      const ageMs = nowMs - sinceMs
      // Earlier than that there is no hurry, however many there are.
      if (ahead === 0 && ageMs < this.#delayMs) return false
      if (ageMs + ahead * this.#insertMs >= delayMs) return true
      ahead++
    }
    return false
  }
}

export function isFull({ rows, bytes }: Pick<Waiting, 'rows' | 'bytes'>): boolean {
  return rows >= MATERIALIZE_INSERT_ROWS || bytes >= MATERIALIZE_INSERT_BYTES
}
