/**
 * The tape's quick way: one event whose keys are known, straight onto the tape. What it takes, it
 * takes as `JsonTape` does (`workers/tape/json-tape.ts`, which says what a tape is), entry for
 * entry; everything else (a new key, a key twice, an escaped key, a fault, a full tape) makes it
 * give up with -1, and `JsonTape` reads the event from its start.
 */
import { escapedEnd, stringStop } from './scan'
import * as type from './tape-entries'
import {
  beginTape,
  close,
  endTape,
  isFull,
  isSeen,
  nextSerial,
  push,
  pushHeader,
  Tape,
} from './tape-writer'
import {
  canonicalOf,
  elementOf,
  findKey,
  firstOf,
  isKeyAt,
  keyLengthOf,
  NO_KEY,
  nextOf,
} from './trie'

const QUOTE: u32 = 0x22
const COMMA: u32 = 0x2c
const COLON: u32 = 0x3a
const MINUS: u32 = 0x2d
const DOT: u32 = 0x2e
const OPEN_OBJECT: u32 = 0x7b
const CLOSE_OBJECT: u32 = 0x7d
const OPEN_ARRAY: u32 = 0x5b
const CLOSE_ARRAY: u32 = 0x5d
const SPACE: u32 = 0x20
/** `true`, `null` and `alse` as words. */
export const TRUE_WORD: u32 = 0x65757274
export const NULL_WORD: u32 = 0x6c6c756e
export const ALSE_WORD: u32 = 0x65736c61
const GIVE_UP: i32 = -1
const INT64_MAX = <u64>i64.MAX_VALUE
/** All digits of the largest UInt64 but the last, and that one. */
const UINT64_MAX_HEAD = u64.MAX_VALUE / 10
const UINT64_MAX_LAST: u32 = 5

/**
 * Reads the object whose opening brace is at `bytes + pos`. Returns the position after the object,
 * or -1.
 */
export function parseObject(
  tape: Tape,
  bytes: usize,
  pos: i32,
  node: i32,
  depth: i32,
  lineFeedIsSpace: bool,
  entries: usize,
  capacity: i32,
): i32 {
  beginTape(tape, bytes, entries, capacity)
  tape.fourthSpace = lineFeedIsSpace ? 0x0a : SPACE
  const end = object(tape, bytes + pos + 1, node, depth)
  endTape(tape, end !== 0)
  return end === 0 ? GIVE_UP : <i32>(end - bytes)
}

/** Skips white space. */
function space(tape: Tape, pos: usize): usize {
  let at = pos
  for (;;) {
    const byte = <u32>load<u8>(at)
    if (byte > SPACE) break
    if (byte !== SPACE && byte !== 0x09 && byte !== 0x0d && byte !== tape.fourthSpace) break
    at++
  }
  return at
}

/** `start` is after the opening brace. Returns the address after the closing one, or 0. */
function object(tape: Tape, start: usize, node: i32, depth: i32): usize {
  if (depth > tape.depthMax) return 0
  const serial = nextSerial(tape)
  let link = firstOf(tape, node)
  let pos = start
  if (<u32>load<u8>(pos) <= SPACE) pos = space(tape, pos)
  if (<u32>load<u8>(pos) === CLOSE_OBJECT) return pos + 1
  for (;;) {
    if (<u32>load<u8>(pos) !== QUOTE || isFull(tape)) return 0
    // The key that followed last time, compared in place.
    let key = load<i32>(link)
    if (key === NO_KEY || !isKeyAt(tape, pos + 1, key)) {
      key = findKey(tape, pos + 1, node)
      if (key === NO_KEY) return 0
      store<i32>(link, key)
    }
    link = nextOf(tape, key)
    pos += keyLengthOf(tape, key) + 2
    if (<u32>load<u8>(pos) !== COLON) {
      pos = space(tape, pos)
      if (<u32>load<u8>(pos) !== COLON) return 0
    }
    pos++
    if (<u32>load<u8>(pos) <= SPACE) pos = space(tape, pos)
    const child = canonicalOf(tape, key)
    if (isSeen(tape, child, serial)) return 0
    pos = value(tape, pos, child, depth)
    if (pos === 0) return 0
    if (<u32>load<u8>(pos) <= SPACE) pos = space(tape, pos)
    if (<u32>load<u8>(pos) !== COMMA) break
    pos++
    if (<u32>load<u8>(pos) <= SPACE) pos = space(tape, pos)
  }
  return <u32>load<u8>(pos) === CLOSE_OBJECT ? pos + 1 : 0
}

/** One value of any kind; `depth` is that of the container around it. */
function value(tape: Tape, pos: usize, node: i32, depth: i32): usize {
  const byte = <u32>load<u8>(pos)
  if (byte === QUOTE) {
    const end = stringStop(pos + 1)
    if (<u32>load<u8>(end) !== QUOTE) return escapedString(tape, pos + 1, end, node)
    push(tape, node, type.STRING, pos + 1, end)
    return end + 1
  }
  if (byte - 0x30 < 10 || byte === MINUS) return number(tape, pos, node)
  if (byte === OPEN_OBJECT) {
    const before = tape.out
    const end = object(tape, pos + 1, node, depth + 1)
    if (end !== 0 && tape.out === before) push(tape, node, type.OBJECT, pos, end)
    return end
  }
  if (byte === OPEN_ARRAY) return array(tape, pos, node, depth + 1)
  const word = load<u32>(pos)
  if (word === TRUE_WORD) {
    push(tape, node, type.TRUE, pos, pos + 4)
    return pos + 4
  }
  if (word === NULL_WORD) {
    push(tape, node, type.NULL, pos, pos + 4)
    return pos + 4
  }
  if (byte !== 0x66 || load<u32>(pos + 1) !== ALSE_WORD) return 0
  push(tape, node, type.FALSE, pos, pos + 5)
  return pos + 5
}

/** A string whose first special byte, at `stop`, is not its closing quote. */
function escapedString(tape: Tape, start: usize, stop: usize, node: i32): usize {
  const pos = escapedEnd(stop)
  if (pos === 0) return 0
  push(tape, node, type.ESCAPED, start, pos)
  return pos + 1
}

/** Behind the digits from `pos` on. */
function digits(pos: usize): usize {
  let at = pos
  while (<u32>load<u8>(at) - 0x30 < 10) at++
  return at
}

function number(tape: Tape, start: usize, node: i32): usize {
  const first = <u32>load<u8>(start) === MINUS ? start + 1 : start
  let pos = digits(first)
  const count = pos - first
  if (count === 0 || (count > 1 && <u32>load<u8>(first) === 0x30)) return 0
  let byte = <u32>load<u8>(pos)
  if (byte !== DOT && (byte | 0x20) !== 0x65) {
    push(tape, node, count < 19 ? type.INT : integerType(first, count, first !== start), start, pos)
    return pos
  }
  if (byte === DOT) {
    const fraction = pos + 1
    pos = digits(fraction)
    if (pos === fraction) return 0
    byte = <u32>load<u8>(pos)
  }
  if ((byte | 0x20) === 0x65) {
    byte = <u32>load<u8>(++pos)
    if (byte === 0x2b || byte === MINUS) pos++
    const exponent = pos
    pos = digits(exponent)
    if (pos === exponent) return 0
  }
  push(tape, node, type.FLOAT, start, pos)
  return pos
}

/** The type of an integer of 19 digits or more: FLOAT when 64 bits do not hold it. */
export function integerType(first: usize, count: usize, isNegative: bool): i32 {
  if (count > 20 || (isNegative && count > 19)) return type.FLOAT
  let head: u64 = 0
  for (let at = first; at < first + 19; at++) head = head * 10 + (<u64>load<u8>(at) - 0x30)
  if (count === 19) {
    if (head <= INT64_MAX + u64(isNegative)) return type.INT
    return isNegative ? type.FLOAT : type.UINT
  }
  const last = <u32>load<u8>(first + 19) - 0x30
  const fits = head < UINT64_MAX_HEAD || (head === UINT64_MAX_HEAD && last <= UINT64_MAX_LAST)
  return fits ? type.UINT : type.FLOAT
}

/** `open` is at the opening bracket. */
function array(tape: Tape, open: usize, node: i32, depth: i32): usize {
  if (depth > tape.depthMax) return 0
  const header = pushHeader(tape, node, type.ARRAY, open)
  let kinds = 0
  let count = 0
  let pos = space(tape, open + 1)
  if (<u32>load<u8>(pos) === CLOSE_ARRAY) {
    pos++
  } else {
    const element = elementOf(tape, node)
    if (element === 0) return 0
    for (;;) {
      if (isFull(tape)) return 0
      const entry = tape.out
      const isObject = <u32>load<u8>(pos) === OPEN_OBJECT
      pos = isObject
        ? elementObject(tape, pos, element, depth + 1)
        : value(tape, pos, element, depth)
      if (pos === 0) return 0
      kinds |= 1 << load<i32>(entry, 4)
      count++
      if (<u32>load<u8>(pos) <= SPACE) pos = space(tape, pos)
      const byte = <u32>load<u8>(pos++)
      if (byte === CLOSE_ARRAY) break
      if (byte !== COMMA) return 0
      if (<u32>load<u8>(pos) <= SPACE) pos = space(tape, pos)
    }
  }
  close(tape, header, kinds, count, pos)
  return pos
}

/** An object inside an array: its leaves follow a header of its own. */
function elementObject(tape: Tape, open: usize, element: i32, depth: i32): usize {
  const header = pushHeader(tape, element, type.ELEMENT, open)
  const end = object(tape, open + 1, element, depth)
  if (end !== 0) close(tape, header, 0, 0, end)
  return end
}
