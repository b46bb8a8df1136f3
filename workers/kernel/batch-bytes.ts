/** Where the bytes of a batch lie that come from outside the arena: copied there, once. */
import { EVENT_BUFFER_KEEP_BYTES } from '../../src/limits.ts'
import { arena } from './arena.ts'

const BYTES_MIN = 4_000

export class BatchBytes {
  #bytes = arena.buffer(0)

  /** The bytes as kernels can read them; a copy, until the next call, if not of the arena. */
  hold(bytes: Uint8Array): Uint8Array {
    if (arena.holds(bytes)) return bytes
    const held = this.room(bytes.length)
    held.set(bytes)
    return held
  }

  /** Room for `length` bytes, whatever is in it; until the next call. */
  room(length: number): Buffer {
    // What one large batch needed is not kept for all that follow.
    const isTooLarge = this.#bytes.length > Math.max(length, EVENT_BUFFER_KEEP_BYTES)
    if (isTooLarge || this.#bytes.length < length) {
      this.#bytes = arena.replaced(this.#bytes, arena.buffer(Math.max(BYTES_MIN, length)))
    }
    return this.#bytes.subarray(0, length)
  }
}
