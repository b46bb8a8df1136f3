/**
 * Removes from the projection what the marks say is removed: tables of deleted streams, whole days,
 * and the removed part of the day that the mark is in.
 *
 * Each round compares what ClickHouse has with the marks. So an insert that was under way when its
 * segment was removed, or one that a node replays later, is noticed and removed with the next
 * round; readers never see it, as they apply the mark themselves.
 *
 * Deleting rows rewrites the rest of their part. It is done when a quarter of a partition or more
 * is removed, at a bounded rate for each table, and for one table at a time.
 * The table that small streams share: `mixed-trimmer.ts`.
 */
import { RETAIN_TRIM_MS, RETAIN_TRIM_SHARE } from '../limits.ts'
import { type SegmentId, segmentIdMs } from '../model/segment-id.ts'
import type { StreamId } from '../model/stream.ts'
import type { MixedParts } from '../store/projection/mixed-parts.ts'
import type {
  ProjectionPartition,
  ProjectionParts,
  ProjectionTable,
} from '../store/projection/projection-parts.ts'
import type { ProjectionSize, StorageStore, StreamState } from '../store/raw/storage-store.ts'
import { MergeBounds } from './merge-bounds.ts'
import { DROP_GRACE_MS, MixedTrimmer, partitionEndMs } from './mixed-trimmer.ts'
import { projectionSizes } from './projection-sizes.ts'
import type { RetainObserver } from './retainer.ts'

export interface ProjectionTrimmerOptions {
  readonly parts: ProjectionParts
  readonly mixed: MixedParts
  readonly storage: StorageStore
  readonly observer: Pick<RetainObserver, 'onTrimmed' | 'onError'>
  /** For tests. */
  readonly trimMs?: number
}

const DAY_MS = 86_400_000

export class ProjectionTrimmer {
  readonly #options: ProjectionTrimmerOptions
  readonly #mixedTrimmer: MixedTrimmer
  readonly #mergeBounds: MergeBounds
  #boundsFailures = 0
  /** When a table's partitions were last looked into; only of tables that are there. */
  #trimmedAtMs = new Map<StreamId, number>()

  constructor(options: ProjectionTrimmerOptions) {
    this.#options = options
    this.#mixedTrimmer = new MixedTrimmer(options)
    this.#mergeBounds = new MergeBounds(options)
  }

  /**
   * Records sizes, removes what is due, and sets how far is merged. Throws the first `StoreError`,
   * after it has tried with every table: one that cannot be removed is no reason to keep others.
   */
  async round(signal: AbortSignal): Promise<boolean> {
    const { parts, mixed, storage } = this.#options
    const tables = await parts.listTables()
    const partitions = await mixed.listPartitions()
    const shared = new Set(partitions.flatMap(({ shares }) => [...shares.keys()]))
    const eventBytes = await storage.readEventBytes([...shared])
    const sizes = projectionSizes(tables, partitions, eventBytes)
    const states = await storage.recordProjection([...sizes.values()])
    const trimmedAtMs = new Map<StreamId, number>()
    const failures: unknown[] = []
    for (const table of tables) {
      if (signal.aborted) break
      const state = states.get(table.streamId)
      if (state === undefined) continue
      const at = this.#trimmedAtMs.get(table.streamId) ?? Number.NEGATIVE_INFINITY
      const rows = sizes.get(table.streamId)?.rows ?? table.rows
      const next = await this.#trimTable(table, { ...state, rows }, at).catch((cause: unknown) => {
        failures.push(cause)
        return at
      })
      if (next !== undefined) trimmedAtMs.set(table.streamId, next)
    }
    this.#trimmedAtMs = trimmedAtMs
    await this.#mixedTrimmer.trim(partitions, states, signal).catch((cause: unknown) => {
      failures.push(cause)
    })
    const left = tables.filter(({ streamId }) => states.get(streamId)?.isGone === false)
    await this.#setBounds(left, signal)
    if (failures.length > 0) throw failures[0]
    return false
  }

  /** Where tables may not be altered, they keep the bounds that they were made with. */
  async #setBounds(tables: readonly ProjectionTable[], signal: AbortSignal): Promise<void> {
    try {
      await this.#mergeBounds.round(tables, signal)
      this.#boundsFailures = 0
    } catch (cause) {
      if (signal.aborted) return
      this.#options.observer.onError('merge-bounds', cause, ++this.#boundsFailures)
    }
  }

  /**
   * Returns the time when the table was last examined, undefined when it is gone. `rows` are all of
   * the stream, including those in the shared table.
   */
  async #trimTable(
    { streamId, oldestMs, rows: ownRows }: ProjectionTable,
    { removedBefore, events, isGone, rows }: StreamState & Pick<ProjectionSize, 'rows'>,
    lastMs: number,
  ): Promise<number | undefined> {
    const { parts, observer, trimMs = RETAIN_TRIM_MS } = this.#options
    if (isGone) {
      await parts.dropTable(streamId)
      observer.onTrimmed('table')
      return undefined
    }
    const markMs = segmentIdMs(removedBefore)
    if (oldestMs === undefined || oldestMs >= markMs) return lastMs
    const nowMs = performance.now()
    const isDayOver = Math.floor(oldestMs / DAY_MS) < Math.floor(markMs / DAY_MS)
    // Much may have been removed in a short while, by a cap. Then it is done sooner.
    const isMuch = rows - events >= ownRows * RETAIN_TRIM_SHARE
    const waitMs = isMuch ? trimMs / 5 : trimMs
    if (!isDayOver && nowMs - lastMs < waitMs) return lastMs
    await this.#trimPartitions(streamId, removedBefore)
    return nowMs
  }

  async #trimPartitions(streamId: StreamId, removedBefore: SegmentId): Promise<void> {
    const failures: unknown[] = []
    const { parts } = this.#options
    for (const partition of await parts.listPartitions(streamId, segmentIdMs(removedBefore))) {
      await this.#trimPartition(streamId, partition, removedBefore).catch((cause: unknown) => {
        failures.push(cause)
      })
    }
    if (failures.length > 0) throw failures[0]
  }

  async #trimPartition(
    streamId: StreamId,
    { id, rows }: ProjectionPartition,
    removedBefore: SegmentId,
  ): Promise<void> {
    const { parts, observer } = this.#options
    if (partitionEndMs(id) <= segmentIdMs(removedBefore)) {
      await parts.dropPartition(streamId, id)
      observer.onTrimmed('partition')
      return
    }
    const removed = await parts.countBefore(streamId, id, removedBefore)
    if (removed === 0 || removed < rows * RETAIN_TRIM_SHARE) return
    // Of the present day something may have come in since it was counted.
    if (removed === rows && partitionEndMs(id) + DROP_GRACE_MS < Date.now()) {
      await parts.dropPartition(streamId, id)
      observer.onTrimmed('partition')
    } else if (!(await parts.isDeleting())) {
      await parts.startDelete(streamId, id, removedBefore)
      observer.onTrimmed('rows')
    }
  }
}
