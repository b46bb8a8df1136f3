/**
 * Runs of values of one type in ClickHouse's Native encoding. `cells` are places on the tape, in
 * row order; each function writes those from `first` on and returns the address after what it
 * wrote. At a cell that it cannot write it stops: `state` says which one that is, or `end`.
 */
import { copyBytes, copyValue } from './copy'
import { unescapeText } from './escape'
import { signsIn } from './scan'
import { ESCAPED, TRUE } from './tape-entries'
import { putLength } from './varuint'

const MINUS: u32 = 0x2d
const DOT: u32 = 0x2e
const LINE_FEED: u32 = 0x0a
const BACKSLASH: u8 = 0x5c
const LETTER_T: u32 = 0x74
/** With the line feed. */
const TRUE_BYTES: usize = 5
const FALSE_BYTES: usize = 6
/** As many digits a double holds, whichever they are. */
const EXACT_DIGITS: i32 = 15

/** The entry of a cell. */
function entryAt(cells: usize, cell: i32, entries: usize): usize {
  return entries + ((<usize>load<i32>(cells + ((<usize>cell) << 2))) << 2)
}

/** The integer at `start`, digits, perhaps after a minus; `state` then has where it ends. */
function integerFrom(start: usize, state: usize): u64 {
  const isNegative = <u32>load<u8>(start) === MINUS
  let at = isNegative ? start + 1 : start
  let value: u64 = 0
  for (let digit = digitAt(at); digit < 10; digit = digitAt(++at)) value = value * 10 + digit
  store<i32>(state, <i32>at)
  return isNegative ? 0 - value : value
}

/** Below ten for a digit. */
function digitAt(at: usize): u32 {
  return <u32>load<u8>(at) - 0x30
}

/**
 * The number at `start`, as far as it has at most 15 digits and no exponent: digits and power of
 * ten are then both exact doubles, and one operation on them rounds once (Clinger). `state` then
 * has where it ends.
 */
function floatFrom(start: usize, state: usize): f64 {
  const isNegative = <u32>load<u8>(start) === MINUS
  let at = isNegative ? start + 1 : start
  let digits: u64 = 0
  let count = 0
  let power: f64 = 1
  let step: f64 = 1
  for (; ; at++) {
    const digit = digitAt(at)
    if (<u32>load<u8>(at) === DOT) {
      step = 10
      continue
    }
    if (digit > 9 || ++count > EXACT_DIGITS) break
    digits = digits * 10 + digit
    power *= step
  }
  store<i32>(state, <i32>at)
  const value = <f64>digits / power
  return isNegative ? -value : value
}

/**
 * Varuint length and bytes; returns where they end. The varuint of a string with escapes is written
 * as long as that of its spelling, then the string moves if need be.
 */
function putString(start: usize, end: usize, isEscaped: bool, to: usize): usize {
  const text = putLength(end - start, to)
  if (!isEscaped) {
    copyValue(text, start, end - start)
    return text + end - start
  }
  const length = unescapeText(start, end, text) - text
  const decoded = putLength(length, to)
  if (decoded !== text) copyBytes(decoded, text, length)
  return decoded + length
}

/** Strings: varuint length, bytes. Needs the texts' bytes, 5 a cell, and 16 more. */
export function writeStrings(
  cells: usize,
  first: i32,
  end: i32,
  entries: usize,
  bytes: usize,
  to: usize,
  state: usize,
): usize {
  let out = to
  for (let cell = first; cell < end; cell++) {
    const entry = entryAt(cells, cell, entries)
    const start = bytes + load<i32>(entry, 8)
    out = putString(start, bytes + load<i32>(entry, 12), load<i32>(entry, 4) === ESCAPED, out)
  }
  store<i32>(state, end)
  return out
}

/** Int64 or UInt64 from at most 20 decimal digits with an optional minus. Needs 8 bytes a cell. */
export function writeIntegers(
  cells: usize,
  first: i32,
  end: i32,
  entries: usize,
  bytes: usize,
  to: usize,
  state: usize,
): usize {
  let out = to
  for (let cell = first; cell < end; cell++, out += 8) {
    store<u64>(out, integerFrom(bytes + load<i32>(entryAt(cells, cell, entries), 8), state))
  }
  store<i32>(state, end)
  return out
}

/** Float64. Those that `floatFrom` cannot read are left to the caller. Needs 8 bytes a cell. */
export function writeFloats(
  cells: usize,
  first: i32,
  end: i32,
  entries: usize,
  bytes: usize,
  to: usize,
  state: usize,
): usize {
  let out = to
  let cell = first
  for (; cell < end; cell++, out += 8) {
    const entry = entryAt(cells, cell, entries)
    store<f64>(out, floatFrom(bytes + load<i32>(entry, 8), state))
    if (<usize>load<i32>(state) !== bytes + load<i32>(entry, 12)) break
  }
  store<i32>(state, cell)
  return out
}

/** Bool, one byte a cell. */
export function writeBooleans(
  cells: usize,
  first: i32,
  end: i32,
  entries: usize,
  _bytes: usize,
  to: usize,
  state: usize,
): usize {
  let out = to
  for (let cell = first; cell < end; cell++) {
    const entry = entryAt(cells, cell, entries)
    store<u8>(out++, load<i32>(entry, 4) === TRUE ? 1 : 0)
  }
  store<i32>(state, end)
  return out
}

/**
 * The same from a column of a segment's text: `count` values side by side from `from` on, with a
 * line feed after each, and 16 bytes to read after the last. `state` then has where they end, or
 * where one is that is left to the caller, and how many were written. The room is as above.
 */
export function writeStringColumn(from: usize, count: i32, to: usize, state: usize): usize {
  let out = to
  let at = from
  for (let i = 0; i < count; i++) {
    const text = v128.load(at)
    const feeds = signsIn(text, <u8>LINE_FEED)
    const escapes = signsIn(text, BACKSLASH)
    if (feeds !== 0 && (escapes & (feeds - 1) & ~feeds) === 0) {
      const length = ctz(feeds)
      store<u8>(out, <u8>length)
      v128.store(out, text, 1)
      out += length + 1
      at += length + 1
      continue
    }
    const end = columnValueEnd(at, state)
    out = putString(at, end, load<i32>(state) !== 0, out)
    at = end + 1
  }
  return endColumn(at, count, out, state)
}

/** Where the value at `start` ends; `state` then says whether a backslash is in it. */
function columnValueEnd(start: usize, state: usize): usize {
  let at = start
  let escapes = 0
  let feeds = 0
  for (; ; at += 16) {
    const text = v128.load(at)
    const marks = signsIn(text, BACKSLASH)
    feeds = signsIn(text, <u8>LINE_FEED)
    if (feeds !== 0) {
      escapes |= marks & (feeds - 1) & ~feeds
      break
    }
    escapes |= marks
  }
  store<i32>(state, escapes)
  return at + ctz(feeds)
}

export function writeIntegerColumn(from: usize, count: i32, to: usize, state: usize): usize {
  let at = from
  const end = to + ((<usize>count) << 3)
  for (let out = to; out < end; out += 8) {
    store<u64>(out, integerFrom(at, state))
    at = <usize>load<i32>(state) + 1
  }
  return endColumn(at, count, end, state)
}

export function writeFloatColumn(from: usize, count: i32, to: usize, state: usize): usize {
  let at = from
  let out = to
  let i = 0
  for (; i < count; i++, out += 8) {
    store<f64>(out, floatFrom(at, state))
    const numberEnd = <usize>load<i32>(state)
    if (<u32>load<u8>(numberEnd) !== LINE_FEED) break
    at = numberEnd + 1
  }
  return endColumn(at, i, out, state)
}

export function writeBooleanColumn(from: usize, count: i32, to: usize, state: usize): usize {
  let at = from
  for (let i = 0; i < count; i++) {
    const isTrue = <u32>load<u8>(at) === LETTER_T
    store<u8>(to + i, isTrue ? 1 : 0)
    at += isTrue ? TRUE_BYTES : FALSE_BYTES
  }
  return endColumn(at, count, to + count, state)
}

function endColumn(at: usize, count: i32, out: usize, state: usize): usize {
  store<i32>(state, <i32>at)
  store<i32>(state, count, 4)
  return out
}

/** Discriminators of a path of one type: 0 for the rows of its cells; others stay as they are. */
export function markRows(cellRows: usize, first: i32, end: i32, discriminators: usize): void {
  for (let cell = first; cell < end; cell++) {
    store<u8>(discriminators + load<i32>(cellRows + ((<usize>cell) << 2)), 0)
  }
}
