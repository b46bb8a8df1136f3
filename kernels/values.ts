/**
 * Runs of values of one type in ClickHouse's Native encoding. `cells` are places on the tape, in
 * row order; each function writes those from `first` on and returns the address behind what it
 * wrote. At a cell that it cannot write it stops: `state` says which one that is, or `end`.
 */
import { copyBytes, copyValue } from './copy'
import { unescapeText } from './escape'
import { ESCAPED, TRUE } from './tape-entries'

const MINUS: u32 = 0x2d
const DOT: u32 = 0x2e
/** Lengths below it are one byte of varuint. */
const LONG_LENGTH: usize = 0x80
/** As many digits a double holds, whichever they are. */
const EXACT_DIGITS: i32 = 15

/** The entry of a cell. */
function entryAt(cells: usize, cell: i32, entries: usize): usize {
  return entries + ((<usize>load<i32>(cells + ((<usize>cell) << 2))) << 2)
}

/**
 * Strings: varuint length, bytes. Needs the texts' bytes, 5 a cell, and 15 more. The varuint of a
 * string with escapes has as many bytes as that of its spelling, then the string moves if need be.
 */
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
    const stop = bytes + load<i32>(entry, 12)
    const text = putLength(stop - start, out)
    if (load<i32>(entry, 4) !== ESCAPED) {
      copyValue(text, start, stop - start)
      out = text + stop - start
      continue
    }
    const length = unescapeText(start, stop, text) - text
    const decoded = putLength(length, out)
    if (decoded !== text) copyBytes(decoded, text, length)
    out = decoded + length
  }
  store<i32>(state, end)
  return out
}

/** Returns where the varuint ended. */
function putLength(length: usize, to: usize): usize {
  let out = to
  let rest = length
  while (rest >= LONG_LENGTH) {
    store<u8>(out++, <u8>(rest | LONG_LENGTH))
    rest >>= 7
  }
  store<u8>(out++, <u8>rest)
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
  for (let cell = first; cell < end; cell++) {
    const entry = entryAt(cells, cell, entries)
    const textEnd = bytes + load<i32>(entry, 12)
    let at = bytes + load<i32>(entry, 8)
    const isNegative = <u32>load<u8>(at) === MINUS
    if (isNegative) at++
    let value: u64 = 0
    for (; at < textEnd; at++) value = value * 10 + (<u64>load<u8>(at) - 0x30)
    store<u64>(out, isNegative ? 0 - value : value)
    out += 8
  }
  store<i32>(state, end)
  return out
}

/**
 * Float64. Up to 15 digits without an exponent need no more than this: digits and power of ten are
 * then both exact doubles, and one operation on them rounds once (Clinger). Others are left to the
 * caller. Needs 8 bytes a cell.
 */
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
  for (; cell < end; cell++) {
    const entry = entryAt(cells, cell, entries)
    const textEnd = bytes + load<i32>(entry, 12)
    let at = bytes + load<i32>(entry, 8)
    const isNegative = <u32>load<u8>(at) === MINUS
    if (isNegative) at++
    let digits: u64 = 0
    let count = 0
    let power: f64 = 1
    let step: f64 = 1
    for (; at < textEnd; at++) {
      const byte = <u32>load<u8>(at)
      if (byte === DOT) {
        step = 10
        continue
      }
      if (byte - 0x30 > 9 || ++count > EXACT_DIGITS) break
      digits = digits * 10 + (byte - 0x30)
      power *= step
    }
    if (at < textEnd) break
    const value = <f64>digits / power
    store<f64>(out, isNegative ? -value : value)
    out += 8
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

/** Discriminators of a path of one type: 0 for the rows of its cells; others stay as they are. */
export function markRows(cellRows: usize, first: i32, end: i32, discriminators: usize): void {
  for (let cell = first; cell < end; cell++) {
    store<u8>(discriminators + load<i32>(cellRows + ((<usize>cell) << 2)), 0)
  }
}
