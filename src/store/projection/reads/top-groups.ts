/**
 * The largest of any number of groups, when there is no memory for all of them. The engine finds
 * candidates by counting approximately ("space saving", Metwally et al. 2005: so many counters, the
 * smallest of which is taken over by what is new); then only these are counted, exactly. What can
 * be wrong is that a group is missing; how large one may be that is, is known.
 */
import { GROUP_KINDS, type GroupKey, type GroupValue } from '../../../model/aggregates.ts'
import { type UnionBranch, unionOf } from '../compile/row-source.ts'
import type { SqlParams } from '../compile/sql-params.ts'
import type { AggregateQuery } from './aggregate-sql.ts'
import { type LegKey, legKey } from './group-columns.ts'

/** Only rows of these groups, or only those of others. */
export interface GroupChoice {
  readonly keys: readonly GroupKey[]
  /** As `groupText` has them. */
  readonly texts: readonly string[]
  readonly isIn: boolean
}

/** Groups of which the engine keeps count at a time; ten times as many take four times as long. */
const COUNTERS = 50_000
/** Candidates beyond those that are asked for, as approximate counts are not in the exact order. */
const CANDIDATES_MORE = 100

/** Whether the largest groups are those with the most events. */
export function isByCount({ aggregates, keys, order, within }: AggregateQuery): boolean {
  if (order.of === 'key' || !order.isDescending || within !== undefined) return false
  const { fn, field, query } = aggregates[order.index]!
  const isOfEvents = (fn === 'count' || fn === 'rate') && field === undefined
  return isOfEvents && query === undefined && keys.some(({ kind }) => kind !== 'bucket')
}

/** The columns of a branch and the statement over the branches that finds candidates. */
export function candidatesSql(query: AggregateQuery, params: SqlParams) {
  const count = 2 * query.limit + CANDIDATES_MORE
  return {
    columns: (branch: UnionBranch) => {
      const keys = keysOf(query, branch, params)
      const aliases = keys.flatMap(({ groupBy }) => groupBy)
      return `ignore(${aliases.join(', ')}) AS unused, ${groupSql(query, keys)} AS e`
    },
    over: (branches: readonly string[]) => `SELECT toString(count()) AS total,
        toFloat64(uniqCombined64(e)) AS groups,
        approx_top_k(${count}, ${COUNTERS})(e) AS top,
        arrayMap(x -> x.1, top) AS texts, toFloat64(arrayMin(arrayMap(x -> x.2, top))) AS least
      FROM ${unionOf(branches)} SETTINGS optimize_use_projections = 0`,
  }
}

export interface CandidatesRow {
  readonly total: string
  readonly groups: number
  readonly texts: readonly string[]
  /** The approximate count of the least candidate. No count is above its approximation. */
  readonly least: number
}

/** How many events a group may have that is no candidate. */
export function missedMax({ total, texts, least }: CandidatesRow, query: AggregateQuery): number {
  const isAll = texts.length < 2 * query.limit + CANDIDATES_MORE
  return Math.max(Math.floor(Number(total) / COUNTERS), isAll ? 0 : least)
}

/** The condition for the rows of the groups. */
export function choiceSql(
  query: AggregateQuery,
  { keys: of, texts, isIn }: GroupChoice,
  params: SqlParams,
): (branch: UnionBranch) => string {
  const list = params.add('Array(String)', texts)
  return (branch) => {
    const keys = keysOf({ ...query, keys: of }, branch, params, 'c')
    const aliases = keys.flatMap(({ groupBy }) => groupBy).join(', ')
    return `NOT ignore(${aliases}) AND ${groupSql(query, keys)} ${isIn ? '' : 'NOT '}IN ${list}`
  }
}

/** A group as one text: of each key its kind, its length in bytes, and itself. */
export function groupText(group: readonly GroupValue[]): string {
  return group
    .map(({ kind, text }) => `${GROUP_KINDS.indexOf(kind)}:${Buffer.byteLength(text)}:${text}`)
    .join('')
}

/** The same of a row, in SQL. */
function groupSql({ textCharsMax }: AggregateQuery, keys: readonly LegKey[]): string {
  const parts = keys.flatMap(({ kind, text }) => {
    const cut = textCharsMax === undefined ? text : `substringUTF8(${text}, 1, ${textCharsMax})`
    return [`toString(${kind})`, "':'", `toString(length(${cut}))`, "':'", cut]
  })
  return `concat(${parts.join(', ')})`
}

/** `ignore` is only there to define the aliases, which begin with `alias`. */
function keysOf(
  { keys }: AggregateQuery,
  branch: UnionBranch,
  params: SqlParams,
  alias = 'g',
): LegKey[] {
  const fields = keys.flatMap((key) => (key.kind === 'bucket' ? [] : [key]))
  const isOneOfMany = keys.length > 1
  return fields.map((field, index) =>
    legKey(field, branch, { alias: `${alias}${index}`, isOneOfMany, params }),
  )
}
