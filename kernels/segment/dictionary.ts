/**
 * Columns of few values: the values once, and a number for each row. What for, and when it is worth
 * it, `workers/segment/value-dictionary.ts` says.
 *
 * This reads each value of nearly every column, so what depends on a value's length is done without
 * branches: most are told by their first sixteen bytes, line feed included and what follows zeroed.
 */
import { copyValue, hashText, isSameText, MULTIPLIER } from '../copy'
import { lineFeedFrom, signsIn } from '../scan'

const LINE_FEED: u8 = 0x0a
/** With one value more, a number would need more than a byte. */
const VALUES_MAX: i32 = 255
/** A column whose first values are nearly all different is given up. */
const SAMPLE_ROWS: i32 = 128
const SAMPLE_VALUES_MAX: i32 = 104
const PLACE_BITS: i32 = 10
/** A value is looked for in this many slots: hostile ones must not cause long searches. */
const TRIES_MAX: i32 = 16
const NO_NUMBER: i32 = -1
const HEAD_BYTES: usize = 16
/** Odd, with bits in no order. */
const SECOND_MULTIPLIER: u64 = ((<u64>0xc2b2ae3d) << 32) | 0x27d4eb4f
/** From `HEAD_BYTES - n` on: `n` bytes of ones, then zeros. */
const MASKS = memory.data<u64>([~0, ~0, 0, 0], 16)

@unmanaged
export class Dictionary {
  /** The values, each with its line feed: where they are, one more would go, and the limit. */
  texts: usize = 0
  textsEnd: usize = 0
  textsLimit: usize = 0
  /** By number: the value's head, and where it is. */
  heads: usize = 0
  starts: usize = 0
  /** A hash table: a column's serial, and below it a byte with a value's number. */
  places: usize = 0
  serial: i32 = 0
  count: i32 = 0
  /** The column's rows, and how often one has another value than the one before. */
  rows: i32 = 0
  changes: i32 = 0
}

/**
 * Lists the different values of the column at `from`..`end`, in the order in which they come, and
 * writes the number of each row's value to `numbers`, a byte a row. Returns how many values there
 * are, 0 when they are too many or too long. Values end with a line feed; reads up to 15 bytes
 * after the column. The serial is not that of another call with the same table.
 */
export function listValues(dictionary: Dictionary, from: usize, end: usize, numbers: usize): i32 {
  dictionary.textsEnd = dictionary.texts
  dictionary.count = 0
  let rows = 0
  let changes = 0
  let last = -1
  for (let at = from; at < end; rows++) {
    const text = v128.load(at)
    const feeds = signsIn(text, LINE_FEED)
    let length = HEAD_BYTES
    let rest: u64 = 0
    if (feeds !== 0) length = <usize>ctz(feeds) + 1
    const head = v128.and(text, v128.load(MASKS + HEAD_BYTES - length))
    if (feeds === 0) {
      length = lineFeedFrom(at + HEAD_BYTES) - at + 1
      rest = (<u64>hashText(at + HEAD_BYTES, length - HEAD_BYTES)) << 32
    }
    const number = numberOf(dictionary, at, length, head, rest)
    if (number < 0 || (rows === SAMPLE_ROWS && dictionary.count > SAMPLE_VALUES_MAX)) return 0
    changes += i32(number !== last)
    last = number
    store<u8>(numbers + rows, <u8>number)
    at += length
  }
  dictionary.rows = rows
  dictionary.changes = changes
  return dictionary.count
}

/**
 * The number of the value, which is added if it is new; below zero without room. `rest`: a hash of
 * what follows the head.
 */
function numberOf(dictionary: Dictionary, value: usize, length: usize, head: v128, rest: u64): i32 {
  let hash: u64 = (<u64>i64x2.extract_lane(head, 0) ^ rest) * MULTIPLIER
  hash ^= <u64>i64x2.extract_lane(head, 1) * SECOND_MULTIPLIER
  hash = (hash ^ (hash >> 29)) * SECOND_MULTIPLIER
  let place = <i32>(hash >> (64 - PLACE_BITS))
  for (let i = 0; i < TRIES_MAX; i++) {
    const at = dictionary.places + ((<usize>place) << 2)
    const entry = load<i32>(at)
    if (entry >> 8 !== dictionary.serial) return add(dictionary, value, length, head, at)
    const known = <usize>(entry & 0xff)
    const isHead = !v128.any_true(v128.xor(head, v128.load(dictionary.heads + (known << 4))))
    if (isHead && (length <= HEAD_BYTES || isRest(dictionary, value, length, known)))
      return <i32>known
    place = (place + 1) & ((1 << PLACE_BITS) - 1)
  }
  return NO_NUMBER
}

/** Whether what follows the head is the same; the line feeds make texts of other lengths differ. */
function isRest(dictionary: Dictionary, value: usize, length: usize, known: usize): bool {
  const start = <usize>load<i32>(dictionary.starts + (known << 2))
  return isSameText(value + HEAD_BYTES, start + HEAD_BYTES, length - HEAD_BYTES)
}

function add(dictionary: Dictionary, value: usize, length: usize, head: v128, place: usize): i32 {
  const count = dictionary.count
  const textsEnd = dictionary.textsEnd
  if (count === VALUES_MAX || textsEnd + length > dictionary.textsLimit) return NO_NUMBER
  copyValue(textsEnd, value, length)
  v128.store(dictionary.heads + ((<usize>count) << 4), head)
  store<i32>(dictionary.starts + ((<usize>count) << 2), <i32>textsEnd)
  store<i32>(place, (dictionary.serial << 8) | count)
  dictionary.textsEnd = textsEnd + length
  dictionary.count = count + 1
  return count
}

/**
 * Packs `count` numbers of `width` bits, 0 to 8, each a byte at `numbers`, the lowest bits first.
 * Writes up to eight bytes after the result.
 */
export function packNumbers(numbers: usize, count: i32, width: i32, out: usize): void {
  let to = out
  let bits: u64 = 0
  let used = 0
  for (let i = 0; i < count; i++) {
    bits |= (<u64>load<u8>(numbers + i)) << used
    used += width
    if (used < 32) continue
    store<u32>(to, <u32>bits)
    to += 4
    bits >>= 32
    used -= 32
  }
  store<u64>(to, bits)
}
