/**
 * Budgets: how many events and bytes a second a stream may send, as token buckets.
 *
 * The cost of a request is known only once it has been read and decoded. So `check`, at the
 * request's head, refuses while a bucket is in debt, and `charge` takes the cost afterwards, even
 * if that puts the bucket in debt. Over time no more than the budget gets through, however large
 * the requests are. Retry-After says when the debt will be paid.
 *
 * With n live nodes, each grants a stream 1/n of its budgets.
 */
import { IngestError } from '../../errors.ts'
import { BUDGET_STREAMS_MAX } from '../../limits.ts'
import type { Stream, StreamId } from '../../model/stream.ts'

/** A stream that was quiet may use so long's worth of its budgets at once. */
export const BUDGET_BURST_MS = 5_000

type BudgetedStream = Pick<Stream, 'streamId' | 'rateBudget' | 'byteBudget'>

export interface BudgetsOptions {
  /** For streams that have no budget of their own; undefined for no limit. */
  readonly rateBudget?: number | undefined
  readonly byteBudget?: number | undefined
  /** How many nodes share a budget, this one among them. */
  readonly liveNodes: () => number
  /** Monotonic milliseconds. */
  readonly nowMs: () => number
}

/** What a request used. */
export interface Charge {
  readonly events?: number
  readonly bytes?: number
}

/** Below zero is debt. */
interface Bucket {
  tokens: number
  atMs: number
}

interface Buckets {
  events: Bucket | undefined
  bytes: Bucket | undefined
}

export class Budgets {
  readonly #options: BudgetsOptions
  readonly #byStream = new Map<StreamId, Buckets>()

  constructor(options: BudgetsOptions) {
    this.#options = options
  }

  /** Streams in memory. */
  get size(): number {
    return this.#byStream.size
  }

  /** Throws `rate_limited` while the stream is in debt. Costs one lookup. */
  check(stream: BudgetedStream): void {
    const buckets = this.#byStream.get(stream.streamId)
    if (buckets === undefined) return
    const eventsMs = this.#debtMs(buckets.events, this.#rateOf(stream))
    const bytesMs = this.#debtMs(buckets.bytes, this.#byteRateOf(stream))
    const waitMs = Math.max(eventsMs, bytesMs)
    if (waitMs <= 0) return
    const what = eventsMs >= bytesMs ? 'rate_budget' : 'byte_budget'
    throw new IngestError('rate_limited', `the stream is over its ${what}`, {
      retryAfterSeconds: Math.ceil(waitMs / 1_000),
    })
  }

  /** Charges what a request used. A negative amount refunds an overcharge. */
  charge(stream: BudgetedStream, { events = 0, bytes = 0 }: Charge): void {
    const rate = this.#rateOf(stream)
    const byteRate = this.#byteRateOf(stream)
    if (rate === undefined && byteRate === undefined) {
      this.#byStream.delete(stream.streamId)
      return
    }
    let buckets = this.#byStream.get(stream.streamId)
    if (buckets === undefined) {
      if (this.#byStream.size >= BUDGET_STREAMS_MAX) this.#forgetPaid()
      buckets = { events: undefined, bytes: undefined }
      this.#byStream.set(stream.streamId, buckets)
    }
    buckets.events = this.#take(buckets.events, rate, events)
    buckets.bytes = this.#take(buckets.bytes, byteRate, bytes)
  }

  /** Per millisecond, on this node. */
  #rateOf(stream: BudgetedStream): number | undefined {
    return this.#share(stream.rateBudget ?? this.#options.rateBudget)
  }

  #byteRateOf(stream: BudgetedStream): number | undefined {
    return this.#share(stream.byteBudget ?? this.#options.byteBudget)
  }

  #share(budget: number | undefined): number | undefined {
    return budget === undefined ? undefined : budget / this.#options.liveNodes() / 1_000
  }

  #take(bucket: Bucket | undefined, rate: number | undefined, amount: number): Bucket | undefined {
    if (rate === undefined) return undefined
    const nowMs = this.#options.nowMs()
    const full = rate * BUDGET_BURST_MS
    const tokens = bucket === undefined ? full : refilled(bucket, rate, nowMs)
    return { tokens: Math.min(full, tokens - amount), atMs: nowMs }
  }

  #debtMs(bucket: Bucket | undefined, rate: number | undefined): number {
    if (bucket === undefined || rate === undefined) return 0
    const tokens = refilled(bucket, rate, this.#options.nowMs())
    // Less is a rounding error: a client that comes back after Retry-After must get in.
    return tokens > -1e-6 ? 0 : -tokens / rate
  }

  /** A forgotten bucket starts full again. Without debt, that is at most one extra burst. */
  #forgetPaid(): void {
    for (const [streamId, { events, bytes }] of this.#byStream) {
      if ((events?.tokens ?? 0) >= 0 && (bytes?.tokens ?? 0) >= 0) this.#byStream.delete(streamId)
    }
    // All are in debt: one stream gets a fresh start, so that this map does not grow without bound.
    const first = this.#byStream.keys().next().value
    if (this.#byStream.size >= BUDGET_STREAMS_MAX && first !== undefined) {
      this.#byStream.delete(first)
    }
  }
}

function refilled({ tokens, atMs }: Bucket, rate: number, nowMs: number): number {
  return Math.min(rate * BUDGET_BURST_MS, tokens + Math.max(0, nowMs - atMs) * rate)
}
