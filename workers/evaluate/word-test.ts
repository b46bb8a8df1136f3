/**
 * Words and phrases in a text (`src/language/words.ts`): bytes are compared where the words are
 * ASCII, as nearly all are. Two characters outside ASCII fold into it (`İ` and the Kelvin sign); a
 * text with one of them is folded as a whole, and so is any text when words have other letters.
 */
import { foldCase, makeTextTest, splitWords } from '../../src/language/words.ts'
import { bordersOf, Needle } from './find-bytes.ts'
import type { StringTest } from './string-test.ts'
import type { Work } from './work.ts'

/** Letters and digits in lower case, bytes of what is not ASCII as they are; 0 parts words. */
const FOLDED = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 0x80) return byte
  const char = String.fromCharCode(byte)
  return /[0-9A-Za-z]/.test(char) ? char.toLowerCase().charCodeAt(0) : 0
})

/** What looking for a word costs a byte, beside reading it; and decoding and folding it. */
const WORD_STEPS = 4
const FOLD_STEPS = 10

/** Whether a text has what a word or phrase of a query asks for. */
export function makeWordTest(text: string, work: Work): StringTest {
  const asked = makeTextTest(text)
  if (asked.kind === 'empty') return (_bytes, start, end) => start === end
  if (asked.kind === 'substring') return makeSubstringTest(asked.text, work)
  const words = asked.words.map((word) => Buffer.from(word))
  const test = new WordsTest(words, asked.words, work)
  if (words.some((word) => !isAscii(word, 0, word.length))) {
    return (bytes, start, end) => !isAscii(bytes, start, end) && test.isInFolded(bytes, start, end)
  }
  return words.length === 1
    ? (bytes, start, end) => test.isWordIn(bytes, start, end)
    : (bytes, start, end) => test.isPhraseIn(bytes, start, end)
}

function makeSubstringTest(text: string, work: Work): StringTest {
  const needle = new Needle(Buffer.from(text))
  // Without letters there is no case, and nothing folds into punctuation.
  if (isAscii(needle.bytes, 0, needle.bytes.length)) {
    return (bytes, start, end) => needle.find(bytes, start, end) >= 0
  }
  return (bytes, start, end) => {
    if (isAscii(bytes, start, end)) return false
    work.spend(FOLD_STEPS * (end - start))
    const folded = Buffer.from(foldCase(bytes.toString('utf8', start, end)))
    return needle.find(folded, 0, folded.length) >= 0
  }
}

class WordsTest {
  readonly #words: readonly Buffer[]
  readonly #texts: readonly string[]
  readonly #borders: Int32Array
  readonly #work: Work
  /** The first word, with a zero after it, which no byte of a word is. */
  readonly #first: Uint8Array

  constructor(words: readonly Buffer[], texts: readonly string[], work: Work) {
    this.#words = words
    this.#texts = texts
    this.#work = work
    this.#borders = bordersOf(texts.length, (a, b) => texts[a] === texts[b])
    this.#first = new Uint8Array(words[0]!.length + 1)
    this.#first.set(words[0]!)
  }

  isWordIn(bytes: Buffer, start: number, end: number): boolean {
    this.#work.spend(WORD_STEPS * (end - start))
    const word = this.#first
    const length = word.length - 1
    /** Bytes of the word that matched so far; -1 in a word that does not match. */
    let met = 0
    for (let i = start; i < end; i++) {
      const byte = FOLDED[bytes[i]!]!
      if (byte === 0) {
        if (met === length) return true
        met = 0
      } else if (byte >= 0x80 && foldsIntoAscii(bytes, i)) {
        return this.isInFolded(bytes, start, end)
      } else if (met >= 0) {
        met = byte === word[met] ? met + 1 : -1
      }
    }
    return met === length
  }

  isPhraseIn(bytes: Buffer, start: number, end: number): boolean {
    this.#work.spend(WORD_STEPS * (end - start))
    const words = this.#words
    let met = 0
    for (let i = start; i < end; i++) {
      if (FOLDED[bytes[i]!] === 0) continue
      const from = i
      while (i < end && FOLDED[bytes[i]!] !== 0) {
        if (bytes[i]! >= 0x80 && foldsIntoAscii(bytes, i)) return this.isInFolded(bytes, start, end)
        i++
      }
      while (met > 0 && !isWord(bytes, from, i, words[met]!)) met = this.#borders[met - 1]!
      if (isWord(bytes, from, i, words[met]!)) met++
      if (met === words.length) return true
    }
    return false
  }

  isInFolded(bytes: Buffer, start: number, end: number): boolean {
    this.#work.spend(FOLD_STEPS * (end - start))
    const texts = this.#texts
    let met = 0
    for (const word of splitWords(foldCase(bytes.toString('utf8', start, end)))) {
      while (met > 0 && word !== texts[met]) met = this.#borders[met - 1]!
      if (word === texts[met]) met++
      if (met === texts.length) return true
    }
    return false
  }
}

function isWord(bytes: Uint8Array, start: number, end: number, word: Uint8Array): boolean {
  if (end - start !== word.length) return false
  for (let i = start; i < end; i++) if (FOLDED[bytes[i]!] !== word[i - start]) return false
  return true
}

/** `İ` (U+0130) or the Kelvin sign (U+212A) begins at `at`. */
function foldsIntoAscii(bytes: Uint8Array, at: number): boolean {
  if (bytes[at] === 0xc4) return bytes[at + 1] === 0xb0
  return bytes[at] === 0xe2 && bytes[at + 1] === 0x84 && bytes[at + 2] === 0xaa
}

export function isAscii(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (bytes[i]! >= 0x80) return false
  return true
}
