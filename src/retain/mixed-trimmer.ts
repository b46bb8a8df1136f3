/**
 * Removes from the projection table that small streams share the rows below the streams' marks. A
 * day is dropped as a whole when no stream has rows left in it; else one delete covers all streams.
 *
 * Deleting rows rewrites the rest of the day, other streams' rows included. So it waits until a
 * quarter is removed, or until the marks of all those streams are past the day, so that no more of
 * it will be removed. Rows of deleted streams are deleted without waiting.
 */
import { RETAIN_TRIM_MS, RETAIN_TRIM_SHARE } from '../limits.ts'
import { segmentIdMs } from '../model/segment-id.ts'
import type { StreamId } from '../model/stream.ts'
import type { MixedPartition, MixedParts, StreamMark } from '../store/projection/mixed-parts.ts'
import type { ProjectionParts } from '../store/projection/projection-parts.ts'
import type { StreamState } from '../store/raw/storage-store.ts'
import type { RetainObserver } from './retainer.ts'

export interface MixedTrimmerOptions {
  readonly mixed: MixedParts
  readonly parts: Pick<ProjectionParts, 'isDeleting'>
  readonly observer: Pick<RetainObserver, 'onTrimmed'>
  /** For tests. */
  readonly trimMs?: number
}

/** Streams with rows of a day that may be removed, by what their marks say. */
interface Removable {
  readonly deleted: StreamMark[]
  /** The mark is past the day. */
  readonly over: StreamMark[]
  readonly within: StreamMark[]
}

const DAY_MS = 86_400_000
/**
 * A day is dropped as a whole only when it has been over for a while: rows inserted between
 * counting and dropping would be lost, and inserts are of the present day.
 */
export const DROP_GRACE_MS = 3_600_000

export class MixedTrimmer {
  readonly #options: MixedTrimmerOptions
  /** When partitions were last looked into; only of those that are there. */
  #lookedAtMs = new Map<string, number>()

  constructor(options: MixedTrimmerOptions) {
    this.#options = options
  }

  /**
   * Throws the first `StoreError`, after it has tried with every day. Rows of streams that are not
   * in `states` are left alone.
   */
  async trim(
    partitions: readonly MixedPartition[],
    states: ReadonlyMap<StreamId, StreamState>,
    signal: AbortSignal,
  ): Promise<void> {
    const lookedAtMs = new Map<string, number>()
    const failures: unknown[] = []
    for (const partition of partitions) {
      if (signal.aborted) break
      const lastMs = this.#lookedAtMs.get(partition.id) ?? Number.NEGATIVE_INFINITY
      const atMs = await this.#trimPartition(partition, states, lastMs).catch((cause: unknown) => {
        failures.push(cause)
        return lastMs
      })
      lookedAtMs.set(partition.id, atMs)
    }
    this.#lookedAtMs = lookedAtMs
    if (failures.length > 0) throw failures[0]
  }

  /** Returns when the partition was last looked into. */
  async #trimPartition(
    { id, shares }: MixedPartition,
    states: ReadonlyMap<StreamId, StreamState>,
    lastMs: number,
  ): Promise<number> {
    const { parts, mixed, observer, trimMs = RETAIN_TRIM_MS } = this.#options
    const endMs = partitionEndMs(id)
    const { deleted, over, within } = findRemovable(shares, states, endMs)
    const whole = deleted.length + over.length
    if (whole + within.length === 0) return lastMs
    const nowMs = performance.now()
    const isPast = endMs + DROP_GRACE_MS < Date.now()
    const mayDrop = isPast && whole === shares.size
    if (!mayDrop && nowMs - lastMs < trimMs) return lastMs
    const mayDelete = !(await parts.isDeleting())
    if (!mayDrop && !mayDelete) return lastMs

    const deletedRows = await mixed.countBefore(id, deleted)
    const withinRows = await mixed.countBefore(id, within)
    const removed = deletedRows + withinRows + (await mixed.countBefore(id, over))
    // Counted last: what came in meanwhile is not removed.
    const rows = await mixed.countRows(id)
    if (removed === 0) return nowMs
    if (removed === rows && isPast) {
      await mixed.dropPartition(id)
      observer.onTrimmed('partition')
      return nowMs
    }
    const isDue = removed >= rows * RETAIN_TRIM_SHARE || deletedRows > 0 || withinRows === 0
    if (!isDue) return nowMs
    if (!mayDelete) return lastMs
    await mixed.startDelete(id, [...deleted, ...over, ...within])
    observer.onTrimmed('rows')
    return nowMs
  }
}

function findRemovable(
  shares: MixedPartition['shares'],
  states: ReadonlyMap<StreamId, StreamState>,
  endMs: number,
): Removable {
  const found: Removable = { deleted: [], over: [], within: [] }
  for (const [streamId, { oldestMs }] of shares) {
    const state = states.get(streamId)
    if (state === undefined) continue
    const markMs = segmentIdMs(state.removedBefore)
    if (oldestMs > markMs) continue
    const whole = state.isDeleted ? found.deleted : found.over
    const list = endMs <= markMs ? whole : found.within
    list.push([streamId, state.removedBefore])
  }
  return found
}

/** Where the day of a partition such as `20260505` ends. */
export function partitionEndMs(id: string): number {
  const [year, month, day] = [id.slice(0, 4), id.slice(4, 6), id.slice(6, 8)].map(Number)
  return Date.UTC(year ?? 0, (month ?? 1) - 1, day) + DAY_MS
}
