/**
 * What is written instead of a secret: masks, and the examples of documentation. Rules of public
 * scanners ignore `…EXAMPLE` and the alphabet in sequence; so do we.
 */
const UNDERSCORE = 0x5f
/** A mask has one sign, and perhaps another between groups. */
const DISTINCT_MIN = 4
const WORDS = ['example', 'placeholder', 'changeme', 'redacted', 'xxxxxx', 'your-', 'your_']
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz'

const words = [...WORDS, ALPHABET].map((word) => Buffer.from(word))
/** By byte: whether a word begins so, in either case. */
const BEGINS_WORD = new Uint8Array(256)
for (const word of words) {
  BEGINS_WORD[word[0]!] = 1
  BEGINS_WORD[word[0]! & 0xdf] = 1
}

/** Whether the bytes are a mask or hold a word of placeholders. */
export function isPlaceholder(bytes: Uint8Array, start: number, end: number): boolean {
  const seen = new Set<number>()
  let repeated = 0
  let longest = 0
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!
    if (seen.size < DISTINCT_MIN) seen.add(byte)
    repeated = i > start && byte === bytes[i - 1] ? repeated + 1 : 1
    if (repeated > longest) longest = repeated
    if (BEGINS_WORD[byte] === 1 && isWordAt(bytes, i, end)) return true
  }
  if (end - start <= DISTINCT_MIN) return false
  // Zeros are a row of letters as base64: a mask is most of what it masks.
  return seen.size < DISTINCT_MIN || longest * 2 > end - start
}

function isWordAt(bytes: Uint8Array, at: number, end: number): boolean {
  return words.some((word) => {
    if (at + word.length > end) return false
    for (let i = 0; i < word.length; i++) {
      const byte = bytes[at + i]!
      // Letters in either case; a dash stays one, as does an underscore.
      const isLetter = word[i]! >= 0x61
      if ((isLetter && byte !== UNDERSCORE ? byte | 0x20 : byte) !== word[i]) return false
    }
    return true
  })
}
