/**
 * Counts refused requests, or rejected events, by stream and reason. Counts are gathered in memory
 * and written periodically, because a client that is refused a thousand times a second must not
 * cause a thousand database writes. Reasons are a closed set, so the number of streams bounds the
 * memory.
 */
import type { StreamId } from '../../model/stream.ts'

export interface RefusalCount {
  readonly streamId: StreamId
  readonly reason: string
  readonly count: number
  readonly lastAtMs: number
}

/** Adds the counts to the store; rejects when it is away. */
export type RecordRefusals = (counts: readonly RefusalCount[]) => Promise<void>

const FLUSH_MS = 1_000

export class Refusals {
  readonly #record: RecordRefusals
  readonly #nowMs: () => number
  #counts = new Map<string, RefusalCount>()
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> = Promise.resolve()

  constructor(record: RecordRefusals, nowMs: () => number) {
    this.#record = record
    this.#nowMs = nowMs
  }

  add(streamId: StreamId, reason: string, count = 1): void {
    this.#merge({ streamId, reason, count, lastAtMs: this.#nowMs() })
    this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS).unref()
  }

  /** Writes the gathered counts; keeps them for later when the store is away. Never rejects. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#flushing = this.#flushing.then(async () => {
      if (this.#counts.size === 0) return
      const counts = [...this.#counts.values()]
      this.#counts = new Map()
      try {
        await this.#record(counts)
      } catch {
        for (const count of counts) this.#merge(count) // One entry per stream and reason: bounded.
        this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS).unref()
      }
    })
    return this.#flushing
  }

  /** Writes the last counts. */
  async stop(): Promise<void> {
    await this.flush()
    clearTimeout(this.#timer)
  }

  #merge(more: RefusalCount): void {
    const key = `${more.streamId} ${more.reason}`
    const known = this.#counts.get(key)
    const count = more.count + (known?.count ?? 0)
    const lastAtMs = Math.max(more.lastAtMs, known?.lastAtMs ?? 0)
    this.#counts.set(key, { ...more, count, lastAtMs })
  }
}
