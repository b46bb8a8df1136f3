/**
 * Chooses what is inserted next. An insert costs about the same for ten events as for a thousand,
 * so the blocks of a stream, and of all streams that share a table, wait to be inserted together.
 */
import {
  MATERIALIZE_BUFFER_BYTES_MAX,
  MATERIALIZE_INSERT_BYTES,
  MATERIALIZE_INSERT_ROWS,
} from '../limits.ts'
import type { BlockSpool } from '../model/projection.ts'

/** Bytes of one stream that trigger an insert when they are spooled. */
export const SPOOL_INSERT_BYTES = 100 * 1024 * 1024

/** What waits of one stream, or of blocks that are mixed. */
export interface Waiting {
  /** When something of its stream was taken last, while more of it waited; 0 for never. */
  readonly turn?: number
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
 * What to insert now, if anything. `waiting` is in the order of `sinceMs`. Streams with a buffer
 * that is full or due take turns: one that fills buffers faster than they are inserted must not
 * keep the others waiting. Between two that have the same turn a full buffer goes first, then the
 * oldest. When nothing is due and memory is short, the largest goes that is kept in memory.
 */
export function pickInsert<W extends Waiting>(
  waiting: Iterable<W>,
  { nowMs, delayMs, keptBytes }: PickOptions,
): W | undefined {
  let next: W | undefined
  let largest: W | undefined
  for (const each of waiting) {
    const isDue = isFull(each) || nowMs - each.sinceMs >= delayMs
    if (isDue && (next === undefined || isBefore(each, next))) next = each
    const isLarger = each.bytes > (largest?.bytes ?? 0)
    if (isLarger && each.spool === undefined) largest = each
  }
  if (next !== undefined) return next
  return keptBytes > MATERIALIZE_BUFFER_BYTES_MAX / 2 ? largest : undefined
}

/** Whether the one that came later goes first nevertheless. */
function isBefore(later: Waiting, earlier: Waiting): boolean {
  const [a, b] = [later.turn ?? 0, earlier.turn ?? 0]
  return a < b || (a === b && isFull(later) && !isFull(earlier))
}

/** Large parts are merged less often; small inserts take less memory, where we need it. */
export function isFull({ rows, bytes, spool }: Omit<Waiting, 'sinceMs'>): boolean {
  if (spool !== undefined) return rows >= spool.rowsMax || bytes >= SPOOL_INSERT_BYTES
  return rows >= MATERIALIZE_INSERT_ROWS || bytes >= MATERIALIZE_INSERT_BYTES
}
