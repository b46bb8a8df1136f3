/**
 * Merges small neighbouring rows, so that a stream fed by tiny requests does not become millions of
 * rows. Each window of time is merged once, when it is over and no more rows are added to it.
 *
 * Events keep their ids, and readers see the same before and after. A kill leaves either the small
 * rows or the merged one (`compaction-store.ts`). Payloads are merged in the pool, on idle threads.
 */
import assert from 'node:assert/strict'
import {
  COMPACT_AGE_MS,
  COMPACT_WAIT_MS_MAX,
  COMPACT_WALK_ROWS_MAX,
  COMPACT_WINDOW_MS,
  RETAIN_TURN_MS,
} from '../limits.ts'
import { type SegmentId, segmentIdAt } from '../model/segment-id.ts'
import type { SizedRow } from '../model/stored-row.ts'
import type { StreamId } from '../model/stream.ts'
import type {
  CompactableStream,
  CompactionStore,
  MergedRow,
} from '../store/raw/compaction-store.ts'
import { planRuns } from './compact-plan.ts'
import { windowOf } from './compaction-windows.ts'
import { pause, type RetainObserver, waitForThread } from './retainer.ts'
import type { Splitter } from './splitter.ts'

/** Streams that one round of compaction takes up. */
export const COMPACT_STREAMS_MAX = 256

export interface CompactorOptions {
  readonly store: CompactionStore
  /** Makes one payload of several, in the pool. Rejects with an `IngestError`. */
  readonly merge: (payloads: readonly Uint8Array[]) => Promise<MergedRow>
  /** Goes before: a window of time is merged when its mixed rows are split. */
  readonly splitter: Pick<Splitter, 'round' | 'findOldest'>
  readonly hasIdleThread: () => boolean
  readonly observer: Pick<RetainObserver, 'onCompacted' | 'onSkipped'>
  readonly nowMs: () => number
  /** For tests. */
  readonly everyMs?: number
}

/** How often it looks for streams with windows to be merged. */
const ROUND_MS = 60_000

export class Compactor {
  readonly #options: CompactorOptions
  #queue: CompactableStream[] = []
  #lookedAtMs = Number.NEGATIVE_INFINITY

  constructor(options: CompactorOptions) {
    this.#options = options
  }

  /** True when there is more to be split or merged at once. Throws `StoreError`. */
  async round(signal: AbortSignal): Promise<boolean> {
    const { splitter, nowMs } = this.#options
    const now = nowMs()
    const end = Math.floor((now - COMPACT_AGE_MS) / COMPACT_WINDOW_MS) * COMPACT_WINDOW_MS
    const isSplitting = await splitter.round(segmentIdAt(end), signal)
    return (await this.#merge({ now, end }, signal)) || isSplitting
  }

  /** Merges rows of windows over before `end`, in milliseconds since 1970, for a while. */
  async #merge(
    { now, end }: { readonly now: number; readonly end: number },
    signal: AbortSignal,
  ): Promise<boolean> {
    const { store, splitter, everyMs = ROUND_MS } = this.#options
    const isDue = performance.now() - this.#lookedAtMs >= everyMs
    if (this.#queue.length === 0 && !isDue) return false
    const checkpoints = await store.readCheckpoints()
    const mixed = await splitter.findOldest(checkpoints)
    const mixedFrom = mixed === undefined ? end : windowOf(mixed) * COMPACT_WINDOW_MS
    const horizon = segmentIdAt(Math.min(end, mixedFrom))
    if (this.#queue.length === 0) {
      this.#lookedAtMs = performance.now()
      this.#queue = await store.listStreams(horizon, COMPACT_STREAMS_MAX)
    }
    const waitedBefore = segmentIdAt(now - COMPACT_WAIT_MS_MAX)
    const turnEndsMs = performance.now() + RETAIN_TURN_MS
    while (this.#queue.length > 0 && performance.now() < turnEndsMs && !signal.aborted) {
      const stream = this.#queue.shift()!
      const range = { from: stream.from, before: horizon, limit: COMPACT_WALK_ROWS_MAX }
      const rows = await store.listRows(stream.streamId, range)
      const hasMore = rows.length === COMPACT_WALK_ROWS_MAX
      const plan = planRuns(rows, { checkpoints, waitedBefore, hasMore })
      for (const run of plan.runs) {
        if (signal.aborted) return false
        await this.#mergeRun(stream.streamId, run, signal)
      }
      const last = rows.at(-1)
      const beyond = hasMore && last !== undefined ? last.segmentId + 1n : horizon
      const nextFrom = plan.nextFrom ?? (beyond as SegmentId)
      if (nextFrom > stream.from) await store.moveOn(stream.streamId, nextFrom)
      if (hasMore && !plan.isBlocked) this.#queue.push({ ...stream, from: nextFrom })
    }
    return this.#queue.length > 0
  }

  async #mergeRun(
    streamId: StreamId,
    rows: readonly SizedRow[],
    signal: AbortSignal,
  ): Promise<void> {
    const { store, observer } = this.#options
    await waitForThread(this.#options.hasIdleThread, signal)
    const startedAtMs = performance.now()
    const payloads = await store.readPayloads(streamId, rows)
    if (payloads === undefined) return
    let merged: MergedRow
    try {
      merged = await this.#options.merge(payloads)
      const events = rows.reduce((sum, row) => sum + row.eventCount, 0)
      const bytes = rows.reduce((sum, row) => sum + row.rawBytes, 0)
      assert(merged.eventCount === events && merged.rawBytes === bytes, 'no event more or less')
    } catch (cause) {
      observer.onSkipped(cause)
      return
    }
    if (await store.replace(streamId, rows, merged)) {
      const before = rows.reduce((sum, row) => sum + row.payloadBytes, 0)
      observer.onCompacted({ rows: rows.length, bytesSaved: before - merged.payload.length })
    }
    await pause(performance.now() - startedAtMs, signal)
  }
}
