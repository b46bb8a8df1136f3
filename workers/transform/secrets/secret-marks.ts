/** The words PRIVATE KEY of a PEM block, given away by their V: looks at a bounded stretch. */
import { ALNUM, BYTE_CLASS, UPPER_DIGITS } from './secret-formats.ts'

const SLASH = 0x2f
const SPACE = 0x20
const DASH = 0x2d
/** Longest word before PRIVATE KEY: `ENCRYPTED `, `OPENSSH `. */
const LABEL_BYTES_MAX = 40
/** Base64 before an END line whose BEGIN was cut off. */
const CUT_BYTES_MIN = 16
const KEY_WORDS = Buffer.from('PRIVATE KEY')
const KEY_WORDS_MARK = 3
const BEGIN = Buffer.from('-----BEGIN ')
const END = Buffer.from('-----END ')
const BLOCK = Buffer.from(' BLOCK')

/**
 * Whether the V at `mark` is that of the words PRIVATE KEY in a PEM block's first line, or in its
 * last line with part of the key before it.
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
  // `from` is after the dashes: `BEGIN RSA ` is all label.
  if (isAt(bytes, from - 5, end, BEGIN)) return from - 5 >= start
  return from - 5 >= start && isAt(bytes, from - 5, end, END) && hasKey(bytes, start, from - 5)
}

function isLabel(byte: number): boolean {
  return byte === SPACE || (BYTE_CLASS[byte]! & UPPER_DIGITS) !== 0
}

/** Whether base64 stands before `end`, after a line's end, spelled out or not. */
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
