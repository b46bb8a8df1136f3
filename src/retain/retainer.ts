/**
 * Retain: removes what streams no longer hold, in both stores, and merges small rows.
 *
 *   mark (readers see nothing below it) ─▶ rows of the raw store go ─▶ the projection is trimmed
 *
 * Of all nodes, the process that holds the lock does this. It finds its work by looking at the
 * stores and remembers nothing: it may be killed at any moment, and a store may be away. Rows that
 * arrive late, below a mark, are found and removed like all others.
 */
import { setTimeout as sleep } from 'node:timers/promises'

/** How often the node that enforces retention looks whether a stream is over its cap. */
export const RETAIN_ROUND_MS = 5_000
/** How often the projection's sizes are read. */
export const RETAIN_PROJECTION_MS = 10_000
/** How often tables are compared with the form that they should have. */
export const RETAIN_TABLES_MS = 10_000

/** How often counts of usage are looked for that are old enough to be added up. */
export const RETAIN_USAGE_MS = 60_000

/** How often days are looked for that are old enough to be moved. */
export const RETAIN_COLD_MS = 30_000

export type RemoveReason = 'age' | 'bytes' | 'deleted'
export const RETAIN_PARTS = [
  ...(['rows', 'projection', 'compaction', 'merge-bounds', 'tables', 'cold', 'usage'] as const),
]
export type RetainPart = (typeof RETAIN_PARTS)[number]

export interface RetainObserver {
  readonly onWorker: (isWorker: boolean) => void
  readonly onRemoved: (
    reason: RemoveReason,
    removed: { readonly rows: number; readonly events: number; readonly bytes: number },
  ) => void
  /** A partition or a whole table of the projection is gone, or rows in it are being deleted. */
  readonly onTrimmed: (what: 'table' | 'partition' | 'rows') => void
  readonly onCompacted: (merged: { readonly rows: number; readonly bytesSaved: number }) => void
  /** Mixed rows of the raw store that became rows of their streams. */
  readonly onSplit: (split: {
    readonly mixedRows: number
    /** Segments that were in them, and the rows that these became. */
    readonly segments: number
    readonly rows: number
    readonly bytesSaved: number
  }) => void
  /** A row that cannot be merged or split; it stays as it is. */
  readonly onSkipped: (cause: unknown) => void
  /** Each failure in a row, with how often it has failed since the last success. */
  readonly onError: (part: RetainPart, cause: unknown, failures: number) => void
}

/** One round of work; resolves with whether there is more to be done at once. */
export type Round = (signal: AbortSignal) => Promise<boolean>

export interface RetainerOptions {
  readonly lock: {
    readonly isHeld: boolean
    tryHold(): Promise<boolean>
    stop(): Promise<void>
  }
  /** Work in the lock's own session. */
  readonly removeRows: Round
  readonly compact: Round
  readonly trimProjection: Round
  readonly reconcileTables?: Round
  readonly ageUsage?: Round
  /** Only where days are moved to another volume. */
  readonly moveCold?: Round | undefined
  readonly observer: RetainObserver
  /** For tests. */
  readonly roundMs?: number
  readonly projectionMs?: number
}

const STOP_MS_MAX = 5_000

export class Retainer {
  readonly #options: RetainerOptions
  readonly #stopping = new AbortController()
  #running: Promise<unknown> = Promise.resolve()
  #wasWorker = false

  constructor(options: RetainerOptions) {
    this.#options = options
  }

  start(): void {
    const { roundMs = RETAIN_ROUND_MS, projectionMs = RETAIN_PROJECTION_MS } = this.#options
    // ClickHouse may be away or slow; that must not hold up the raw store.
    this.#running = Promise.all([
      this.#repeat('rows', roundMs, (signal) => this.#workOnRows(signal)),
      this.#repeat('projection', projectionMs, async (signal) => {
        return this.#options.lock.isHeld && (await this.#options.trimProjection(signal))
      }),
      this.#repeat('cold', RETAIN_COLD_MS, async (signal) => {
        const { lock, moveCold } = this.#options
        return lock.isHeld && ((await moveCold?.(signal)) ?? false)
      }),
      this.#repeat('usage', RETAIN_USAGE_MS, async (signal) => {
        const { lock, ageUsage } = this.#options
        return lock.isHeld && ((await ageUsage?.(signal)) ?? false)
      }),
      this.#repeat('tables', RETAIN_TABLES_MS, async (signal) => {
        const { lock, reconcileTables } = this.#options
        return lock.isHeld && ((await reconcileTables?.(signal)) ?? false)
      }),
    ])
  }

  /** Ends after the statement under way, and lets another node go on. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.race([this.#running, sleep(STOP_MS_MAX, undefined, { ref: false })])
    await this.#options.lock.stop()
  }

  async #workOnRows(signal: AbortSignal): Promise<boolean> {
    const { lock, observer } = this.#options
    const isWorker = await lock.tryHold()
    if (isWorker !== this.#wasWorker) observer.onWorker(isWorker)
    this.#wasWorker = isWorker
    if (!isWorker) return false
    const isBusy = await this.#options.removeRows(signal)
    return (await this.#compact(signal)) || isBusy
  }

  /** What goes wrong with merging is no reason to keep what is too old. */
  async #compact(signal: AbortSignal): Promise<boolean> {
    try {
      return await this.#options.compact(signal)
    } catch (cause) {
      if (!signal.aborted) this.#options.observer.onError('compaction', cause, 1)
      return false
    }
  }

  async #repeat(part: RetainPart, everyMs: number, round: Round): Promise<void> {
    const { signal } = this.#stopping
    let failures = 0
    while (!signal.aborted) {
      let isBusy = false
      try {
        isBusy = await round(signal)
        failures = 0
      } catch (cause) {
        failures++
        if (!signal.aborted) this.#options.observer.onError(part, cause, failures)
      }
      if (!isBusy) await pause(everyMs, signal)
    }
  }
}

/** Resolves after `ms`, or at once when `signal` is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined)
}

const THREAD_WAIT_MS_MAX = 1_000
const THREAD_POLL_MS = 20

/** Ingest has the pool first; but a pool that is never idle must not end compaction. */
export async function waitForThread(hasIdleThread: () => boolean, signal: AbortSignal) {
  const deadline = performance.now() + THREAD_WAIT_MS_MAX
  while (!hasIdleThread() && performance.now() < deadline && !signal.aborted) {
    await pause(THREAD_POLL_MS, signal)
  }
}
