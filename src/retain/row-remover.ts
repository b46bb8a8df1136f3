/**
 * Removes rows of the raw store: first those past their stream's retention, then the oldest of
 * streams over their cap, and all of streams that were deleted.
 *
 * What a stream holds is counted by its existing rows, so a cap is checked only when nothing below
 * the stream's mark is left: otherwise the same bytes would be removed twice.
 */
import { RETAIN_STEP_MS_TARGET, RETAIN_TURN_MS } from '../limits.ts'
import { type SegmentId, segmentIdAt } from '../model/segment-id.ts'
import type { StreamId } from '../model/stream.ts'
import type { OverCap, RetentionStore } from '../store/raw/retention-store.ts'
import { pause, type RemoveReason, type RetainObserver } from './retainer.ts'

/** How often it looks for segments that are too old. */
export const RETAIN_AGE_SCAN_MS = 10_000
/** Rows that one DELETE removes; fewer when they are large, by `RETAIN_STEP_MS_TARGET`. */
export const RETAIN_STEP_ROWS_MAX = 1_024
/** Rows that are looked at, at a time, to find out how much must go. */
export const RETAIN_WALK_ROWS_MAX = 1_000
/**
 * A cap removes nothing younger: a transaction that is under way may hold ids as old as this, and
 * its events must not vanish just when they are acknowledged.
 */
export const RETAIN_YOUNGEST_MS = 10_000

export interface RowRemoverOptions {
  readonly store: RetentionStore
  readonly observer: Pick<RetainObserver, 'onRemoved'>
  /** The wall clock of this process. */
  readonly nowMs: () => number
  /** For tests. */
  readonly ageScanMs?: number
  readonly youngestMs?: number
}

const STEP_ROWS_FIRST = 64

export class RowRemover {
  readonly #options: RowRemoverOptions
  /** Streams with rows below their mark. At most all streams. */
  readonly #unfinished = new Map<StreamId, RemoveReason>()
  #scannedAtMs = Number.NEGATIVE_INFINITY
  #stepRows = STEP_ROWS_FIRST

  constructor(options: RowRemoverOptions) {
    this.#options = options
  }

  /** True when there is more to remove at once. Throws `StoreError`. */
  async round(signal: AbortSignal): Promise<boolean> {
    const { store } = this.#options
    for (const streamId of await store.markDeleted()) this.#unfinished.set(streamId, 'deleted')
    const { ageScanMs = RETAIN_AGE_SCAN_MS } = this.#options
    if (performance.now() - this.#scannedAtMs >= ageScanMs) {
      await store.markByAge(await this.#clockMs())
      // Also what a worker before us left behind.
      for (const streamId of await store.findUnfinished()) this.#note(streamId, 'age')
      this.#scannedAtMs = performance.now()
    }
    for (const over of await store.findOverCap()) {
      if (!this.#unfinished.has(over.streamId)) await this.#markByBytes(over)
    }
    for (const [streamId, reason] of this.#unfinished) {
      if (signal.aborted) return false
      if (await this.#remove(streamId, reason, signal)) this.#unfinished.delete(streamId)
    }
    await store.purgeDeleted()
    return this.#unfinished.size > 0
  }

  #note(streamId: StreamId, reason: RemoveReason): void {
    if (!this.#unfinished.has(streamId)) this.#unfinished.set(streamId, reason)
  }

  /** The earlier of two clocks: one that is wrong and ahead must not remove anything too soon. */
  async #clockMs(): Promise<number> {
    return Math.min(await this.#options.store.readClock(), this.#options.nowMs())
  }

  /** Moves the mark over the oldest rows until the stream fits its cap without them. */
  async #markByBytes(over: OverCap): Promise<void> {
    const { store, youngestMs = RETAIN_YOUNGEST_MS } = this.#options
    const { streamId, projectionBytesPerEvent } = over
    const before = segmentIdAt((await this.#clockMs()) - youngestMs)
    const rows = await store.listOldest(streamId, before, RETAIN_WALK_ROWS_MAX)
    let excess = over.excessBytes
    let last: SegmentId | undefined
    for (const row of rows) {
      if (excess <= 0) break
      excess -= row.payloadBytes + row.eventCount * projectionBytesPerEvent
      if (last === undefined || row.lastSegmentId > last) last = row.lastSegmentId
    }
    if (last === undefined) return
    await store.mark(streamId, (last + 1n) as SegmentId)
    this.#note(streamId, 'bytes')
  }

  /** Removes rows for a while, resting as long as working; true when none is left. */
  async #remove(streamId: StreamId, reason: RemoveReason, signal: AbortSignal): Promise<boolean> {
    const turnEndsMs = performance.now() + RETAIN_TURN_MS
    while (!signal.aborted && performance.now() < turnEndsMs) {
      const startedAtMs = performance.now()
      const limit = this.#stepRows
      const removed = await this.#options.store.removeRows(streamId, limit)
      const ms = performance.now() - startedAtMs
      if (removed.rows > 0) this.#options.observer.onRemoved(reason, removed)
      if (removed.rows < limit) return true
      if (ms > RETAIN_STEP_MS_TARGET) this.#stepRows = Math.max(1, limit >> 1)
      else if (ms < RETAIN_STEP_MS_TARGET / 2) {
        this.#stepRows = Math.min(RETAIN_STEP_ROWS_MAX, limit * 2)
      }
      await pause(ms, signal)
    }
    return false
  }
}
