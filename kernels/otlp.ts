/**
 * OTLP's quick way: the members of a kvlist from the protobuf wire straight into JSON and onto the
 * tape. What it takes, it writes as `AnyValueDecoder` does (`workers/otlp/otlp-any-value.ts`),
 * byte for byte; everything else (a new key, a key twice or with an escape, fields in another order
 * or more than once, bytes, a fault, no room) makes it give up with -1, and `AnyValueDecoder` reads
 * the members from their start.
 *
 * Whether strings are UTF-8 is looked at afterwards, of all events at once.
 */

import { copyValue } from './copy'
import { escapeText } from './escape'
import { stringStop } from './scan'
import { ALSE_WORD, integerType, NULL_WORD, TRUE_WORD } from './tape'
import * as type from './tape-entries'
import {
  beginTape,
  close,
  depthMax,
  endTape,
  isFull,
  isSeen,
  nextSerial,
  out,
  push,
  pushHeader,
} from './tape-writer'
import { canonicalOf, elementOf, findKeyText, firstOf, isKeyText, NO_KEY, nextOf } from './trie'

/** Tags: field number times 8 plus wire type. */
const TAG_MEMBER: u32 = 0x0a
const TAG_ELEMENT: u32 = 0x0a
const TAG_KEY: u32 = 0x0a
const TAG_VALUE: u32 = 0x12
const TAG_STRING: u32 = 0x0a
const TAG_BOOL: u32 = 0x10
const TAG_INT: u32 = 0x18
const TAG_DOUBLE: u32 = 0x21
const TAG_ARRAY: u32 = 0x2a
const TAG_KVLIST: u32 = 0x32

const QUOTE: u8 = 0x22
const COMMA: u8 = 0x2c
const COLON: u8 = 0x3a
const MINUS: u8 = 0x2d
const OPEN_OBJECT: u8 = 0x7b
const CLOSE_OBJECT: u8 = 0x7d
const OPEN_ARRAY: u8 = 0x5b
const CLOSE_ARRAY: u8 = 0x5d
const F_SIGN: u8 = 0x66
const GIVE_UP: i32 = -1
/** Room for the marks around a value, a number, and what is written past a text's end. */
const MARGIN: usize = 96
/** Longer lengths than these bytes hold are none of ours. */
const LENGTH_BYTES_MAX = 4
const VARINT_BYTES_MAX: usize = 10

/** Writes a finite double as `JSON.stringify` does; returns where it ended. See `kernels.ts`. */
declare function writeDouble(at: usize, value: f64): usize

/** Where the next byte goes, and how far there is room. */
let to: usize = 0
let limit: usize = 0
/** What `lengthAt` read. */
let fieldLength: usize = 0
/** What `varintAt` read. */
let varint: u64 = 0

/**
 * Writes a brace and the members from the fields `start`..`end` of `source`, which all have the tag
 * `memberTag`, at `at` of `bytes`, up to `bytesEnd` at most. `state` as in `parseObject`. Returns
 * where they end, or -1.
 */
export function writeMembers(
  source: usize,
  start: i32,
  end: i32,
  memberTag: i32,
  node: i32,
  depth: i32,
  bytes: usize,
  at: i32,
  bytesEnd: i32,
  entries: usize,
  capacity: i32,
  state: usize,
): i32 {
  beginTape(bytes, entries, capacity, state)
  to = bytes + at
  limit = bytes + bytesEnd
  const isWritten = members(source + start, source + end, memberTag, node, depth)
  endTape(state, isWritten)
  return isWritten ? <i32>(to - bytes) : GIVE_UP
}

/** Skips fields that have `tag` and a length; returns where that ends, `end` at most. */
export function skipFields(source: usize, start: i32, end: i32, tag: i32): i32 {
  const stop = source + end
  let pos = source + start
  while (pos < stop && <u32>load<u8>(pos) === tag) {
    const field = lengthAt(pos + 1)
    if (field === 0 || field + fieldLength > stop) break
    pos = field + fieldLength
  }
  return <i32>(pos - source)
}

function hasRoom(length: usize): bool {
  return to + length + MARGIN <= limit
}

function put(byte: u8): void {
  store<u8>(to++, byte)
}

/** Reads a field's length; returns where the field's contents begin, 0 where it is none of ours. */
function lengthAt(pos: usize): usize {
  let byte = <u32>load<u8>(pos)
  let length = byte & 0x7f
  let at = pos + 1
  for (let shift = 7; byte >= 0x80; shift += 7) {
    if (shift === 7 * LENGTH_BYTES_MAX) return 0
    byte = load<u8>(at++)
    length |= (byte & 0x7f) << shift
  }
  fieldLength = length
  return at
}

/** Reads 64 bits; returns where they end, or 0, also where there are more than 64. */
function varintAt(pos: usize): usize {
  varint = 0
  for (let i: usize = 0; i < VARINT_BYTES_MAX; i++) {
    const byte = <u64>load<u8>(pos + i)
    varint |= (byte & 0x7f) << (7 * i)
    if (byte < 0x80) return i === VARINT_BYTES_MAX - 1 && byte > 1 ? 0 : pos + i + 1
  }
  return 0
}

function members(start: usize, end: usize, memberTag: u32, node: i32, depth: i32): bool {
  if (depth > depthMax || !hasRoom(0)) return false
  const serial = nextSerial()
  let link = firstOf(node)
  put(OPEN_OBJECT)
  for (let pos = start; pos < end; ) {
    if (<u32>load<u8>(pos) !== memberTag) return false
    const member = lengthAt(pos + 1)
    const memberEnd = member + fieldLength
    if (member === 0 || memberEnd > end || <u32>load<u8>(member) !== TAG_KEY) return false
    const keyStart = lengthAt(member + 1)
    const keyLength = fieldLength
    const keyEnd = keyStart + keyLength
    if (keyStart === 0 || keyEnd >= memberEnd || <u32>load<u8>(keyEnd) !== TAG_VALUE) return false
    const valueStart = lengthAt(keyEnd + 1)
    if (valueStart === 0 || valueStart + fieldLength !== memberEnd) return false
    if (!hasRoom(keyLength)) return false
    // The key that came here last time, compared in place.
    let key = load<i32>(link)
    if (key === NO_KEY || !isKeyText(keyStart, <i32>keyLength, key)) {
      if (stringStop(keyStart) < keyEnd) return false
      key = findKeyText(keyStart, <i32>keyLength, node)
      if (key === NO_KEY) return false
      store<i32>(link, key)
    }
    link = nextOf(key)
    const child = canonicalOf(key)
    if (isSeen(child, serial)) return false
    if (pos > start) put(COMMA)
    put(QUOTE)
    copyValue(to, keyStart, keyLength)
    to += keyLength
    put(QUOTE)
    put(COLON)
    if (!value(valueStart, memberEnd, child, depth)) return false
    pos = memberEnd
  }
  return true
}

/** Writes the AnyValue `start`..`end`; `depth` is that of the container around it. */
function value(start: usize, end: usize, node: i32, depth: i32): bool {
  if (!hasRoom(0) || isFull()) return false
  if (start === end) {
    word(node, type.NULL, NULL_WORD)
    return true
  }
  const tag = <u32>load<u8>(start)
  if (tag === TAG_BOOL || tag === TAG_INT) {
    if (varintAt(start + 1) !== end) return false
    if (tag === TAG_INT) integer(node, varint)
    else boolean(node, varint !== 0)
    return true
  }
  if (tag === TAG_DOUBLE) return start + 9 === end && double(node, load<f64>(start + 1))
  const contents = lengthAt(start + 1)
  if (contents === 0 || contents + fieldLength !== end) return false
  if (tag === TAG_STRING) return string(contents, end, node)
  if (tag === TAG_ARRAY) return array(contents, end, node, depth + 1)
  return tag === TAG_KVLIST && object(contents, end, node, depth + 1)
}

/** An object that is no array's element: it leaves an entry only if it is empty. */
function object(start: usize, end: usize, node: i32, depth: i32): bool {
  const open = to
  const before = out
  if (!members(start, end, TAG_MEMBER, node, depth) || !hasRoom(0)) return false
  put(CLOSE_OBJECT)
  if (out === before) push(node, type.OBJECT, open, to)
  return true
}

function array(start: usize, end: usize, node: i32, depth: i32): bool {
  if (depth > depthMax) return false
  const header = pushHeader(node, type.ARRAY, to)
  const element = elementOf(node)
  let kinds = 0
  let count = 0
  put(OPEN_ARRAY)
  for (let pos = start; pos < end; count++) {
    if (<u32>load<u8>(pos) !== TAG_ELEMENT || element === 0) return false
    const contents = lengthAt(pos + 1)
    const elementEnd = contents + fieldLength
    if (contents === 0 || elementEnd > end) return false
    if (count > 0) put(COMMA)
    const entry = out
    const isObject = contents < elementEnd && <u32>load<u8>(contents) === TAG_KVLIST
    const isWritten = isObject
      ? elementObject(contents, elementEnd, element, depth + 1)
      : value(contents, elementEnd, element, depth)
    if (!isWritten) return false
    kinds |= 1 << load<i32>(entry, 4)
    pos = elementEnd
  }
  if (!hasRoom(0)) return false
  put(CLOSE_ARRAY)
  close(header, kinds, count, to)
  return true
}

/** The AnyValue `start`..`end` that holds a kvlist: its leaves stand behind a header of its own. */
function elementObject(start: usize, end: usize, element: i32, depth: i32): bool {
  const contents = lengthAt(start + 1)
  if (contents === 0 || contents + fieldLength !== end || !hasRoom(0) || isFull()) return false
  const header = pushHeader(element, type.ELEMENT, to)
  if (!members(contents, end, TAG_MEMBER, element, depth) || !hasRoom(0)) return false
  put(CLOSE_OBJECT)
  close(header, 0, 0, to)
  return true
}

function string(start: usize, end: usize, node: i32): bool {
  put(QUOTE)
  const open = to
  const close = escapeText(start, end, open, limit)
  if (close === 0) return false
  to = close
  push(node, close - open === end - start ? type.STRING : type.ESCAPED, open, close)
  put(QUOTE)
  return true
}

function word(node: i32, kind: i32, letters: u32): void {
  store<u32>(to, letters)
  push(node, kind, to, to + 4)
  to += 4
}

function boolean(node: i32, isTrue: bool): void {
  if (isTrue) return word(node, type.TRUE, TRUE_WORD)
  store<u8>(to, F_SIGN)
  store<u32>(to, ALSE_WORD, 1)
  push(node, type.FALSE, to, to + 5)
  to += 5
}

function integer(node: i32, bits: u64): void {
  const start = to
  let rest = bits
  if (<i64>bits < 0) {
    put(MINUS)
    rest = 0 - bits
  }
  let digits: usize = 1
  for (let power: u64 = 10; digits < 20 && rest >= power; power *= 10) digits++
  to += digits
  let at = to
  while (rest > u64(u32.MAX_VALUE)) {
    store<u8>(--at, 0x30 + <u8>(rest % 10))
    rest /= 10
  }
  for (let low = <u32>rest; at > to - digits; low /= 10) store<u8>(--at, 0x30 + <u8>(low % 10))
  push(node, type.INT, start, to)
}

/** Those that are not finite become strings, elsewhere. */
function double(node: i32, value: f64): bool {
  // Infinite less infinite is no number.
  if (value - value !== 0) return false
  const start = to
  to = writeDouble(start, value)
  const first = load<u8>(start) === MINUS ? start + 1 : start
  let at = first
  while (at < to && <u32>load<u8>(at) - 0x30 < 10) at++
  const count = at - first
  const isInteger = at === to
  const kind = count < 19 ? type.INT : integerType(first, count, first !== start)
  push(node, isInteger ? kind : type.FLOAT, start, to)
  return true
}
