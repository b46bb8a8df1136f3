/**
 * Brings streams' tables into their form while the service runs: settings and indexes as the
 * streams' text fields and learned fields require, then the indexes of the parts that lack them.
 *
 * Each round compares the tables with what they should be, and only failures are remembered. At
 * most one day of one table is rewritten at a time, by the engine's background threads, the newest
 * first. Compact parts that should be wide become wide by merging (`merge-bounds.ts`); that makes
 * their indexes, too, so they are left to it.
 */
import type { StreamId } from '../model/stream.ts'
import type { TableNeeds } from '../model/table-needs.ts'
import type { FormPartition, TableForm, TableKeeper } from '../store/projection/table-keeper.ts'

/** Tables that are compared at a time. */
export const RETAIN_TABLES_MAX = 64
/** How long a table whose index could not be made is left alone. */
export const RETAIN_REINDEX_MS = 3_600_000
/** Share of a day's rows that are in such parts from which on their indexes are made. */
export const BARE_ROWS_SHARE = 0.25

export interface TableReconcilerOptions {
  readonly tables: Pick<
    TableKeeper,
    'listForms' | 'alter' | 'listPartitions' | 'startIndexing' | 'isChanging' | 'endFailing'
  >
  /** Streams of which nothing is known are left out. */
  readonly readNeeds: (streamIds: readonly StreamId[]) => Promise<ReadonlyMap<StreamId, TableNeeds>>
  readonly observer: TableObserver
  /** For tests: the monotonic clock. */
  readonly nowMs?: () => number
}

export interface TableObserver {
  /** A table was altered. */
  readonly onAltered: (streamId: StreamId) => void
  /** Rows of the table that wait for an index or for a wide part; 0 once, when it is done. */
  readonly onWaiting: (streamId: StreamId, rows: number) => void
  readonly onWaitingInAll: (rows: number) => void
  readonly onError: (streamId: StreamId, cause: unknown) => void
}

export class TableReconciler {
  readonly #options: TableReconcilerOptions
  readonly #nowMs: () => number
  /** Tables whose index could not be made, and until when they are left alone. */
  readonly #leftUntilMs = new Map<StreamId, number>()
  #waiting = new Map<StreamId, number>()

  constructor(options: TableReconcilerOptions) {
    this.#options = options
    this.#nowMs = options.nowMs ?? (() => performance.now())
  }

  /** Throws the first `StoreError`, after it has tried with every table. */
  async round(signal: AbortSignal): Promise<boolean> {
    const { tables } = this.#options
    await this.#endFailing()
    const failures: unknown[] = []
    const forms = await tables.listForms()
    const isAltered = await this.#alter(forms, signal, failures)
    if (signal.aborted) return false
    const current = isAltered ? await tables.listForms() : forms
    const partitions = await tables.listPartitions(current)
    this.#tell(partitions)
    await this.#startNext(current, partitions)
    if (failures.length > 0) throw failures[0]
    return false
  }

  async #alter(
    forms: readonly TableForm[],
    signal: AbortSignal,
    failures: unknown[],
  ): Promise<boolean> {
    const { tables, readNeeds, observer } = this.#options
    let isAltered = false
    for (let at = 0; at < forms.length; at += RETAIN_TABLES_MAX) {
      const some = forms.slice(at, at + RETAIN_TABLES_MAX)
      const needs = await readNeeds(some.map(({ streamId }) => streamId))
      for (const form of some) {
        const wanted = needs.get(form.streamId)
        if (wanted === undefined || signal.aborted) continue
        try {
          if (!(await tables.alter(form, wanted))) continue
          isAltered = true
          observer.onAltered(form.streamId)
        } catch (cause) {
          isAltered = true
          failures.push(cause)
        }
      }
    }
    return isAltered
  }

  async #endFailing(): Promise<void> {
    const { tables, observer } = this.#options
    for (const { streamId, reason } of await tables.endFailing()) {
      this.#leftUntilMs.set(streamId, this.#nowMs() + RETAIN_REINDEX_MS)
      observer.onError(streamId, new Error(reason))
    }
  }

  async #startNext(
    forms: readonly TableForm[],
    partitions: readonly FormPartition[],
  ): Promise<void> {
    const { tables } = this.#options
    const next = partitions.find((partition) => {
      const leftUntilMs = this.#leftUntilMs.get(partition.streamId) ?? 0
      return this.#nowMs() >= leftUntilMs && isWorthwhile(partition)
    })
    const form = forms.find(({ streamId }) => streamId === next?.streamId)
    if (next === undefined || form === undefined || (await tables.isChanging())) return
    await tables.startIndexing(form, next)
  }

  #tell(partitions: readonly FormPartition[]): void {
    const { observer } = this.#options
    const waiting = new Map<StreamId, number>()
    for (const { streamId, waitingRows } of partitions) {
      if (waitingRows === 0) continue
      waiting.set(streamId, (waiting.get(streamId) ?? 0) + waitingRows)
    }
    for (const [streamId, rows] of waiting) {
      if (this.#waiting.get(streamId) !== rows) observer.onWaiting(streamId, rows)
    }
    for (const streamId of this.#waiting.keys()) {
      if (!waiting.has(streamId)) observer.onWaiting(streamId, 0)
    }
    this.#waiting = waiting
    observer.onWaitingInAll([...waiting.values()].reduce((sum, rows) => sum + rows, 0))
  }
}

/**
 * Parts that merging makes wide get their indexes by it. While a day goes on, parts that are too
 * large to be merged may be added: then they are indexed when they are a share of it, so that the
 * other parts, which are linked anew each time, are not touched again and again.
 */
function isWorthwhile(partition: FormPartition): boolean {
  const { rows, unindexedRows, bareRows, isOver, narrowParts, parts } = partition
  if (unindexedRows === 0 || (narrowParts > 0 && parts > 1)) return false
  return unindexedRows > bareRows || isOver || bareRows >= BARE_ROWS_SHARE * rows
}
