/** Elasticsearch's metrics by our aggregates. */
import { QUERY_AGGREGATES_MAX } from '../../limits.ts'
import type { AggregateFunction, FieldRef } from '../../model/aggregates.ts'
import { readFieldRef } from '../../read/aggregate/field-ref.ts'
import type { Aggregate, TopOrder } from '../../store/projection/reads/parts.ts'
import { clockOf } from '../meant-fields.ts'
import {
  asList,
  type Members,
  readFlag,
  readInteger,
  readMembers,
  readNumber,
  readObject,
  readOnly,
  readText,
  refused,
  shown,
} from '../members.ts'
import { type Json, RawJson } from '../raw-json.ts'
import type { Metric } from './agg-tree.ts'

type ReadMetric = (name: string, body: unknown, where: string) => Metric

const SIMPLE = ['avg', 'sum', 'min', 'max'] as const
export const PERCENTS_DEFAULT = [1, 5, 25, 50, 75, 95, 99]
const UNIT_MS: Readonly<Record<string, number>> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
}

export const METRICS: Readonly<Record<string, ReadMetric>> = {
  ...Object.fromEntries(SIMPLE.map((fn) => [fn, simpleMetric(fn)])),
  value_count: (name, body, where) => {
    const { field } = readFieldOf(body, where, [])
    return oneValue(name, [aggregate('count', field)], ([count]) => raw(count))
  },
  cardinality: (name, body, where) => {
    const { field } = readFieldOf(body, where, ['precision_threshold', 'rehash'])
    return oneValue(name, [aggregate('uniq', field)], ([count]) => raw(count))
  },
  percentiles: readPercentiles,
  median: (name, body, where) => {
    const { field } = readFieldOf(body, where, [])
    return oneValue(name, [quantile(field, 50)], ([value]) => raw(value))
  },
  stats: (name, body, where) => statsMetric(name, readFieldOf(body, where, []).field, where),
  extended_stats: (name, body, where) => {
    const { field, members } = readFieldOf(body, where, ['sigma'])
    const sigma = members.sigma === undefined ? 2 : readNumber(members.sigma, `${where}.sigma`)
    return extendedStats(name, field, { sigma, where })
  },
  top_metrics: readTopMetrics,
  rate: readRate,
}

/** What Elasticsearch answers where there are no events. */
const NOTHING: Readonly<Record<string, string>> = {
  count: '0',
  numbers: '0',
  uniq: '0',
  rate: '0',
}

/** The texts of a group without events. */
export function textsOfNothing({ aggregates }: Pick<Metric, 'aggregates'>): string[] {
  return aggregates.map(({ fn }) => NOTHING[fn] ?? 'null')
}

function raw(text: string | undefined): Json {
  return new RawJson(text ?? 'null')
}

function aggregate(fn: AggregateFunction, field: FieldRef | undefined): Aggregate {
  return { fn, field, query: undefined, name: fn }
}

function quantile(field: FieldRef, percent: number): Aggregate {
  return { ...aggregate('quantile', field), level: percent / 100 }
}

/** The field that something is counted in: a path, or a label of ours. */
export function readCountedField(value: unknown, where: string): FieldRef {
  const name = readText(value, `${where}.field`)
  if (name === '_id' || name === '_event_time' || name === '_ingested_at' || clockOf(name)) {
    throw refused(`${where}: the values of ${shown(name)} are not counted or measured`)
  }
  return readFieldRef(`${where}.field`, name === '_index' ? '_stream' : name)
}

function readFieldOf(body: unknown, where: string, more: readonly string[]) {
  const { script, missing } = readObject(body, where)
  if (script !== undefined && script !== null) throw refused(`${where}: scripts are not run`)
  if (missing !== undefined && missing !== null) throw refused(`${where}.missing is not supported`)
  const known = ['field', 'missing', 'script', 'format', 'value_type', ...more]
  const members: Members = readMembers(body, where, known)
  return { field: readCountedField(members.field, where), members }
}

/** `{"value": …}` of the first aggregate. */
function oneValue(
  name: string,
  aggregates: readonly Aggregate[],
  value: (texts: readonly string[]) => Json,
): Metric {
  return {
    name,
    aggregates,
    finish: (texts) => ({ value: value(texts) }),
    orderBy: (property) => (property === undefined || property === 'value' ? 0 : undefined),
  }
}

function simpleMetric(fn: (typeof SIMPLE)[number]): ReadMetric {
  return (name, body, where) => {
    const { field } = readFieldOf(body, where, [])
    assertNumbers(fn, field, where)
    return oneValue(name, [aggregate(fn, field)], ([value]) => {
      return fn === 'sum' && value === 'null' ? 0 : raw(value)
    })
  }
}

function assertNumbers(fn: string, field: FieldRef, where: string): void {
  if (field.kind === 'path') return
  throw refused(`${where}: ${fn} is of numbers, and ${shown(field.label)} has none`)
}

function readPercentiles(name: string, body: unknown, where: string): Metric {
  const { field, members } = readFieldOf(body, where, ['percents', 'keyed', 'tdigest', 'hdr'])
  assertNumbers('percentiles', field, where)
  const given = members.percents === undefined ? PERCENTS_DEFAULT : asList(members.percents)
  if (given.length > QUERY_AGGREGATES_MAX) {
    throw refused(`${where}.percents: over ${QUERY_AGGREGATES_MAX} (QUERY_AGGREGATES_MAX)`)
  }
  const percents = given.map((one) => readNumber(one, `${where}.percents`))
  if (percents.some((percent) => percent < 0 || percent > 100)) {
    throw refused(`${where}.percents must be from 0 to 100`)
  }
  const isKeyed = members.keyed === undefined || readFlag(members.keyed, `${where}.keyed`)
  return {
    name,
    aggregates: percents.map((percent) => quantile(field, percent)),
    finish: (texts) => ({
      values: isKeyed
        ? Object.fromEntries(percents.map((percent, at) => [percentText(percent), raw(texts[at])]))
        : percents.map((percent, at) => ({ key: percent, value: raw(texts[at]) })),
    }),
    orderBy: (property) => {
      const at = percents.indexOf(Number(property))
      return at < 0 ? undefined : at
    },
  }
}

/** As Java writes a double: `95.0`. */
export function percentText(percent: number): string {
  return Number.isInteger(percent) ? `${percent}.0` : String(percent)
}

const STATS = ['numbers', 'min', 'max', 'avg', 'sum'] as const
const STATS_NAMES: readonly string[] = ['count', 'min', 'max', 'avg', 'sum']

function statsMetric(name: string, field: FieldRef, where: string): Metric {
  assertNumbers('stats', field, where)
  return {
    name,
    aggregates: STATS.map((fn) => aggregate(fn, field)),
    finish: (texts) => statsOf(texts),
    orderBy: (property = '') => indexOrNone(STATS_NAMES.indexOf(property)),
  }
}

function statsOf([count, min, max, avg, sum]: readonly string[]): { [name: string]: Json } {
  const all = sum === undefined || sum === 'null' ? 0 : raw(sum)
  return { count: raw(count), min: raw(min), max: raw(max), avg: raw(avg), sum: all }
}

function indexOrNone(index: number): number | undefined {
  return index < 0 ? undefined : index
}

function extendedStats(
  name: string,
  field: FieldRef,
  { sigma, where }: { readonly sigma: number; readonly where: string },
): Metric {
  const stats = statsMetric(name, field, where)
  return {
    ...stats,
    aggregates: [...stats.aggregates, aggregate('squares', field)],
    finish: (texts) => {
      const squares = texts[STATS.length]
      const spread = spreadOf(Number(texts[0]), Number(texts[4]), Number(squares), sigma)
      const all = squares === undefined || squares === 'null' ? 0 : raw(squares)
      return { ...statsOf(texts), sum_of_squares: all, ...spread }
    },
  }
}

/** Variances and deviations, as Elasticsearch has them. NaN is written as null. */
export function spreadOf(count: number, sum: number, squares: number, sigma: number) {
  const offSquares = Math.max(0, squares - (sum * sum) / count)
  const population = count > 0 ? offSquares / count : Number.NaN
  const sampling = count > 1 ? offSquares / (count - 1) : Number.NaN
  const deviation = Math.sqrt(population)
  const ofSample = Math.sqrt(sampling)
  const mean = count > 0 ? sum / count : Number.NaN
  return {
    variance: population,
    variance_population: population,
    variance_sampling: sampling,
    std_deviation: deviation,
    std_deviation_population: deviation,
    std_deviation_sampling: ofSample,
    std_deviation_bounds: {
      upper: mean + sigma * deviation,
      lower: mean - sigma * deviation,
      upper_population: mean + sigma * deviation,
      lower_population: mean - sigma * deviation,
      upper_sampling: mean + sigma * ofSample,
      lower_sampling: mean - sigma * ofSample,
    },
  }
}

function readTopMetrics(name: string, body: unknown, where: string): Metric {
  const members = readMembers(body, where, ['metrics', 'sort', 'size'])
  if (members.size !== undefined) {
    readInteger(members.size, `${where}.size`, { min: 1, max: 1 })
  }
  const metrics = asList(members.metrics ?? [])
  if (metrics.length === 0 || metrics.length > QUERY_AGGREGATES_MAX) {
    throw refused(`${where}.metrics must be 1 to ${QUERY_AGGREGATES_MAX} (QUERY_AGGREGATES_MAX)`)
  }
  const top = readTopOrder(members.sort, `${where}.sort`)
  const names = metrics.map((one) => {
    const { field } = readMembers(one, `${where}.metrics`, ['field'])
    return readText(field, `${where}.metrics.field`)
  })
  const aggregates = names.map((field): Aggregate => {
    const ref = readCountedField(field, `${where}.metrics`)
    if (ref.kind !== 'path')
      throw refused(`${where}.metrics: ${shown(field)} is no field of events`)
    return { ...aggregate('top', ref), top }
  })
  return {
    name,
    aggregates,
    finish: (texts) => {
      const pairs = texts.map((text) => splitPair(text))
      const [first] = pairs
      if (first === undefined) return { top: [] }
      const values = names.map((field, at) => [field, raw(pairs[at]?.value)])
      return { top: [{ sort: [raw(first.sort)], metrics: Object.fromEntries(values) }] }
    },
    orderBy: () => undefined,
  }
}

/** Of `[sort,value]`; undefined where no event has one. */
function splitPair(text: string): { readonly sort: string; readonly value: string } | undefined {
  const [, sort, value] = /^\[([^,]*),(.*)\]$/s.exec(text) ?? []
  return sort === undefined || value === undefined ? undefined : { sort, value }
}

function readTopOrder(value: unknown, where: string): TopOrder {
  const given = Array.isArray(value) && value.length === 1 ? value[0] : value
  const [name, order] = typeof given === 'string' ? [given, 'asc'] : readOnly(given, where)
  const direction =
    typeof order === 'string' ? order : readObject(order, `${where}.${shown(name)}`).order
  if (direction !== 'asc' && direction !== 'desc' && direction !== undefined) {
    throw refused(`${where}: an order is asc or desc`)
  }
  const clock = clockOf(name)
  const by = clock ?? readFieldRef(`${where}`, name)
  return { by, isDescending: direction === 'desc' }
}

function readRate(name: string, body: unknown, where: string): Metric {
  const members = readMembers(body, where, ['unit', 'field', 'mode', 'format'])
  const unit = readText(members.unit ?? 'day', `${where}.unit`)
  const unitMs = Object.hasOwn(UNIT_MS, unit) ? UNIT_MS[unit] : undefined
  if (unitMs === undefined) {
    throw refused(`${where}.unit must be one of ${Object.keys(UNIT_MS).join(', ')}`)
  }
  const mode = members.mode === '' ? 'sum' : (members.mode ?? 'sum')
  if (mode !== 'sum' && mode !== 'value_count') {
    throw refused(`${where}.mode must be sum or value_count`)
  }
  const { field } = members
  const ref = field === undefined || field === '' ? undefined : readCountedField(field, where)
  const fn = ref === undefined || mode === 'value_count' ? 'count' : 'sum'
  return {
    name,
    aggregates: [aggregate(fn, ref)],
    finish: ([text], { bucketMs }) => {
      if (bucketMs === undefined) return { value: null }
      return { value: (Number(text === 'null' ? 0 : text) * unitMs) / bucketMs }
    },
    orderBy: () => undefined,
  }
}
