/** Groups of events as the service answers them, largest first, and the same over time. */
import { conjoin } from '../../src/language/combine.ts'
import type { Query } from '../../src/language/query-tree.ts'
import { type JsonSpan, jsonElements, jsonObject, jsonText, wholeJson } from '../base/exact-json.ts'
import { apiField, type EventField, FIGURE } from '../base/field.ts'
import { shownValue } from '../base/shown-value.ts'
import { type AnswerState, readState } from './answer-state.ts'
import { hasTwin } from './facet.ts'
import { clauseForJson } from './filters.ts'
import type { Series } from './time-chart.tsx'

export interface Group {
  /** As JSON, one for each field that it is by. */
  readonly values: readonly string[]
  readonly text: string
  readonly value: number | null
}

export interface GroupList {
  readonly list: readonly Group[]
  /** Of all groups past the list. */
  readonly others: number | null | undefined
  readonly groups: number
  /** All events that match, at the moment when they were counted. */
  readonly total: number
  readonly isEstimated: boolean
  readonly state: AnswerState
}

export function readGroups(text: string, by: readonly EventField[]): GroupList {
  const answer = jsonObject(wholeJson(text))
  const list = [...jsonElements(answer.get('rows')!)].map((row) => readGroup(row, by))
  const [others] = [...jsonElements(answer.get('others')!)].map((row) => readGroup(row, by).value)
  const members = [
    'complete',
    'reason',
    'covered',
    'lag_ms',
    'sampled',
    'total',
    'groups',
    'estimated',
  ]
  const rest = members.map((name) => [name, JSON.parse(jsonText(answer.get(name)!))] as const)
  const { groups, total, estimated, ...state } = Object.fromEntries(rest) as {
    readonly groups: number
    readonly total: number
    readonly estimated: boolean
  }
  return { list, others, groups, total, isEstimated: estimated, state: readState(state) }
}

function readGroup(row: JsonSpan, by: readonly EventField[]): Group {
  const members = jsonObject(row)
  const values = by.map((field) => {
    const value = members.get(apiField(field))
    return value === undefined ? 'null' : jsonText(value)
  })
  const value: unknown = JSON.parse(jsonText(members.get(FIGURE)!))
  return {
    values,
    text: values.map(shownValue).join(' · '),
    value: typeof value === 'number' ? value : null,
  }
}

/** A line for each group over the same times. */
export function readSeries(text: string, by: readonly EventField[]) {
  const times = new Set<number>()
  const byGroup = new Map<string, { label: string; line: Map<number, number | null> }>()
  for (const row of jsonElements(jsonObject(wholeJson(text)).get('rows')!)) {
    const { values, text: label, value } = readGroup(row, by)
    const time = JSON.parse(jsonText(jsonObject(row).get('_bucket')!)) as string
    const seconds = Date.parse(time) / 1_000
    times.add(seconds)
    const key = values.join()
    const { line } = byGroup.get(key) ?? { line: new Map<number, number | null>() }
    byGroup.set(key, { label, line: line.set(seconds, value) })
  }
  const sorted = [...times].sort((a, b) => a - b)
  const series: Series[] = [...byGroup.values()].map(({ label, line }) => ({
    label,
    values: sorted.map((time) => line.get(time) ?? null),
  }))
  return { times: sorted, series }
}

/** The query of one group's events; undefined when there is none, as for arrays. */
export function clauseOfGroup(
  by: readonly EventField[],
  { values }: Group,
  all: readonly Group[],
): Query | undefined {
  const clauses = by.map((field, at) => {
    const json = values[at] ?? 'null'
    const isExact = hasTwin(
      all.map((one) => ({ json: one.values[at] ?? '' })),
      json,
    )
    return clauseForJson(field, json, isExact)
  })
  const known = clauses.filter((clause) => clause !== undefined)
  return known.length < by.length ? undefined : conjoin('and', known)
}
