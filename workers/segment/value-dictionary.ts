/**
 * Columns of few values (levels, services, hosts, codes) as a dictionary: the values once, instead
 * of the column, and for each row the number of its value in as few bits as possible, which brotli
 * does not read. That is smaller than the column after brotli, and less work for brotli.
 */

import { arena } from '../kernel/arena.ts'
import { copyRange } from '../kernel/arena-copy.ts'
import { type ByteWriter, WORD_SLACK } from '../kernel/byte-writer.ts'
import { kernels } from '../kernel/kernels.ts'

/** Its kind among packed columns: see `column-packer.ts`. */
export const PACKED_DICTIONARY = 4
/** As `kernels/segment/dictionary.ts` has it: a number is a byte. */
export const LISTED_VALUES_MAX = 255
const HEAD_BYTES = 16
const TEXT_BYTES_MAX = 16 * 1024
const PLACES = 1_024
const SERIAL_MAX = 0x7f_ffff
/** Shorter values are numbers themselves: `200` with its line feed is not. */
const VALUE_BYTES_MIN = 3
/** With fewer rows per value, the numbers save nothing. */
const ROWS_PER_VALUE_MIN = 4
/** What brotli writes for a run of one value, more or less. */
const RUN_BITS = 16
/** The kernel gives up a column with so many values in its first rows. */
const VARIED_VALUES_MIN = 105
const SAMPLE_ROWS = 129
const VARUINT_BYTES = 5

/** A column of a segment's layout: its number, its text, and how many rows the segment has. */
export interface PackableColumn {
  readonly column: number
  readonly start: number
  readonly end: number
  readonly rows: number
}

export class ValueDictionary {
  readonly #text = arena.buffer(TEXT_BYTES_MAX)
  readonly #heads = arena.buffer(LISTED_VALUES_MAX * HEAD_BYTES)
  readonly #starts = arena.int32(LISTED_VALUES_MAX)
  readonly #places = arena.int32(PLACES)
  /** See `Dictionary` of `kernels/segment/dictionary.ts`. */
  readonly #context = arena.addresses(10)
  #numbers = arena.int32(256)
  #serial = 0
  /** Whether most of the first values of the last column are different. */
  isVaried = false

  /**
   * Replaces a column of `bytes`, which are the arena's, by its values, and appends the rows'
   * numbers to `out` as `column-packer.ts` says. Returns the end of the values; or the end of the
   * column when leaving it unchanged is better.
   */
  replace(bytes: Buffer, { column, start, end, rows }: PackableColumn, out: ByteWriter): number {
    this.#numbers = arena.roomFor((rows >> 2) + 1, this.#numbers)
    const numbers = this.#numbers.byteOffset
    const context = this.#context
    const texts = this.#text.byteOffset
    const [heads, starts] = [this.#heads.byteOffset, this.#starts.byteOffset]
    const limit = texts + TEXT_BYTES_MAX
    context.set([texts, texts, limit, heads, starts, this.#places.byteOffset, this.#nextSerial()])
    const { byteOffset } = bytes
    const values = kernels.listValues(
      context.byteOffset,
      byteOffset + start,
      byteOffset + end,
      numbers,
    )
    const listed = context[7]!
    this.isVaried = listed >= VARIED_VALUES_MIN && listed <= SAMPLE_ROWS
    if (values === 0) return end
    const textBytes = context[1]! - texts
    const [count, changes] = [context[8]!, context[9]!]
    if (values * ROWS_PER_VALUE_MIN > count) return end
    const width = 32 - Math.clz32(values - 1)
    if (end - start < count * VALUE_BYTES_MIN || changes * RUN_BITS < count * width) return end
    const packedBytes = (count * width + 7) >> 3
    out.reserve(1 + 2 * VARUINT_BYTES + packedBytes + WORD_SLACK)
    out.bytes[out.length++] = PACKED_DICTIONARY
    out.varuint(column)
    out.varuint(count)
    kernels.packNumbers(numbers, count, width, out.bytes.byteOffset + out.length)
    out.length += packedBytes
    return copyRange(bytes, start, this.#text, 0, textBytes)
  }

  #nextSerial(): number {
    if (this.#serial === SERIAL_MAX) {
      this.#serial = 0
      this.#places.fill(0)
    }
    return ++this.#serial
  }
}
