/**
 * Buffers that batches are gathered in: shared memory, so that a worker reads what main wrote
 * without a copy, and main still has it should the worker die. Kept and reused, as fresh memory
 * costs page faults.
 */
import { BATCH_BYTES_TARGET } from '../limits.ts'

/** Room behind the data for the line feed and zeros that the tape relies on. */
export const BATCH_PADDING = 16
const KIB = 1024
/** Sizes kept, and how many idle ones of each. The last holds the target and what met it. */
const CLASSES = [
  { bytes: 16 * KIB, freeMax: 256 },
  { bytes: 128 * KIB, freeMax: 64 },
  { bytes: BATCH_BYTES_TARGET + 128 * KIB, freeMax: 16 },
] as const

export class BatchBuffers {
  readonly #free: Uint8Array[][] = CLASSES.map(() => [])

  /** A buffer with room for `bytesMin` of data and the padding. Contents are undefined. */
  take(bytesMin: number): Uint8Array {
    const index = CLASSES.findIndex(({ bytes }) => bytesMin + BATCH_PADDING <= bytes)
    const size = CLASSES[index]?.bytes ?? bytesMin + BATCH_PADDING
    return this.#free[index]?.pop() ?? new Uint8Array(new SharedArrayBuffer(size))
  }

  /** A larger buffer with the first `length` bytes of `buffer`, which is released. */
  grow(buffer: Uint8Array, length: number, bytesMin: number): Uint8Array {
    const grown = this.take(bytesMin)
    grown.set(buffer.subarray(0, length))
    this.release(buffer)
    return grown
  }

  /** Gives a buffer back. Nobody may use it afterwards. */
  release(buffer: Uint8Array): void {
    const index = CLASSES.findIndex(({ bytes }) => bytes === buffer.length)
    const free = this.#free[index]
    if (free !== undefined && free.length < CLASSES[index]!.freeMax) free.push(buffer)
  }
}

/** Writes the line feed and zeros that must follow the data of a batch. */
export function padBatch(buffer: Uint8Array, length: number): void {
  buffer[length] = 0x0a
  buffer.fill(0, length + 1, length + BATCH_PADDING)
}
