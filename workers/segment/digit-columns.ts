/**
 * Columns of numbers that hardly repeat (durations, sizes, IPv4 addresses). Brotli looks for
 * repeated texts in them, finds none, and gives their characters a prefix code. Here they get that
 * code at once, as meta-blocks at the end of brotli's own stream, which every reader of brotli
 * understands (decision 55). A quarter of brotli's time goes into such columns, and they become no
 * larger.
 *
 * The output begins at a byte, after what brotli ends with a flush, and ends the stream.
 */

import { arena } from '../kernel/arena.ts'
import { ByteWriter, WORD_SLACK } from '../kernel/byte-writer.ts'
import { kernels } from '../kernel/kernels.ts'

/** Smaller columns are left to brotli: what comes before the code is 30 bytes. */
const COLUMN_BYTES_MIN = 1_024
/** A meta-block has at most 2^24 bytes, padding included. */
const COLUMN_BYTES_MAX = 2 ** 24 - 64
/** Texts of six bytes at the beginning of a column; so many of them are repeated at most. */
const SAMPLE_TEXTS = 256
const SAMPLE_REPEATED_MAX = SAMPLE_TEXTS / 8
const SAMPLE_PLACES = 1_024
const PAIRS = 256
const SYMBOLS = 17
const HEAD_BYTES_MAX = 128
const LINE_FEED = 0x0a
const PLUS = 0x2b
const NINE = 0x39
const END_BYTES_MAX = 32

export class DigitColumns {
  readonly #out = new ByteWriter(16 * 1024)
  readonly #codes = arena.int32(PAIRS)
  readonly #weights = arena.int32(2 * SYMBOLS)
  readonly #parents = arena.int32(2 * SYMBOLS)
  readonly #lengths = arena.int32(SYMBOLS)
  readonly #symbols = arena.int32(SYMBOLS)
  readonly #places = arena.int32(SAMPLE_PLACES)
  /** See `Digits` of `kernels/segment/digits.ts`. */
  readonly #context = arena.addresses(9)
  #halves = arena.buffer(COLUMN_BYTES_MIN)
  /** Where the next bits go, from the beginning of `#out`. */
  #usedBits = 0

  /** Starts a segment. */
  begin(): void {
    this.#out.length = 0
    this.#usedBits = 0
    this.#out.bytes[0] = 0
  }

  /**
   * Writes a column of `bytes`, which are the arena's, and the padding behind it, if it is of such
   * numbers; says whether it is.
   */
  tryAdd(bytes: Buffer, start: number, end: number): boolean {
    const length = end - start
    if (length < COLUMN_BYTES_MIN || length > COLUMN_BYTES_MAX) return false
    const first = bytes[start]!
    if ((first < PLUS || first > NINE) && first !== LINE_FEED) return false
    this.#reserve(length)
    const context = this.#setContext()
    const from = bytes.byteOffset + start
    const texts = Math.min(SAMPLE_TEXTS, length - WORD_SLACK)
    const repeated = kernels.countRepeated(context.byteOffset, from, texts)
    if (repeated * SAMPLE_TEXTS > SAMPLE_REPEATED_MAX * texts) return false
    if (!kernels.writeDigits(context.byteOffset, from, length)) return false
    this.#out.length = context[7]! - this.#out.bytes.byteOffset
    this.#usedBits = context[8]!
    return true
  }

  /** The columns and the end of the stream. Valid until the next `begin`. */
  end(): Uint8Array {
    const out = this.#out
    out.reserve(END_BYTES_MAX)
    const end = kernels.endDigits(this.#setContext().byteOffset)
    return out.bytes.subarray(0, end - out.bytes.byteOffset)
  }

  #reserve(length: number): void {
    // Growing copies what is before the byte that is not full; that one is among it.
    this.#out.length++
    this.#out.reserve(HEAD_BYTES_MAX + length + (length >> 1) + END_BYTES_MAX)
    this.#out.length--
    if (this.#halves.length >= (length >> 1) + WORD_SLACK) return
    this.#halves = arena.replaced(this.#halves, arena.buffer(length))
  }

  #setContext(): Int32Array {
    const context = this.#context
    context[0] = this.#halves.byteOffset
    context[1] = this.#codes.byteOffset
    context[2] = this.#weights.byteOffset
    context[3] = this.#parents.byteOffset
    context[4] = this.#lengths.byteOffset
    context[5] = this.#symbols.byteOffset
    context[6] = this.#places.byteOffset
    context[7] = this.#out.bytes.byteOffset + this.#out.length
    context[8] = this.#usedBits
    return context
  }
}
