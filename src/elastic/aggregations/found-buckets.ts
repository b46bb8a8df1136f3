/** Buckets while an answer is made: from rows of our aggregates to members of the answer. */
import { mainTurns } from '../../api/main-turns.ts'
import type { GroupValue } from '../../model/aggregates.ts'
import { groupJson } from '../../read/aggregate/group-json.ts'
import type { AggregateRow } from '../../store/projection/reads/aggregate-store.ts'
import type { Aggregate } from '../../store/projection/reads/parts.ts'
import { type Json, RawJson } from '../raw-json.ts'
import type { AggTree, Answers, FiltersAgg, Metric, Pipeline, SeriesBucket } from './agg-tree.ts'
import { textsOfNothing } from './metrics.ts'

/** Rows or buckets that the main thread takes over at a time. */
export const ROWS_A_TURN = 1_000

/** How many events there are. */
export const COUNT_EVENTS: Aggregate = {
  fn: 'count',
  field: undefined,
  query: undefined,
  name: 'count',
}

/** A list of terms has values of several kinds. */
export class FoundMixed extends Error {}

/** A bucket while its answer is made. */
export interface Found {
  readonly parent: string
  readonly id: string
  /** Of the fields that lead here. */
  readonly group: readonly GroupValue[]
  readonly key: number | string
  /** The members of its key. */
  readonly keyMembers: Answers
  readonly docCount: number
  readonly bucketMs: number | undefined
  readonly texts: readonly string[]
}

/** The buckets of one parent, with what is said of them together. */
export interface Level {
  readonly found: Found[]
  readonly about: Answers
}

/** A row of what has no events. */
export const NO_ROW: AggregateRow = {
  group: [],
  isOthers: false,
  bucket: undefined,
  values: [],
  leftOut: [],
}

/** What all of them are made of, one after another. */
export function aggregatesOf(metrics: readonly Metric[]): Aggregate[] {
  return metrics.flatMap(({ aggregates }) => aggregates)
}

/** Names a group, and the bucket of time where there is one. */
function idOf(values: readonly GroupValue[], bucket: number | undefined): string {
  const text = values.map(({ kind, text: of }) => `${kind}:${of.length}:${of};`).join('')
  return bucket === undefined ? text : `${text}@${bucket}`
}

/** Rows by their parents: what the first `fields` values say, and the bucket where it is one's. */
export async function byParents(
  rows: readonly AggregateRow[],
  fields: number,
  parents: readonly string[],
): Promise<Map<string, AggregateRow[]>> {
  const all = new Map<string, AggregateRow[]>(parents.map((id) => [id, []]))
  let done = 0
  for (const row of rows) {
    if (++done % ROWS_A_TURN === 0) await mainTurns.next()
    const values = row.group.slice(0, fields)
    const list = all.get(idOf(values, row.bucket)) ?? all.get(idOf(values, undefined))
    list?.push(row)
  }
  return all
}

/** What a row says of the group of its first `fields` values. */
export function foundOf(row: AggregateRow, parent: string, fields: number): Found {
  const values = row.group.slice(0, fields)
  return {
    parent,
    id: idOf(values, row.bucket),
    group: values,
    key: '',
    keyMembers: {},
    docCount: Number(row.values[0] ?? 0),
    bucketMs: undefined,
    texts: row.values.slice(1),
  }
}

/** How an answer writes the value of a list of terms. */
export function termKey(value: GroupValue): Pick<Found, 'key' | 'keyMembers'> {
  const { kind, text } = value
  if (kind === 'boolean') {
    const key = text === 'true' ? 1 : 0
    return { key, keyMembers: { key, key_as_string: text } }
  }
  if (kind === 'other') return { key: text, keyMembers: { key: text } }
  const written = kind === 'number' ? new RawJson(groupJson(value)) : text
  return { key: kind === 'number' ? Number(text) : text, keyMembers: { key: written } }
}

/** The answers of metrics, whose texts follow each other. */
export function metricAnswers(
  metrics: readonly Metric[],
  texts: readonly string[],
  place: Parameters<Metric['finish']>[1],
): Answers {
  const answers: Answers = {}
  let at = 0
  for (const metric of metrics) {
    const end = at + metric.aggregates.length
    answers[metric.name] = metric.finish(texts.slice(at, end), place)
    at = end
  }
  return answers
}

/** The same of a bucket. */
export function metricsOf({ metrics }: AggTree, { texts, docCount, bucketMs }: Found): Answers {
  const known = texts.length === 0 ? metrics.flatMap(textsOfNothing) : texts
  return metricAnswers(metrics, known, { bucketMs, docCount })
}

/** The answer of `filters`, of which `filter` is one without a list. */
export function filtersAnswer({ form }: FiltersAgg, series: readonly SeriesBucket[]): Json {
  const shown = series.map(({ docCount, answers }): Json => ({ doc_count: docCount, ...answers }))
  if (form === 'filter') return shown[0]
  if (form === 'list') return { buckets: shown }
  return { buckets: Object.fromEntries(series.map(({ key }, index) => [key, shown[index]])) }
}

/** Those along a list of buckets, and in each bucket those of the lists in it. */
export function runAll(pipelines: readonly Pipeline[], series: readonly SeriesBucket[]): void {
  for (const { answers } of series) runPipelines(pipelines, [], answers, true)
  runPipelines(pipelines, series, {}, false)
}

/** In the order of what they need. */
export function runPipelines(
  pipelines: readonly Pipeline[],
  series: readonly SeriesBucket[],
  siblings: Answers,
  ofSiblings: boolean,
): void {
  let waiting = pipelines.filter(({ isSibling }) => isSibling === ofSiblings)
  while (waiting.length > 0) {
    const names = new Set(waiting.map(({ name }) => name))
    const ready = waiting.filter(({ needs }) => !needs.some((name) => names.has(name)))
    for (const pipeline of ready) pipeline.run(series, siblings)
    if (ready.length === 0) return
    waiting = waiting.filter((one) => !ready.includes(one))
  }
}
