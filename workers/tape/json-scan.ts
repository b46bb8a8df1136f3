/**
 * Leaf functions of the tape: they find the ends of tokens, a word or a table look-up at a time.
 */
import type { PathTrie } from './path-trie.ts'
import { FALSE, FLOAT, INT, NULL, TRUE, UINT } from './tape-types.ts'

/**
 * Position of the first quote, backslash or control character from `pos` on.
 *
 * Four bytes at a time: `(x - 0x01…) & ~x & 0x80…` marks the zero bytes of x (and, above the first,
 * perhaps others: only the lowest mark counts), so xor with a repeated byte finds that byte, and
 * subtracting 0x20 finds what is below it. Half the time of a byte loop (`bench/decode`).
 */
export function stringStop(view: DataView, pos: number): number {
  for (;;) {
    const word = view.getInt32(pos, true)
    const quote = word ^ 0x22222222
    const backslash = word ^ 0x5c5c5c5c
    const marks =
      (((quote - 0x01010101) & ~quote) |
        ((backslash - 0x01010101) & ~backslash) |
        ((word - 0x20202020) & ~word)) &
      0x80808080
    if (marks !== 0) return pos + ((31 - Math.clz32(marks & -marks)) >> 3)
    pos += 4
  }
}

/** Keeps the first 1, 2 or 3 bytes of a little-endian word. */
export const LOW_BYTES = Int32Array.of(0, 0xff, 0xffff, 0xffffff)

/** Whether the key `key` with its closing quote is at `pos`. */
export function isKeyAt(view: DataView, pos: number, trie: PathTrie, key: number): boolean {
  const { keyView } = trie
  let at = trie.keyStart[key]!
  let left = trie.keyLength[key]! + 1
  // A key holds no line feed, so a comparison ends at the input's last one at the latest.
  while (left >= 4) {
    if (view.getInt32(pos, true) !== keyView.getInt32(at, true)) return false
    pos += 4
    at += 4
    left -= 4
  }
  const difference = view.getInt32(pos, true) ^ keyView.getInt32(at, true)
  return (difference & LOW_BYTES[left]!) === 0
}

/** 1 for hexadecimal digits. */
export const IS_HEX = new Uint8Array(256)
for (const char of '0123456789abcdefABCDEF') IS_HEX[char.charCodeAt(0)] = 1
/** 1 for what may follow a backslash, `u` aside. */
export const IS_ESCAPE = new Uint8Array(256)
for (const char of '"\\/bfnrt') IS_ESCAPE[char.charCodeAt(0)] = 1

export const NO_LITERAL = -1
/** `true`, `null` and `alse` as words. */
const TRUE_WORD = 0x65757274
const NULL_WORD = 0x6c6c756e
const ALSE_WORD = 0x65736c61

/** The tape type of the literal at `pos`: TRUE, FALSE or NULL; NO_LITERAL for anything else. */
export function literalType(view: DataView, pos: number): number {
  const word = view.getInt32(pos, true)
  if (word === TRUE_WORD) return TRUE
  if (word === NULL_WORD) return NULL
  const isFalse = view.getUint8(pos) === 0x66 && view.getInt32(pos + 1, true) === ALSE_WORD
  return isFalse ? FALSE : NO_LITERAL
}

const INT64_MAX_DIGITS = Buffer.from('9223372036854775807')
const INT64_MIN_DIGITS = Buffer.from('9223372036854775808')
const UINT64_MAX_DIGITS = Buffer.from('18446744073709551615')

/** True when the decimal digits at `start` are at most `limit`, both of `limit.length` digits. */
function digitsAtMost(bytes: Uint8Array, start: number, limit: Uint8Array): boolean {
  for (let i = 0; i < limit.length; i++) {
    const digit = bytes[start + i]!
    if (digit !== limit[i]) return digit < limit[i]!
  }
  return true
}

/** The tape type of a valid integer: INT, UINT, or FLOAT when 64 bits do not hold it. */
export function integerType(bytes: Uint8Array, start: number, end: number): number {
  const negative = bytes[start] === 0x2d
  const first = negative ? start + 1 : start
  const count = end - first
  if (count < 19) return INT
  if (count === 19) {
    if (digitsAtMost(bytes, first, negative ? INT64_MIN_DIGITS : INT64_MAX_DIGITS)) return INT
    return negative ? FLOAT : UINT
  }
  return count === 20 && !negative && digitsAtMost(bytes, first, UINT64_MAX_DIGITS) ? UINT : FLOAT
}
