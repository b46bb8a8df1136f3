/**
 * Filters made by clicking a value: clauses that find exactly the events that have it. They are
 * built as trees and written by the language's own printer, so any name and value is quoted right.
 */
import { conjoin, negate } from '../../src/language/combine.ts'
import { format } from '../../src/language/format.ts'
import { parse } from '../../src/language/parse.ts'
import { isQueryablePath } from '../../src/language/parse-field.ts'
import type { FieldClause, Query, Test } from '../../src/language/query-tree.ts'
import { makeScalar } from '../../src/language/scalar.ts'
import { type JsonSpan, jsonKind, jsonString, jsonText, wholeJson } from '../base/exact-json.ts'

const NOWHERE = { start: 0, end: 0 }

/**
 * The clause that is true for events that have this value at this path; undefined for objects and
 * arrays, and for names that no query can have. `path` has dots between names, and `[]` after the
 * name of an array. For null and for a missing value the clause says that the field has no value.
 */
export function clauseFor(path: string, value: JsonSpan | undefined): Query | undefined {
  const kind = value === undefined ? 'null' : jsonKind(value)
  if (kind === 'object' || kind === 'array' || !isQueryablePath(partsOf(path))) return undefined
  if (kind === 'null') return negate(NOWHERE, fieldClause(path, { kind: 'exists', ...NOWHERE }))
  const text = kind === 'string' ? jsonString(value!) : jsonText(value!)
  const scalar = makeScalar(NOWHERE, text, kind === 'string')
  return fieldClause(path, { kind: 'value', value: scalar, isWhole: true, ...NOWHERE })
}

/** Of a system field, such as `_level`. */
export function systemClause(name: '_level' | '_service' | '_shape', text: string): Query {
  const test: Test = {
    kind: 'value',
    value: makeScalar(NOWHERE, text, false),
    isWhole: false,
    ...NOWHERE,
  }
  return { kind: 'field', field: { kind: 'system', name, ...NOWHERE }, test, ...NOWHERE }
}

/**
 * Like `clauseFor`, for a value as JSON from an answer. The field may be a system field: those have
 * no clause for events without a value.
 */
export function clauseForField(field: string, json: string): Query | undefined {
  const value = wholeJson(json)
  if (field !== '_level' && field !== '_service' && field !== '_shape') {
    return clauseFor(field, value)
  }
  return jsonKind(value) === 'string' ? systemClause(field, jsonString(value)) : undefined
}

/** A query's text with one clause more; the same text when it has it, or cannot be read. */
export function withClause(text: string, clause: Query, isExcluded: boolean): string {
  const added = isExcluded ? negate(NOWHERE, clause) : clause
  const current = tryParse(text)
  if (current === undefined) return text
  if (current.kind === 'all') return format(added)
  const clauses = current.kind === 'and' ? current.clauses : [current]
  const written = format(added)
  if (clauses.some((one) => format(one) === written)) return text
  // What was typed stays as it was typed.
  const typed = text.trim()
  return `${current.kind === 'or' ? `(${typed})` : typed} ${operandText(added)}`
}

/** A query's text without this clause, included or excluded. */
export function withoutClause(text: string, clause: Query): string {
  const current = tryParse(text)
  if (current === undefined) return text
  const written = [format(clause), format(negate(NOWHERE, clause))]
  const clauses = current.kind === 'and' ? current.clauses : [current]
  const left = clauses.filter((one) => !written.includes(format(one)))
  if (left.length === clauses.length) return text
  return left.length === 0 ? '' : format(conjoin('and', left))
}

/** Whether the query's text has this clause among those that all must hold. */
export function hasClause(text: string, clause: Query): 'included' | 'excluded' | undefined {
  const current = tryParse(text)
  if (current === undefined) return undefined
  const clauses = (current.kind === 'and' ? current.clauses : [current]).map(format)
  if (clauses.includes(format(clause))) return 'included'
  return clauses.includes(format(negate(NOWHERE, clause))) ? 'excluded' : undefined
}

function tryParse(text: string): Query | undefined {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}

function operandText(query: Query): string {
  return query.kind === 'or' ? `(${format(query)})` : format(query)
}

function fieldClause(path: string, test: Test): FieldClause {
  const field = { kind: 'path', parts: partsOf(path), ...NOWHERE } as const
  return { kind: 'field', field, test, ...NOWHERE }
}

function partsOf(path: string): string[] {
  return path.split('[]').map((part) => part.replace(/^\./, ''))
}
