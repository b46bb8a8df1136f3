/**
 * Filters made by clicking a value: clauses that find exactly the events that have it. They are
 * built as trees and written by the language's own printer, so any name and value is quoted right.
 */
import { conjoin, negate } from '../../src/language/combine.ts'
import { format } from '../../src/language/format.ts'
import { parse } from '../../src/language/parse.ts'
import type { FieldClause, Query, Test } from '../../src/language/query-tree.ts'
import { makeRange, makeScalar } from '../../src/language/scalar.ts'
import { type JsonSpan, jsonKind, jsonString, jsonText, wholeJson } from '../base/exact-json.ts'
import { type EventField, systemField } from '../base/field.ts'

const NOWHERE = { start: 0, end: 0 }

/**
 * The clause that is true for events that have this value at this field; undefined for objects and
 * arrays, for a null in an array, for what is longer than a query may be, and for streams. For null
 * and for a missing value the clause says that the field has no value.
 *
 * A number's clause is true for the same digits as a string, too, as people mean it; `isExact`
 * tells them apart, where both occur.
 */
export function clauseFor(
  field: EventField,
  value: JsonSpan | undefined,
  isExact = false,
): Query | undefined {
  const kind = value === undefined ? 'null' : jsonKind(value)
  if (field.kind === 'stream' || kind === 'object' || kind === 'array') return undefined
  if (kind === 'null') {
    const isInArray = field.kind === 'path' && field.parts.length > 1
    return isInArray ? undefined : negate(NOWHERE, fieldClause(field, EXISTS))
  }
  if (value!.end - value!.start > CLAUSE_CHARS_MAX) return undefined
  const text = kind === 'string' ? jsonString(value!) : jsonText(value!)
  if (field.kind === 'system') return systemClause(field.name, text)
  const scalar = makeScalar(NOWHERE, text, kind === 'string')
  if (kind === 'number' && isExact) {
    const bound = { value: scalar, isInclusive: true }
    return fieldClause(field, makeRange(NOWHERE, bound, bound))
  }
  return fieldClause(field, { kind: 'value', value: scalar, isWhole: true, ...NOWHERE })
}

/** True for events that have a value at the field; undefined where all have, as of streams. */
export function clauseForAny(field: EventField): Query | undefined {
  return field.kind === 'stream' ? undefined : fieldClause(field, EXISTS)
}

const EXISTS = { kind: 'exists', ...NOWHERE } as const
/** With escapes and a name it would be over the bound of a query's text. */
const CLAUSE_CHARS_MAX = 6_000

/** Of a system field, such as `_level`. */
export function systemClause(name: Parameters<typeof systemField>[0], text: string): Query {
  const isWord = /^[A-Za-z][\w.-]*$/.test(text) || /^[0-9a-f]{16}$/.test(text)
  const value = makeScalar(NOWHERE, text, !isWord)
  return fieldClause(systemField(name), { kind: 'value', value, isWhole: false, ...NOWHERE })
}

/** Like `clauseFor`, for a value as JSON from an answer. */
export function clauseForJson(field: EventField, json: string, isExact = false) {
  return clauseFor(field, wholeJson(json), isExact)
}

/** For strings that begin so: an answer had no more of them. */
export function clauseForBeginning(field: EventField, text: string): Query | undefined {
  if (field.kind === 'stream' || text === '') return undefined
  const pattern = [{ kind: 'literal', text }, { kind: 'many' }] as const
  return fieldClause(field, { kind: 'wildcard', pattern, isWhole: true, ...NOWHERE })
}

/**
 * A query's text with one clause more; the same text when it has it. Undefined when there is no
 * such query: this one cannot be read, or with the clause it is over a bound of the language.
 */
export function withClause(text: string, clause: Query, isExcluded: boolean): string | undefined {
  const added = isExcluded ? negate(NOWHERE, clause) : clause
  const current = tryParse(text)
  if (current === undefined) return undefined
  const clauses = current.kind === 'and' ? current.clauses : [current]
  const written = format(added)
  if (clauses.some((one) => format(one) === written)) return text
  // What was typed stays as it was typed.
  const typed = text.trim()
  const before = current.kind === 'or' ? `(${typed})` : typed
  const next = current.kind === 'all' ? written : `${before} ${operandText(added)}`
  return tryParse(next) === undefined ? undefined : next
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

function fieldClause(field: Exclude<EventField, { kind: 'stream' }>, test: Test): FieldClause {
  return { kind: 'field', field, test, ...NOWHERE }
}
