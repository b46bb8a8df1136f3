/** Leaf functions on text that holds JSON, within the string that holds it. */
import { unescapeLoosely } from '../secrets/loose-escapes.ts'

const SPACE = 0x20
const APOSTROPHE = 0x27
const DASH = 0x2d
const BACKSLASH = 0x5c
const UNDERSCORE = 0x5f
const LETTER_B = 0x62
const LETTER_N = 0x6e
const LETTER_R = 0x72
const LETTER_T = 0x74
const LETTER_U = 0x75

/** So much of a text is decoded. */
const SHORT_BYTES_MAX = 256
/** Escapes are decoded so often. */
const LEVELS_MAX = 8
const short = Buffer.alloc(SHORT_BYTES_MAX)

/** Behind white space, which may be spelled, and the letter that Python puts before a string. */
export function valueStart(bytes: Uint8Array, pos: number, end: number): number {
  let at = pos
  while (at < end) {
    let next = at
    while (next < end && bytes[next] === BACKSLASH) next++
    if (next === at ? bytes[at] !== SPACE : next === end || !isSpaceLetter(bytes[next]!)) break
    at = next + 1
  }
  const isPrefix = at + 1 < end && isStringPrefix(bytes, pos, at)
  return isPrefix && bytes[at + 1] === APOSTROPHE ? at + 1 : at
}

/** Before white space that ends at `end`. */
export function spaceStart(bytes: Uint8Array, start: number, end: number): number {
  let at = end
  while (at > start) {
    if (bytes[at - 1] === SPACE) {
      at--
    } else if (at > start + 1 && isSpaceLetter(bytes[at - 1]!) && bytes[at - 2] === BACKSLASH) {
      at--
      while (at > start && bytes[at - 1] === BACKSLASH) at--
    } else {
      return at
    }
  }
  return at
}

/** `\n`, `\r`, `\t`. */
function isSpaceLetter(byte: number): boolean {
  return byte === LETTER_N || byte === LETTER_R || byte === LETTER_T
}

/** The letter of `u'…'` and `b'…'`. */
export function isStringPrefix(bytes: Uint8Array, start: number, at: number): boolean {
  if (at < start || (bytes[at] !== LETTER_U && bytes[at] !== LETTER_B)) return false
  return at === start || !isNameByte(bytes[at - 1]!)
}

export function isNameByte(byte: number): boolean {
  const isLetter = ((byte | 0x20) - 0x61) >>> 0 < 26
  return isLetter || (byte - 0x30) >>> 0 < 10 || byte === UNDERSCORE || byte === DASH
}

/** What the end of a text says, all of its escapes decoded. */
export function decodedEnd(bytes: Uint8Array, from: number, end: number): string {
  const start = Math.max(from, end - SHORT_BYTES_MAX)
  let length = end - start
  let isSpelled = false
  for (let i = 0; i < length; i++) {
    const byte = bytes[start + i]!
    short[i] = byte
    isSpelled ||= byte === BACKSLASH
  }
  for (let level = 0; isSpelled && level < LEVELS_MAX; level++) {
    const left = unescapeLoosely(short, length)
    isSpelled = left < length
    length = left
  }
  return short.toString('utf8', 0, length)
}
