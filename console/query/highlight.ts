/** Colours of a query's text: its parts by the language's own parser, as half-open places. */
import { parse } from '../../src/language/parse.ts'
import { QueryError } from '../../src/language/query-error.ts'
import type { Query } from '../../src/language/query-tree.ts'

export type PartKind = 'plain' | 'field' | 'value' | 'fault'

export interface Part {
  readonly kind: PartKind
  readonly text: string
}

export interface Highlighted {
  /** Together the text, in order. */
  readonly parts: readonly Part[]
  readonly error: QueryError | undefined
}

interface Mark {
  readonly kind: PartKind
  readonly start: number
  readonly end: number
}

export function highlight(text: string): Highlighted {
  try {
    const marks: Mark[] = []
    collect(parse(text), marks)
    return { parts: cut(text, marks), error: undefined }
  } catch (error) {
    if (!(error instanceof QueryError)) throw error
    const start = Math.min(error.start, Math.max(0, text.length - 1))
    const end = Math.max(error.end, start + 1)
    return { parts: cut(text, [{ kind: 'fault', start, end }]), error }
  }
}

function collect(query: Query, marks: Mark[]): void {
  switch (query.kind) {
    case 'and':
    case 'or':
      for (const clause of query.clauses) collect(clause, marks)
      return
    case 'not':
      return collect(query.clause, marks)
    case 'element':
      marks.push({ kind: 'field', start: query.field.start, end: query.field.end })
      return collect(query.query, marks)
    case 'field':
      marks.push({ kind: 'field', start: query.field.start, end: query.field.end })
      marks.push({ kind: 'value', start: query.test.start, end: query.test.end })
      return
    case 'text':
      marks.push({ kind: 'value', start: query.start, end: query.end })
      return
    case 'all':
      return
  }
}

/** Of marks that lie in each other's way, as those of a list's field do, the first counts. */
function cut(text: string, marks: readonly Mark[]): Part[] {
  const parts: Part[] = []
  let at = 0
  for (const { kind, start, end } of marks.toSorted((a, b) => a.start - b.start)) {
    if (start < at || end > text.length || start >= end) continue
    if (start > at) parts.push({ kind: 'plain', text: text.slice(at, start) })
    parts.push({ kind, text: text.slice(start, end) })
    at = end
  }
  if (at < text.length) parts.push({ kind: 'plain', text: text.slice(at) })
  return parts
}
