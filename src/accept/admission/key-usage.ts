/**
 * What each API key sent, by the hour. Counted once a request, when that is acknowledged: a look
 * into a map and three additions. The hour is that in which a counter began, so a count may be in
 * the hour before its own by as long as counters are gathered.
 */

import { type KeyCounts, NO_KEY } from '../../model/batch/usage-counts.ts'
import type { StreamId } from '../../model/stream.ts'
import { Gathered } from './gathered.ts'

interface Counter extends KeyCounts {
  requests: number
  events: number
  bytes: number
}

/** Counters are gathered so long at least, and at most… */
const FLUSH_MS_MIN = 1_000
const FLUSH_MS_MAX = 10_000
/** …so that a thousand keys make two hundred rows a second. */
const FLUSH_MS_PER_ROW = 5
const HOUR_MINUTES = 60
const MINUTE_MS = 60_000

export class KeyUsage {
  readonly #nowMs: () => number
  /** By key, or by stream where there is none: keys that are valid are finite. */
  readonly #counters: Gathered<number, Counter>

  constructor(record: (counts: readonly KeyCounts[]) => Promise<void>, nowMs: () => number) {
    this.#nowMs = nowMs
    this.#counters = new Gathered({
      record,
      merge: (into, more) => raise(into, more.requests, more.events, more.bytes),
      flushMs: (written) =>
        Math.min(FLUSH_MS_MAX, Math.max(FLUSH_MS_MIN, written * FLUSH_MS_PER_ROW)),
    })
  }

  /** `keyId` is `NO_KEY` for what agents send, by a token. */
  add(streamId: StreamId, keyId: number, events: number, bytes: number): void {
    const key = keyId === NO_KEY ? -streamId : keyId
    const known = this.#counters.get(key)
    if (known !== undefined) return raise(known, 1, events, bytes)
    const hour = Math.floor(this.#nowMs() / MINUTE_MS / HOUR_MINUTES)
    const step = { start: hour * HOUR_MINUTES, minutes: HOUR_MINUTES }
    this.#counters.set(key, { streamId, keyId, ...step, requests: 1, events, bytes })
  }

  flush(): Promise<void> {
    return this.#counters.flush()
  }

  /** Writes the last counts. */
  stop(): Promise<void> {
    return this.#counters.stop()
  }
}

function raise(counter: Counter, requests: number, events: number, bytes: number): void {
  counter.requests += requests
  counter.events += events
  counter.bytes += bytes
}
