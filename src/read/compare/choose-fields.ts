/** Which fields are compared, and how: by their values where these are few, by their numbers. */

import { COMPARE_FIELDS_MAX } from '../../limits.ts'
import { type FieldRef, LABELS } from '../../model/aggregates.ts'
import type { SourceStream } from '../../model/field-catalog.ts'
import { isFieldPath } from '../../model/field-path.ts'
import type { CompareKey, FieldKinds } from '../../store/projection/reads/compare-task.ts'

/** Fields of the catalog that are looked into, to choose some. */
export const FIELDS_LOOKED_INTO_MAX = 200
/** Statements tell so many keys apart. */
const KEYS_MAX = 60
const NUMBERS_MAX = 16
/** A field is of few values with so many among the events that were looked at… */
const FEW_VALUES = 1_000
/** …and each so often, or with so few that this shows nothing. */
const TIMES_MIN = 3
const VALUES_ANYWAY = 20
/** Numbers with fewer values are names: a status, a retry. */
const NUMBERS_MIN = 30

/** Labels are compared whatever their values are, streams where there are several. */
export function labelsOf(streams: readonly unknown[]): FieldRef[] {
  const labels = LABELS.filter((label) => label !== '_stream' || streams.length > 1)
  return labels.map((label) => ({ kind: 'system', label }))
}

/** The fields that the catalog knows outside of arrays, and whether it knows more. */
export function knownFields(streams: readonly SourceStream[]) {
  const paths = new Set<string>()
  for (const { catalog } of streams) {
    for (const [path, ...within] of catalog.paths) {
      if (path === undefined || within.length > 0 || !isFieldPath(path)) continue
      if (catalog.typesOf([path]).scalars.length > 0) paths.add(path)
    }
  }
  const all = [...paths].sort()
  const fields = all.slice(0, FIELDS_LOOKED_INTO_MAX).map((path): FieldRef => {
    return { kind: 'path', path }
  })
  return { fields, more: all.length - fields.length }
}

interface Kinds extends FieldKinds {
  readonly field: FieldRef
}

/** `isAsked`: the fields are those of the request, which are all compared. */
export function chooseKeys(
  labels: readonly FieldRef[],
  fields: readonly FieldRef[],
  kinds: readonly FieldKinds[],
  isAsked: boolean,
): readonly CompareKey[] {
  const known = fields.map((field, at): Kinds => ({ field, ...kinds[at]! }))
  // Those that most events have tell most; of fields that none had nothing is known.
  const sorted = known.toSorted((a, b) => b.present - a.present)
  const chosen = sorted
    .filter((of) => isAsked || isOfFewValues(of) || isOfNumbers(of))
    .slice(0, COMPARE_FIELDS_MAX)
  const numbers = chosen.filter(isOfNumbers).slice(0, NUMBERS_MAX)
  const values = chosen.filter((of) => (isAsked && !isOfNumbers(of)) || isOfFewValues(of))
  return [
    ...labels.map((field): CompareKey => ({ by: 'values', field })),
    ...values.map(({ field }): CompareKey => ({ by: 'values', field })),
    ...numbers.map(({ field }): CompareKey => ({ by: 'numbers', field })),
  ].slice(0, KEYS_MAX)
}

function isOfFewValues({ present, distinct }: Kinds): boolean {
  if (distinct <= VALUES_ANYWAY) return true
  return distinct <= FEW_VALUES && distinct * TIMES_MIN <= present
}

function isOfNumbers({ present, distinct, numbers }: Kinds): boolean {
  return distinct > NUMBERS_MIN && numbers * 2 >= present
}
