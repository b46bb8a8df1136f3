/** What leads to a level of buckets: the query, the keys, and which of their groups count. */
import { conjoin } from '../../language/combine.ts'
import type { Field, Query, SystemFieldName } from '../../language/query-tree.ts'
import { makeScalar } from '../../language/scalar.ts'
import {
  type FieldRef,
  GROUP_KINDS,
  type GroupKey,
  type GroupValue,
  JSON_NUMBER,
} from '../../model/aggregates.ts'
import type { AggregateTask } from '../../store/projection/reads/aggregate-store.ts'
import { allOf, anyOf, noneOf } from '../join-queries.ts'
import { meantScalar, NOWHERE } from '../meant-fields.ts'
import type { BucketAgg, FiltersAgg, TermsAgg } from './agg-tree.ts'

export interface Scope {
  readonly query: Query
  readonly keys: readonly GroupKey[]
  readonly groups: AggregateTask['groups']
}

/** Values that are named in the query; more are compared as groups. */
const LISTED_MAX = 100
/** Groups that are named in all; past it all are asked for. */
const CHOSEN_MAX = 2_000

/**
 * The scope of what is below buckets: only of events that are in one. `chosen`: the values of the
 * groups that were found, where there are others. Some events of others may be in it; their groups
 * have no parent.
 */
export function narrowed(
  scope: Scope,
  agg: Exclude<BucketAgg, FiltersAgg>,
  key: GroupKey,
  chosen: readonly (readonly GroupValue[])[] | undefined,
): Scope {
  const keys = [...scope.keys, key]
  if (agg.kind !== 'terms') return { ...scope, keys }
  if (chosen === undefined) return { ...scope, keys, query: allOf([scope.query, ...valued(agg)]) }
  const lastValues = chosen.map((group) => group.at(-1)!)
  const isText = key.kind !== 'bucket' && key.isText === true
  const listed = listedIn(agg, lastValues, isText)
  const query = allOf([scope.query, ...(listed === undefined ? valued(agg) : [listed])])
  const fields = keys.filter(({ kind }) => kind !== 'bucket').length
  const texts = [...new Set(chosen.map(chosenText))]
  const isNamed = listed !== undefined && fields === 1
  if (isNamed || texts.length > CHOSEN_MAX) return { ...scope, keys, query }
  return { query, keys, groups: { keys, texts, isIn: true } }
}

/** Without events that have no value, unless these are a group. */
function valued({ field, missing }: TermsAgg): Query[] {
  if (missing !== undefined) return []
  const name = fieldOf(field)
  return name === undefined ? [] : [exists(name)]
}

function exists(field: Field): Query {
  return { kind: 'field', field, test: { kind: 'exists', ...NOWHERE }, ...NOWHERE }
}

function fieldOf(field: FieldRef): Field | undefined {
  if (field.kind === 'path') return { kind: 'path', parts: [field.path], ...NOWHERE }
  const { label } = field
  if (label === '_stream' || label === '_shape') return undefined
  return { kind: 'system', name: label satisfies SystemFieldName, ...NOWHERE }
}

/** That the field has one of these; undefined where a query cannot say so. */
function listedIn(
  { field, missing }: TermsAgg,
  values: readonly GroupValue[],
  isText: boolean,
): Query | undefined {
  const name = fieldOf(field)
  const isPlain = values.every(({ kind, text }) => {
    return kind === 'number' ? JSON_NUMBER.test(text) : kind === 'string' || kind === 'boolean'
  })
  if (name === undefined || !isPlain || values.length > LISTED_MAX) return undefined
  const texts = new Map(values.map(({ kind, text }) => [`${kind}:${text}`, { kind, text }]))
  const tests = [...texts.values()].map(({ kind, text }): Query => {
    const value = isText ? meantScalar(text) : makeScalar(NOWHERE, text, kind === 'string')
    return {
      kind: 'field',
      field: name,
      test: { kind: 'value', value, isWhole: true, ...NOWHERE },
      ...NOWHERE,
    }
  })
  // The group of events without a value may be one of them.
  return missing === undefined ? anyOf(tests) : conjoin('or', [...tests, noneOf(exists(name))])
}

/** As the store has groups: of each value its kind, its length in bytes, and itself. */
function chosenText(values: readonly GroupValue[]): string {
  return values
    .map(({ kind, text }) => `${GROUP_KINDS.indexOf(kind)}:${Buffer.byteLength(text)}:${text}`)
    .join('')
}

/** What events are grouped by. */
export function keyOf(agg: Exclude<BucketAgg, FiltersAgg>): GroupKey {
  const { name } = agg
  switch (agg.kind) {
    case 'terms':
      return { ...agg.field, name, ...(agg.missing && { missing: agg.missing }) }
    case 'date_histogram':
      return { kind: 'bucket', name, buckets: agg.buckets }
    case 'histogram':
      return { ...agg.field, name, steps: { size: agg.step, offset: agg.offset } }
  }
}

/** Among the task's aggregates, of which the first counts. */
export function orderIndex({ order, children }: TermsAgg): number {
  const { by } = order
  if (by === '_count' || by === '_key') return 0
  let at = 1
  for (const metric of children.metrics) {
    if (metric.name === by.metric) return at + (metric.orderBy(by.property) ?? 0)
    at += metric.aggregates.length
  }
  return 0
}
