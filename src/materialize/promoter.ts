/**
 * Promotes streams: those that send the most get a projection table of their own. The rest share
 * one table (`MIXED_STREAM`), however many they are.
 *
 * An insert costs ClickHouse the same for ten events as for a thousand, so there must be few
 * inserts. In a stream's own table each path is a column, which queries read faster; that pays for
 * streams with much to query.
 *
 * Every node decides by what all nodes have committed, and the decision is stored, so a node that
 * has just started decides the same.
 */
import type { StreamId } from '../model/stream.ts'

/** A stream that comes later is promoted when it sends this share of all bytes in a period… */
export const PROMOTE_SHARE_MIN = 1 / 32
/** …and this many, so that a fleet at rest has no busy streams… */
export const PROMOTE_BYTES_MIN = 256 * 1024
/** …so long. */
export const PROMOTE_PERIOD_MS = 15_000

/** Bytes that streams have sent since they were made. */
export type SentBytes = ReadonlyMap<StreamId, number>

export interface PromoterOptions {
  readonly readSentBytes: () => Promise<SentBytes>
  /** Promotes streams, the busiest first, as far as there are places; returns the new ones. */
  readonly promote: (busy: readonly StreamId[]) => Promise<readonly StreamId[]>
  readonly onPromoted: (streams: readonly StreamId[]) => void
  readonly onError: (cause: unknown) => void
  /** For tests. */
  readonly periodMs?: number
}

export class Promoter {
  readonly #options: PromoterOptions
  #last: SentBytes | undefined
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined

  constructor(options: PromoterOptions) {
    this.#options = options
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#running ??= this.round()
        .catch(this.#options.onError)
        .finally(() => {
          this.#running = undefined
        })
    }, this.#options.periodMs ?? PROMOTE_PERIOD_MS).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  /** Judges by what was sent since the last round. Throws `StoreError`. */
  async round(): Promise<void> {
    const sent = await this.#options.readSentBytes()
    const busy = busyStreams(sent, this.#last)
    this.#last = sent
    if (busy.length === 0) return
    const promoted = await this.#options.promote(busy)
    if (promoted.length > 0) this.#options.onPromoted(promoted)
  }
}

/** Streams that sent much between two looks, the busiest first. */
export function busyStreams(sent: SentBytes, last: SentBytes | undefined): StreamId[] {
  if (last === undefined) return []
  const grown = [...sent].map(([id, bytes]) => [id, bytes - (last.get(id) ?? 0)] as const)
  const total = grown.reduce((sum, [, bytes]) => sum + bytes, 0)
  const least = Math.max(PROMOTE_BYTES_MIN, total * PROMOTE_SHARE_MIN)
  const busy = grown.filter(([, bytes]) => bytes >= least)
  return busy.sort(([, a], [, b]) => b - a).map(([streamId]) => streamId)
}
