/**
 * One statement for an aggregating query, one scan of its rows.
 *
 *   branches: parts by typed keys, then kinds and texts ─▶ merged by group, and by group and bucket
 *         ─▶ ranked ─▶ the largest groups, and all others together
 *
 * A group's size is its size over all its buckets. Without buckets, or without other keys, no
 * second pass is needed to rank groups, and the merge ends in ORDER BY and LIMIT.
 */

import type {
  Buckets,
  FieldRef,
  GroupKey,
  Label,
  Order,
  TimeBasis,
} from '../../../model/aggregates.ts'
import { bucketIndexSql } from '../compile/bucket-sql.ts'
import { type Counts, type UnionBranch, unionOf } from '../compile/row-source.ts'
import type { SqlParams } from '../compile/sql-params.ts'
import { legKey } from './group-columns.ts'
import { type Aggregate, ALL_EVENTS, type Part, Parts, type PlacedParts } from './parts.ts'

export interface AggregateQuery {
  readonly aggregates: readonly Aggregate[]
  readonly keys: readonly GroupKey[]
  readonly order: Order
  readonly limit: number
  readonly hasOthers: boolean
  /**
   * All groups in any order, whatever `limit` says: where there are few, as of levels. To rank them
   * takes the engine longer than to count them.
   */
  readonly isUnordered?: boolean
  /**
   * `limit` groups of each parent, in the order asked for. A parent is what the first so many keys
   * that are not of time say, and the bucket with `ofBuckets`.
   */
  readonly within?: { readonly keys: number; readonly ofBuckets: boolean }
  /** Only groups of at least so many events. */
  readonly eventsMin?: number
  readonly timeBasis: TimeBasis
  /** Characters of a group's text; longer texts with the same beginning are one group. */
  readonly textCharsMax?: number
}

export interface AggregateSql {
  /** The columns that a branch of the rows selects, and its GROUP BY. */
  readonly columns: (branch: UnionBranch) => string
  readonly tail: (branch: UnionBranch) => string
  /** The statement over those branches. */
  readonly over: (branches: readonly string[]) => string
  readonly placed: readonly PlacedParts[]
}

/** Adds to `params`. */
export function aggregateSql(
  query: AggregateQuery,
  params: SqlParams,
  isExact: boolean,
): AggregateSql {
  const parts = new Parts(params, isExact)
  const placed = parts.place(query.aggregates)
  const sql = new Statement(query, params, parts.all, placed)
  const mayRank = query.hasOthers ? sql.fields.length > 0 : sql.isSeries
  const isRanked = mayRank && query.isUnordered !== true && query.within === undefined
  return {
    columns: (branch) => sql.columns(branch),
    tail: (branch) => sql.tail(branch),
    over: (branches) => {
      const [first] = branches
      if (sql.isCount && branches.length === 1 && first !== undefined) return first
      return isRanked ? sql.ranked(unionOf(branches)) : sql.plain(unionOf(branches))
    },
    placed,
  }
}

const COUNTED_LABELS: readonly Label[] = ['_stream', '_level', '_service']

/** What can be said by counts of events by label: see `RowSourceOptions`. */
export function countsOf({ keys, aggregates }: AggregateQuery): Counts | undefined {
  const isLabel = (field: FieldRef) => {
    return field.kind === 'system' && COUNTED_LABELS.includes(field.label)
  }
  const isCount = ({ fn, field }: Aggregate) => {
    if (fn !== 'count' && fn !== 'rate' && fn !== 'uniq') return false
    return field === undefined || isLabel(field)
  }
  if (!keys.every((key) => key.kind === 'bucket' || isLabel(key))) return undefined
  if (!aggregates.every(isCount)) return undefined
  const bucket = keys.find((key) => key.kind === 'bucket')
  const queries = aggregates.flatMap(({ query }) => (query === undefined ? [] : [query]))
  return { buckets: bucket?.kind === 'bucket' ? bucket.buckets : undefined, queries }
}

class Statement {
  readonly #query: AggregateQuery
  readonly #params: SqlParams
  readonly #parts: readonly Part[]
  readonly #placed: readonly PlacedParts[]
  readonly #buckets: Buckets | undefined
  /** Those keys that are not of time. */
  readonly fields: readonly (GroupKey & { kind: 'path' | 'system' })[]

  constructor(
    query: AggregateQuery,
    params: SqlParams,
    parts: readonly Part[],
    placed: readonly PlacedParts[],
  ) {
    this.#query = query
    this.#params = params
    this.#parts = parts
    this.#placed = placed
    const bucket = query.keys.find((key) => key.kind === 'bucket')
    this.#buckets = bucket?.kind === 'bucket' ? bucket.buckets : undefined
    this.fields = query.keys.flatMap((key) => (key.kind === 'bucket' ? [] : [key]))
  }

  /** Only how many events match: the SELECT of a single branch is the statement, with `p0`. */
  get isCount(): boolean {
    return this.#parts.length === 1 && this.#groupNames.length === 0
  }

  /** Groups in buckets of time. */
  get isSeries(): boolean {
    return this.#buckets !== undefined && this.fields.length > 0
  }

  columns(branch: UnionBranch): string {
    const keys = this.#legKeys(branch).flatMap(({ kind, text }, index) => {
      return [`${kind} AS k${index}`, `${this.#cut(text)} AS t${index}`]
    })
    const bucket = this.#buckets === undefined ? [] : ['b']
    const parts = this.#parts.map((part, index) => `${part.row(branch)} AS p${index}`)
    return [...keys, ...bucket, ...parts].join(', ')
  }

  tail(branch: UnionBranch): string {
    const groups = this.#legKeys(branch).flatMap(({ groupBy }) => groupBy)
    if (this.#buckets !== undefined) {
      groups.push(branch.isCounted ? 'b' : `${this.#bucket(this.#buckets)} AS b`)
    }
    return groups.length === 0 ? '' : `GROUP BY ${groups.join(', ')}`
  }

  #legKeys(branch: UnionBranch) {
    const isOneOfMany = this.#query.keys.length > 1
    return this.fields.map((field, index) => {
      return legKey(field, branch, { alias: `g${index}`, isOneOfMany, params: this.#params })
    })
  }

  #cut(text: string): string {
    const { textCharsMax } = this.#query
    return textCharsMax === undefined ? text : `substringUTF8(${text}, 1, ${textCharsMax})`
  }

  #bucket(buckets: Buckets): string {
    const { timeBasis } = this.#query
    const { startMs } = buckets
    // Before 1970, a time's whole milliseconds are rounded towards 1970, not down.
    const ns = `toUnixTimestamp64Nano(${timeBasis})`
    const isOld = timeBasis === 'event_time' && startMs < 0
    const ms = isOld
      ? `intDiv(${ns} - positiveModulo(${ns}, 1000000), 1000000)`
      : `toUnixTimestamp64Milli(${timeBasis})`
    return bucketIndexSql(ms, buckets, 1, this.#params)
  }

  get #keyNames(): string[] {
    return this.fields.flatMap((_, index) => [`k${index}`, `t${index}`])
  }

  get #groupNames(): string[] {
    return this.#buckets === undefined ? this.#keyNames : [...this.#keyNames, 'b']
  }

  /** Leaves out groups without rows: a branch without a GROUP BY has one group, empty or not. */
  get #notEmpty(): string {
    return this.#groupNames.length === 0 ? '' : ` WHERE p${ALL_EVENTS} > 0`
  }

  plain(branches: string): string {
    const finished = (at: number) => this.#parts[at]!.finish(`p${at}`)
    const names = this.#groupNames
    const all = [...names, ...this.#values('p')]
    const from = `FROM ${branches}${this.#notEmpty}`
    if (names.length === 0) return `SELECT ${all.join(', ')} ${from}`
    const group = `${from} GROUP BY ${names.join(', ')}${this.#having(finished(ALL_EVENTS))}`
    const { within } = this.#query
    if (within !== undefined) return this.#childrenOf(within, { all, group, finished })
    if (this.#buckets !== undefined) return `SELECT ${all.join(', ')} ${group} ORDER BY b`
    // Of all groups, as the limit cuts most of them off. Windows cost a millisecond.
    const total = `toString(sum(${finished(ALL_EVENTS)}) OVER ()) AS total`
    const select = [...all, total, `count() OVER () AS groups`].join(', ')
    return `SELECT ${select} ${group} ORDER BY ${this.#orderBy(finished)} LIMIT ${this.#limit}`
  }

  /** The first groups of each parent, and how many events all of that parent have. */
  #childrenOf(
    { keys, ofBuckets }: NonNullable<AggregateQuery['within']>,
    parts: {
      readonly all: readonly string[]
      readonly group: string
      readonly finished: (at: number) => string
    },
  ): string {
    const parents = this.#keyNames.slice(0, 2 * keys)
    if (ofBuckets) parents.push('b')
    const { finished } = parts
    const partition = parents.length === 0 ? '' : `PARTITION BY ${parents.join(', ')}`
    const total = `toString(sum(${finished(ALL_EVENTS)}) OVER (${partition})) AS total`
    const by = parents.length === 0 ? '' : ` BY ${parents.join(', ')}`
    const order = [...parents, this.#orderBy(finished)].join(', ')
    const select = [...parts.all, total].join(', ')
    return `SELECT ${select} ${parts.group} ORDER BY ${order} LIMIT ${this.#limit}${by}`
  }

  #having(count: string): string {
    const { eventsMin } = this.#query
    if (eventsMin === undefined) return ''
    return ` HAVING ${count} >= ${this.#params.add('UInt64', eventsMin)}`
  }

  /** Groups get their rank over all buckets; those past the limit become one. */
  ranked(branches: string): string {
    const keys = this.#keyNames
    const names = this.#groupNames
    const merged = this.#parts.map((part, at) => `${part.merge(`p${at}`)} AS u${at}`)
    const byGroup = `SELECT ${[...names, ...merged].join(', ')}
      FROM ${branches}${this.#notEmpty} GROUP BY ${names.join(', ')}`
    const window = `OVER (PARTITION BY ${keys.join(', ')})`
    const size = this.#size((at) => `${this.#parts[at]!.finish(`u${at}`)} ${window}`)
    const sized = `SELECT *, ${size ?? '0'} AS size FROM (${byGroup})`
    const ranked = `SELECT *, dense_rank() OVER (ORDER BY ${this.#sizeOrder('size')}) AS place
      FROM (${sized})`
    const least = `least(place, ${this.#limit} + 1)`
    const any = keys.map((name) => `any(${name}) AS ${name}_`)
    const bucket = this.#buckets === undefined ? [] : ['b']
    const totals = [`max(place) AS places`]
    const group = ['rank', ...bucket].join(', ')
    const final = [`${least} AS rank`, ...bucket, ...any, ...this.#values('u'), ...totals]
    return `SELECT ${final.join(', ')} FROM (${ranked}) GROUP BY ${group} ORDER BY ${group}`
  }

  #values(column: string): string[] {
    return this.#parts.map((part, at) => {
      const value = part.finish(`${column}${at}`)
      const text = part.isList ? `arrayMap(x -> toString(x), ${value})` : `toString(${value})`
      return `${text} AS v${at}`
    })
  }

  get #limit(): string {
    return this.#params.add('UInt64', this.#query.limit)
  }

  #orderBy(finished: (at: number) => string): string {
    return this.#sizeOrder(this.#size(finished) ?? '0')
  }

  /** What groups are ordered by, as one number; undefined when it is one of the keys. */
  #size(finished: (at: number) => string): string | undefined {
    const { of, index, noneIsZero = false } = this.#query.order
    if (of === 'key') return undefined
    const size = sizeOf(this.#placed[index]!, finished)
    return noneIsZero ? `ifNull(${size}, 0)` : size
  }

  #sizeOrder(size: string): string {
    const { of, index, isDescending } = this.#query.order
    const direction = isDescending ? 'DESC' : 'ASC'
    const byKey = (at: number, way: string) => {
      return [`k${at}`, `if(k${at} = 2, toFloat64OrZero(t${at}), 0)`, `t${at}`].map((sql) => {
        return `${sql} ${way}`
      })
    }
    const ties = this.fields.flatMap((_, at) => byKey(at, 'ASC'))
    const first = of === 'key' ? byKey(index, direction) : [`${size} ${direction} NULLS LAST`]
    return [...first, ...ties].join(', ')
  }
}

/** An aggregate as a number that groups can be ordered by; NULL where there is none. */
function sizeOf({ fn, at, quantile }: PlacedParts, finished: (at: number) => string): string {
  const part = (name: keyof typeof at) => finished(at[name]!)
  const sum = () => {
    const [integers, floats] = [part('integers'), part('floats')]
    return `if(isNull(${integers}) AND isNull(${floats}), NULL,
      ifNull(toFloat64(${integers}), 0) + ifNull(${floats}, 0))`
  }
  switch (fn) {
    case 'count':
    case 'rate':
      return part('count')
    case 'uniq':
      return part('uniq')
    case 'numbers':
      return part('numbers')
    case 'squares':
      return part('squares')
    case 'top':
      return 'NULL'
    case 'sum':
      return sum()
    case 'avg':
      return `${sum()} / ${part('numbers')}`
    case 'min':
    case 'max': {
      const none = fn === 'min' ? 'inf' : '-inf'
      const ends = (['Int64', 'UInt64', 'Float64'] as const).map((type) => {
        return `ifNull(toFloat64(${part(type)}), ${none})`
      })
      const all = ['Int64', 'UInt64', 'Float64'] as const
      const isNone = all.map((type) => `isNull(${part(type)})`).join(' AND ')
      return `if(${isNone}, NULL, ${fn === 'min' ? 'least' : 'greatest'}(${ends.join(', ')}))`
    }
    default: {
      const value = `arrayElement(${part('quantiles')}, ${quantile})`
      return `if(${part('numbers')} = 0, NULL, ${value})`
    }
  }
}
