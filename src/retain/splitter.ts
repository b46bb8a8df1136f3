/**
 * Splits mixed rows: moves their events to rows of their own streams, once the window of time is
 * over and no follower needs the mixed row any more. Events that retention has removed meanwhile
 * are left out; a stream with none left gets no row.
 *
 * Splitting comes before merging: small rows of a window wait until its mixed rows are split.
 * Events keep their ids, and readers see the same before and after. A kill leaves either the old
 * row or the new ones.
 */
import assert from 'node:assert/strict'
import { ERRORS, IngestError } from '../errors.ts'
import {
  COMPACT_WAIT_MS_MAX,
  COMPACT_WINDOW_MS,
  RETAIN_TURN_MS,
  SPLIT_ROWS_MAX,
} from '../limits.ts'
import { type SegmentId, segmentIdAt } from '../model/segment-id.ts'
import type { SizedRow } from '../model/stored-row.ts'
import type { StreamId } from '../model/stream.ts'
import type { SplitPayloads, SplitRow, SplitStore, StoredRun } from '../store/raw/split-store.ts'
import { windowOf } from './compaction-windows.ts'
import { pause, type RetainObserver, waitForThread } from './retainer.ts'
import { planRows, type SplitChunk, takeChunk } from './split-plan.ts'

/** Mixed rows that cannot be split and are not tried again; past it the oldest of them are. */
export const SPLIT_DAMAGED_ROWS_MAX = 1_024

/** What the pool is given; see `SplitTask`. */
export interface SplitWork {
  readonly payloads: readonly Uint8Array[]
  readonly pieces: Uint32Array
  readonly pieceCounts: Uint32Array
}

export interface SplitOutcome extends SplitPayloads {
  readonly eventCounts: Uint32Array
  readonly rawBytes: Uint32Array
}

export interface SplitterOptions {
  readonly store: SplitStore
  /** For each node, up to which of its segments all followers have got. */
  readonly readCheckpoints: () => Promise<ReadonlyMap<number, SegmentId>>
  /** Sorts events in the pool. Rejects with an `IngestError`. */
  readonly split: (work: SplitWork) => Promise<SplitOutcome>
  readonly hasIdleThread: () => boolean
  readonly observer: Pick<RetainObserver, 'onSplit' | 'onSkipped'>
  readonly nowMs: () => number
  /** For tests. */
  readonly everyMs?: number
}

/** How often it looks for rows to be split. */
const LOOK_MS = 60_000
const EMPTY: SplitPayloads = { bytes: new Uint8Array(0), ends: new Uint32Array(0) }

export class Splitter {
  readonly #options: SplitterOptions
  /** Rows up to here were looked at; undefined when all were. */
  #through: SegmentId | undefined
  #lookedAtMs = Number.NEGATIVE_INFINITY
  /** Rows that could not be split; another process will try once more. */
  readonly #damaged = new Set<SegmentId>()

  constructor(options: SplitterOptions) {
    this.#options = options
  }

  /** Splits rows that end before `before`, for a while. True when there may be more to split. */
  async round(before: SegmentId, signal: AbortSignal): Promise<boolean> {
    const { store, nowMs, everyMs = LOOK_MS } = this.#options
    if (this.#through === undefined) {
      if (performance.now() - this.#lookedAtMs < everyMs) return false
      this.#lookedAtMs = performance.now()
    }
    const checkpoints = await this.#options.readCheckpoints()
    const waitedBefore = segmentIdAt(nowMs() - COMPACT_WAIT_MS_MAX)
    const end = earlier(before, lastToSplit(checkpoints, waitedBefore))
    const turnEndsMs = performance.now() + RETAIN_TURN_MS
    while (performance.now() < turnEndsMs && !signal.aborted) {
      const after = this.#through ?? (0n as SegmentId)
      const rows = await store.listMixed({ after, before: end, limit: SPLIT_ROWS_MAX })
      if (rows.length === 0) {
        this.#through = undefined
        return false
      }
      const chunk = takeChunk(rows, { checkpoints, waitedBefore, damaged: this.#damaged })
      if (chunk.rows.length > 0) await this.#splitRows(chunk.rows, chunk.kind, signal)
      this.#through = chunk.through
    }
    return this.#through !== undefined
  }

  /**
   * The oldest mixed row that can be split now. A row that waits for its node's checkpoint delays
   * no other: merging goes over its window again when it is split.
   */
  findOldest(checkpoints: ReadonlyMap<number, SegmentId>): Promise<SegmentId | undefined> {
    return this.#options.store.findOldest(checkpoints, this.#damaged)
  }

  async #splitRows(
    mixed: readonly SizedRow[],
    kind: SplitChunk['kind'],
    signal: AbortSignal,
  ): Promise<void> {
    const { store, observer } = this.#options
    await waitForThread(this.#options.hasIdleThread, signal)
    if (signal.aborted) return
    const startedAtMs = performance.now()
    const runs = await store.listRuns(mixed)
    if (kind === 'damaged' && runs.length > 0) return
    const rows = planRows(runs, await this.#listBetween(mixed, runs))
    const work = await this.#gather(rows)
    if (work === undefined) return
    let payloads: SplitPayloads
    try {
      payloads = rows.length === 0 ? EMPTY : await this.#split(rows, work)
    } catch (cause) {
      if (cause instanceof IngestError && ERRORS[cause.code].retryable) throw cause
      await this.#narrow(mixed, kind, cause, signal)
      return
    }
    const [first] = mixed
    const window = first === undefined ? 0 : windowOf(first.segmentId)
    const compactFrom = kind === 'merged' ? segmentIdAt(window * COMPACT_WINDOW_MS) : undefined
    if (await store.replace({ mixed, rows, payloads, compactFrom })) {
      const before = mixed.reduce((sum, row) => sum + row.payloadBytes, 0)
      const bytesSaved = before - payloads.bytes.length
      const moved = { mixedRows: mixed.length, segments: runs.length, rows: rows.length }
      observer.onSplit({ ...moved, bytesSaved })
      for (const { segmentId } of mixed) this.#damaged.delete(segmentId)
    }
    await pause(performance.now() - startedAtMs, signal)
  }

  /** Finds which of several rows cannot be split, and leaves only that row as it is. */
  async #narrow(
    mixed: readonly SizedRow[],
    kind: SplitChunk['kind'],
    cause: unknown,
    signal: AbortSignal,
  ): Promise<void> {
    const [first] = mixed
    if (first === undefined || signal.aborted) return
    if (mixed.length > 1) {
      const half = mixed.length >> 1
      await this.#splitRows(mixed.slice(0, half), kind, signal)
      await this.#splitRows(mixed.slice(half), kind, signal)
      return
    }
    this.#options.observer.onSkipped(cause)
    this.#damaged.add(first.segmentId)
    if (this.#damaged.size <= SPLIT_DAMAGED_ROWS_MAX) return
    for (const oldest of this.#damaged) {
      this.#damaged.delete(oldest)
      break
    }
  }

  /** Only streams with two runs or more may have something between them. */
  async #listBetween(
    mixed: readonly SizedRow[],
    runs: readonly StoredRun[],
  ): Promise<Map<StreamId, SegmentId[]>> {
    const counts = new Map<StreamId, number>()
    for (const { streamId } of runs) counts.set(streamId, (counts.get(streamId) ?? 0) + 1)
    const streamIds = [...counts].filter(([, count]) => count > 1).map(([streamId]) => streamId)
    const [first, last] = [mixed[0], mixed.at(-1)]
    if (streamIds.length === 0 || first === undefined || last === undefined) return new Map()
    const range = { after: first.segmentId, before: last.segments.at(-1)!.segmentId }
    return this.#options.store.listBetween(streamIds, range)
  }

  /** Payloads and which of their events go where; undefined when a payload is gone. */
  async #gather(rows: readonly SplitRow[]): Promise<SplitWork | undefined> {
    const runs = rows.flatMap((row) => row.runs)
    const rowIds = [...new Set(runs.map((run) => run.rowId))]
    const payloads = rowIds.length === 0 ? [] : await this.#options.store.readPayloads(rowIds)
    if (payloads === undefined) return undefined
    const places = new Map(rowIds.map((id, index) => [id, index]))
    const pieces = runs.flatMap(({ rowId, firstEvent, eventCount }) => {
      return [places.get(rowId) ?? 0, firstEvent, eventCount]
    })
    const pieceCounts = Uint32Array.from(rows, (row) => row.runs.length)
    return { payloads, pieces: Uint32Array.from(pieces), pieceCounts }
  }

  async #split(rows: readonly SplitRow[], work: SplitWork): Promise<SplitPayloads> {
    const outcome = await this.#options.split(work)
    assert.equal(outcome.ends.length, rows.length)
    for (const [index, { runs }] of rows.entries()) {
      const events = runs.reduce((sum, run) => sum + run.eventCount, 0)
      const bytes = runs.reduce((sum, run) => sum + run.rawBytes, 0)
      const isSame = outcome.eventCounts[index] === events && outcome.rawBytes[index] === bytes
      assert(isSame, 'no event more or less')
    }
    return outcome
  }
}

/** No row that ends at or above this id can be split, whichever node made it. */
function lastToSplit(
  checkpoints: ReadonlyMap<number, SegmentId>,
  waitedBefore: SegmentId,
): SegmentId {
  let last: bigint = waitedBefore
  for (const checkpoint of checkpoints.values()) if (checkpoint >= last) last = checkpoint + 1n
  return last as SegmentId
}

function earlier(a: SegmentId, b: SegmentId): SegmentId {
  return a < b ? a : b
}
