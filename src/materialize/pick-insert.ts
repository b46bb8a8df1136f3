/**
 * Chooses what is inserted next. An insert costs about the same for ten events as for a thousand,
 * so the blocks of a stream, and of all streams that share a table, wait to be inserted together.
 */
import {
  MATERIALIZE_BUFFER_BYTES_MAX,
  MATERIALIZE_INSERT_BYTES,
  MATERIALIZE_INSERT_ROWS,
  SPOOL_INSERT_BYTES,
} from '../limits.ts'
import type { BlockSpool } from '../model/projection.ts'

/** What waits of one stream, or of blocks that are mixed. */
export interface Waiting {
  /** When the oldest of it came. */
  readonly sinceMs: number
  readonly rows: number
  readonly bytes: number
  /** Where the bytes are, when they are not in our own memory. */
  readonly spool?: Pick<BlockSpool, 'rowsMax'> | undefined
}

export interface PickOptions {
  readonly nowMs: number
  /** How long something may wait. */
  readonly delayMs: number
  /** What all have in our own memory. */
  readonly keptBytes: number
}

/**
 * What to insert now, if anything. `waiting` is in the order of `sinceMs`. A full buffer goes
 * first, then the oldest if it is due, then, when memory is short, the largest that is kept in
 * memory.
 */
export function pickInsert<W extends Waiting>(
  waiting: Iterable<W>,
  { nowMs, delayMs, keptBytes }: PickOptions,
): W | undefined {
  let oldest: W | undefined
  let largest: W | undefined
  for (const each of waiting) {
    if (isFull(each)) return each
    oldest ??= each
    const isLarger = each.bytes > (largest?.bytes ?? 0)
    if (isLarger && each.spool === undefined) largest = each
  }
  if (oldest !== undefined && nowMs - oldest.sinceMs >= delayMs) return oldest
  return keptBytes > MATERIALIZE_BUFFER_BYTES_MAX / 2 ? largest : undefined
}

/** Large parts are merged less often; small inserts take less memory, where we need it. */
export function isFull({ rows, bytes, spool }: Omit<Waiting, 'sinceMs'>): boolean {
  if (spool !== undefined) return rows >= spool.rowsMax || bytes >= SPOOL_INSERT_BYTES
  return rows >= MATERIALIZE_INSERT_ROWS || bytes >= MATERIALIZE_INSERT_BYTES
}
