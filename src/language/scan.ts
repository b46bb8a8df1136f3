/**
 * Scans words, quoted text, fields and regular expressions in a query's text. Each function reads
 * one of them from `start` and returns where it ends. Together they are linear, as nothing is read
 * more than twice.
 */
import {
  BACKQUOTE,
  BACKSLASH,
  BAR,
  CLOSE,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  continuesField,
  DOT,
  isAlphanumeric,
  isSpace,
  OPEN,
  OPEN_BRACKET,
  QUESTION,
  QUOTE,
  SLASH,
  STAR,
  startsField,
} from './characters.ts'
import { QueryError } from './query-error.ts'
import type { Pattern, PatternToken } from './query-tree.ts'

export function skipSpace(text: string, start: number): number {
  let at = start
  while (isSpace(text.charCodeAt(at))) at++
  return at
}

/** Where words end besides at white space, parentheses, quotes and `|`. */
export interface WordEnds {
  readonly atComma: boolean
  readonly atBrace: boolean
  readonly atBracket: boolean
}

export function endsWord(code: number, ends: WordEnds): boolean {
  if (Number.isNaN(code) || isSpace(code)) return true
  if (code === OPEN || code === CLOSE || code === QUOTE || code === BAR) return true
  if (code === COMMA) return ends.atComma
  if (code === CLOSE_BRACE) return ends.atBrace
  return code === CLOSE_BRACKET && ends.atBracket
}

export interface ScannedWord {
  readonly end: number
  readonly pattern: Pattern
  /** How many `*` and `?` are in the text. */
  readonly wildcards: number
}

/**
 * A word, which may be empty. A backslash makes the next character plain. Before a letter or digit,
 * which need no escape, it stands for itself, so `C:\temp` can be pasted.
 */
export function scanWord(text: string, start: number, ends: WordEnds): ScannedWord {
  const tokens: PatternToken[] = []
  let literal = ''
  let wildcards = 0
  let at = start
  for (; ; at++) {
    const code = text.charCodeAt(at)
    if (endsWord(code, ends)) break
    if (code === BACKSLASH) {
      if (at + 1 >= text.length) throw loneBackslash(at)
      if (isAlphanumeric(text.charCodeAt(at + 1))) literal += '\\'
      literal += text[++at]
    } else if (code === STAR || code === QUESTION) {
      wildcards++
      if (literal !== '') tokens.push({ kind: 'literal', text: literal })
      literal = ''
      const kind = code === STAR ? 'many' : 'one'
      if (kind === 'one' || tokens.at(-1)?.kind !== 'many') tokens.push({ kind })
    } else {
      literal += text[at]
    }
  }
  if (literal !== '') tokens.push({ kind: 'literal', text: literal })
  return { end: at, pattern: tokens, wildcards }
}

function loneBackslash(at: number): QueryError {
  const span = { start: at, end: at + 1 }
  return new QueryError(span, '`\\` at the end escapes nothing', 'write `\\\\` for a backslash')
}

export interface ScannedText {
  readonly end: number
  readonly text: string
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }

/**
 * Quoted text, from its quote. `\n`, `\r`, `\t` and `\u` with four hex digits are as in JSON. A
 * backslash stands for itself before another letter or a digit, and is dropped before any other
 * character.
 */
export function scanQuoted(text: string, start: number): ScannedText {
  let content = ''
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return { end: at + 1, text: wellFormed(content) }
    if (code !== BACKSLASH) {
      content += text[at]
      continue
    }
    const next = text[at + 1] ?? ''
    const unicode = tryScanUnicode(text, at + 1)
    if (unicode !== undefined) {
      content += unicode
      at += 5
    } else {
      if (ESCAPES[next] === undefined && isAlphanumeric(next.charCodeAt(0))) content += '\\'
      content += ESCAPES[next] ?? next
      at++
    }
  }
  const span = { start, end: text.length }
  throw new QueryError(
    span,
    'missing `"`, opened here',
    'add a `"`, or write `\\"` for the character',
  )
}

/** What `u` with four hex digits stands for, behind a backslash. */
function tryScanUnicode(text: string, start: number): string | undefined {
  const digits = /^u([0-9A-Fa-f]{4})/.exec(text.slice(start, start + 5))?.[1]
  return digits === undefined ? undefined : String.fromCharCode(Number.parseInt(digits, 16))
}

/** Unpaired surrogates are not characters: as in stored events, each becomes U+FFFD. */
export function wellFormed(text: string): string {
  return text.replace(/[\uD800-\uDFFF]/gu, '\uFFFD')
}

export interface ScannedRegex {
  readonly end: number
  readonly source: string
  readonly ignoreCase: boolean
}

/**
 * A regular expression, from its slash. Undefined when its closing slash does not come right before
 * white space, a closing bracket, a comma or the end, as in `/api/v1/x`.
 */
export function tryScanRegex(text: string, start: number): ScannedRegex | undefined {
  let source = ''
  let at = start + 1
  for (; text.charCodeAt(at) !== SLASH; at++) {
    if (at >= text.length) return undefined
    if (text.charCodeAt(at) === BACKSLASH) {
      at++
      if (at >= text.length) return undefined
      if (text.charCodeAt(at) !== SLASH) source += '\\'
    }
    source += text[at]
  }
  const ignoreCase = text[at + 1] === 'i'
  const end = at + (ignoreCase ? 2 : 1)
  const next = text.charCodeAt(end)
  const isClosed = Number.isNaN(next) || isSpace(next) || next === CLOSE || next === COMMA
  if (source === '' || !(isClosed || next === CLOSE_BRACE)) return undefined
  return { end, source, ignoreCase }
}

export interface ScannedField {
  readonly end: number
  /** As in `PathField`; empty for `*`. */
  readonly parts: readonly string[]
  /** It ends in `.*`, or is `*`. */
  readonly isOpen: boolean
  /** No part of it is in backquotes. */
  readonly isPlain: boolean
}

/** A field; undefined when none is here. */
export function tryScanField(text: string, start: number): ScannedField | undefined {
  if (text.charCodeAt(start) === STAR) {
    return { end: start + 1, parts: [], isOpen: true, isPlain: true }
  }
  const parts: string[] = []
  let part = ''
  let isPlain = true
  for (let at = start; ; ) {
    const segment = tryScanSegment(text, at)
    if (segment === undefined) return undefined
    part += segment.text
    isPlain &&= text.charCodeAt(at) !== BACKQUOTE
    at = segment.end
    const arrays = countArrays(text, at)
    for (let array = 0; array < arrays; array++) {
      parts.push(part)
      part = ''
    }
    at += 2 * arrays
    if (text.charCodeAt(at) !== DOT)
      return { end: at, parts: [...parts, part], isOpen: false, isPlain }
    if (text.charCodeAt(at + 1) === STAR) {
      return { end: at + 2, parts: [...parts, part], isOpen: true, isPlain }
    }
    at++
    if (arrays === 0) part += '.'
  }
}

function countArrays(text: string, start: number): number {
  let count = 0
  while (text.charCodeAt(start + 2 * count) === OPEN_BRACKET) {
    if (text.charCodeAt(start + 2 * count + 1) !== CLOSE_BRACKET) break
    count++
  }
  return count
}

function tryScanSegment(text: string, start: number): ScannedText | undefined {
  if (text.charCodeAt(start) === BACKQUOTE) return scanBackquoted(text, start)
  // After a dot, a field may start with a digit: `tags.0`.
  const isInside = start > 0 && text.charCodeAt(start - 1) === DOT
  const first = text.charCodeAt(start)
  if (!startsField(first) && !(isInside && isAlphanumeric(first))) return undefined
  let at = start + 1
  while (continuesField(text.charCodeAt(at))) at++
  return { end: at, text: text.slice(start, at) }
}

/**
 * A name in backquotes; `\` makes a backquote or a backslash plain, and `\u` with four hex digits
 * is as in JSON.
 */
function scanBackquoted(text: string, start: number): ScannedText {
  let name = ''
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === BACKQUOTE) return { end: at + 1, text: name }
    const next = text.charCodeAt(at + 1)
    const unicode = code === BACKSLASH ? tryScanUnicode(text, at + 1) : undefined
    if (unicode !== undefined) {
      name += unicode
      at += 5
      continue
    }
    if (code === BACKSLASH && (next === BACKQUOTE || next === BACKSLASH)) at++
    name += text[at]
  }
  const span = { start, end: text.length }
  throw new QueryError(span, 'missing a backquote, opened here', 'close the name of the field')
}

/**
 * Whether the colon at `at` turns the name before it into a field: not in `http://x` or
 * `std::string`, but in `ip:::1`.
 */
export function isFieldColon(text: string, at: number): boolean {
  if (text.charCodeAt(at) !== COLON || text.startsWith('//', at + 1)) return false
  return text.charCodeAt(at + 1) !== COLON || text.charCodeAt(at + 2) === COLON
}
