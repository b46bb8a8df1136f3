/**
 * Words and phrases in a text (`src/language/words.ts`). Nearly all texts are ASCII without escape
 * sequences, and their words are compared byte by byte. Any other text is folded and split as a
 * whole, but only if it has the letters of the longest word in a row.
 */
import { FOLDED_TO_ASCII, foldCase, makeTextTest, splitWords } from '../../src/language/words.ts'
import { bordersOf, Needle } from './find-bytes.ts'
import type { StringTest } from './string-test.ts'
import type { Work } from './work.ts'

const ESCAPE = 0x1b
/** A text with such a byte is not split byte by byte. */
const IS_OTHER = 0xff
/** Letters and digits in lower case; 0 parts words. */
const FOLDED = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 0x80 || byte === ESCAPE) return IS_OTHER
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
  const isPlain = isAscii(needle.bytes, 0, needle.bytes.length)
  // Without letters there is no case, and nothing folds into punctuation.
  if (isPlain && !/[a-z]/.test(text)) {
    return (bytes, start, end) => needle.find(bytes, start, end) >= 0
  }
  return (bytes, start, end) => {
    if (!isPlain && isAscii(bytes, start, end)) return false
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
  /** The longest word of ASCII, in lower case; what its letters may be outside ASCII. */
  readonly #longest: Buffer | undefined
  readonly #others: readonly Needle[]

  constructor(words: readonly Buffer[], texts: readonly string[], work: Work) {
    this.#words = words
    this.#texts = texts
    this.#work = work
    this.#borders = bordersOf(texts.length, (a, b) => texts[a] === texts[b])
    this.#first = new Uint8Array(words[0]!.length + 1)
    this.#first.set(words[0]!)
    const ascii = words.filter((word) => isAscii(word, 0, word.length))
    const longest = ascii.toSorted((a, b) => b.length - a.length)[0]
    this.#longest = longest
    const text = longest?.toString('latin1') ?? ''
    const others = [...FOLDED_TO_ASCII].filter(([letter]) => text.includes(letter))
    this.#others = others.map(([, other]) => new Needle(Buffer.from(other)))
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
      } else if (byte === IS_OTHER) {
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
        if (FOLDED[bytes[i]!] === IS_OTHER) return this.isInFolded(bytes, start, end)
        i++
      }
      while (met > 0 && !isWord(bytes, from, i, words[met]!)) met = this.#borders[met - 1]!
      if (isWord(bytes, from, i, words[met]!)) met++
      if (met === words.length) return true
    }
    return false
  }

  isInFolded(bytes: Buffer, start: number, end: number): boolean {
    if (!this.#mayBeIn(bytes, start, end)) return false
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

  /** False if the text lacks the longest word's letters in a row, in either case. */
  #mayBeIn(bytes: Buffer, start: number, end: number): boolean {
    const word = this.#longest
    if (word === undefined) return true
    const last = end - word.length
    const [first] = word
    for (let at = start; at <= last; at++) {
      if (FOLDED[bytes[at]!] === first && isWord(bytes, at, at + word.length, word)) return true
    }
    return this.#others.some((other) => other.find(bytes, start, end) >= 0)
  }
}

function isWord(bytes: Uint8Array, start: number, end: number, word: Uint8Array): boolean {
  if (end - start !== word.length) return false
  for (let i = start; i < end; i++) if (FOLDED[bytes[i]!] !== word[i - start]) return false
  return true
}

export function isAscii(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (bytes[i]! >= 0x80) return false
  return true
}
