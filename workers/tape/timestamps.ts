/**
 * Date-times in ISO 8601, and milliseconds with nanoseconds, as `kernels/times.ts` reads them; that
 * has the spellings and the years.
 */
import { arena } from '../kernel/arena.ts'
import { kernels } from '../kernel/kernels.ts'

/** A longer text is not a time in any spelling. */
export const ESCAPED_TIME_BYTES_MAX = 6 * 64

export class Timestamp {
  /** Milliseconds since 1970, whole. */
  ms = 0
  /** Nanoseconds beyond `ms`, 0 to 999,999. */
  nanos = 0
  /** As `kernels/times.ts` has it: first a double. */
  readonly #clock = arena.float64(4)
  readonly #nanos = new Int32Array(this.#clock.buffer, this.#clock.byteOffset + 8, 1)
  readonly #unescaped = arena.buffer(ESCAPED_TIME_BYTES_MAX)

  /** Where kernels put a time. */
  get clock(): number {
    return this.#clock.byteOffset
  }

  /** Where a text goes without its escapes. */
  get scratch(): number {
    return this.#unescaped.byteOffset
  }

  /** Reads the text at `start`..`end` of `bytes`, the arena's; false when it is not a date-time. */
  tryRead(bytes: Uint8Array, start: number, end: number): boolean {
    return this.#tryRead(bytes.byteOffset + start, bytes.byteOffset + end)
  }

  /** The same for the inside of a JSON string with escapes (`+` as `\\u002b`). */
  tryReadEscaped(bytes: Uint8Array, start: number, end: number): boolean {
    if (end - start > ESCAPED_TIME_BYTES_MAX) return false
    const { byteOffset } = bytes
    const { scratch } = this
    return this.#tryRead(
      scratch,
      kernels.unescapeText(byteOffset + start, byteOffset + end, scratch),
    )
  }

  #tryRead(start: number, end: number): boolean {
    if (kernels.tryTime(this.clock, start, end) === 0) return false
    this.ms = this.#clock[0]!
    this.nanos = this.#nanos[0]!
    return true
  }
}
