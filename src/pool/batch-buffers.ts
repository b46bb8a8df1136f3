/**
 * Buffers that cross threads, in shared memory: batches on their way to a worker, blocks and
 * payloads on their way back. Nothing is copied or transferred at the border, main still has a
 * batch should its worker die, and reuse spares page faults and the full garbage collections that
 * a stream of short-lived ArrayBuffers provokes (a third of main's time, as profiled).
 *
 * A buffer is released only by whoever knows that nobody reads or writes it any more. After a
 * failure that is not known, and the garbage collector gets it.
 */
import { BATCH_BYTES_TARGET } from '../limits.ts'

/** Room behind the data for the line feed and zeros that the tape relies on. */
export const BATCH_PADDING = 16
const KIB = 1024
/** Sizes kept, and how many idle ones of each. The last holds the target and what met it. */
const CLASSES = [
  { bytes: 16 * KIB, freeMax: 256 },
  { bytes: 64 * KIB, freeMax: 64 },
  { bytes: 160 * KIB, freeMax: 64 },
  { bytes: 512 * KIB, freeMax: 96 },
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

  /** Releases the buffer that `view` looks at the beginning of, if it is one of ours. */
  releaseView(view: Uint8Array): void {
    if (view.buffer instanceof SharedArrayBuffer) this.release(new Uint8Array(view.buffer))
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
