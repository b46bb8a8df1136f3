/**
 * Counts refused requests, or rejected events, by stream and reason, of all time. Reasons are a
 * closed set, so the number of streams bounds the memory.
 */
import type { StreamId } from '../../model/stream.ts'
import { Gathered } from './gathered.ts'

export interface RefusalCount {
  readonly streamId: StreamId
  readonly reason: string
  readonly count: number
  readonly lastAtMs: number
}

/** Adds the counts to the store; rejects when it is away. */
export type RecordRefusals = (counts: readonly RefusalCount[]) => Promise<void>

interface Counter {
  readonly streamId: StreamId
  readonly reason: string
  count: number
  lastAtMs: number
}

const FLUSH_MS = 1_000

export class Refusals {
  readonly #nowMs: () => number
  readonly #counters: Gathered<string, Counter>

  constructor(record: RecordRefusals, nowMs: () => number) {
    this.#nowMs = nowMs
    this.#counters = new Gathered({ record, merge, flushMs: () => FLUSH_MS })
  }

  add(streamId: StreamId, reason: string, count = 1): void {
    const key = `${streamId} ${reason}`
    const more = { streamId, reason, count, lastAtMs: this.#nowMs() }
    const known = this.#counters.get(key)
    if (known === undefined) this.#counters.set(key, more)
    else merge(known, more)
  }

  /** Writes the gathered counts; keeps them for later when the store is away. Never rejects. */
  flush(): Promise<void> {
    return this.#counters.flush()
  }

  /** Writes the last counts. */
  stop(): Promise<void> {
    return this.#counters.stop()
  }
}

function merge(into: Counter, more: Counter): void {
  into.count += more.count
  into.lastAtMs = Math.max(into.lastAtMs, more.lastAtMs)
}
