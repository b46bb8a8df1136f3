/**
 * Decodes the escapes of a text that may be an escaped form of another: JSON within a string,
 * `\x22` as nginx logs it, the `\033` of shells. For detection only: anything else stays, and
 * characters beyond ASCII become one byte that belongs to no token.
 */
const BACKSLASH = 0x5c
const PERCENT = 0x25
const NO_TOKEN = 0xff

/** What stands for the byte after a backslash; 0 where that is no escape of one letter. */
const MEANS = new Uint8Array(256)
const LETTERS = ['""', "''", '//', '\\\\', 'n\n', 'r\r', 't\t', 'b\b', 'f\f', 'e\x1b']
for (const [letter, meaning] of LETTERS) {
  MEANS[letter!.charCodeAt(0)] = meaning!.charCodeAt(0)
}

const HEX_VALUE = new Int8Array(256).fill(-1)
for (const [value, digit] of [...'0123456789abcdef'].entries()) {
  HEX_VALUE[digit.charCodeAt(0)] = value
  HEX_VALUE[digit.toUpperCase().charCodeAt(0)] = value
}

/** Decodes the first `length` bytes in place; returns how many are left. */
export function unescapeLoosely(bytes: Buffer, length: number): number {
  let at = bytes.indexOf(BACKSLASH)
  if (at < 0 || at >= length - 1) return length
  let out = at
  while (at < length) {
    const byte = bytes[at]!
    if (byte !== BACKSLASH || at + 1 === length) {
      bytes[out++] = byte
      at++
      continue
    }
    const next = bytes[at + 1]!
    const digits = digitsBehind(next)
    const base = next === 0x30 ? 8 : 16
    const code = digits === 0 ? -1 : codeOf(bytes, at + 2, length, digits, base)
    if (code >= 0) {
      bytes[out++] = code < 0x80 ? code : NO_TOKEN
      at += 2 + digits
    } else if (MEANS[next] !== 0) {
      bytes[out++] = MEANS[next]!
      at += 2
    } else {
      bytes[out++] = byte
      at++
    }
  }
  return out
}

/** Decodes the percent signs of the first `length` bytes in place; returns how many are left. */
export function decodePercents(bytes: Buffer, length: number): number {
  let at = bytes.indexOf(PERCENT)
  if (at < 0 || at >= length) return length
  let out = at
  while (at < length) {
    const code = bytes[at] === PERCENT ? codeOf(bytes, at + 1, length, 2, 16) : -1
    bytes[out++] = code < 0 ? bytes[at]! : code < 0x80 ? code : NO_TOKEN
    at += code < 0 ? 1 : 3
  }
  return out
}

/** Digits of the number after `\u`, `\x` and `\0`; the last is octal, of which `\033` is used. */
function digitsBehind(letter: number): number {
  if (letter === 0x75) return 4
  return letter === 0x78 || letter === 0x30 ? 2 : 0
}

/** The number that `digits` digits spell at `at`; -1 if they do not. */
function codeOf(
  bytes: Uint8Array,
  at: number,
  length: number,
  digits: number,
  base: number,
): number {
  if (at + digits > length) return -1
  let code = 0
  for (let i = at; i < at + digits; i++) {
    const value = HEX_VALUE[bytes[i]!]!
    if (value < 0 || value >= base) return -1
    code = code * base + value
  }
  return code
}
