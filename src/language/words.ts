/**
 * Words of a text, and the test that a query's words make. A word is what a reader sees as one: a
 * sequence of letters and digits, of scripts with spaces between words or of scripts without.
 * Everything else parts words: punctuation and symbols of any script, spaces that do not break,
 * byte order marks, escape sequences of terminals.
 *
 * This is the one definition. The engine's index is made over an expression that separates the same
 * way (`store/projection/text-index.ts`); differential tests compare them with the real engine.
 */
import {
  classOf,
  classOfCharacter,
  LETTER,
  LETTER_SPACELESS,
  SEPARATOR,
  SEPARATORS,
  SPACELESS,
} from './word-characters.ts'

/** The tokenizer in ClickHouse, over separated text, and the function that folds case. */
export const TOKENIZER = 'splitByNonAlpha'
export const FOLD_FUNCTION = 'lowerUTF8'
/** Folds ASCII alone, and as the other does, in a tenth of its time. */
export const ASCII_FOLD_FUNCTION = 'lower'

/**
 * An escape sequence of terminals, such as a colour (ECMA-48, 5.3 and 5.4; ECMA-35 for those with
 * bytes of 02/00 to 02/15). In the syntax that RE2 and JavaScript share.
 */
export const ESCAPE_SEQUENCE = '\\x1b(?:\\[[0-?]*[ -/]*[@-~]|[ -/]+[0-~]|[0-Z^-~])'
const ESCAPE = '\x1b'
const ESCAPES = new RegExp(ESCAPE_SEQUENCE, 'g')

/**
 * What is replaced by ' \1 ' in folded text, in RE2's syntax, so that `TOKENIZER` finds the words:
 * separators and escape sequences by spaces, and letters of scripts without spaces get some.
 */
export const TO_SEPARATE =
  `(?:${ESCAPE_SEQUENCE}|[${classOf(SEPARATORS)}])+` + `|([${classOf(SPACELESS)}]+)`

/** One letter or digit between which and another a word does not begin or end, for RE2. */
export const LETTER_CLASS = `0-9A-Za-z${classOf(lettersOutsideAscii())}`

function lettersOutsideAscii(): [number, number][] {
  const others = [...SEPARATORS, ...SPACELESS].toSorted(([a], [b]) => a - b)
  const letters: [number, number][] = []
  let from = 0x80
  for (const [first, last] of others) {
    if (first > from) letters.push([from, first - 1])
    from = Math.max(from, last + 1)
  }
  if (from <= 0x10ffff) letters.push([from, 0x10ffff])
  return letters
}

/** Whether its first character is one that words do not begin behind, after another such. */
export function beginsInWord(text: string): boolean {
  return text !== '' && classOfCharacter(text.codePointAt(0)!) === LETTER
}

/** The same of its last character. */
export function endsInWord(text: string): boolean {
  const last = /.$/su.exec(text)?.[0]
  return last !== undefined && beginsInWord(last)
}

/** Folds as `FOLD_FUNCTION` does, which agrees with JavaScript without a locale. */
export function foldCase(text: string): string {
  return text.toLowerCase()
}

/** The text with a space in place of each escape sequence. */
export function withoutEscapes(text: string): string {
  return text.includes(ESCAPE) ? text.replace(ESCAPES, ' ') : text
}

/** The only characters beyond ASCII that fold to ASCII letters. */
export const FOLDED_TO_ASCII: ReadonlyMap<string, string> = new Map([
  ['k', '\u212a'],
  ['i', '\u0130'],
])

/** The words, as they are spelled. */
export function splitWords(text: string): string[] {
  const words: string[] = []
  eachWord(text, (start, end) => words.push(text.slice(start, end)))
  return words
}

/** Calls `take` with the place of each word, half-open, in their order. */
function eachWord(spelled: string, take: (start: number, end: number) => void): void {
  // Each escape sequence is as many spaces, so that places stay what they are.
  const text = spelled.includes(ESCAPE)
    ? spelled.replace(ESCAPES, (found) => ' '.repeat(found.length))
    : spelled
  let start = 0
  let inside: number = SEPARATOR
  for (let at = 0; at < text.length; ) {
    const code = text.codePointAt(at)!
    const kind = classOfCharacter(code)
    if (kind !== inside) {
      if (inside !== SEPARATOR) take(start, at)
      start = at
      inside = kind
    }
    at += code > 0xffff ? 2 : 1
  }
  if (inside !== SEPARATOR) take(start, text.length)
}

/** Whether it has a letter of a script without spaces: such texts are searched as substrings. */
export function isSpaceless(text: string): boolean {
  for (const character of text) {
    if (classOfCharacter(character.codePointAt(0)!) === LETTER_SPACELESS) return true
  }
  return false
}

/** What a word or phrase of a query requires of a text. All texts in it are folded. */
export type TextTest =
  /** These words in a row; one is a single word. */
  | { readonly kind: 'words'; readonly words: readonly string[] }
  /** This text anywhere: letters of scripts without spaces, or only punctuation. */
  | { readonly kind: 'substring'; readonly text: string }
  /** The text is empty. */
  | { readonly kind: 'empty' }

export function makeTextTest(text: string): TextTest {
  const folded = foldCase(text)
  if (folded === '') return { kind: 'empty' }
  const words = splitWords(folded)
  if (words.length === 0 || isSpaceless(folded)) return { kind: 'substring', text: folded }
  return { kind: 'words', words }
}

/** Where in a text something is, half-open. */
export type TextPlace = readonly [start: number, end: number]

/** Everywhere that a text meets the test, in order; places do not overlap. */
export function placesOf(test: TextTest, spelled: string): TextPlace[] {
  if (test.kind === 'empty') return []
  const text = foldCase(spelled)
  const places = test.kind === 'words' ? wordPlaces(test.words, text) : textPlaces(test.text, text)
  return text.length === spelled.length ? places : unfolded(places, spelled)
}

/** Of these words in a row. */
function wordPlaces(words: readonly string[], text: string): TextPlace[] {
  const places: TextPlace[] = []
  const all: TextPlace[] = []
  eachWord(text, (start, end) => all.push([start, end]))
  const isAt = (at: number) => {
    return words.every((word, index) => {
      const [start, end] = all[at + index]!
      return end - start === word.length && text.startsWith(word, start)
    })
  }
  for (let at = 0; at + words.length <= all.length; at++) {
    if (!isAt(at)) continue
    places.push([all[at]![0], all[at + words.length - 1]![1]])
    at += words.length - 1
  }
  return places
}

function textPlaces(wanted: string, text: string): TextPlace[] {
  const places: TextPlace[] = []
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
    places.push([at, at + wanted.length])
  }
  return places
}

/** Places of folded text in the text as it is spelled: `İ` alone folds to more than itself. */
function unfolded(places: readonly TextPlace[], spelled: string): TextPlace[] {
  const before: number[] = []
  for (let at = 0; at < spelled.length; at++) {
    before.push(at)
    if (spelled[at] === '\u0130') before.push(at)
  }
  return places.map(([start, end]) => [before[start]!, before[end - 1]! + 1])
}
