/**
 * Words of a text, as ClickHouse's text index splits them, and the test that a query's words make.
 *
 * A word is a sequence of ASCII letters, digits and characters outside ASCII: tokenizer
 * `splitByNonAlpha` over the text folded by `lowerUTF8`. Never change either, because indexes on
 * disk were made with them. Differential tests compare this file with the real engine.
 */
import { isAlphanumeric } from './characters.ts'

/** The tokenizer in ClickHouse, and the function that folds case. */
export const TOKENIZER = 'splitByNonAlpha'
export const FOLD_FUNCTION = 'lowerUTF8'

export function isWordCharacter(code: number): boolean {
  return code >= 0x80 || isAlphanumeric(code)
}

/** Folds as `FOLD_FUNCTION` does, which agrees with JavaScript without a locale. */
export function foldCase(text: string): string {
  return text.toLowerCase()
}

/** The only characters beyond ASCII that fold to ASCII letters. */
export const FOLDED_TO_ASCII: ReadonlyMap<string, string> = new Map([
  ['k', '\u212a'],
  ['i', '\u0130'],
])

/** The words, as they are spelled. */
export function splitWords(text: string): string[] {
  const words: string[] = []
  let start = -1
  for (let at = 0; at <= text.length; at++) {
    const isInside = at < text.length && isWordCharacter(text.charCodeAt(at))
    if (isInside && start < 0) start = at
    if (!isInside && start >= 0) {
      words.push(text.slice(start, at))
      start = -1
    }
  }
  return words
}

/**
 * Letters of scripts that put no space between words. Sequences of them are searched as substrings:
 * as words they would match only a sequence of the same length.
 */
const SCRIPTS = 'Han Hiragana Katakana Bopomofo Thai Lao Khmer Myanmar Tibetan'.split(' ')
const SPACELESS = new RegExp(
  `[${SCRIPTS.map((name) => `\\p{sc=${name}}`).join('')}\\u3005-\\u3007\\u30fc]`,
  'u',
)

export function isSpaceless(text: string): boolean {
  return SPACELESS.test(text)
}

/** Where words are looked for. */
export interface TextPaths {
  readonly textFields: readonly string[]
  /** At every other path of the event that has a string, as well. */
  readonly isAllText: boolean
  /**
   * With `isAllText`: nothing is learned of the stream yet, so nobody knows whether it has one of
   * its text fields. An event that has one has no text at other paths.
   */
  readonly isNew?: boolean
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
