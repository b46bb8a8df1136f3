/**
 * What is inserted next. An insert costs about the same for ten events and for a thousand, so while
 * many streams have little waiting, that goes into the table that they share, as one insert, beside
 * the blocks that are mixed already. So streams wait no longer for being many.
 */
import {
  MATERIALIZE_BUFFER_BYTES_MAX,
  MATERIALIZE_INSERT_BYTES,
  MATERIALIZE_INSERT_ROWS,
  MATERIALIZE_SHARE_BYTES,
  MATERIALIZE_SHARE_ROWS,
  MATERIALIZE_SHARE_STREAMS,
  MATERIALIZE_SHARED_ROWS,
} from '../limits.ts'
import { MIXED_STREAM } from '../model/mixed-runs.ts'
import type { StreamId } from '../model/stream.ts'

/** What waits of one stream, or of blocks that are mixed. */
export interface Waiting {
  readonly streamId: StreamId
  /** When the oldest of it came. */
  readonly sinceMs: number
  readonly rows: number
  readonly bytes: number
}

export interface Insert<W extends Waiting> {
  /** Of one stream, or several for the shared table. */
  readonly buffers: readonly W[]
  readonly isShared: boolean
  readonly rows: number
  readonly bytes: number
}

export interface PickOptions {
  readonly nowMs: number
  /** How long something may wait. */
  readonly delayMs: number
  /** What all have. */
  readonly bytes: number
}

/**
 * The insert to make now, if any. `waiting` is in the order of `sinceMs`. A full one goes first,
 * then the oldest if it is due, then, when memory presses, the largest.
 */
export function pickInsert<W extends Waiting>(
  waiting: Iterable<W>,
  { nowMs, delayMs, bytes }: PickOptions,
): Insert<W> | undefined {
  const inserts = planInserts([...waiting])
  let largest: Insert<W> | undefined
  for (const insert of inserts) {
    if (insert.isFull) return insert
    if (largest === undefined || insert.bytes > largest.bytes) largest = insert
  }
  const [oldest] = inserts
  if (oldest !== undefined && nowMs - oldest.sinceMs >= delayMs) return oldest
  return bytes > MATERIALIZE_BUFFER_BYTES_MAX / 2 ? largest : undefined
}

/** What a table is given in one insert, unless a single block is more. */
export function rowsMax(streamId: StreamId): number {
  return streamId === MIXED_STREAM ? MATERIALIZE_SHARED_ROWS : MATERIALIZE_INSERT_ROWS
}

export function isFull({ streamId, rows, bytes }: Omit<Waiting, 'sinceMs'>): boolean {
  return rows >= rowsMax(streamId) || bytes >= MATERIALIZE_INSERT_BYTES
}

/** Whether it is so little that a table of its own is not worth an insert. */
export function isSmall({ rows, bytes }: Pick<Waiting, 'rows' | 'bytes'>): boolean {
  return rows <= MATERIALIZE_SHARE_ROWS && bytes <= MATERIALIZE_SHARE_BYTES
}

/** All that waits as inserts, in the order of their oldest. */
function planInserts<W extends Waiting>(waiting: readonly W[]): PlannedInsert<W>[] {
  let small = 0
  for (const each of waiting) if (each.streamId !== MIXED_STREAM && isSmall(each)) small++
  const isSharing = small > MATERIALIZE_SHARE_STREAMS
  const inserts: PlannedInsert<W>[] = []
  let shared: PlannedInsert<W> | undefined
  for (const each of waiting) {
    const isMixed = each.streamId === MIXED_STREAM
    const shares = isSharing && (isMixed || isSmall(each))
    if (shares && shared?.tryAdd(each)) continue
    const insert = new PlannedInsert(each, isMixed || shares)
    inserts.push(insert)
    if (shares) shared = insert
  }
  return inserts
}

class PlannedInsert<W extends Waiting> implements Insert<W> {
  readonly buffers: W[]
  readonly isShared: boolean
  readonly sinceMs: number
  rows: number
  bytes: number
  isFull: boolean

  constructor(first: W, isShared: boolean) {
    this.buffers = [first]
    this.isShared = isShared
    this.sinceMs = first.sinceMs
    this.rows = first.rows
    this.bytes = first.bytes
    this.isFull = isFull(first)
  }

  /** False when it does not fit; then this one is as full as it gets. */
  tryAdd(each: W): boolean {
    const rows = this.rows + each.rows
    const bytes = this.bytes + each.bytes
    this.isFull ||= rows > MATERIALIZE_SHARED_ROWS || bytes > MATERIALIZE_INSERT_BYTES
    if (this.isFull) return false
    this.buffers.push(each)
    this.rows = rows
    this.bytes = bytes
    return true
  }
}
