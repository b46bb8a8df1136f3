/**
 * The parts that aggregates are made of: a sum of integers, a sum of floats, a state of quantiles.
 * A branch computes each over its rows; then they are merged, over branches, buckets and groups,
 * as often as need be. Parts that several aggregates need are computed once.
 *
 * Numbers are read by the types that they are stored with, so that no digit is lost: integers are
 * added as 128 bits.
 */
import { QueryError } from '../../../language/query-error.ts'
import type { Query } from '../../../language/query-tree.ts'
import {
  type AggregateFunction,
  type FieldRef,
  isQuantile,
  QUANTILES,
  type QuantileName,
  type TimeBasis,
} from '../../../model/aggregates.ts'
import type { ScalarType } from '../../../model/field-catalog.ts'
import { compileQuery, isTrue } from '../compile/compile-query.ts'
import type { UnionBranch } from '../compile/row-source.ts'
import type { SqlParams } from '../compile/sql-params.ts'
import { dynamicColumn } from '../compile/typed-column.ts'

/** What is computed over the events of each group. */
export interface Aggregate {
  readonly fn: AggregateFunction
  /** Absent for `count` and `rate` of events. */
  readonly field: FieldRef | undefined
  /** Only of the events that it means. */
  readonly query: Query | undefined
  /** The member of a row. */
  readonly name: string
  /** Of `quantile`: from 0 to 1. */
  readonly level?: number
  /** Of `top`: by what, and which end of it. */
  readonly top?: TopOrder
}

/** By a field's numbers, or by time. */
export interface TopOrder {
  readonly by: FieldRef | TimeBasis
  readonly isDescending: boolean
}

export interface Part {
  /** Over a branch's rows. */
  readonly row: (branch: UnionBranch) => string
  /** Merges a column of it and can be merged again. */
  readonly merge: (column: string) => string
  /** Like `merge`, for the last merge. */
  readonly finish: (column: string) => string
  /** A list of quantiles, not one value. */
  readonly isList: boolean
}

/** What an aggregate needs, by the indexes of its parts. */
export interface PlacedParts {
  readonly fn: AggregateFunction
  readonly at: Readonly<Partial<Record<PartName, number>>>
  /** For a quantile: its index among those of its field, from 1. */
  readonly quantile: number
}

type PartName =
  | 'count'
  | 'uniq'
  | 'integers'
  | 'floats'
  | 'numbers'
  | 'leftOut'
  | 'quantiles'
  | 'squares'
  | 'top'
  | 'Int64'
  | 'UInt64'
  | 'Float64'

const NEEDS: Readonly<
  Record<Exclude<AggregateFunction, keyof typeof QUANTILES | 'quantile'>, PartName[]>
> = {
  count: ['count'],
  rate: ['count'],
  numbers: ['numbers'],
  squares: ['squares'],
  top: ['top'],
  uniq: ['uniq'],
  sum: ['integers', 'floats', 'leftOut'],
  avg: ['integers', 'floats', 'numbers', 'leftOut'],
  min: ['Int64', 'UInt64', 'Float64', 'leftOut'],
  max: ['Int64', 'UInt64', 'Float64', 'leftOut'],
}

/** The index of the part that counts all events. */
export const ALL_EVENTS = 0

/**
 * `isExact`: distinct values and quantiles exactly, which takes memory for each value; else
 * estimates, which take little.
 */
export class Parts {
  readonly #params: SqlParams
  readonly #isExact: boolean
  readonly #parts = new Map<string, Part>()

  constructor(params: SqlParams, isExact: boolean) {
    this.#params = params
    this.#isExact = isExact
    this.#place(
      'events',
      addable(({ isCounted }) => (isCounted ? 'sum(events)' : 'count()')),
    )
  }

  get all(): readonly Part[] {
    return [...this.#parts.values()]
  }

  /** Adds what they need; those of one field and query share their quantiles. */
  place(aggregates: readonly Aggregate[]): PlacedParts[] {
    const levels = new Map<string, number[]>()
    for (const one of aggregates) {
      const level = levelOf(one)
      if (level === undefined) continue
      const list = levels.get(sourceKey(one)) ?? []
      if (!list.includes(level)) levels.set(sourceKey(one), [...list, level])
    }
    return aggregates.map((one, index) => {
      const { fn } = one
      const list = levels.get(sourceKey(one)) ?? []
      const level = levelOf(one)
      const names = isOfLevel(fn) ? (['quantiles', 'numbers', 'leftOut'] as const) : NEEDS[fn]
      const at = names.map((name) => [name, this.#placeOf(name, one, list, index)] as const)
      const quantile = level === undefined ? 0 : list.indexOf(level) + 1
      return { fn, at: Object.fromEntries(at), quantile }
    })
  }

  #placeOf(
    name: PartName,
    { fn, field, query, top }: Aggregate,
    levels: readonly number[],
    index: number,
  ): number {
    if (name === 'count' && field === undefined && query === undefined) return ALL_EVENTS
    const isEnd = (fn === 'min' || fn === 'max') && name !== 'leftOut'
    const ofTop = name === 'top' ? JSON.stringify(top) : ''
    const key = `${name}|${isEnd ? fn : ''}|${ofTop}|${sourceKey({ field, query })}`
    const condition = (branch: UnionBranch) => {
      return query === undefined ? undefined : this.#condition(query, branch, index)
    }
    return this.#place(key, this.#part(name, { fn, field, condition, levels, top }))
  }

  /** `index`: the first aggregate with this query. */
  #condition(query: Query, branch: UnionBranch, index: number): string {
    try {
      return isTrue(compileQuery(query, branch.fields, this.#params))
    } catch (cause) {
      throw cause instanceof QueryError ? cause.in(`aggregates[${index}].query`) : cause
    }
  }

  #part(name: PartName, { fn, field, condition, levels, top }: Source): Part {
    const given = (branch: UnionBranch, sql: string, type: string) => {
      const only = condition(branch)
      return `CAST(${only === undefined ? sql : `if(${only}, ${sql}, NULL)`}, 'Nullable(${type})')`
    }
    switch (name) {
      case 'count':
        return addable((branch) => {
          const counts = both(condition(branch), hasValue(field, branch))
          return branch.isCounted ? `sumIf(events, ${counts})` : `countIf(${counts})`
        })
      case 'leftOut':
        return addable((branch) => {
          const others = otherKinds(field, branch)
          if (others.length === 0) return 'toUInt64(0)'
          return `countIf(${both(condition(branch), `(${others.join(' OR ')})`)})`
        })
      case 'numbers':
        return addable((branch) => `count(${given(branch, numberSql(field, branch), 'Float64')})`)
      case 'squares':
        return addable((branch) => {
          const value = given(branch, numberSql(field, branch), 'Float64')
          return `sum(${value} * ${value})`
        })
      case 'top':
        return topPart(field, top!, condition)
      case 'integers':
        return addable((branch) => `sum(${given(branch, integer(field, branch), 'Int128')})`)
      case 'floats':
        return addable(
          (branch) => `sum(${given(branch, typed(field, branch, 'Float64'), 'Float64')})`,
        )
      case 'uniq': {
        const uniq = this.#isExact ? 'uniqExact' : 'uniqCombined64'
        return stateful(uniq, '', (branch) => given(branch, hash(field, branch), 'UInt64'))
      }
      case 'quantiles': {
        const quantiles = this.#isExact ? 'quantilesExact' : 'quantilesTDigest'
        const list = `(${levels.join(', ')})`
        const of = (branch: UnionBranch) => given(branch, numberSql(field, branch), 'Float64')
        return { ...stateful(quantiles, list, of), isList: true }
      }
      default: {
        const end = (sql: string) => `${fn}(${sql})`
        const row = (branch: UnionBranch) => end(given(branch, typed(field, branch, name), name))
        return { row, merge: end, finish: end, isList: false }
      }
    }
  }

  #place(key: string, part: Part): number {
    if (!this.#parts.has(key)) this.#parts.set(key, part)
    return [...this.#parts.keys()].indexOf(key)
  }
}

interface Source {
  readonly fn: AggregateFunction
  readonly field: FieldRef | undefined
  /** Undefined where every event counts. */
  readonly condition: (branch: UnionBranch) => string | undefined
  readonly levels: readonly number[]
  readonly top: TopOrder | undefined
}

/** That the level is a member of the aggregate, or its name's. */
function isOfLevel(fn: AggregateFunction): fn is QuantileName | 'quantile' {
  return fn === 'quantile' || isQuantile(fn)
}

function levelOf({ fn, level }: Aggregate): number | undefined {
  return isQuantile(fn) ? QUANTILES[fn] : fn === 'quantile' ? level : undefined
}

/**
 * A JSON array: what the event was ordered by, and its value. Equal ones go by their ids, so that
 * an answer does not depend on the order of rows.
 */
function topPart(
  field: FieldRef | undefined,
  { by, isDescending }: TopOrder,
  condition: Source['condition'],
): Part {
  const name = isDescending ? 'argMaxIf' : 'argMinIf'
  const row = (branch: UnionBranch) => {
    const isTime = typeof by === 'string'
    const order = isTime ? `toUnixTimestamp64Nano(${by})` : numberSql(by, branch)
    const known = order === 'NULL' ? 'false' : isTime ? 'true' : `isNotNull(${order})`
    const type = isTime ? 'Int64' : 'Float64'
    const place = `ifNull(CAST(${order}, 'Nullable(${type})'), 0)`
    const shown = isTime ? `toString(intDiv(${order}, 1000000))` : `toString(${place})`
    const value = `ifNull(${scalarJson(field, branch)}, 'null')`
    const pair = `concat('[', ${shown}, ',', ${value}, ']')`
    const only = both(condition(branch), known)
    return `${name}State(${pair}, (${place}, segment_id, ordinal), toUInt8(${only}))`
  }
  const merge = (column: string) => `${name}MergeState(${column})`
  return { row, merge, finish: (column) => `${name}Merge(${column})`, isList: false }
}

/** A scalar of the payload as JSON; NULL where there is none. */
function scalarJson(field: FieldRef | undefined, branch: UnionBranch): string {
  const text = (type: ScalarType, write: string) => wrap(typed(field, branch, type), write)
  const string = typed(field, branch, 'String')
  return firstOf([
    text('Int64', 'toString'),
    text('UInt64', 'toString'),
    text('Float64', 'toString'),
    text('Bool', 'toString'),
    string === 'NULL' ? string : `if(isNull(${string}), NULL, toJSONString(${string}))`,
  ])
}

function sourceKey({ field, query }: Pick<Aggregate, 'field' | 'query'>): string {
  return JSON.stringify([field, query], (_, value) => {
    return typeof value === 'bigint' ? String(value) : value
  })
}

function addable(row: (branch: UnionBranch) => string): Part {
  const sum = (column: string) => `sum(${column})`
  return { row, merge: sum, finish: sum, isList: false }
}

function stateful(name: string, parameters: string, of: (branch: UnionBranch) => string): Part {
  return {
    row: (branch) => `${name}State${parameters}(${of(branch)})`,
    merge: (column) => `${name}MergeState${parameters}(${column})`,
    finish: (column) => `${name}Merge${parameters}(${column})`,
    isList: false,
  }
}

function both(condition: string | undefined, other: string): string {
  if (condition === undefined) return other
  return other === 'true' ? condition : `${condition} AND ${other}`
}

/** That the field is not absent, null or `{}`. */
function hasValue(field: FieldRef | undefined, { fields }: UnionBranch): string {
  if (field === undefined) return 'true'
  if (field.kind === 'path') {
    const { scalars, elements, hasObjects } = fields.typesOf([field.path])
    const hasAny = scalars.length > 0 || elements.length > 0 || hasObjects
    return hasAny ? `isNotNull(${dynamicColumn([field.path])!.sql})` : 'false'
  }
  if (field.label === '_level') return "level != ''"
  return field.label === '_service' ? "service != ''" : 'true'
}

/** Conditions that the value is no number: a number in a string is none either. */
function otherKinds(field: FieldRef | undefined, { fields }: UnionBranch): string[] {
  if (field?.kind !== 'path') return []
  const { scalars, elements, hasObjects } = fields.typesOf([field.path])
  const column = dynamicColumn([field.path])!.sql
  const kinds = scalars.filter((type) => type === 'String' || type === 'Bool')
  const others = kinds.map((type) => `isNotNull(${column}.:${type})`)
  if (elements.length > 0 || hasObjects) others.push(`startsWith(dynamicType(${column}), 'Array')`)
  return others
}

/** The values of one type; NULL where the path has none of it. */
function typed(field: FieldRef | undefined, { fields }: UnionBranch, type: ScalarType): string {
  if (field?.kind !== 'path' || !fields.typesOf([field.path]).scalars.includes(type)) return 'NULL'
  return `${dynamicColumn([field.path])!.sql}.:${type}`
}

function firstOf(values: readonly string[]): string {
  const known = values.filter((value) => value !== 'NULL')
  return known.length < 2 ? (known[0] ?? 'NULL') : `coalesce(${known.join(', ')})`
}

function wrap(sql: string, before: string): string {
  return sql === 'NULL' ? sql : `${before}(${sql})`
}

function integer(field: FieldRef | undefined, branch: UnionBranch): string {
  return firstOf([
    wrap(typed(field, branch, 'Int64'), 'toInt128'),
    wrap(typed(field, branch, 'UInt64'), 'toInt128'),
  ])
}

/** The value as a double; `NULL` where no value is a number. */
export function numberSql(field: FieldRef | undefined, branch: UnionBranch): string {
  return firstOf([
    wrap(typed(field, branch, 'Int64'), 'toFloat64'),
    wrap(typed(field, branch, 'UInt64'), 'toFloat64'),
    typed(field, branch, 'Float64'),
  ])
}

/** A hash that is the same for equal values of any types, and differs for values of two kinds. */
function hash(field: FieldRef | undefined, branch: UnionBranch): string {
  if (field?.kind === 'system') return labelHash(field.label, branch)
  const float = typed(field, branch, 'Float64')
  const bool = typed(field, branch, 'Bool')
  return firstOf([
    wrap(typed(field, branch, 'String'), 'cityHash64'),
    wrap(typed(field, branch, 'Int64'), 'cityHash64'),
    wrap(typed(field, branch, 'UInt64'), 'cityHash64'),
    float === 'NULL' ? float : floatHash(float),
    bool === 'NULL' ? bool : `cityHash64('b', ${bool})`,
    arrayHash(field, branch),
  ])
}

function floatHash(float: string): string {
  const isWhole = `${float} = trunc(${float})`
  return (
    `multiIf(isNull(${float}), NULL, ` +
    `${isWhole} AND abs(${float}) < 9223372036854775808, cityHash64(toInt64(${float})), ` +
    `${isWhole} AND ${float} >= 0 AND ${float} < 1.8446744073709552e19, ` +
    `cityHash64(toUInt64(${float})), cityHash64('f', ${float}))`
  )
}

function arrayHash(field: FieldRef | undefined, { fields }: UnionBranch): string {
  if (field?.kind !== 'path') return 'NULL'
  const { elements, hasObjects } = fields.typesOf([field.path])
  if (elements.length === 0 && !hasObjects) return 'NULL'
  const column = dynamicColumn([field.path])!.sql
  const isArray = `startsWith(dynamicType(${column}), 'Array')`
  return `if(${isArray}, cityHash64('a', toString(${column})), NULL)`
}

function labelHash(label: (FieldRef & { kind: 'system' })['label'], branch: UnionBranch): string {
  if (label === '_stream') return `cityHash64(${branch.stream})`
  if (label === '_shape') return 'shape'
  if (label === '_pattern') return 'nullIf(pattern, 0)'
  const column = label === '_level' ? 'level' : 'service'
  return `if(${column} = '', NULL, cityHash64(${column}))`
}
