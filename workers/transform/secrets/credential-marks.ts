/**
 * Where a text may contain a credential: at a `=` or `:` after the name of one, at the colon of
 * `-u user:password`, where these are percent-encoded, and at an apostrophe after such a name.
 * Cheap, and never a false negative; `text-credentials.ts` decides. `kernels/secrets.ts` has the
 * same rules for skipping whole events: whatever is found here must be found there.
 */
import { arena } from '../../kernel/arena.ts'

/** How names of credentials end, as lower-case letters; signs between their words do not count. */
const NAME_ENDS =
  'password passwd pwd passphrase passcode secret token apikey secretkey accesskey privatekey ' +
  'accountkey signingkey encryptionkey sharedaccesskey authorization cookie signature sig jwt ' +
  'pass pw'
/** Letters before the last three that are compared. */
const MASKS_EACH = 3
const ALL_LETTERS = -1
const QUOTE = 0x22
const PERCENT = 0x25
const APOSTROPHE = 0x27
const OPEN_BRACKET = 0x28
const DASH = 0x2d
const SLASH = 0x2f
const COLON = 0x3a
const EQUALS = 0x3d
const CLOSE_ARRAY = 0x5d
const BACKSLASH = 0x5c
const SPACE = 0x20
const LETTER_B = 0x62
const LETTER_Y = 0x79
/** Quotes, brackets and spaces between a name and its sign. */
const NAME_GAP_MAX = 32
/** Longest user name after `-u`. */
const USER_BYTES_MAX = 64

/** By the last three letters, five bits each: a number, 0 where no name ends so. */
export const NAME_TRIPLES = arena.uint8(1 << 15)
const ends = NAME_ENDS.split(' ').filter((end) => end.length >= 3)
const triples = [...new Set(ends.map((end) => end.slice(-3)))]
/**
 * By that number, three words: a bit for each letter that is possible there, from right to left.
 */
export const NAME_MASKS = arena.int32((triples.length + 1) * MASKS_EACH)
for (const [i, triple] of triples.entries()) {
  const [third = 0, second = 0, first = 0] = Buffer.from(triple)
  NAME_TRIPLES[tripleOf(third, second, first)] = i + 1
  for (let place = 0; place < MASKS_EACH; place++) {
    NAME_MASKS[(i + 1) * MASKS_EACH + place] = maskOf(triple, place)
  }
}

function tripleOf(third: number, second: number, first: number): number {
  return ((third & 31) << 10) | ((second & 31) << 5) | (first & 31)
}

function maskOf(triple: string, place: number): number {
  let mask = 0
  for (const end of ends.filter((each) => each.endsWith(triple))) {
    const letter = end.at(-4 - place)
    if (letter === undefined) return ALL_LETTERS
    mask |= 1 << (letter.charCodeAt(0) & 31)
  }
  return mask
}

/** Where the name before the sign at `place` ends; -1 where there is no name of a credential. */
export function nameEndBefore(bytes: Uint8Array, start: number, place: number): number {
  let last = place - 1
  const stop = Math.max(start, place - NAME_GAP_MAX)
  while (last > stop && isNameGap(bytes[last]!)) last--
  if (last < start + 2 || bytes[last]! < 0x40) return -1
  const group = NAME_TRIPLES[tripleOf(bytes[last - 2]!, bytes[last - 1]!, bytes[last]!)]!
  if (group === 0) return -1
  for (let i = 0; i < MASKS_EACH; i++) {
    const at = last - 3 - i
    const mask = NAME_MASKS[group * MASKS_EACH + i]!
    // Any sign may come between the words of a name, and before it.
    if (mask === ALL_LETTERS || at < start || !isLetter(bytes[at]!)) break
    if (((mask >> (bytes[at]! & 31)) & 1) === 0) return -1
  }
  return last + 1
}

/**
 * Where the name before the apostrophe at `place` ends, if SQL may have a secret there: after the
 * name of a credential or `by`, and a space or a bracket; -1 if not.
 */
export function nameEndInSql(bytes: Uint8Array, start: number, place: number): number {
  const before = place > start ? bytes[place - 1]! : 0
  if (before === OPEN_BRACKET) return nameEndBefore(bytes, start, place - 1)
  if (before !== SPACE) return -1
  const isBy =
    place - 4 >= start &&
    (bytes[place - 2]! | 0x20) === LETTER_Y &&
    (bytes[place - 3]! | 0x20) === LETTER_B &&
    bytes[place - 4] === SPACE
  return isBy ? place - 1 : nameEndBefore(bytes, start, place)
}

export function isNameGap(byte: number): boolean {
  return (
    byte === SPACE ||
    byte === QUOTE ||
    byte === APOSTROPHE ||
    byte === BACKSLASH ||
    byte === CLOSE_ARRAY
  )
}

function isLetter(byte: number): boolean {
  return ((byte | 0x20) - 0x61) >>> 0 < 26
}

/** Where the user name of `-u user:password` begins, if its colon is at `place`; -1 if not. */
export function optionUserBefore(bytes: Uint8Array, start: number, place: number): number {
  const next = bytes[place + 1]!
  if (next === SPACE || next === SLASH || place < start + 4) return -1
  const stop = Math.max(start + 3, place - USER_BYTES_MAX)
  let at = place - 1
  while (at > stop && bytes[at]! > SPACE && !isNameGap(bytes[at]!) && bytes[at] !== EQUALS) {
    if (bytes[at] === COLON) return -1
    at--
  }
  const user = at + 1
  while (at > stop && (isNameGap(bytes[at]!) || bytes[at] === EQUALS)) at--
  if (at === user - 1 || at <= start) return -1
  const letter = bytes[at]!
  const before = bytes[at - 1]!
  const isOption = letter === 0x72 ? before === 0x65 : (letter | 0x20) === 0x75 && before === DASH
  return isOption ? user : -1
}

/** Whether the percent sign at `place` may spell a mark: `%40`, `%3D` after a name, `%25`. */
export function isPercentMark(bytes: Uint8Array, start: number, place: number): boolean {
  const first = bytes[place + 1]
  const second = bytes[place + 2]!
  if (first === 0x34) return second === 0x30
  if (first === 0x32) return second === 0x35
  const letter = second | 0x20
  if (first !== 0x33 || (letter !== 0x61 && letter !== 0x64)) return false
  return nameEndBefore(bytes, start, isQuoteSpelled(bytes, start, place) ? place - 3 : place) >= 0
}

/** Whether `%22` or `%27` is before `place`. */
function isQuoteSpelled(bytes: Uint8Array, start: number, place: number): boolean {
  if (place < start + 3 || bytes[place - 3] !== PERCENT) return false
  return bytes[place - 2] === 0x32 && (bytes[place - 1] === 0x32 || bytes[place - 1] === 0x37)
}
