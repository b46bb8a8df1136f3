/**
 * Buffers that cross threads, in shared memory: batches on their way to a worker, blocks and
 * payloads on their way back. Nothing is copied or transferred between threads, main still has a
 * batch if its worker dies, and reuse saves page faults and the full garbage collections that
 * short-lived ArrayBuffers cause (a third of main's time in a profile).
 *
 * A buffer is released only by code that knows that no thread reads or writes it any more. After a
 * failure that is not known, so the buffer is left to the garbage collector.
 */
/** Room after the data for the line feed and zeros that the tape relies on. */
export const BATCH_PADDING = 16
const KIB = 1024

interface SizeClass {
  readonly bytes: number
  readonly freeMax: number
  readonly free: Uint8Array[]
  /** The lowest number of idle buffers at any time since the last `trim`. */
  freeMin: number
}

export class BatchBuffers {
  /**
   * Sizes kept, each up to a count. The last fits a full batch and the chunk that overfilled it.
   */
  readonly #classes: readonly SizeClass[]

  /** `batchBytes`: the size at which a batch counts as full and is handed on. */
  constructor(batchBytes: number) {
    this.#classes = [
      sizeClass(16 * KIB, 1_024),
      sizeClass(64 * KIB, 64),
      sizeClass(160 * KIB, 64),
      sizeClass(512 * KIB, 96),
      sizeClass(batchBytes + 128 * KIB, 16),
    ]
  }

  /** Bytes of idle buffers. */
  get idleBytes(): number {
    return this.#classes.reduce((sum, { bytes, free }) => sum + bytes * free.length, 0)
  }

  /**
   * Drops the buffers that were idle ever since the last call: a past load needed them. Call it
   * periodically.
   */
  trim(): void {
    for (const size of this.#classes) {
      size.free.splice(0, size.freeMin)
      size.freeMin = size.free.length
    }
  }

  /** A buffer with room for `bytesMin` of data and the padding. Contents are undefined. */
  take(bytesMin: number): Uint8Array {
    const fitting = this.#classes.find(({ bytes }) => bytesMin + BATCH_PADDING <= bytes)
    const size = fitting?.bytes ?? bytesMin + BATCH_PADDING
    const buffer = fitting?.free.pop()
    if (buffer === undefined) return new Uint8Array(new SharedArrayBuffer(size))
    fitting!.freeMin = Math.min(fitting!.freeMin, fitting!.free.length)
    return buffer
  }

  /** Releases the buffer at whose start `view` begins, if it is one of ours. */
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

  /** Gives a buffer back. It must not be used afterwards. */
  release(buffer: Uint8Array): void {
    const own = this.#classes.find(({ bytes }) => bytes === buffer.length)
    if (own !== undefined && own.free.length < own.freeMax) own.free.push(buffer)
  }
}

function sizeClass(bytes: number, freeMax: number): SizeClass {
  return { bytes, freeMax, free: [], freeMin: 0 }
}

/** Writes the line feed and zeros that must follow the data of a batch. */
export function padBatch(buffer: Uint8Array, length: number): void {
  buffer[length] = 0x0a
  buffer.fill(0, length + 1, length + BATCH_PADDING)
}
