/**
 * Where a text may contain a credential: signs after names, and marks of URLs and keys. The rules
 * are those of `workers/transform/secrets/credential-marks.ts`, over memory; what that finds is
 * found here.
 */
import { isSpelledPrivate } from './formats'
import { SecretTables } from './secret-tables'

const AT: u32 = 0x40
const LETTER_V: u32 = 0x56
const LETTER_I: u32 = 0x49
const LETTER_E: u32 = 0x65
const LETTER_R: u32 = 0x72
const LETTER_U: u32 = 0x75
const EQUALS: u32 = 0x3d
const COLON: u32 = 0x3a
const SLASH: u32 = 0x2f
const DASH: u32 = 0x2d
const SPACE: u32 = 0x20
const PERCENT: u32 = 0x25
const BACKSLASH: u32 = 0x5c
const QUOTE: u32 = 0x22
const APOSTROPHE: u32 = 0x27
const CLOSE_ARRAY: u32 = 0x5d
const OPEN_BRACKET: u32 = 0x28
/** ` by `, little-endian. */
const SPACE_BY_SPACE: u32 = 0x20796220
/** The letters `basi`, little-endian. */
const BASI: u32 = 0x69736162
const ALL_LETTERS: u32 = 0xffffffff
const NAME_MASK_BYTES: usize = 12
/** Quotes, brackets and spaces between a name and its sign. */
const NAME_GAP_MAX: usize = 32
/** Longest user name after `-u`. */
const USER_BYTES_MAX: usize = 64

/** Whether a mark of sixteen bytes may be a secret's: `workers/transform/secrets/secrets.ts`. */
export function hasMark(tables: SecretTables, start: usize, at: usize, marks: i32): bool {
  for (let left = marks; left !== 0; left &= left - 1) {
    const place = at + ctz(left)
    const mark = <u32>load<u8>(place)
    if (mark === COLON || mark === EQUALS) {
      const next = <u32>load<u8>(place + 1)
      if (mark === COLON && next === SLASH) continue
      if (isBehindName(tables, start, place) || isBasicNear(place)) return true
      if (mark === COLON && isBehindUserOption(start, place)) return true
    } else if (mark === APOSTROPHE) {
      if (isBehindNameInSql(tables, start, place)) return true
    } else if (mark === LETTER_V) {
      if (<u32>load<u8>(place - 1) === LETTER_I || isSpelledPrivate(place)) return true
    } else if (mark === AT || isPercentMark(tables, start, place)) {
      return true
    }
  }
  return false
}

/** Whether the word Basic may begin at `at`, in any case. */
export function isBasic(at: usize): bool {
  return (load<u32>(at) | 0x20202020) === BASI
}

/**
 * Whether the word Basic may begin after the sign at `place` and up to two spaces or quotes, each
 * of them with a backslash before it or not.
 */
function isBasicNear(place: usize): bool {
  return (
    isBasic(place + 1) ||
    isBasic(place + 2) ||
    isBasic(place + 3) ||
    isBasic(place + 4) ||
    isBasic(place + 5)
  )
}

/** Whether the sign at `place` follows the name of a credential, quoted or not. */
function isBehindName(tables: SecretTables, start: usize, place: usize): bool {
  let last = place - 1
  let letter = <u32>load<u8>(last)
  if (letter < 0x40 || letter === BACKSLASH || letter === CLOSE_ARRAY) {
    const stop = max(start, place - min(place - start, NAME_GAP_MAX))
    while (last > stop && isNameGap(letter)) letter = <u32>load<u8>(--last)
  }
  if (letter < 0x40 || last < start + 2) return false
  const triple =
    ((<u32>load<u8>(last - 2) & 31) << 10) | ((<u32>load<u8>(last - 1) & 31) << 5) | (letter & 31)
  const group = <usize>load<u8>(tables.signEnds + triple)
  return group !== 0 && isNameEnd(start, last - 3, tables.signMasks + group * NAME_MASK_BYTES)
}

/** Whether the apostrophe at `place` follows a name of a credential, or `by`, as in SQL. */
function isBehindNameInSql(tables: SecretTables, start: usize, place: usize): bool {
  if (place < start + 4) return false
  const text = load<u32>(place - 4)
  const before = text >>> 24
  if (before === OPEN_BRACKET) return isBehindName(tables, start, place - 1)
  if (before !== SPACE) return false
  return (text | 0x202000) === SPACE_BY_SPACE || isBehindName(tables, start, place)
}

function isNameGap(byte: u32): bool {
  return (
    byte === SPACE ||
    byte === QUOTE ||
    byte === APOSTROPHE ||
    byte === BACKSLASH ||
    byte === CLOSE_ARRAY
  )
}

/** Whether the letters before a name's last three are the rest of it. */
function isNameEnd(start: usize, from: usize, masks: usize): bool {
  for (let i: usize = 0; i < 3; i++) {
    const at = from - i
    const mask = load<u32>(masks + (i << 2))
    // Any sign may come between the words of a name, and before it.
    if (mask === ALL_LETTERS || at < start || !isLetter(<u32>load<u8>(at))) return true
    if (((mask >> (<u32>load<u8>(at) & 31)) & 1) === 0) return false
  }
  return true
}

function isLetter(byte: u32): bool {
  return (byte | 0x20) - 0x61 < 26
}

/** Whether the colon at `place` may be that of `-u user:password`. */
function isBehindUserOption(start: usize, place: usize): bool {
  const next = <u32>load<u8>(place + 1)
  if (next === SPACE || next === SLASH) return false
  const stop = max(start + 3, place - min(place - start, USER_BYTES_MAX))
  let at = place - 1
  let byte = <u32>load<u8>(at)
  while (at > stop && byte > SPACE && !isNameGap(byte) && byte !== EQUALS) {
    if (byte === COLON) return false
    byte = <u32>load<u8>(--at)
  }
  const gap = at
  while (at > stop && (isNameGap(byte) || byte === EQUALS)) byte = <u32>load<u8>(--at)
  if (at === gap || at <= start) return false
  const before = <u32>load<u8>(at - 1)
  return byte === LETTER_R ? before === LETTER_E : (byte | 0x20) === LETTER_U && before === DASH
}

/** Whether the percent sign at `place` may spell a mark: `%40`, `%3D` after a name, `%25`. */
function isPercentMark(tables: SecretTables, start: usize, place: usize): bool {
  const first = <u32>load<u8>(place + 1)
  const second = <u32>load<u8>(place + 2)
  if (first === 0x34) return second === 0x30
  if (first === 0x32) return second === 0x35
  const letter = second | 0x20
  if (first !== 0x33 || (letter !== 0x61 && letter !== 0x64)) return false
  return isBehindName(tables, start, isQuoteSpelled(start, place) ? place - 3 : place)
}

/** Whether `%22` or `%27` is before `place`. */
function isQuoteSpelled(start: usize, place: usize): bool {
  if (place < start + 3 || <u32>load<u8>(place - 3) !== PERCENT) return false
  const last = <u32>load<u8>(place - 1)
  return <u32>load<u8>(place - 2) === 0x32 && (last === 0x32 || last === 0x37)
}
