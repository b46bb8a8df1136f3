/** The clause that is true of just the events with a value. */
import { negate } from '../language/combine.ts'
import type { FieldClause, Query, SystemFieldName } from '../language/query-tree.ts'
import { makeRange, makeScalar } from '../language/scalar.ts'
import type { FieldRef, GroupValue } from '../model/aggregates.ts'

const NOWHERE = { start: 0, end: 0 }

/**
 * Undefined where no clause finds just these, as for arrays. `mayBeString`: the field may have
 * numbers and booleans in strings, too, which are other values.
 */
export function valueClause(
  field: FieldClause['field'],
  { kind, text }: GroupValue,
  mayBeString = true,
): Query | undefined {
  if (kind === 'other') return undefined
  if (kind === 'null') return negate(NOWHERE, existsClause(field))
  const of = (test: FieldClause['test']): Query => ({ kind: 'field', field, test, ...NOWHERE })
  if (field.kind === 'system') {
    const value = makeScalar(NOWHERE, text, !/^[A-Za-z][\w.-]*$/.test(text))
    return of({ kind: 'value', value, isWhole: false, ...NOWHERE })
  }
  const value = makeScalar(NOWHERE, text, kind === 'string')
  // The number alone: a value's clause is also true for the same digits as a string.
  if (value.kind === 'number' && mayBeString) {
    const bound = { value, isInclusive: true }
    return of(makeRange(NOWHERE, bound, bound))
  }
  return of({ kind: 'value', value, isWhole: value.kind !== 'number', ...NOWHERE })
}

/** That the field has a value. */
export function existsClause(field: FieldClause['field']): Query {
  return { kind: 'field', field, test: { kind: 'exists', ...NOWHERE }, ...NOWHERE }
}

/** As the language names it. Precondition: a label that queries know. */
export function fieldOfRef(ref: FieldRef): FieldClause['field'] {
  return ref.kind === 'path'
    ? { kind: 'path', parts: [ref.path], ...NOWHERE }
    : { kind: 'system', name: ref.label as SystemFieldName, ...NOWHERE }
}
