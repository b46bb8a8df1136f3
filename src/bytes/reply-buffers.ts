/**
 * Buffers for large, frequent replies: a bulk reply has some 180 bytes per item. Without reuse they
 * are garbage outside the heap, for which V8 runs full collections.
 */
const BYTES_MIN = 16 * 1024
const BYTES_MAX = 4 * 1024 * 1024
/** Bytes of idle buffers that are kept of each size. */
const IDLE_BYTES_MAX = 4 * 1024 * 1024

export class ReplyBuffers {
  /** Idle buffers by size, a power of two. */
  readonly #idle = new Map<number, Buffer[]>()

  /** A buffer with room for `bytes`. Contents are undefined. */
  take(bytes: number): Buffer {
    if (bytes > BYTES_MAX) return Buffer.allocUnsafeSlow(bytes)
    const size = Math.max(BYTES_MIN, 2 ** Math.ceil(Math.log2(bytes)))
    return this.#idle.get(size)?.pop() ?? Buffer.allocUnsafeSlow(size)
  }

  /** Gives back the buffer of `view`. It must not be used afterwards. */
  release(view: Uint8Array): void {
    const size = view.buffer.byteLength
    if (size > BYTES_MAX) return
    const idle = this.#idle.get(size) ?? []
    this.#idle.set(size, idle)
    if (idle.length * size < IDLE_BYTES_MAX) idle.push(Buffer.from(view.buffer))
  }
}
