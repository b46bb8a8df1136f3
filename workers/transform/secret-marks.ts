/**
 * Secrets that a rare mark gives away: the `@` behind the password of a URL, and the words PRIVATE
 * KEY of a PEM block. Each looks at a bounded stretch around the mark.
 */
import { ALNUM, BYTE_CLASS, UNDERSCORE, UPPER_DIGITS } from './secret-formats.ts'

const COLON = 0x3a
const SLASH = 0x2f
const SPACE = 0x20
const DASH = 0x2d
const DOLLAR = 0x24
/** Longest `user:password` before the `@`. */
const USER_INFO_BYTES_MAX = 512
/** Longest word before PRIVATE KEY: `ENCRYPTED `, `OPENSSH `. */
const LABEL_BYTES_MAX = 40
/** Base64 before an END line whose BEGIN was cut off. */
const CUT_BYTES_MIN = 16
const KEY_WORDS = Buffer.from('PRIVATE KEY')
const KEY_WORDS_MARK = 3
const BEGIN = Buffer.from('-----BEGIN ')
const END = Buffer.from('-----END ')
/** `docker://nginx:1.25@sha256:…` names an image. */
const IMAGE_DIGEST = Buffer.from('sha256:')
const BLOCK = Buffer.from(' BLOCK')

/**
 * What ends user information, besides white space and control characters. An `@` before the last
 * one was judged already: no byte is read for more than one of them.
 */
const ENDS_USER_INFO = new Uint8Array(256)
ENDS_USER_INFO.fill(1, 0, SPACE + 1)
for (const char of '@/?#"\'<>`') ENDS_USER_INFO[char.charCodeAt(0)] = 1

/**
 * Whether `scheme://user:password@` ends at the `@` at `at`. The user may be missing
 * (`redis://:…`), the password may not; masks and templates (`****`, `${PASSWORD}`) are none.
 */
export function urlPasswordAt(bytes: Uint8Array, start: number, end: number, at: number): boolean {
  if (at + 1 >= end) return false
  const stop = Math.max(start, at - USER_INFO_BYTES_MAX)
  let from = at
  let colon = -1
  while (from > stop && ENDS_USER_INFO[bytes[from - 1]!] === 0) {
    from--
    if (bytes[from] === COLON) colon = from
  }
  if (colon < 0 || from - start < 4 || bytes[from - 1] !== SLASH || bytes[from - 2] !== SLASH) {
    return false
  }
  if (bytes[from - 3] !== COLON || (BYTE_CLASS[bytes[from - 4]!]! & ALNUM) === 0) return false
  return isPassword(bytes, colon + 1, at) && !isAt(bytes, at + 1, end, IMAGE_DIGEST)
}

/** Not empty, not one sign repeated, not a place for a value. */
function isPassword(bytes: Uint8Array, start: number, end: number): boolean {
  if (start === end) return false
  const first = bytes[start]!
  const second = bytes[start + 1]!
  // Templates, `[REDACTED]`, `***REDACTED***`.
  if (first === 0x7b || first === 0x5b) return false
  if (first === 0x2a && second === 0x2a) return false
  if (first === DOLLAR && (second === 0x7b || isVariable(bytes, start + 1, end))) return false
  // The formats of printf: `%s`, `%(password)s`.
  if (first === 0x25 && (end - start === 2 || second === 0x28 || second === 0x7b)) return false
  const isMask = first === 0x2a || first === 0x2e || (first | 0x20) === 0x78
  for (let i = start; i < end && isMask; i++) {
    if (bytes[i] !== first) return true
  }
  return !isMask
}

/** The name of an environment variable. */
function isVariable(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    if ((BYTE_CLASS[bytes[i]!]! & (UPPER_DIGITS | UNDERSCORE)) === 0) return false
  }
  return end - start > 2
}

/**
 * Whether the V at `mark` is that of the words PRIVATE KEY in a PEM block's first line, or in its
 * last line with some of the key before it.
 */
export function privateKeyAt(bytes: Uint8Array, start: number, end: number, mark: number): boolean {
  const at = mark - KEY_WORDS_MARK
  if (at < start || !isAt(bytes, at, end, KEY_WORDS)) return false
  let from = at
  const stop = Math.max(start, at - LABEL_BYTES_MAX)
  while (from > stop && isLabel(bytes[from - 1]!)) from--
  if (from === start || bytes[from - 1] !== DASH) return false
  let after = at + KEY_WORDS.length
  if (isAt(bytes, after, end, BLOCK)) after += BLOCK.length
  // The dashes may be cut off with the rest, but nothing else may stand in their place.
  if (after < end && bytes[after] !== DASH) return false
  // `from` is behind the dashes: `BEGIN RSA ` is all label.
  if (isAt(bytes, from - 5, end, BEGIN)) return from - 5 >= start
  return from - 5 >= start && isAt(bytes, from - 5, end, END) && hasKey(bytes, start, from - 5)
}

function isLabel(byte: number): boolean {
  return byte === SPACE || (BYTE_CLASS[byte]! & UPPER_DIGITS) !== 0
}

/** Whether base64 stands before `end`, behind a line's end, spelled out or not. */
function hasKey(bytes: Uint8Array, start: number, end: number): boolean {
  let at = end
  while (at > start && bytes[at - 1]! <= SPACE) at--
  if (at - start >= 2 && bytes[at - 1] === 0x6e && bytes[at - 2] === 0x5c) at -= 2
  const stop = at - CUT_BYTES_MIN
  if (stop < start) return false
  for (let i = stop; i < at; i++) {
    const byte = bytes[i]!
    const isBase64 = (BYTE_CLASS[byte]! & ALNUM) !== 0 || byte === 0x2b || byte === SLASH
    if (!isBase64 && byte !== 0x3d) return false
  }
  return true
}

function isAt(bytes: Uint8Array, at: number, end: number, text: Uint8Array): boolean {
  if (at < 0 || at + text.length > end) return false
  for (let i = 0; i < text.length; i++) {
    if (bytes[at + i] !== text[i]) return false
  }
  return true
}
