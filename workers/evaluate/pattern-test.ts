/**
 * Wildcards. A pattern of literals and `*` is found literal by literal, the first and the last at
 * the ends; all other patterns become regular expressions, which are linear too.
 */

import type { Pattern, PatternToken } from '../../src/language/query-tree.ts'
import { beginsInWord, endsInWord, foldCase, LETTER_CLASS } from '../../src/language/words.ts'
import { Needle } from './find-bytes.ts'
import type { Regexes } from './regexes.ts'
import type { StringTest } from './string-test.ts'

const WORD = LETTER_CLASS
const EDGE_BEFORE = `(?:^|[^${WORD}])`
const EDGE_BEHIND = `(?:[^${WORD}]|$)`

/** The whole text is as the pattern says, case-sensitive. */
export function makePatternTest(pattern: Pattern, regexes: Regexes): StringTest {
  if (pattern.every(({ kind }) => kind !== 'one')) return makeLiteralsTest(pattern)
  const source = pattern.map((token) => sourceOf(token, '.*')).join('')
  return regexes.makeTest(`^${source}$`, false)
}

function makeLiteralsTest(pattern: Pattern): StringTest {
  const needles = pattern.flatMap((token) =>
    token.kind === 'literal' ? [new Needle(Buffer.from(token.text))] : [],
  )
  const head = pattern[0]!.kind === 'literal' ? needles.shift() : undefined
  const tail = pattern.at(-1)!.kind === 'literal' ? needles.pop() : undefined
  return (bytes, start, end) => {
    let from = start
    let to = end
    if (head !== undefined) {
      if (!isAt(bytes, from, to, head.bytes)) return false
      from += head.bytes.length
    }
    if (tail !== undefined) {
      to -= tail.bytes.length
      if (to < from || !isAt(bytes, to, end, tail.bytes)) return false
    }
    for (const needle of needles) {
      const found = needle.find(bytes, from, to)
      if (found < 0) return false
      from = found + needle.bytes.length
    }
    return true
  }
}

function isAt(bytes: Uint8Array, start: number, end: number, part: Uint8Array): boolean {
  if (end - start < part.length) return false
  for (let i = 0; i < part.length; i++) if (bytes[start + i] !== part[i]) return false
  return true
}

/**
 * The pattern is somewhere in the text, in upper or lower case, and neither end of the match is
 * between two characters of one word. A `*` at an end reaches up to white space, where a word ends.
 */
export function makeWordPatternTest(pattern: Pattern, regexes: Regexes): StringTest {
  const contained = containedIn(pattern)
  if (contained !== undefined) return makeContainedTest(contained)
  const sources = pattern.map((token) => sourceOf(folded(token), '[^ \\t\\n\\f\\r]*'))
  const first = pattern[0]!
  const last = pattern.at(-1)!
  if (pattern.length === 1 && first.kind === 'one') {
    sources[0] = `(?:${EDGE_BEFORE}[${WORD}]${EDGE_BEHIND}|[^${WORD}])`
  } else {
    if (first.kind === 'one') sources[0] = `(?:${EDGE_BEFORE}[${WORD}]|[^${WORD}])`
    if (last.kind === 'one') sources.push(`(?:[${WORD}]${EDGE_BEHIND}|[^${WORD}])`)
    if (last.kind === 'one') sources.splice(-2, 1)
  }
  if (first.kind === 'literal' && beginsInWord(foldCase(first.text))) sources.unshift(EDGE_BEFORE)
  if (last.kind === 'literal' && endsInWord(foldCase(last.text))) sources.push(EDGE_BEHIND)
  return regexes.makeFoldedTest(sources.join(''))
}

/** Of `*text*`, which is found anywhere, the text. */
function containedIn([first, middle, last, ...more]: Pattern): string | undefined {
  const isContained = first?.kind === 'many' && last?.kind === 'many' && more.length === 0
  return isContained && middle?.kind === 'literal' ? middle.text : undefined
}

function makeContainedTest(text: string): StringTest {
  const needle = new Needle(Buffer.from(foldCase(text)))
  return (bytes, start, end) => {
    const whole = Buffer.from(foldCase(bytes.toString('utf8', start, end)))
    return needle.find(whole, 0, whole.length) >= 0
  }
}

function folded(token: PatternToken): PatternToken {
  return token.kind === 'literal' ? { kind: 'literal', text: foldCase(token.text) } : token
}

function sourceOf(token: PatternToken, many: string): string {
  if (token.kind === 'many') return many
  return token.kind === 'one' ? '.' : token.text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
