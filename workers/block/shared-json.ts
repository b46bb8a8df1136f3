/**
 * The payload column of the table that small streams share: `JSON(max_dynamic_paths=0)`, where all
 * paths lie in ClickHouse's *shared data*, row by row, not in columns of their own. Streams have
 * different paths, and a column for each path would add to the cost of every row of the table.
 *
 *   UInt64 0 (version), varuint 0 (dynamic paths allowed), varuint 0 (there are none)
 *   · UInt64 per row: values up to its end · all paths as strings · all values as strings
 *
 * The paths of a row are sorted. A value is its type in ClickHouse's binary encoding of types, then
 * the value itself (docs: "Data types binary encoding"; the engine's own bytes are the tests'
 * oracle). Types and which value counts are those of `JsonColumn`.
 */
import { NESTED_COLUMNS_DEPTH_MAX } from '../../src/limits.ts'
import { NO_LAYOUT } from '../facts/event-layouts.ts'
import { type ByteWriter, copyWords, WORD_SLACK } from '../kernel/byte-writer.ts'
import type { DecodedEvents } from '../tape/decoded-events.ts'
import type { PathTrie } from '../tape/path-trie.ts'
import {
  ENTRY,
  ESCAPED,
  FALSE,
  FLOAT,
  INT,
  NULL,
  nextEntry,
  STRING,
  TRUE,
  UINT,
} from '../tape/tape-types.ts'
import type { TapeSource } from './native-json.ts'
import {
  ARRAY_BYTES_FACTOR,
  ARRAY_JSON,
  BOOL,
  ELEMENT_TYPES,
  FLOAT64,
  INT64,
  NO_TYPE,
  nativeTypeOf,
  STRING_TYPE,
  UINT64,
} from './native-types.ts'
import { parseFloat64, putEscaped, putInteger, putVaruint } from './native-values.ts'

/**
 * In the table that small streams share, a row carries its own paths: bytes of them for each byte
 * of the row's text, and what any row may have. Values beyond reach the raw store only.
 */
export const ROW_PATH_BYTES_PER_BYTE = 16
export const ROW_PATH_BYTES_MIN = 4 * 1024

/** Codes of ClickHouse's binary encoding of types, by native type. */
const SCALAR_CODES = new Uint8Array(16)
SCALAR_CODES[BOOL] = 0x2d
SCALAR_CODES[FLOAT64] = 0x0e
SCALAR_CODES[INT64] = 0x0a
SCALAR_CODES[STRING_TYPE] = 0x15
SCALAR_CODES[UINT64] = 0x04

/** `Array(Nullable(…))`, then the code of the elements' type. */
const ARRAY_CODES = [0x1e, 0x23]

/**
 * `Array(JSON(…))` by nesting, with the parameters that `nativeTypeName` gives the same type: JSON,
 * version, dynamic paths as a varuint, dynamic types, and no paths with types, none skipped.
 */
const NESTED_CODES = [
  [0x1e, 0x30, 0, 0x80, 0x02, 16, 0, 0, 0],
  [0x1e, 0x30, 0, 64, 8, 0, 0, 0],
  [0x1e, 0x30, 0, 16, 4, 0, 0, 0],
]
/** Room for what precedes a value: its length, its type, its own length. */
const VALUE_HEAD_BYTES = 32
const LENGTH_BYTES_MAX = 5
/** Lengths below it are one byte of varuint. */
const LONG_LENGTH = 0x80

/** Where the values of a row are, sorted by path. */
interface RowOrder {
  /** Entries, counted from the row's first. */
  readonly offsets: readonly number[]
  /** The paths as ClickHouse has strings. */
  readonly paths: Uint8Array
  /** Values left out: their paths would be many times the row's text. */
  readonly skipped: number
}

export interface SharedRows {
  readonly events: DecodedEvents
  /** By event. */
  readonly layout: Int32Array
  readonly first: number
  readonly count: number
}

export class SharedJsonColumn {
  /** Writes the column; returns how many values were left out. */
  write(writer: ByteWriter, source: TapeSource, rows: SharedRows): number {
    const orders = orderRows(source, rows)
    writer.reserve(16 + rows.count * 8)
    writer.uint64(0)
    writer.varuint(0)
    writer.varuint(0)
    let values = 0
    let pathBytes = 0
    let skipped = 0
    for (const { offsets, paths, skipped: left } of orders) {
      values += offsets.length
      pathBytes += paths.length
      skipped += left
      writer.uint64(values)
    }
    writer.reserve(pathBytes)
    for (const { paths } of orders) {
      writer.bytes.set(paths, writer.length)
      writer.length += paths.length
    }
    const { tapeStart, start, end } = rows.events
    for (const [row, { offsets }] of orders.entries()) {
      const event = rows.first + row
      const room = end[event]! - start[event]! + offsets.length * VALUE_HEAD_BYTES + WORD_SLACK
      writer.reserve(room)
      for (const offset of offsets) {
        const at = tapeStart[event]! + offset
        if (tryWriteScalar(writer, source, at)) continue
        this.#string(writer, source, at)
        writer.reserve(room)
      }
    }
    return skipped
  }

  /** A value as a string: its length before it. */
  #string(writer: ByteWriter, source: TapeSource, at: number): void {
    // Its length is known only when it is written: a gap is left for that.
    writer.reserve(LENGTH_BYTES_MAX)
    const gap = writer.length
    const start = gap + LENGTH_BYTES_MAX
    writer.length = start
    this.#value(writer, source, at, 0)
    const end = writer.length
    const valueStart = putVaruint(writer.bytes, gap, end - start)
    writer.bytes.copyWithin(valueStart, start, end)
    writer.length = valueStart + end - start
  }

  /** A type and a value of it. */
  #value(writer: ByteWriter, source: TapeSource, at: number, depth: number): void {
    const { entries } = source
    const native = nativeTypeOf(entries, at, depth < NESTED_COLUMNS_DEPTH_MAX)
    writer.reserve(VALUE_HEAD_BYTES)
    if (native === ARRAY_JSON) return this.#objects(writer, source, at, depth)
    if (native >= BOOL) {
      writer.bytes[writer.length++] = SCALAR_CODES[native]!
      writeScalar(writer, source, at, native)
      return
    }
    const scalar = ELEMENT_TYPES[native]!
    for (const code of ARRAY_CODES) writer.bytes[writer.length++] = code
    writer.bytes[writer.length++] = SCALAR_CODES[scalar]!
    writer.varuint(entries[at + 6]!)
    writer.reserve((entries[at + 3]! - entries[at + 2]!) * ARRAY_BYTES_FACTOR + VALUE_HEAD_BYTES)
    const end = entries[at + 7]!
    for (let element = at + 2 * ENTRY; element < end; element = nextEntry(entries, element)) {
      const isNull = entries[element + 1] === NULL
      writer.bytes[writer.length++] = isNull ? 1 : 0
      if (!isNull) writeScalar(writer, source, element, scalar)
    }
  }

  #objects(writer: ByteWriter, source: TapeSource, at: number, depth: number): void {
    const { entries } = source
    for (const code of NESTED_CODES[depth]!) writer.bytes[writer.length++] = code
    writer.varuint(entries[at + 6]!)
    const end = entries[at + 7]!
    for (let element = at + 2 * ENTRY; element < end; element = entries[element + 7]!) {
      const start = element + 2 * ENTRY
      const textBytes = entries[element + 3]! - entries[element + 2]!
      const range = { start, end: entries[element + 7]!, textBytes, depth: depth + 1 }
      const { offsets, paths } = orderRow(source, range)
      writer.reserve(paths.length + LENGTH_BYTES_MAX)
      writer.varuint(offsets.length)
      let path = 0
      for (const offset of offsets) {
        const next = pathEnd(paths, path)
        writer.reserve(next - path)
        writer.bytes.set(paths.subarray(path, next), writer.length)
        writer.length += next - path
        path = next
        this.#value(writer, source, start + offset, depth + 1)
      }
    }
  }
}

/** Writes most values as strings, into reserved space; false for those of unknown length. */
function tryWriteScalar(writer: ByteWriter, source: TapeSource, at: number): boolean {
  const { entries } = source
  const type = entries[at + 1]!
  const out = writer.bytes
  let to = writer.length
  if (type === STRING) {
    const start = entries[at + 2]!
    const length = entries[at + 3]! - start
    if (length >= LONG_LENGTH - 2) return false
    out[to++] = length + 2
    out[to++] = SCALAR_CODES[STRING_TYPE]!
    out[to++] = length
    copyWords(writer.view, to, source.view, start, length)
    writer.length = to + length
    return true
  }
  if (type === TRUE || type === FALSE) {
    out[to++] = 2
    out[to++] = SCALAR_CODES[BOOL]!
    out[to++] = type === TRUE ? 1 : 0
    writer.length = to
    return true
  }
  if (type !== INT && type !== UINT && type !== FLOAT) return false
  out[to++] = 9
  out[to++] = SCALAR_CODES[type === INT ? INT64 : type === UINT ? UINT64 : FLOAT64]!
  writer.length = to
  writeNumber(writer, source, at, type === FLOAT)
  return true
}

function writeNumber(
  writer: ByteWriter,
  { entries, bytes }: TapeSource,
  at: number,
  isFloat: boolean,
): void {
  const start = entries[at + 2]!
  const end = entries[at + 3]!
  if (isFloat) writer.view.setFloat64(writer.length, parseFloat64(bytes, start, end), true)
  else putInteger(writer.view, writer.length, bytes, start, end)
  writer.length += 8
}

/** Writes a value without its type. */
function writeScalar(writer: ByteWriter, source: TapeSource, at: number, native: number): void {
  const { entries, bytes, view } = source
  const start = entries[at + 2]!
  const end = entries[at + 3]!
  if (native === STRING_TYPE) {
    writer.reserve(end - start + VALUE_HEAD_BYTES)
    if (entries[at + 1] === ESCAPED) {
      const views = { from: view, to: writer.view }
      writer.length = putEscaped(writer.bytes, writer.length, bytes, start, end, views)
      return
    }
    writer.varuint(end - start)
    writer.bytes.set(bytes.subarray(start, end), writer.length)
    writer.length += end - start
    return
  }
  if (native === BOOL) {
    writer.bytes[writer.length++] = entries[at + 1] === TRUE ? 1 : 0
    return
  }
  writeNumber(writer, source, at, native === FLOAT64)
}

/** Rows of one layout have their values at the same positions, which are found once. */
function orderRows(source: TapeSource, rows: SharedRows): RowOrder[] {
  const { events, layout, first, count } = rows
  const byLayout = new Map<number, RowOrder>()
  const orders: RowOrder[] = []
  for (let event = first; event < first + count; event++) {
    const known = layout[event] === NO_LAYOUT ? undefined : byLayout.get(layout[event]!)
    if (known !== undefined) {
      orders.push(known)
      continue
    }
    const textBytes = events.end[event]! - events.start[event]!
    const range = { start: events.tapeStart[event]!, end: events.tapeEnd[event]!, textBytes }
    const order = orderRow(source, { ...range, depth: 0 })
    if (layout[event] !== NO_LAYOUT) byLayout.set(layout[event]!, order)
    orders.push(order)
  }
  return orders
}

interface RowRange {
  readonly start: number
  readonly end: number
  readonly textBytes: number
  readonly depth: number
}

function orderRow({ entries, trie }: TapeSource, range: RowRange): RowOrder {
  const { start, end, textBytes, depth } = range
  const entryOf = new Map<number, number>()
  for (let at = start; at < end; at = nextEntry(entries, at)) {
    const column = trie.column[entries[at]!]!
    if (column < 0) continue
    const native = nativeTypeOf(entries, at, depth < NESTED_COLUMNS_DEPTH_MAX)
    // The same path twice (a dotted key beside a nested one): the last one counts.
    if (native !== NO_TYPE) entryOf.set(column, at)
  }
  const sorted = sortByName(trie, [...entryOf.keys()])
  const bytesMax = Math.max(ROW_PATH_BYTES_MIN, textBytes * ROW_PATH_BYTES_PER_BYTE)
  const kept: number[] = []
  let pathBytes = 0
  for (const column of sorted) {
    const bytes = trie.columns.lengthOf(column) + 2
    if (pathBytes + bytes > bytesMax) break
    pathBytes += bytes
    kept.push(column)
  }
  const paths = new Uint8Array(pathBytes)
  let length = 0
  for (const column of kept) {
    const name = trie.columns.nameOf(column)
    length = putVaruint(paths, length, name.length)
    paths.set(name, length)
    length += name.length
  }
  const offsets = kept.map((column) => entryOf.get(column)! - start)
  return { offsets, paths: paths.subarray(0, length), skipped: sorted.length - kept.length }
}

function sortByName(trie: PathTrie, columns: number[]): number[] {
  const names = new Map(columns.map((column) => [column, trie.columns.nameOf(column)]))
  return columns.sort((a, b) => Buffer.compare(names.get(a)!, names.get(b)!))
}

/** Where the string at `start` ends: paths are at most PATH_BYTES_MAX long. */
function pathEnd(paths: Uint8Array, start: number): number {
  const low = paths[start]!
  return low < LONG_LENGTH
    ? start + 1 + low
    : start + 2 + (low & 0x7f) + paths[start + 1]! * LONG_LENGTH
}
