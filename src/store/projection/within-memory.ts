/**
 * Reads of the projection in blocks that fit the memory of a query.
 *
 * The engine reads blocks of so many rows, whatever these hold: it does not know beforehand how
 * large a column of JSON is. With its own 65,409 rows a text of 8 KB makes columns of 500 MB, and
 * functions copy them. Blocks of READ_BLOCK_ROWS cost no read of small events anything that could
 * be measured, and have room for events of some 30 KB. Larger ones, or many states, need the second
 * try: one thread, and so few rows that events of the largest size fit.
 */
import { MEMORY_LIMIT_EXCEEDED } from '../clickhouse-codes.ts'
import { StoreError } from '../store-error.ts'

const READ_BLOCK_ROWS = 2_048
const SMALL_BLOCK_ROWS = 64

export type ReadBlocks = typeof NORMAL_BLOCKS | typeof SMALL_BLOCKS

export const NORMAL_BLOCKS = { max_block_size: String(READ_BLOCK_ROWS) } as const
export const SMALL_BLOCKS = { max_block_size: String(SMALL_BLOCK_ROWS), max_threads: 1 } as const

/**
 * What `run` resolves with. It is called once more, for small blocks and with the time that is left
 * of `timeoutMs`, when it ran out of memory. Throws what `run` throws.
 */
export async function withinMemory<T>(
  timeoutMs: number,
  run: (blocks: ReadBlocks, timeoutMs: number) => Promise<T>,
): Promise<T> {
  const startMs = performance.now()
  try {
    return await run(NORMAL_BLOCKS, timeoutMs)
  } catch (cause) {
    const leftMs = timeoutMs - (performance.now() - startMs)
    if (!isOutOfMemory(cause) || leftMs <= 0) throw cause
    return await run(SMALL_BLOCKS, leftMs)
  }
}

function isOutOfMemory(cause: unknown): boolean {
  return cause instanceof StoreError && cause.clickHouseCode === MEMORY_LIMIT_EXCEEDED
}
