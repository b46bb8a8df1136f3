/**
 * Writing strings as JSON does: quotes, backslashes and control characters are escaped, everything
 * else is copied as it is.
 */

import { LOW_BYTES } from './json-scan.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE = 0x20
const LETTERS = 0x61616161
const HEX = Buffer.from('0123456789abcdef')

/** The longest escape, `\u001b`, for one byte. */
export const ESCAPE_BYTES_MAX = 6

/** The short escapes; 0 where only the `\u` form exists. */
const SHORT_ESCAPE = new Uint8Array(256)
SHORT_ESCAPE[QUOTE] = QUOTE
SHORT_ESCAPE[BACKSLASH] = BACKSLASH
SHORT_ESCAPE[0x08] = 0x62
SHORT_ESCAPE[0x09] = 0x74
SHORT_ESCAPE[0x0a] = 0x6e
SHORT_ESCAPE[0x0c] = 0x66
SHORT_ESCAPE[0x0d] = 0x72

/** Writes the escape of `byte` at `at`; returns where it ended. */
function writeEscape(byte: number, out: Uint8Array, at: number): number {
  out[at] = BACKSLASH
  const short = SHORT_ESCAPE[byte]! // The table has all bytes.
  if (short !== 0) {
    out[at + 1] = short
    return at + 2
  }
  out[at + 1] = 0x75
  out[at + 2] = 0x30
  out[at + 3] = 0x30
  out[at + 4] = HEX[byte >> 4]!
  out[at + 5] = HEX[byte & 15]!
  return at + ESCAPE_BYTES_MAX
}

/** Whether `word` holds a quote, a backslash or a control character; see `stringStop`. */
function hasSpecial(word: number): boolean {
  const quote = word ^ 0x22222222
  const backslash = word ^ 0x5c5c5c5c
  const marks =
    ((quote - 0x01010101) & ~quote) |
    ((backslash - 0x01010101) & ~backslash) |
    ((word - 0x20202020) & ~word)
  return (marks & 0x80808080) !== 0
}

/**
 * Writes `start`..`end` of `from` as the inside of a JSON string into `to` from `at` on; returns
 * where it ended. The caller has reserved ESCAPE_BYTES_MAX for each byte, and a word after them.
 */
export function writeEscaped(
  from: DataView,
  start: number,
  end: number,
  to: DataView,
  out: Uint8Array,
  at: number,
): number {
  let i = start
  for (;;) {
    while (i + 4 <= end) {
      const word = from.getInt32(i, true)
      if (hasSpecial(word)) break
      to.setInt32(at, word, true)
      i += 4
      at += 4
    }
    if (i + 4 > end) {
      // The last bytes, as a word: what is after them is read as letters, and written over later.
      const left = end - i
      const mask = LOW_BYTES[left]!
      const word = from.getInt32(i, true)
      if (!hasSpecial((word & mask) | (LETTERS & ~mask))) {
        to.setInt32(at, word, true)
        return at + left
      }
    }
    const stop = Math.min(end, i + 4)
    for (; i < stop; i++) {
      const byte = from.getUint8(i)
      if (byte === QUOTE || byte === BACKSLASH || byte < SPACE) at = writeEscape(byte, out, at)
      else out[at++] = byte
    }
    if (i === end) return at
  }
}
