/**
 * Statements over two sides, in one pass over the events of either.
 *
 * Values of many fields are counted in one pass by GROUPING SETS, each branch by typed keys; kinds
 * and texts are made of groups, not of rows. Numbers are counted by steps: the first bits of a
 * double (`model/number-steps.ts`).
 */

import { conjoin } from '../../../language/combine.ts'
import { isSameQuery } from '../../../language/format.ts'
import type { FieldRef } from '../../../model/aggregates.ts'
import { clampNs } from '../../../model/int64.ts'
import { STEP_SHIFT } from '../../../model/number-steps.ts'
import type { ClickHousePlace } from '../../clickhouse-place.ts'
import { compileQuery, isTrue } from '../compile/compile-query.ts'
import { nsBoundSql } from '../compile/ns-bound.ts'
import type { PresentTables } from '../compile/projection-tables.ts'
import {
  type RowSourceOptions,
  type UnionBranch,
  unionBranches,
  unionOf,
} from '../compile/row-source.ts'
import { sampleSql } from '../compile/sample-sql.ts'
import type { SqlParams } from '../compile/sql-params.ts'
import {
  type BothCounts,
  type CompareCondition,
  type ComparedSides,
  type CompareKey,
  type KindsTask,
  MASK_ROWS_MAX,
  type MasksTask,
  type ValuesTask,
} from './compare-task.ts'
import { type LegKey, legKey } from './group-columns.ts'
import { type Aggregate, numberSql, Parts } from './parts.ts'

/** Undefined when there is no table, so no row. */
export type Statement = (place: ClickHousePlace, tables: PresentTables) => string | undefined

const NS_PER_MS = 1_000_000n

/** How an event is known to be of a side, on a branch. */
type SideCondition = (side: keyof BothCounts, branch: UnionBranch) => string

/**
 * One pass over the events of either side, as one sub-select: to plan a statement of many columns
 * takes the engine longer than to read some ten thousand rows.
 */
function eitherSide(
  task: ComparedSides,
  params: SqlParams,
  { columns, tail }: Pick<RowSourceOptions, 'columns' | 'tail'>,
): Statement {
  const { streams, timeBasis, observed, window, baseline } = task
  const sample = sampleOf(task, params)
  const isOf = sideConditions(task, params)
  const [first, second] = baseline.fromNs < window.fromNs ? [baseline, window] : [window, baseline]
  const isWithin = second.toNs < first.toNs
  const options = {
    ...{ streams, timeBasis, columns },
    ...(observed && { observed }),
    ...(sample && { sample }),
    ...(tail && { tail }),
    fromNs: first.fromNs,
    toNs: isWithin ? first.toNs : second.toNs,
    query: isSameOnBoth(task) ? window.query : conjoin('or', [window.query, baseline.query]),
    where: (branch: UnionBranch) => `(${isOf('window', branch)} OR ${isOf('baseline', branch)})`,
  }
  return (place, tables) => {
    const branches = unionBranches(options, place, tables, params)
    return branches && unionOf(branches)
  }
}

/** Undefined for all rows. */
function sampleOf(task: ComparedSides, params: SqlParams): string | undefined {
  const { window = 1, baseline = 1 } = task.oneIn ?? {}
  if (window <= 1 && baseline <= 1) return undefined
  if (window === baseline) return sampleSql(window, params)
  const ofSide = (side: keyof BothCounts, oneIn: number) => {
    return `(${rangeSql(task, side, params)} AND ${sampleSql(oneIn, params)})`
  }
  return `(${ofSide('window', window)} OR ${ofSide('baseline', baseline)})`
}

function rangeSql(task: ComparedSides, side: keyof BothCounts, params: SqlParams): string {
  const { fromNs, toNs } = task[side]
  const bound = (operator: string, ns: bigint) => {
    return nsBoundSql(task.timeBasis, operator, clampNs(ns), params)
  }
  return `${bound('>=', fromNs)} AND ${bound('<', toNs)}`
}

function sideConditions(task: ComparedSides, params: SqlParams): SideCondition {
  const isSame = isSameOnBoth(task)
  return (side, { fields }) => {
    const range = rangeSql(task, side, params)
    const { query } = task[side]
    return isSame ? `(${range})` : `(${range} AND ${isTrue(compileQuery(query, fields, params))})`
  }
}

function isSameOnBoth({ window, baseline }: ComparedSides): boolean {
  return isSameQuery(window.query, baseline.query)
}

/** Events of each side, as columns. */
function bothCounts(isOf: SideCondition, branch: UnionBranch): string {
  return `countIf(${isOf('window', branch)}) AS a, countIf(${isOf('baseline', branch)}) AS b`
}

/** How many events have each field, of how many different values, and how many are numbers. */
export function kindsSql(task: KindsTask, params: SqlParams): Statement {
  const parts = new Parts(params, false)
  const aggregates = task.fields.flatMap((field): Aggregate[] => {
    return (['count', 'uniq', 'numbers'] as const).map((fn) => {
      return { fn, field, query: undefined, name: fn }
    })
  })
  const placed = parts.place(aggregates)
  const columns = (branch: UnionBranch) => {
    return parts.all.map((part, at) => `${part.row(branch)} AS p${at}`).join(', ')
  }
  const finish = (at: number | undefined, name: string) => {
    return `${parts.all[at!]!.finish(`p${at}`)} AS ${name}`
  }
  const told = task.fields.flatMap((_, index) => {
    const [count, uniq, numbers] = placed.slice(3 * index)
    return [
      finish(count!.at.count, `present${index}`),
      finish(uniq!.at.uniq, `uniq${index}`),
      finish(numbers!.at.numbers, `numbers${index}`),
    ]
  })
  const source = eitherSide(task, params, { columns })
  return (...where) => {
    const rows = source(...where)
    return rows && `SELECT ${told.join(', ')} FROM ${rows}`
  }
}

/** Events of both sides by the values of each key. */
export function countsSql(task: ValuesTask, params: SqlParams): Statement {
  const { keys, limit, eventsMin, baselineTimes } = task
  const grouping = (branch: UnionBranch) => groupingOf(keys, branch, params)
  const isOf = sideConditions(task, params)
  const source = eitherSide(task, params, {
    columns: (branch) => {
      const { number, kind, text } = grouping(branch)
      return `${number} AS f, ${kind} AS k, ${text} AS t, ${bothCounts(isOf, branch)}`
    },
    tail: (branch) => `GROUP BY GROUPING SETS (${grouping(branch).sets.join(', ')})`,
  })
  const least = params.add('UInt64', eventsMin)
  const firstNumbers = keys.findIndex(({ by }) => by === 'numbers')
  const isStep = firstNumbers < 0 ? '' : ` OR f >= ${firstNumbers}`
  const times = params.add('Float64', baselineTimes)
  const most = params.add('UInt64', limit)
  return (...where) => {
    const rows = source(...where)
    return (
      rows &&
      `SELECT f, k, t, sum(a) AS c, sum(b) AS d FROM ${rows}
      GROUP BY f, k, t HAVING c >= ${least} OR d >= ${least} OR k = 0${isStep}
      ORDER BY f, k = 0 DESC, greatest(c * ${times}, toFloat64(d)) DESC, t LIMIT ${most} BY f`
    )
  }
}

/** What a branch groups by, and how its groups are told apart: one key has a value in each. */
function groupingOf(keys: readonly CompareKey[], branch: UnionBranch, params: SqlParams) {
  const own = keys.flatMap((key, index) => {
    const leg = keyOf(key, branch, `g${index}`, params)
    return leg.groupBy.length === 0 ? [] : [{ ...leg, index }]
  })
  const first = own.map(({ groupBy }) => groupBy[0]!.split(' AS ').at(-1)!)
  // A bit for each key that the group is not by, the last one the lowest.
  const all = (1n << BigInt(own.length)) - 1n
  const fromEnd = `bitCount(bitXor(toUInt64(grouping(${first.join(', ')})), ${all}) - 1)`
  // By the alias: the engine takes long to plan a statement that says it each time.
  const choose = (sqls: readonly string[]) => {
    if (sqls.length === 1) return sqls[0]!
    const cases = sqls.slice(0, -1).map((sql, at) => `f = ${own[at]!.index}, ${sql}`)
    return `multiIf(${cases.join(', ')}, ${sqls.at(-1)})`
  }
  return {
    sets: own.map(({ groupBy }) => `(${groupBy.join(', ')})`),
    number: `[${own.map(({ index }) => index).join(', ')}][${own.length} - ${fromEnd}]`,
    kind: choose(own.map(({ kind }) => kind)),
    text: choose(own.map(({ text }) => text)),
  }
}

function keyOf(
  { by, field }: CompareKey,
  branch: UnionBranch,
  alias: string,
  params: SqlParams,
): LegKey {
  if (by === 'numbers') return stepKey(field, branch, alias)
  if (field.kind === 'system' && field.label === '_stream') {
    // A constant is no key.
    const groupBy = [`materialize(toUInt32(${branch.stream})) AS ${alias}`]
    return { groupBy, kind: 'toUInt8(1)', text: `toString(${alias})` }
  }
  return legKey(field, branch, { alias, isOneOfMany: false, params })
}

function stepKey(field: FieldRef, branch: UnionBranch, alias: string): LegKey {
  const value = numberSql(field, branch)
  if (value === 'NULL') return { groupBy: [], kind: 'toUInt8(0)', text: "''" }
  const step = `bitShiftRight(reinterpretAsUInt64(${value}), ${STEP_SHIFT})`
  return {
    groupBy: [`CAST(${step}, 'Nullable(UInt16)') AS ${alias}`],
    kind: `toUInt8(if(isNull(${alias}), 0, 2))`,
    text: `ifNull(toString(${alias}), '')`,
  }
}

const EXAMPLES = 3

/** Events of both sides by the conditions that they meet, and by parts of the sides' ranges. */
export function masksSql(task: MasksTask, params: SqlParams): Statement {
  const isOf = sideConditions(task, params)
  const source = eitherSide(task, params, {
    columns: (branch) => {
      const bits = task.conditions.map((condition, at) => {
        return `if(${conditionSql(condition, branch, params)}, ${2 ** at}, 0)`
      })
      const id = `(toUInt32(${branch.stream}), segment_id, ordinal)`
      const ids = (side: keyof BothCounts) => {
        return `groupArrayIf(${EXAMPLES})(${id}, ${isOf(side, branch)}) AS ids_${side}`
      }
      return `${slotSql(task, 'window', params)} AS slot_window,
        ${slotSql(task, 'baseline', params)} AS slot_baseline,
        toUInt32(${bits.length === 0 ? '0' : bits.join(' + ')}) AS mask,
        ${bothCounts(isOf, branch)}, ${ids('window')}, ${ids('baseline')}`
    },
    tail: () => 'GROUP BY slot_window, slot_baseline, mask',
  })
  const ids = (['window', 'baseline'] as const).map((side) => {
    const ids = `groupArrayArray(${EXAMPLES})(ids_${side})`
    return `arrayMap(x -> (x.1, toString(x.2), x.3), ${ids}) AS ids_of_${side}`
  })
  return (...where) => {
    const rows = source(...where)
    return (
      rows &&
      `SELECT slot_window, slot_baseline, mask, sum(a) AS c, sum(b) AS d, ${ids.join(', ')}
      FROM ${rows} GROUP BY slot_window, slot_baseline, mask
      ORDER BY slot_window, slot_baseline, mask LIMIT ${MASK_ROWS_MAX + 1}`
    )
  }
}

function conditionSql(condition: CompareCondition, branch: UnionBranch, params: SqlParams): string {
  if (condition.kind === 'stream') {
    return `${branch.stream} = ${params.add('UInt32', condition.streamId)}`
  }
  return isTrue(compileQuery(condition.query, branch.fields, params))
}

/** By whole milliseconds: parts need not be exact. What is outside of the range is at its ends. */
function slotSql(task: MasksTask, side: keyof BothCounts, params: SqlParams): string {
  const { fromNs, toNs } = task[side]
  const start = params.add('Int64', String(fromNs / NS_PER_MS))
  const step = (toNs - fromNs) / NS_PER_MS / BigInt(task.slots) + 1n
  const passed = `toUnixTimestamp64Milli(${task.timeBasis}) - ${start}`
  const slot = `intDiv(${passed}, ${params.add('Int64', String(step))})`
  return `toUInt8(greatest(0, least(${task.slots - 1}, ${slot})))`
}
