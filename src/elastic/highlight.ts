/** Which words of a query are found where in an event's strings. */
import type { Query, Test } from '../language/query-tree.ts'
import type { Highlight } from './read-search.ts'

const WORDS_MAX = 32
const WORD_CHARS_MAX = 256
const STRINGS_MAX = 256
const STRING_CHARS_MAX = 64 * 1024
const DEPTH_MAX = 8

/** The texts that events of the answer have, as the query says. */
export function wordsOf(query: Query): readonly string[] {
  const words = new Set<string>()
  collect(query, words)
  return [...words]
    .filter((word) => word !== '' && word.length <= WORD_CHARS_MAX)
    .slice(0, WORDS_MAX)
}

function collect(query: Query, words: Set<string>): void {
  switch (query.kind) {
    case 'and':
    case 'or':
      for (const clause of query.clauses) collect(clause, words)
      return
    case 'element':
      return collect(query.query, words)
    case 'text':
      return collectTest(query.test, words)
    case 'field':
      if (query.field.kind !== 'system') collectTest(query.test, words)
  }
}

function collectTest(test: Test, words: Set<string>): void {
  if (test.kind === 'value') words.add(test.value.text)
  if (test.kind !== 'wildcard') return
  for (const token of test.pattern) if (token.kind === 'literal') words.add(token.text)
}

/** By the paths of strings that have one of `words`, in any case. */
export function highlights(
  payload: string,
  words: readonly string[],
  { before, after }: Highlight,
): Record<string, string[]> | undefined {
  const source = words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')).join('|')
  const pattern = new RegExp(source, 'giu')
  const found = new Map<string, string[]>()
  let count = 0
  const look = (value: unknown, path: string, depth: number) => {
    if (count >= STRINGS_MAX || depth > DEPTH_MAX) return
    if (typeof value === 'string') {
      count++
      if (value.length > STRING_CHARS_MAX) return
      const marked = value.replace(pattern, (word) => `${before}${word}${after}`)
      if (marked !== value) found.set(path, [...(found.get(path) ?? []), marked])
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, one] of Object.entries(value)) {
        const inner = Array.isArray(value) ? path : path === '' ? name : `${path}.${name}`
        look(one, inner, depth + 1)
      }
    }
  }
  look(JSON.parse(payload), '', 0)
  return found.size === 0 ? undefined : Object.fromEntries(found)
}
