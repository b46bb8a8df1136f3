/**
 * OTLP's quick way: the members of a kvlist from the protobuf wire straight into JSON and onto the
 * tape. What it takes, it writes as `AnyValueDecoder` does, byte for byte
 * (`workers/decode/otlp/otlp-any-value.ts`); everything else (a new key, a key twice or with an
 * escape, fields in another order or more than once, bytes, a fault, no room) makes it give up with
 * -1, and `AnyValueDecoder` reads the members from their start.
 *
 * Whether strings are UTF-8 is looked at afterwards, of all events at once.
 */

import { copyValue } from '../copy'
import { escapeText } from '../escape'
import { stringStop } from '../scan'
import { ALSE_WORD, integerType, NULL_WORD, TRUE_WORD } from '../tape'
import * as type from '../tape-entries'
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
} from '../tape-writer'
import { canonicalOf, elementOf, findKeyText, firstOf, isKeyText, NO_KEY, nextOf } from '../trie'

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
/** What follows a key. */
const QUOTE_COLON: u16 = 0x3a22
const MINUS: u8 = 0x2d
const OPEN_OBJECT: u8 = 0x7b
const CLOSE_OBJECT: u8 = 0x7d
const OPEN_ARRAY: u8 = 0x5b
const CLOSE_ARRAY: u8 = 0x5d
const F_SIGN: u8 = 0x66
const GIVE_UP: i32 = -1
/** Room for the marks around a value, a number, and what is written past a text's end. */
const MARGIN: usize = 96
/** Lengths that need more bytes are left to the caller. */
const LENGTH_BYTES_MAX = 4
const VARINT_BYTES_MAX: usize = 10

/** Writes a finite double as `JSON.stringify` does; returns where it ended. See `kernels.ts`. */
declare function writeDouble(at: usize, value: f64): usize

/**
 * Writes a brace and the members from the fields `start`..`end` of `source`, which all have the tag
 * `memberTag`, at `at` of `bytes`, up to `bytesEnd` at most. Returns where they end, or -1.
 */
export function writeMembers(
  tape: Tape,
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
): i32 {
  beginTape(tape, bytes, entries, capacity)
  tape.textLimit = bytes + bytesEnd
  const to = members(tape, bytes + at, source + start, source + end, memberTag, node, depth)
  endTape(tape, to !== 0)
  return to === 0 ? GIVE_UP : <i32>(to - bytes)
}

/** Skips fields that have `tag` and a length; returns where that ends, `end` at most. */
export function skipFields(source: usize, start: i32, end: i32, tag: i32): i32 {
  const stop = source + end
  let pos = source + start
  while (pos < stop && <u32>load<u8>(pos) === tag) {
    const field = lengthAt(pos + 1)
    if (field === 0 || endOf(field) > stop) break
    pos = endOf(field)
  }
  return <i32>(pos - source)
}

/** Of text that is written at `to`. */
function hasRoom(tape: Tape, to: usize, length: usize): bool {
  return to + length + MARGIN <= tape.textLimit
}

/**
 * Reads a field's length: that, and in the lower half where the field's contents begin; 0 where it
 * is none of ours.
 */
function lengthAt(pos: usize): u64 {
  let byte = <u32>load<u8>(pos)
  let length = byte & 0x7f
  let at = pos + 1
  for (let shift = 7; byte >= 0x80; shift += 7) {
    if (shift === 7 * LENGTH_BYTES_MAX) return 0
    byte = load<u8>(at++)
    length |= (byte & 0x7f) << shift
  }
  return ((<u64>length) << 32) | at
}

function startOf(field: u64): usize {
  return <usize>(field & 0xffff_ffff)
}

function endOf(field: u64): usize {
  return startOf(field) + <usize>(field >> 32)
}

/** Reads 64 bits; returns where they end, or 0, also where there are more than 64. */
function varintAt(tape: Tape, pos: usize): usize {
  let value: u64 = 0
  for (let i: usize = 0; i < VARINT_BYTES_MAX; i++) {
    const byte = <u64>load<u8>(pos + i)
    value |= (byte & 0x7f) << (7 * i)
    if (byte >= 0x80) continue
    tape.varint = value
    return i === VARINT_BYTES_MAX - 1 && byte > 1 ? 0 : pos + i + 1
  }
  return 0
}

/** What writes text does it at `to`, and returns where that ends, or 0. */
function members(
  tape: Tape,
  from: usize,
  start: usize,
  end: usize,
  memberTag: u32,
  node: i32,
  depth: i32,
): usize {
  if (depth > tape.depthMax || !hasRoom(tape, from, 0)) return 0
  const serial = nextSerial(tape)
  let link = firstOf(tape, node)
  store<u8>(from, OPEN_OBJECT)
  let to = from + 1
  for (let pos = start; pos < end; ) {
    if (<u32>load<u8>(pos) !== memberTag) return 0
    const member = lengthAt(pos + 1)
    const memberEnd = endOf(member)
    if (member === 0 || memberEnd > end) return 0
    if (<u32>load<u8>(startOf(member)) !== TAG_KEY) return 0
    const keyField = lengthAt(startOf(member) + 1)
    const keyStart = startOf(keyField)
    const keyEnd = endOf(keyField)
    const keyLength = keyEnd - keyStart
    if (keyField === 0 || keyEnd >= memberEnd || <u32>load<u8>(keyEnd) !== TAG_VALUE) return 0
    const valueField = lengthAt(keyEnd + 1)
    if (valueField === 0 || endOf(valueField) !== memberEnd) return 0
    if (!hasRoom(tape, to, keyLength)) return 0
    // The key that followed last time, compared in place.
    let key = load<i32>(link)
    if (key === NO_KEY || !isKeyText(tape, keyStart, <i32>keyLength, key)) {
      if (stringStop(keyStart) < keyEnd) return 0
      key = findKeyText(tape, keyStart, <i32>keyLength, node)
      if (key === NO_KEY) return 0
      store<i32>(link, key)
    }
    link = nextOf(tape, key)
    const child = canonicalOf(tape, key)
    if (isSeen(tape, child, serial)) return 0
    if (pos > start) store<u8>(to++, COMMA)
    store<u8>(to, QUOTE)
    copyValue(to + 1, keyStart, keyLength)
    to += keyLength + 1
    store<u16>(to, QUOTE_COLON)
    to = value(tape, to + 2, startOf(valueField), memberEnd, child, depth)
    if (to === 0) return 0
    pos = memberEnd
  }
  return to
}

/** Writes the AnyValue `start`..`end`; `depth` is that of the container around it. */
function value(tape: Tape, to: usize, start: usize, end: usize, node: i32, depth: i32): usize {
  if (!hasRoom(tape, to, 0) || isFull(tape)) return 0
  if (start === end) return word(tape, to, node, type.NULL, NULL_WORD)
  const tag = <u32>load<u8>(start)
  if (tag === TAG_BOOL || tag === TAG_INT) {
    if (varintAt(tape, start + 1) !== end) return 0
    if (tag === TAG_INT) return integer(tape, to, node, tape.varint)
    return boolean(tape, to, node, tape.varint !== 0)
  }
  if (tag === TAG_DOUBLE)
    return start + 9 === end ? double(tape, to, node, load<f64>(start + 1)) : 0
  const field = lengthAt(start + 1)
  if (field === 0 || endOf(field) !== end) return 0
  const contents = startOf(field)
  if (tag === TAG_STRING) return string(tape, to, contents, end, node)
  if (tag === TAG_ARRAY) return array(tape, to, contents, end, node, depth + 1)
  return tag === TAG_KVLIST ? object(tape, to, contents, end, node, depth + 1) : 0
}

/** An object that is not an array's element: it leaves an entry only if it is empty. */
function object(tape: Tape, to: usize, start: usize, end: usize, node: i32, depth: i32): usize {
  const before = tape.out
  const close = members(tape, to, start, end, TAG_MEMBER, node, depth)
  if (close === 0 || !hasRoom(tape, close, 0)) return 0
  store<u8>(close, CLOSE_OBJECT)
  if (tape.out === before) push(tape, node, type.OBJECT, to, close + 1)
  return close + 1
}

function array(tape: Tape, from: usize, start: usize, end: usize, node: i32, depth: i32): usize {
  if (depth > tape.depthMax) return 0
  const header = pushHeader(tape, node, type.ARRAY, from)
  const element = elementOf(tape, node)
  let kinds = 0
  let count = 0
  store<u8>(from, OPEN_ARRAY)
  let to = from + 1
  for (let pos = start; pos < end; count++) {
    if (<u32>load<u8>(pos) !== TAG_ELEMENT || element === 0) return 0
    const field = lengthAt(pos + 1)
    const contents = startOf(field)
    const elementEnd = endOf(field)
    if (field === 0 || elementEnd > end) return 0
    if (count > 0) store<u8>(to++, COMMA)
    const entry = tape.out
    const isObject = contents < elementEnd && <u32>load<u8>(contents) === TAG_KVLIST
    to = isObject
      ? elementObject(tape, to, contents, elementEnd, element, depth + 1)
      : value(tape, to, contents, elementEnd, element, depth)
    if (to === 0) return 0
    kinds |= 1 << load<i32>(entry, 4)
    pos = elementEnd
  }
  if (!hasRoom(tape, to, 0)) return 0
  store<u8>(to, CLOSE_ARRAY)
  close(tape, header, kinds, count, to + 1)
  return to + 1
}

/** The AnyValue `start`..`end` that holds a kvlist: its leaves follow a header of its own. */
function elementObject(
  tape: Tape,
  from: usize,
  start: usize,
  end: usize,
  element: i32,
  depth: i32,
): usize {
  const field = lengthAt(start + 1)
  if (field === 0 || endOf(field) !== end || !hasRoom(tape, from, 0) || isFull(tape)) return 0
  const header = pushHeader(tape, element, type.ELEMENT, from)
  const to = members(tape, from, startOf(field), end, TAG_MEMBER, element, depth)
  if (to === 0 || !hasRoom(tape, to, 0)) return 0
  store<u8>(to, CLOSE_OBJECT)
  close(tape, header, 0, 0, to + 1)
  return to + 1
}

function string(tape: Tape, to: usize, start: usize, end: usize, node: i32): usize {
  const open = to + 1
  store<u8>(to, QUOTE)
  const close = escapeText(start, end, open, tape.textLimit)
  if (close === 0) return 0
  store<u8>(close, QUOTE)
  push(tape, node, close - open === end - start ? type.STRING : type.ESCAPED, open, close)
  return close + 1
}

function word(tape: Tape, to: usize, node: i32, kind: i32, letters: u32): usize {
  store<u32>(to, letters)
  push(tape, node, kind, to, to + 4)
  return to + 4
}

function boolean(tape: Tape, to: usize, node: i32, isTrue: bool): usize {
  if (isTrue) return word(tape, to, node, type.TRUE, TRUE_WORD)
  store<u8>(to, F_SIGN)
  store<u32>(to, ALSE_WORD, 1)
  push(tape, node, type.FALSE, to, to + 5)
  return to + 5
}

function integer(tape: Tape, to: usize, node: i32, bits: u64): usize {
  let first = to
  let rest = bits
  if (<i64>bits < 0) {
    store<u8>(first++, MINUS)
    rest = 0 - bits
  }
  let digits: usize = 1
  for (let power: u64 = 10; digits < 20 && rest >= power; power *= 10) digits++
  const end = first + digits
  let at = end
  while (rest > u64(u32.MAX_VALUE)) {
    store<u8>(--at, 0x30 + <u8>(rest % 10))
    rest /= 10
  }
  for (let low = <u32>rest; at > first; low /= 10) store<u8>(--at, 0x30 + <u8>(low % 10))
  push(tape, node, type.INT, to, end)
  return end
}

/** Those that are not finite become strings, elsewhere. */
function double(tape: Tape, to: usize, node: i32, value: f64): usize {
  // Infinity minus infinity is not a number.
  if (value - value !== 0) return 0
  const end = writeDouble(to, value)
  const first = load<u8>(to) === MINUS ? to + 1 : to
  let at = first
  while (at < end && <u32>load<u8>(at) - 0x30 < 10) at++
  const count = at - first
  const isInteger = at === end
  const kind = count < 19 ? type.INT : integerType(first, count, first !== to)
  push(tape, node, isInteger ? kind : type.FLOAT, to, end)
  return end
}
