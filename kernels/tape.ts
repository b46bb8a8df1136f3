/**
 * The tape's quick way: one event whose keys are known, straight onto the tape. What it takes, it
 * takes as `JsonTape` does (`workers/decode/json-tape.ts`, which says what a tape is), entry for
 * entry; everything else (a new key, a key twice, an escaped key, a fault, a full tape) makes it
 * give up with -1, and `JsonTape` reads the event from its start.
 *
 * Positions are addresses here. On the tape they count from the batch's first byte, `base`.
 */
import { stringStop } from './scan'
import * as type from './tape-entries'

const QUOTE: u32 = 0x22
const BACKSLASH: u32 = 0x5c
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
const TRUE_WORD: u32 = 0x65757274
const NULL_WORD: u32 = 0x6c6c756e
const ALSE_WORD: u32 = 0x65736c61
const NO_KEY: i32 = 0
const GIVE_UP: i32 = -1
/** Room for what is written between two checks of the tape's end. */
const MARGIN: usize = 4 * type.ENTRY_BYTES
const INT64_MAX = <u64>i64.MAX_VALUE
/** All digits of the largest UInt64 but the last, and that one. */
const UINT64_MAX_HEAD = u64.MAX_VALUE / 10
const UINT64_MAX_LAST: u32 = 5

/** The trie's arrays (`workers/decode/path-trie.ts`). */
let parents: usize = 0
let keyStarts: usize = 0
let keyLengths: usize = 0
let canonicals: usize = 0
let nexts: usize = 0
let firsts: usize = 0
let elements: usize = 0
let escapeds: usize = 0
let keyBytes: usize = 0
let table: usize = 0
let tableMask: i32 = 0
let hashSeed: i32 = 0
/** By node: the object that had it last. */
let seen: usize = 0
/** As far as an object or an array may be nested. */
let depthMax: i32 = 0

/** What the event at hand is read with. */
let base: usize = 0
let tape: usize = 0
let out: usize = 0
let limit: usize = 0
let objectSerial: i32 = 0
/** A line feed where it is white space; else another byte that is. */
let fourthSpace: u32 = SPACE

export function bindTrieLinks(
  parent: usize,
  canonical: usize,
  next: usize,
  first: usize,
  element: usize,
): void {
  parents = parent
  canonicals = canonical
  nexts = next
  firsts = first
  elements = element
}

export function bindTrieKeys(
  keyStart: usize,
  keyLength: usize,
  escaped: usize,
  bytes: usize,
  keyTable: usize,
  mask: i32,
  seed: i32,
): void {
  keyStarts = keyStart
  keyLengths = keyLength
  escapeds = escaped
  keyBytes = bytes
  table = keyTable
  tableMask = mask
  hashSeed = seed
}

export function bindTape(seenBy: usize, deepest: i32): void {
  seen = seenBy
  depthMax = deepest
}

/**
 * Reads the object whose opening brace is at `base + pos`. `state`: the tape's length and the
 * serial number of its newest object; both are brought up to date. Returns the position behind the
 * object, or -1.
 */
export function parseObject(
  bytes: usize,
  pos: i32,
  node: i32,
  depth: i32,
  lineFeedIsSpace: bool,
  entries: usize,
  capacity: i32,
  state: usize,
): i32 {
  base = bytes
  tape = entries
  out = entries + ((<usize>load<i32>(state)) << 2)
  limit = entries + ((<usize>capacity) << 2) - MARGIN
  objectSerial = load<i32>(state, 4)
  fourthSpace = lineFeedIsSpace ? 0x0a : SPACE
  const end = object(bytes + pos + 1, node, depth)
  store<i32>(state, objectSerial, 4)
  if (end === 0) return GIVE_UP
  store<i32>(state, <i32>((out - entries) >> 2))
  return <i32>(end - bytes)
}

/** Skips white space. */
function space(pos: usize): usize {
  let at = pos
  for (;;) {
    const byte = <u32>load<u8>(at)
    if (byte > SPACE) break
    if (byte !== SPACE && byte !== 0x09 && byte !== 0x0d && byte !== fourthSpace) break
    at++
  }
  return at
}

function push(node: i32, kind: i32, start: usize, end: usize): void {
  store<i32>(out, node)
  store<i32>(out, kind, 4)
  store<i32>(out, <i32>(start - base), 8)
  store<i32>(out, <i32>(end - base), 12)
  out += type.ENTRY_BYTES
}

/** Whether the key with its closing quote stands at `pos`. */
function isKeyAt(pos: usize, key: i32): bool {
  let at = keyBytes + load<i32>(keyStarts + ((<usize>key) << 2))
  let left = load<i32>(keyLengths + ((<usize>key) << 2)) + 1
  let from = pos
  while (left > 16) {
    if (i8x16.bitmask(i8x16.ne(v128.load(from), v128.load(at))) !== 0) return false
    from += 16
    at += 16
    left -= 16
  }
  const differing = i8x16.bitmask(i8x16.ne(v128.load(from), v128.load(at)))
  return (differing & ((1 << left) - 1)) === 0
}

/** The key at `pos`, which was not the expected one, if it is known and without escapes. */
function findKey(pos: usize, node: i32): i32 {
  const end = stringStop(pos)
  if (<u32>load<u8>(end) !== QUOTE) return NO_KEY
  let hash = hashSeed
  for (let at = pos; at < end; at++) hash = (hash ^ <i32>load<u8>(at)) * 0x01000193
  hash ^= node * <i32>0x9e3779b1
  const length = <i32>(end - pos)
  let slot = hash & tableMask
  for (;;) {
    const key = load<i32>(table + ((<usize>slot) << 2))
    if (key === NO_KEY) break
    if (
      load<i32>(parents + ((<usize>key) << 2)) === node &&
      load<u8>(escapeds + key) === 0 &&
      load<i32>(keyLengths + ((<usize>key) << 2)) === length &&
      isKeyAt(pos, key)
    ) {
      return key
    }
    slot = (slot + 1) & tableMask
  }
  return NO_KEY
}

/** `start` is behind the opening brace. Returns the address behind the closing one, or 0. */
function object(start: usize, node: i32, depth: i32): usize {
  if (depth > depthMax) return 0
  const serial = ++objectSerial
  let link = firsts + ((<usize>node) << 2)
  let pos = start
  if (<u32>load<u8>(pos) <= SPACE) pos = space(pos)
  if (<u32>load<u8>(pos) === CLOSE_OBJECT) return pos + 1
  for (;;) {
    if (<u32>load<u8>(pos) !== QUOTE || out > limit) return 0
    // The key that came here last time, compared in place.
    let key = load<i32>(link)
    if (key === NO_KEY || !isKeyAt(pos + 1, key)) {
      key = findKey(pos + 1, node)
      if (key === NO_KEY) return 0
      store<i32>(link, key)
    }
    link = nexts + ((<usize>key) << 2)
    pos += load<i32>(keyLengths + ((<usize>key) << 2)) + 2
    if (<u32>load<u8>(pos) !== COLON) {
      pos = space(pos)
      if (<u32>load<u8>(pos) !== COLON) return 0
    }
    pos++
    if (<u32>load<u8>(pos) <= SPACE) pos = space(pos)
    const child = load<i32>(canonicals + ((<usize>key) << 2))
    if (load<i32>(seen + ((<usize>child) << 2)) === serial) return 0
    store<i32>(seen + ((<usize>child) << 2), serial)
    pos = value(pos, child, depth)
    if (pos === 0) return 0
    if (<u32>load<u8>(pos) <= SPACE) pos = space(pos)
    if (<u32>load<u8>(pos) !== COMMA) break
    pos++
    if (<u32>load<u8>(pos) <= SPACE) pos = space(pos)
  }
  return <u32>load<u8>(pos) === CLOSE_OBJECT ? pos + 1 : 0
}

/** One value of any kind; `depth` is that of the container around it. */
function value(pos: usize, node: i32, depth: i32): usize {
  const byte = <u32>load<u8>(pos)
  if (byte === QUOTE) {
    const end = stringStop(pos + 1)
    if (<u32>load<u8>(end) !== QUOTE) return escapedString(pos + 1, end, node)
    push(node, type.STRING, pos + 1, end)
    return end + 1
  }
  if (byte - 0x30 < 10 || byte === MINUS) return number(pos, node)
  if (byte === OPEN_OBJECT) {
    const before = out
    const end = object(pos + 1, node, depth + 1)
    if (end !== 0 && out === before) push(node, type.OBJECT, pos, end)
    return end
  }
  if (byte === OPEN_ARRAY) return array(pos, node, depth + 1)
  const word = load<u32>(pos)
  if (word === TRUE_WORD) {
    push(node, type.TRUE, pos, pos + 4)
    return pos + 4
  }
  if (word === NULL_WORD) {
    push(node, type.NULL, pos, pos + 4)
    return pos + 4
  }
  if (byte !== 0x66 || load<u32>(pos + 1) !== ALSE_WORD) return 0
  push(node, type.FALSE, pos, pos + 5)
  return pos + 5
}

function isHex(byte: u32): bool {
  return byte - 0x30 < 10 || (byte | 0x20) - 0x61 < 6
}

/** A string whose first special byte, at `stop`, is not its closing quote. */
function escapedString(start: usize, stop: usize, node: i32): usize {
  let pos = stop
  for (;;) {
    const byte = <u32>load<u8>(pos)
    if (byte === QUOTE) break
    if (byte !== BACKSLASH) return 0
    const kind = <u32>load<u8>(pos + 1)
    if (kind === 0x75) {
      for (let at = pos + 2; at < pos + 6; at++) {
        if (!isHex(<u32>load<u8>(at))) return 0
      }
      pos += 6
    } else {
      const isEscape =
        kind === QUOTE ||
        kind === BACKSLASH ||
        kind === 0x2f ||
        kind === 0x62 ||
        kind === 0x66 ||
        kind === 0x6e ||
        kind === 0x72 ||
        kind === 0x74
      if (!isEscape) return 0
      pos += 2
    }
    pos = stringStop(pos)
  }
  push(node, type.ESCAPED, start, pos)
  return pos + 1
}

/** Behind the digits from `pos` on. */
function digits(pos: usize): usize {
  let at = pos
  while (<u32>load<u8>(at) - 0x30 < 10) at++
  return at
}

function number(start: usize, node: i32): usize {
  const first = <u32>load<u8>(start) === MINUS ? start + 1 : start
  let pos = digits(first)
  const count = pos - first
  if (count === 0 || (count > 1 && <u32>load<u8>(first) === 0x30)) return 0
  let byte = <u32>load<u8>(pos)
  if (byte !== DOT && (byte | 0x20) !== 0x65) {
    push(node, count < 19 ? type.INT : integerType(first, count, first !== start), start, pos)
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
  push(node, type.FLOAT, start, pos)
  return pos
}

/** The type of an integer of 19 digits or more: FLOAT when 64 bits do not hold it. */
function integerType(first: usize, count: usize, isNegative: bool): i32 {
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
function array(open: usize, node: i32, depth: i32): usize {
  if (depth > depthMax) return 0
  const header = out
  push(node, type.ARRAY, open, base)
  push(0, type.EXTENSION, base, base)
  let kinds = 0
  let count = 0
  let pos = space(open + 1)
  if (<u32>load<u8>(pos) === CLOSE_ARRAY) {
    pos++
  } else {
    const element = load<i32>(elements + ((<usize>node) << 2))
    if (element === 0) return 0
    for (;;) {
      if (out > limit) return 0
      const entry = out
      const isObject = <u32>load<u8>(pos) === OPEN_OBJECT
      pos = isObject ? elementObject(pos, element, depth + 1) : value(pos, element, depth)
      if (pos === 0) return 0
      kinds |= 1 << load<i32>(entry, 4)
      count++
      if (<u32>load<u8>(pos) <= SPACE) pos = space(pos)
      const byte = <u32>load<u8>(pos++)
      if (byte === CLOSE_ARRAY) break
      if (byte !== COMMA) return 0
      if (<u32>load<u8>(pos) <= SPACE) pos = space(pos)
    }
  }
  close(header, kinds, count, pos)
  return pos
}

/** An object inside an array: its leaves stand behind a header of its own. */
function elementObject(open: usize, element: i32, depth: i32): usize {
  const header = out
  push(element, type.ELEMENT, open, base)
  push(0, type.EXTENSION, base, base)
  const end = object(open + 1, element, depth)
  if (end !== 0) close(header, 0, 0, end)
  return end
}

function close(header: usize, kinds: i32, count: i32, end: usize): void {
  store<i32>(header, <i32>(end - base), 12)
  const extension = header + type.ENTRY_BYTES
  store<i32>(extension, kinds)
  store<i32>(extension, count, 8)
  store<i32>(extension, <i32>((out - tape) >> 2), 12)
}
