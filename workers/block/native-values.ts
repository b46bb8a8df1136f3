/**
 * Writes sequences of values of one type in ClickHouse's Native encoding, by kernels that are
 * called once per column (`kernels/values.ts`), and one by one the few values that a kernel leaves
 * to us. The caller has reserved the space, `WORD_SLACK` bytes included.
 */
import assert from 'node:assert/strict'
import { arena } from '../kernel/arena.ts'
import type { ByteWriter } from '../kernel/byte-writer.ts'
import { kernels, type WriteCells, type WriteColumn } from '../kernel/kernels.ts'
import { type ByteViews, unescapeInto } from '../tape/json-string.ts'
import { BOOL, FLOAT64, INT64, STRING_TYPE, UINT64 } from './native-types.ts'

const LINE_FEED = 0x0a
const MINUS = 0x2d
const TWO_32 = 0x1_0000_0000
/** The cell that a kernel left to us. */
const stoppedAt = arena.int32(1)

/** Powers of ten that a double holds exactly. */
const EXACT_POWERS = Float64Array.from({ length: 23 }, (_, exponent) => 10 ** exponent)

/** Where the values' texts are, in the arena: the event bytes and a view of the same bytes. */
export interface TextSource {
  readonly bytes: Uint8Array
  readonly view: DataView
  readonly entries: Int32Array
}

/** Entries whose values are to be written, in row order; an array of the arena. */
export interface Cells {
  readonly entries: Int32Array
  readonly start: number
  readonly end: number
}

/** Strings: varuint length, bytes. Needs the texts' bytes, 5 a cell, and 16 more. */
export function writeStrings(writer: ByteWriter, source: TextSource, cells: Cells): void {
  writeCells(kernels.writeStrings, writer, source, cells)
}

/** Int64 or UInt64 from at most 20 decimal digits with an optional minus. Needs 8 bytes a cell. */
export function writeIntegers(writer: ByteWriter, source: TextSource, cells: Cells): void {
  writeCells(kernels.writeIntegers, writer, source, cells)
}

/** Float64, equal to `Number(text)`. Needs 8 bytes a cell. */
export function writeFloats(writer: ByteWriter, source: TextSource, cells: Cells): void {
  writeCells(kernels.writeFloats, writer, source, cells, (start, end) => {
    writer.view.setFloat64(writer.length, parseFloat64(source.bytes, start, end), true)
    writer.length += 8
  })
}

/** Bool, one byte. */
export function writeBooleans(writer: ByteWriter, source: TextSource, cells: Cells): void {
  writeCells(kernels.writeBooleans, writer, source, cells)
}

/**
 * The values of a column of a segment's text: side by side in row order, with a line feed after
 * each; bytes of the arena.
 */
export interface ColumnText {
  readonly bytes: Uint8Array
  readonly start: number
  readonly end: number
}

/** What a kernel writes a column of each type by. */
const COLUMN_WRITERS: Readonly<Record<number, WriteColumn>> = {
  [BOOL]: kernels.writeBooleanColumn,
  [FLOAT64]: kernels.writeFloatColumn,
  [INT64]: kernels.writeIntegerColumn,
  [STRING_TYPE]: kernels.writeStringColumn,
  [UINT64]: kernels.writeIntegerColumn,
}
const columnState = arena.int32(2)

/**
 * Writes `count` scalars of one type as the functions above do, but from the text of their column,
 * which is read from start to end, while cells are scattered over the events.
 */
export function writeColumn(
  writer: ByteWriter,
  { bytes, start, end }: ColumnText,
  count: number,
  type: number,
): void {
  const write = COLUMN_WRITERS[type]!
  const [from, to] = [bytes.byteOffset, writer.bytes.byteOffset]
  let at = start
  for (let left = count; left > 0; ) {
    const out = to + writer.length
    writer.length = write(from + at, left, out, columnState.byteOffset) - to
    at = columnState[0]! - from
    left -= columnState[1]!
    if (left === 0) break
    const valueEnd = bytes.indexOf(LINE_FEED, at)
    writer.view.setFloat64(writer.length, parseFloat64(bytes, at, valueEnd), true)
    writer.length += 8
    at = valueEnd + 1
    left--
  }
  assert.equal(at, end, 'a column has as many values as the block has cells of it')
}

/** Writes all cells: by the kernel, and those that it leaves to us, by `writeOther`. */
function writeCells(
  write: WriteCells,
  writer: ByteWriter,
  { entries, bytes }: TextSource,
  cells: Cells,
  writeOther?: (start: number, end: number) => void,
): void {
  const to = writer.bytes.byteOffset
  for (let cell = cells.start; ; cell++) {
    const at = write(
      cells.entries.byteOffset,
      cell,
      cells.end,
      entries.byteOffset,
      bytes.byteOffset,
      to + writer.length,
      stoppedAt.byteOffset,
    )
    writer.length = at - to
    cell = stoppedAt[0]!
    if (cell === cells.end) return
    const entry = cells.entries[cell]!
    writeOther?.(entries[entry + 2]!, entries[entry + 3]!)
  }
}

/** One string with escapes; returns where it ended. */
export function putEscaped(
  out: Uint8Array,
  at: number,
  bytes: Uint8Array,
  start: number,
  end: number,
  views: ByteViews,
): number {
  // The decoded length is not known yet: leave a gap for it, decode after that, then close the gap.
  const decodedStart = at + 5
  const decodedEnd = unescapeInto(bytes, start, end, out, decodedStart, views)
  const dataStart = putVaruint(out, at, decodedEnd - decodedStart)
  out.copyWithin(dataStart, decodedStart, decodedEnd)
  return dataStart + decodedEnd - decodedStart
}

/** Returns where it ended. `value` < 2^31. */
export function putVaruint(out: Uint8Array, at: number, value: number): number {
  let rest = value
  while (rest > 0x7f) {
    out[at++] = (rest & 0x7f) | 0x80
    rest >>>= 7
  }
  out[at++] = rest
  return at
}

/** Writes the 64 bits of a decimal integer. */
export function putInteger(
  view: DataView,
  at: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): void {
  const negative = bytes[start] === MINUS
  let i = negative ? start + 1 : start
  // Doubles are exact up to 15 digits; longer numbers are head * 10^9 + the last 9 digits.
  const headEnd = end - i > 15 ? end - 9 : end
  let head = 0
  for (; i < headEnd; i++) head = head * 10 + (bytes[i]! - 0x30)
  let high = Math.floor(head / TWO_32)
  let low = head - high * TWO_32
  if (i < end) {
    let tail = 0
    for (; i < end; i++) tail = tail * 10 + (bytes[i]! - 0x30)
    // 16-bit halves keep every product below 2^53.
    const lowHalf = (head % 0x10000) * 1e9 + tail
    const highHalf = Math.floor(head / 0x10000) * 1e9 + Math.floor(lowHalf / 0x10000)
    low = (highHalf % 0x10000) * 0x10000 + (lowHalf % 0x10000)
    high = Math.floor(highHalf / 0x10000)
  }
  if (negative) {
    // Two's complement of the 64 bits.
    high = low === 0 ? -high : -high - 1
    low = -low
  }
  view.setInt32(at, low | 0, true)
  view.setInt32(at + 4, high | 0, true)
}

/**
 * `Number(text)` of a valid JSON number. Up to 15 digits and small exponents need no string: digits
 * and power of ten are then both exact doubles, and one operation on them rounds once (Clinger).
 */
export function parseFloat64(bytes: Uint8Array, start: number, end: number): number {
  let i = start
  const negative = bytes[i] === MINUS
  if (negative) i++
  let digits = 0
  let count = 0
  let fractionDigits = 0
  let inFraction = 0
  for (; i < end; i++) {
    const digit = bytes[i]! - 0x30
    if (digit >>> 0 < 10) {
      digits = digits * 10 + digit
      count++
      fractionDigits += inFraction
    } else if (bytes[i] === 0x2e) inFraction = 1
    else break
  }
  if (i < end || count > 15) return Number(latin1(bytes, start, end))
  const value = digits / EXACT_POWERS[fractionDigits]! // At most 15, the table holds 22.
  return negative ? -value : value
}

function latin1(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1')
}
