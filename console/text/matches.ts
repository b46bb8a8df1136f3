/**
 * Where texts of an event have what the query looks for. What words are is said by the language
 * (`words.ts`); what a field's test means for it as well. Ranges and `f:*` mark nothing: they are
 * of a value as a whole.
 */

import { parse } from '../../src/language/parse.ts'
import type {
  Field,
  Pattern,
  PatternToken,
  Query,
  RegexTest,
  Scalar,
  Test,
} from '../../src/language/query-tree.ts'
import {
  beginsInWord,
  endsInWord,
  foldCase,
  makeTextTest,
  placesOf,
  type TextPlace,
} from '../../src/language/words.ts'
import type { TextNames } from '../../src/model/text-fields.ts'
import type { EventField } from '../base/field.ts'

/** What is looked at: a text, and where in the event it is. */
export interface Marked {
  readonly text: string
  /** Undefined: no query names it, but words may be in it. */
  readonly field: EventField | undefined
  /** Words of the query without a field look at it. */
  readonly isFree: boolean
}

type Finder = (text: string, isText: boolean) => readonly TextPlace[]

interface Looked {
  /** Undefined: wherever words look. */
  readonly field: Field | undefined
  readonly find: Finder
}

/** What a query looks for; nothing where it cannot be read. */
export class Matches {
  readonly #names: TextNames
  readonly #looked: Looked[] = []

  constructor(query: string, names: TextNames) {
    this.#names = names
    try {
      this.#collect(parse(query), [])
    } catch {
      // What is wrong with it is told at the query itself.
      this.#looked.length = 0
    }
  }

  /** In order; they do not overlap. */
  placesIn({ text, field, isFree }: Marked): readonly TextPlace[] {
    const places: TextPlace[] = []
    const isText = field?.kind === 'path' && this.#names.hasParts(field.parts)
    for (const looked of this.#looked) {
      const isHere = looked.field === undefined ? isFree : isSameField(looked.field, field)
      if (isHere) places.push(...looked.find(text, isText || looked.field === undefined))
    }
    return merged(places)
  }

  /** `outer`: the array whose element the query is about, without the last part. */
  #collect(query: Query, outer: readonly string[]): void {
    switch (query.kind) {
      case 'and':
      case 'or':
        for (const clause of query.clauses) this.#collect(clause, outer)
        return
      case 'element':
        return this.#collect(query.query, [...outer, ...query.field.parts.slice(0, -1)])
      case 'text':
        this.#looked.push({ field: undefined, find: finderOf(query.test) })
        return
      case 'field': {
        const { field, test } = query
        const isInside = field.kind === 'path' && outer.length > 0
        const whole = isInside ? { ...field, parts: [...outer, ...field.parts] } : field
        this.#looked.push({ field: whole, find: finderOf(test) })
        return
      }
      case 'all':
      case 'not':
        return
    }
  }
}

/** Whether what a clause names is this field. */
function isSameField(asked: Field, field: EventField | undefined): boolean {
  if (field === undefined || field.kind === 'stream') return false
  if (asked.kind === 'system') return field.kind === 'system' && field.name === asked.name
  if (field.kind !== 'path') return false
  if (asked.kind === 'any') return true
  const [wanted, parts] = [asked.parts.join('\n'), field.parts.join('\n')]
  return asked.kind === 'path' ? parts === wanted : /^[.\n]/.test(restOf(parts, wanted))
}

function restOf(text: string, beginning: string): string {
  return text.startsWith(beginning) ? text.slice(beginning.length) : ''
}

function finderOf(test: Test): Finder {
  switch (test.kind) {
    case 'value': {
      const words = makeTextTest(test.value.text)
      return (text, isText) => {
        return isText && !test.isWhole
          ? placesOf(words, text)
          : wholeIf(isValue(test.value, text), text)
      }
    }
    case 'wildcard':
      return (text, isText) => {
        return isText && !test.isWhole
          ? patternPlaces(test.pattern, text)
          : wholeIf(isPattern(test.pattern, text), text)
      }
    case 'regex': {
      const regex = safeRegex(test)
      return (text) => (regex === undefined ? [] : regexPlaces(regex, text))
    }
    case 'range':
    case 'exists':
      return () => []
  }
}

function wholeIf(isMet: boolean, text: string): readonly TextPlace[] {
  return isMet && text !== '' ? [[0, text.length]] : []
}

/** Digits that are exact as a double. */
const EXACT_CHARS = 15

function isValue({ text: asked, kind, isQuoted }: Scalar, text: string): boolean {
  if (text === asked) return true
  const isNumber = kind === 'number' && !isQuoted && text.length <= EXACT_CHARS
  return isNumber && text !== '' && Number(text) === Number(asked)
}

type Segment = readonly Exclude<PatternToken, { kind: 'many' }>[]

/** What stands between the `*` of a pattern. */
function segmentsOf(pattern: Pattern): readonly Segment[] {
  const segments: Exclude<PatternToken, { kind: 'many' }>[][] = [[]]
  for (const token of pattern) {
    if (token.kind === 'many') segments.push([])
    else segments.at(-1)!.push(token)
  }
  return segments
}

/** Where the segment ends that begins at `at`; -1 if it does not. */
function endOf(segment: Segment, text: string, at: number): number {
  let end = at
  for (const token of segment) {
    if (token.kind === 'literal') {
      if (!text.startsWith(token.text, end)) return -1
      end += token.text.length
    } else {
      if (end >= text.length) return -1
      end += text.codePointAt(end)! > 0xffff ? 2 : 1
    }
  }
  return end
}

/** The whole text is as the pattern says; a segment found early leaves the others most room. */
function isPattern(pattern: Pattern, text: string): boolean {
  const segments = segmentsOf(pattern)
  const [first, last] = [segments[0]!, segments.at(-1)!]
  let at = endOf(first, text, 0)
  if (segments.length === 1) return at === text.length
  for (const segment of segments.slice(1, -1)) {
    let end = -1
    while (at >= 0 && at <= text.length && end < 0) end = endOf(segment, text, at++)
    at = end
  }
  for (; at >= 0 && at <= text.length; at++) {
    if (endOf(last, text, at) === text.length) return true
  }
  return false
}

/** Within sequences without white space: what a `*` in a text field stands for has none. */
function patternPlaces(pattern: Pattern, spelled: string): TextPlace[] {
  const text = foldCase(spelled)
  if (text.length !== spelled.length) return []
  const segments = segmentsOf(pattern).map((segment) =>
    segment.map((token) =>
      token.kind === 'literal' ? { ...token, text: foldCase(token.text) } : token,
    ),
  )
  const isContained =
    pattern.length === 3 && pattern[0]!.kind === 'many' && pattern[2]!.kind === 'many'
  const places: TextPlace[] = []
  for (const { 0: chunk, index } of text.matchAll(/[^ \t\n\f\r]+/g)) {
    for (let from = 0; from < chunk.length; ) {
      const found = placeInChunk(segments, chunk, from, isContained)
      if (found === undefined) break
      places.push([index + found[0], index + found[1]])
      from = Math.max(from + 1, found[1])
    }
  }
  return places
}

/** The first place at or behind `from` that begins and ends where words do. */
function placeInChunk(
  segments: readonly Segment[],
  chunk: string,
  from: number,
  isAnywhere: boolean,
): TextPlace | undefined {
  let start = -1
  let at = from
  for (const [index, segment] of segments.entries()) {
    if (segment.length === 0) {
      if (index === 0) start = from
      else if (index === segments.length - 1) at = chunk.length
      continue
    }
    let end = -1
    for (; at < chunk.length; at++) {
      end = endOf(segment, chunk, at)
      const isFirst = index === 0 && !isEdge(chunk, at)
      const isLast = index === segments.length - 1 && end >= 0 && !isEdge(chunk, end)
      if (end >= 0 && !isFirst && !isLast) break
      end = -1
    }
    if (end < 0) return undefined
    if (start < 0 || (isAnywhere && index === 1)) start = at
    at = end
    if (isAnywhere) return [start, end]
  }
  return [start, at]
}

/** Whether `at` is not between two letters of one word. */
function isEdge(text: string, at: number): boolean {
  return !(endsInWord(text.slice(Math.max(0, at - 2), at)) && beginsInWord(text.slice(at, at + 2)))
}

const REGEX_CHARS_MAX = 4_000
const OPTIONAL_MAX = 4

/**
 * The browser's own expressions can run practically for ever, RE2's cannot: only those are taken
 * whose work is bounded by the square of the text. Others mark nothing.
 */
function safeRegex({ source, ignoreCase }: RegexTest): RegExp | undefined {
  const plain = source.replace(/\\./gs, 'x').replace(/\[\^?\]?[^\]]*\]/g, 'x')
  const many = plain.match(/[*+{]/g)?.length ?? 0
  const optional = plain.match(/\?/g)?.length ?? 0
  if (many > 1 || optional > OPTIONAL_MAX || /\)[*+?{]/.test(plain)) return undefined
  try {
    return new RegExp(source, ignoreCase ? 'gisu' : 'gsu')
  } catch {
    return undefined
  }
}

function regexPlaces(regex: RegExp, text: string): TextPlace[] {
  if (text.length > REGEX_CHARS_MAX) return []
  return [...text.matchAll(regex)]
    .filter(([found]) => found !== '')
    .map(({ 0: found, index }) => [index, index + found.length])
}

function merged(places: readonly TextPlace[]): readonly TextPlace[] {
  if (places.length < 2) return places
  const all: [number, number][] = []
  for (const [start, end] of places.toSorted((a, b) => a[0] - b[0])) {
    const last = all.at(-1)
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end)
    else all.push([start, end])
  }
  return all
}
