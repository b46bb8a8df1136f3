/**
 * Reads of the projection in blocks that fit the memory of a query.
 *
 * The engine reads up to 65,409 rows at a time, whatever these hold: it does not know beforehand
 * how large a column of JSON is. A text of 8 KB makes columns of 500 MB, and functions copy them.
 * Small blocks always would cost small events a tenth (decision 39). So a read that runs out of
 * memory is tried again in smaller blocks, and the stream's next reads begin with smaller ones.
 */
import { LRUCache } from 'lru-cache'
import type { StreamId } from '../../model/stream.ts'
import { MEMORY_LIMIT_EXCEEDED } from '../clickhouse-codes.ts'
import { StoreError } from '../store-error.ts'

/** Settings of a query. */
export type ReadBlocks = (typeof STEPS)[number]

/** The engine's own blocks; those for events of some 30 KB; and for those of the largest size. */
const STEPS = [{}, { max_block_size: '2048' }, { max_block_size: '64', max_threads: 1 }] as const

/**
 * Where the reads of a stream begin that had one of these before. Not with the smallest blocks: a
 * stretch of large events would make all others slow, and the step before fails soon.
 */
const KEPT_STEP = 1
const STREAMS_MAX = 10_000
/** A stream's events may become smaller, and there may have been too little memory only then. */
const KEPT_MS = 600_000

export class WithinMemory {
  /** Streams whose reads begin with smaller blocks. */
  readonly #small = new LRUCache<StreamId, true>({ max: STREAMS_MAX, ttl: KEPT_MS })

  /**
   * What `read` resolves with. It is called again, in smaller blocks and with the time that is left
   * of `timeoutMs`, when it ran out of memory. Throws what `read` throws.
   */
  async run<T>(
    streams: readonly { readonly streamId: StreamId }[],
    timeoutMs: number,
    read: (blocks: ReadBlocks, timeoutMs: number) => Promise<T>,
  ): Promise<T> {
    const endMs = performance.now() + timeoutMs
    const isSmall = streams.some(({ streamId }) => this.#small.has(streamId))
    const begin = isSmall ? KEPT_STEP : 0
    for (let step = begin; ; step++) {
      try {
        const result = await read(STEPS[step]!, Math.max(1, endMs - performance.now()))
        // Of several streams nobody knows which one it was.
        const [only] = streams
        if (step > begin && streams.length === 1) this.#small.set(only!.streamId, true)
        return result
      } catch (cause) {
        const isLate = performance.now() >= endMs
        if (!isOutOfMemory(cause) || isLate || step === STEPS.length - 1) throw cause
      }
    }
  }
}

export function isOutOfMemory(cause: unknown): boolean {
  return cause instanceof StoreError && cause.clickHouseCode === MEMORY_LIMIT_EXCEEDED
}
