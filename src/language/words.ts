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
export function splitWords(spelled: string): string[] {
  const text = withoutEscapes(spelled)
  const words: string[] = []
  let start = 0
  let inside: number = SEPARATOR
  for (let at = 0; at < text.length; ) {
    const code = text.codePointAt(at)!
    const kind = classOfCharacter(code)
    if (kind !== inside) {
      if (inside !== SEPARATOR) words.push(text.slice(start, at))
      start = at
      inside = kind
    }
    at += code > 0xffff ? 2 : 1
  }
  if (inside !== SEPARATOR) words.push(text.slice(start))
  return words
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
