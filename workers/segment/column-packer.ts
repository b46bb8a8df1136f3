/**
 * Spares brotli the columns that it compresses poorly. Columns of ever new digits (trace ids,
 * UUIDs, hashes) are packed two characters to a byte and left out of its input (decision 25). Of
 * columns of few values only the values are in its input (`value-dictionary.ts`).
 *
 * Each packed column: a kind byte, varuint column, for hexadecimal ones varuint characters per
 * value, then the packed bytes, whose number the column's size in the column format says; for a
 * dictionary varuint rows and their numbers, the first in the lowest bits, while the column format
 * has the values. A byte 0 ends them. `packed-columns.ts` is the inverse.
 */

import { ByteWriter, WORD_SLACK } from '../kernel/byte-writer.ts'
import { kernels } from '../kernel/kernels.ts'
import { type PackableColumn, ValueDictionary } from './value-dictionary.ts'

export const PACKED_END = 0
export const PACKED_HEX = 1
export const PACKED_UUID = 2

/** Smaller columns are left to brotli. */
const COLUMN_BYTES_MIN = 512
const HEX_CHARS_MIN = 8
const HEX_CHARS_MAX = 256
const UUID_CHARS = 36
/** Values that are compared with each other; how many of them must be different. */
const SAMPLE_VALUES = 32
const SAMPLE_DISTINCT_MIN = 24
const SAMPLE_PLACES = 4_096
const HEADER_BYTES_MAX = 12
const LINE_FEED = 0x0a

/** By character: whether the first value may be hexadecimal. */
const IS_HEX = tableOf('0123456789abcdef-')

export class ColumnPacker {
  readonly #out = new ByteWriter(16 * 1024)
  readonly #dictionary = new ValueDictionary()
  /** By the end of a value's hash: the column, by number, that had it last. */
  readonly #seen = new Int32Array(SAMPLE_PLACES)
  #columnNumber = 0

  /** Starts a segment. */
  begin(): void {
    this.#out.length = 0
  }

  /** What was packed; empty when nothing was. Valid until the next `begin`. */
  end(): Uint8Array {
    const out = this.#out
    if (out.length === 0) return out.bytes.subarray(0, 0)
    out.reserve(1)
    out.bytes[out.length++] = PACKED_END
    return out.bytes.subarray(0, out.length)
  }

  /** Whether nearly all values of the column that was given last are different, as far as known. */
  get isVaried(): boolean {
    return this.#dictionary.isVaried
  }

  /**
   * Packs a column of `bytes`, which are the arena's, if that is worth it. Returns the end of what
   * is left of its text, which is its start when all of it is left out.
   */
  pack(bytes: Buffer, column: PackableColumn): number {
    const { start, end } = column
    if (end - start < COLUMN_BYTES_MIN) return end
    return this.#tryDigits(bytes, column)
      ? start
      : this.#dictionary.replace(bytes, column, this.#out)
  }

  #tryDigits(bytes: Buffer, { column, start, end }: PackableColumn): boolean {
    let chars = 0
    for (let at = start; bytes[at] !== LINE_FEED; at++, chars++) {
      if (IS_HEX[bytes[at]!] !== 1) return false // A column ends with a line feed.
    }
    if (chars === 0 || !this.#isVaried(bytes, start, end)) return false
    const out = this.#out
    out.reserve(HEADER_BYTES_MAX + ((end - start) >> 1) + 2 * WORD_SLACK)
    const address = bytes.byteOffset + start
    return this.#tryFixed(column, address, end - start, chars)
  }

  /** Values of one length: UUIDs and other hexadecimal ones. */
  #tryFixed(column: number, address: number, size: number, chars: number): boolean {
    if (chars < HEX_CHARS_MIN || chars > HEX_CHARS_MAX || size % (chars + 1) !== 0) return false
    const count = size / (chars + 1)
    const out = this.#out
    const { length } = out
    const isUuid = chars === UUID_CHARS
    out.bytes[out.length++] = isUuid ? PACKED_UUID : PACKED_HEX
    out.varuint(column)
    if (!isUuid) out.varuint(chars)
    const to = out.bytes.byteOffset + out.length
    const isPacked = isUuid
      ? kernels.packUuids(address, count, to)
      : chars % 2 === 0 && kernels.packHex(address, count, chars, to)
    out.length = isPacked ? out.length + packedBytes(isUuid, count, chars) : length
    return Boolean(isPacked)
  }

  /** Whether nearly all of the first values are different. */
  #isVaried(bytes: Buffer, start: number, end: number): boolean {
    const seen = this.#seen
    this.#columnNumber = (this.#columnNumber + 1) | 0
    const number = this.#columnNumber
    let distinct = 0
    let at = start
    for (let i = 0; i < SAMPLE_VALUES; i++) {
      if (at >= end) return false
      let hash = 0
      for (; bytes[at] !== LINE_FEED; at++) hash = (Math.imul(hash, 31) + bytes[at]!) | 0
      at++
      const place = (hash ^ (hash >>> 12)) & (SAMPLE_PLACES - 1)
      if (seen[place] !== number) distinct++
      seen[place] = number
    }
    return distinct >= SAMPLE_DISTINCT_MIN
  }
}

function packedBytes(isUuid: boolean, count: number, chars: number): number {
  return isUuid ? count * 16 : (count * chars) / 2
}

function tableOf(characters: string): Uint8Array {
  const table = new Uint8Array(256)
  for (const character of characters) table[character.charCodeAt(0)] = 1
  return table
}
