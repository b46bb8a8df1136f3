/**
 * Reads of the projection in blocks that fit the memory of a query.
 *
 * The engine reads up to 65,409 rows at a time, whatever these hold: it does not know beforehand
 * how large a column of JSON is. A text of 8 KB makes columns of 500 MB, and functions copy them.
 * Small blocks always would cost small events a tenth (decision 39). So a read that runs out of
 * memory is tried again in smaller blocks, and the stream's next reads begin with these.
 */
import type { StreamId } from '../../model/stream.ts'
import { MEMORY_LIMIT_EXCEEDED } from '../clickhouse-codes.ts'
import { StoreError } from '../store-error.ts'

/** Settings of a query. */
export type ReadBlocks = (typeof STEPS)[number]

/** The engine's own blocks; those for events of some 30 KB; and for those of the largest size. */
const STEPS = [{}, { max_block_size: '2048' }, { max_block_size: '64', max_threads: 1 }] as const

const STREAMS_MAX = 10_000
/** A stream's events may become smaller. */
const KEPT_MS = 600_000

export class WithinMemory {
  /** With which step reads of a stream begin. */
  readonly #begins = new Map<StreamId, { readonly step: number; readonly untilMs: number }>()

  /**
   * What `read` resolves with. It is called again, in smaller blocks and with the time that is left
   * of `timeoutMs`, when it ran out of memory. Throws what `read` throws.
   */
  async run<T>(
    streams: readonly { readonly streamId: StreamId }[],
    timeoutMs: number,
    read: (blocks: ReadBlocks, timeoutMs: number, isFirst: boolean) => Promise<T>,
  ): Promise<T> {
    const startMs = performance.now()
    const begin = Math.max(0, ...streams.map(({ streamId }) => this.#stepOf(streamId, startMs)))
    for (let step = begin; ; step++) {
      const leftMs = timeoutMs - (performance.now() - startMs)
      try {
        const result = await read(STEPS[step]!, leftMs, step === begin)
        // Of several streams nobody knows which one it was.
        const [only] = streams
        if (step > begin && streams.length === 1) this.#keep(only!.streamId, step)
        return result
      } catch (cause) {
        const isLate = performance.now() - startMs >= timeoutMs
        if (!isOutOfMemory(cause) || isLate || step === STEPS.length - 1) throw cause
      }
    }
  }

  #stepOf(streamId: StreamId, nowMs: number): number {
    const known = this.#begins.get(streamId)
    return known !== undefined && nowMs < known.untilMs ? known.step : 0
  }

  #keep(streamId: StreamId, step: number): void {
    this.#begins.delete(streamId)
    this.#begins.set(streamId, { step, untilMs: performance.now() + KEPT_MS })
    for (const oldest of this.#begins.keys()) {
      if (this.#begins.size <= STREAMS_MAX) return
      this.#begins.delete(oldest)
    }
  }
}

function isOutOfMemory(cause: unknown): boolean {
  return cause instanceof StoreError && cause.clickHouseCode === MEMORY_LIMIT_EXCEEDED
}
