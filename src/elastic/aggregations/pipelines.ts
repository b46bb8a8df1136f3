/**
 * What Elasticsearch computes of the buckets of an answer, one after another: differences, running
 * sums, moving averages, arithmetic; and of siblings: the largest bucket, the mean of all.
 */
import { ELASTIC_WINDOW_MAX } from '../../limits.ts'
import {
  asList,
  type Members,
  readInteger,
  readMembers,
  readNumber,
  readObject,
  readText,
  refused,
  shown,
} from '../members.ts'
import { type Json, numberOf } from '../raw-json.ts'
import type { Answers, Pipeline, SeriesBucket } from './agg-tree.ts'
import { readScript } from './bucket-script.ts'
import { PERCENTS_DEFAULT, percentText, spreadOf } from './metrics.ts'
import { movingFunction, readMovingScript } from './moving-functions.ts'

type ReadPipeline = (name: string, body: unknown, where: string) => Pipeline

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}
const WINDOW_DEFAULT = 5

export const PIPELINES: Readonly<Record<string, ReadPipeline>> = {
  derivative: readDerivative,
  cumulative_sum: (name, body, where) => {
    const { path } = readOnePath(body, where, [])
    return along(name, path, (series) => {
      let sum = 0
      for (const bucket of series) {
        const value = path.valueOf(bucket, 'insert_zeros')
        if (Number.isFinite(value)) sum += value
        bucket.answers[name] = { value: sum }
      }
    })
  },
  serial_diff: (name, body, where) => {
    const { path, members, gap } = readOnePath(body, where, ['lag'])
    const max = ELASTIC_WINDOW_MAX
    const lag = readInteger(members.lag ?? 1, `${where}.lag`, { min: 1, max })
    return along(name, path, (series) => {
      const values = series.map((bucket) => path.valueOf(bucket, gap))
      for (const [index, bucket] of series.entries()) {
        const value = values[index]! - (values[index - lag] ?? Number.NaN)
        if (!Number.isNaN(value)) bucket.answers[name] = { value }
      }
    })
  },
  moving_fn: (name, body, where) => {
    const more = ['script', 'window', 'shift']
    const { path, members, gap } = readOnePath(body, where, more)
    const shift = readInteger(members.shift ?? 0, `${where}.shift`, {
      min: -ELASTIC_WINDOW_MAX,
      max: ELASTIC_WINDOW_MAX,
    })
    const window = readWindow(members, where)
    return moving(name, path, gap, {
      window,
      shift,
      apply: readMovingScript(members.script, where),
    })
  },
  moving_avg: readMovingAverage,
  bucket_script: readBucketScript,
  avg_bucket: sibling((values) => ({ value: sumOf(values) / values.length })),
  sum_bucket: sibling((values) => ({ value: sumOf(values) })),
  min_bucket: sibling((values, keys) => endOf(values, keys, Math.min)),
  max_bucket: sibling((values, keys) => endOf(values, keys, Math.max)),
  stats_bucket: sibling(statsOf),
  extended_stats_bucket: sibling((values) => {
    const squares = values.reduce((sum, value) => sum + value * value, 0)
    const spread = spreadOf(values.length, sumOf(values), squares, 2)
    return { ...statsOf(values), sum_of_squares: squares, ...spread }
  }),
  percentiles_bucket: readPercentilesBucket,
}

type Gap = 'skip' | 'insert_zeros'

/** `1`, `1.value`, `1[95.0]`, `1.std_deviation`. */
export function splitPath(path: string): readonly [name: string, property: string | undefined] {
  const [, bracketed, inner] = /^([^[]+)\[([^\]]+)\]$/.exec(path) ?? []
  if (bracketed !== undefined) return [bracketed, inner]
  const dot = path.indexOf('.')
  return dot < 0 ? [path, undefined] : [path.slice(0, dot), path.slice(dot + 1)]
}

/** What a path names in a bucket. */
class ValuePath {
  readonly name: string
  readonly #property: string | undefined

  constructor(path: string) {
    ;[this.name, this.#property] = splitPath(path)
  }

  /** NaN where there is none. */
  valueOf({ docCount, answers }: SeriesBucket, gap: Gap): number {
    if (this.name === '_count') return docCount
    const value = docCount === 0 ? Number.NaN : this.#read(answers[this.name])
    if (Number.isFinite(value)) return value
    return gap === 'insert_zeros' ? 0 : Number.NaN
  }

  #read(answer: Json): number {
    const members = answer as Readonly<Record<string, Json>> | undefined
    if (this.#property === undefined) return numberOf(members?.value)
    const values = (members?.values ?? {}) as Readonly<Record<string, Json>>
    const percent = percentText(Number(this.#property))
    return numberOf(members?.[this.#property] ?? values[this.#property] ?? values[percent])
  }
}

function readGap(value: unknown, where: string): Gap {
  if (value === undefined || value === 'skip') return 'skip'
  if (value === 'insert_zeros') return 'insert_zeros'
  throw refused(`${where}.gap_policy must be skip or insert_zeros`)
}

function readOnePath(body: unknown, where: string, more: readonly string[]) {
  const members = readMembers(body, where, ['buckets_path', 'gap_policy', 'format', ...more])
  const text = readText(members.buckets_path, `${where}.buckets_path`)
  if (text.includes('>')) throw refused(`${where}.buckets_path names a metric beside it`)
  return { members, path: new ValuePath(text), gap: readGap(members.gap_policy, where) }
}

function along(
  name: string,
  path: ValuePath,
  run: (series: readonly SeriesBucket[]) => void,
): Pipeline {
  return { name, isSibling: false, run, needs: path.name === '_count' ? [] : [path.name] }
}

function readDerivative(name: string, body: unknown, where: string): Pipeline {
  const { path, members, gap } = readOnePath(body, where, ['unit'])
  const unitMs = members.unit === undefined ? undefined : readUnitMs(members.unit, where)
  return along(name, path, (series) => {
    for (const [index, bucket] of series.entries()) {
      const before = series[index - 1]
      if (before === undefined) continue
      const value = path.valueOf(bucket, gap) - path.valueOf(before, gap)
      const span = Number(bucket.key) - Number(before.key)
      const normalized = unitMs === undefined ? {} : { normalized_value: (value * unitMs) / span }
      bucket.answers[name] = { value, ...normalized }
    }
  })
}

function readUnitMs(value: unknown, where: string): number {
  const [, count, unit = ''] = /^([0-9]{0,9})(ms|[smhdw])$/.exec(String(value)) ?? []
  const unitMs = Object.hasOwn(UNIT_MS, unit) ? UNIT_MS[unit]! : Number.NaN
  const ms = unitMs * Number(count || 1)
  if (ms > 0) return ms
  throw refused(`${where}.unit must be such as 1s`)
}

interface Moving {
  readonly window: number
  readonly shift: number
  readonly apply: (values: readonly number[]) => number
}

function moving(name: string, path: ValuePath, gap: Gap, of: Moving): Pipeline {
  return along(name, path, (series) => {
    const all = series.map((bucket) => path.valueOf(bucket, gap))
    const values = all.filter((value) => !Number.isNaN(value))
    const clamp = (index: number) => Math.min(Math.max(index, 0), values.length)
    let at = 0
    for (const [index, bucket] of series.entries()) {
      if (Number.isNaN(all[index])) continue
      const some = values.slice(clamp(at - of.window + of.shift), clamp(at + of.shift))
      bucket.answers[name] = { value: of.apply(some) }
      at++
    }
  })
}

function readWindow({ window }: Members, where: string): number {
  const max = ELASTIC_WINDOW_MAX
  const limit = 'ELASTIC_WINDOW_MAX'
  return readInteger(window ?? WINDOW_DEFAULT, `${where}.window`, { min: 1, max, limit })
}

const MODELS: ReadonlyMap<string, string> = new Map([
  ['simple', 'unweightedAvg'],
  ['linear', 'linearWeightedAvg'],
  ['ewma', 'ewma'],
])

/** As it was before Elasticsearch 8: no value before the second bucket, and no predictions. */
function readMovingAverage(name: string, body: unknown, where: string): Pipeline {
  const more = ['window', 'model', 'settings', 'minimize', 'predict']
  const { path, members, gap } = readOnePath(body, where, more)
  const { model = 'simple', predict = 0, minimize = false, settings = {} } = members
  if (Number(predict) !== 0) throw refused(`${where}.predict is not supported`)
  if (minimize !== false) throw refused(`${where}.minimize is not supported`)
  const found = MODELS.get(readText(model, `${where}.model`))
  if (found === undefined) throw refused(`${where}.model must be simple, linear or ewma`)
  const { alpha = 0.3 } = readObject(settings, `${where}.settings`)
  const numbers = found === 'ewma' ? [readNumber(alpha, `${where}.settings.alpha`)] : []
  const run = moving(name, path, gap, {
    window: readWindow(members, where),
    shift: 0,
    apply: movingFunction(found, numbers)!,
  })
  return {
    ...run,
    run: (series, siblings) => {
      run.run(series, siblings)
      const first = series.find(({ answers }) => answers[name] !== undefined)
      if (first !== undefined) first.answers[name] = undefined
    },
  }
}

function readBucketScript(name: string, body: unknown, where: string): Pipeline {
  const known = ['buckets_path', 'script', 'gap_policy', 'format']
  const members = readMembers(body, where, known)
  const paths = members.buckets_path
  const entries =
    typeof paths === 'string'
      ? [['_value', paths] as const]
      : Object.entries(readObject(paths, `${where}.buckets_path`))
  const named = entries.map(([variable, path]) => {
    const text = readText(path, `${where}.buckets_path`)
    if (text.includes('>')) throw refused(`${where}.buckets_path names metrics beside it`)
    return [variable, new ValuePath(text)] as const
  })
  const gap = readGap(members.gap_policy, where)
  const { params = {}, script } = scriptOf(members.script, where)
  const constants = Object.entries(readObject(params, `${where}.script.params`)).map(
    ([variable, value]) => [variable, readNumber(value, `${where}.script.params`)] as const,
  )
  const evaluate = readScript(script, `${where}.script`, [
    ...named.map(([variable]) => variable),
    ...constants.map(([variable]) => variable),
  ])
  return {
    name,
    isSibling: false,
    needs: named.map(([, path]) => path.name).filter((one) => one !== '_count'),
    run: (series) => {
      for (const bucket of series) {
        const values = named.map(
          ([variable, path]) => [variable, path.valueOf(bucket, gap)] as const,
        )
        if (values.some(([, value]) => Number.isNaN(value))) continue
        bucket.answers[name] = { value: evaluate(new Map([...constants, ...values])) }
      }
    },
  }
}

function scriptOf(value: unknown, where: string) {
  if (typeof value === 'string') return { script: value }
  const members = readMembers(value, `${where}.script`, ['source', 'inline', 'lang', 'params'])
  const script = readText(members.source ?? members.inline, `${where}.script.source`)
  return { script, params: members.params }
}

type OfSiblings = (values: readonly number[], keys: readonly string[]) => Answers

/** `buckets_path` is `histogram>metric`. */
function sibling(compute: OfSiblings): ReadPipeline {
  return (name, body, where) => {
    const known = ['buckets_path', 'gap_policy', 'format', 'sigma']
    const members = readMembers(body, where, known)
    return siblingOf(name, members, where, compute)
  }
}

function siblingOf(name: string, members: Members, where: string, compute: OfSiblings): Pipeline {
  const text = readText(members.buckets_path, `${where}.buckets_path`)
  const [list, inner, more] = text.split('>')
  if (list === undefined || inner === undefined || more !== undefined) {
    throw refused(
      `${where}.buckets_path must be such as "2>1": buckets beside it, and what of them`,
    )
  }
  const path = new ValuePath(inner)
  const gap = readGap(members.gap_policy, where)
  return {
    name,
    isSibling: true,
    needs: [list],
    run: (_, siblings) => {
      const series = seriesOf(siblings[list])
      if (series === undefined) throw refused(`${where}: there are no buckets ${shown(list)}`)
      const pairs = series
        .map((bucket) => [path.valueOf(bucket, gap), String(bucket.key)] as const)
        .filter(([value]) => !Number.isNaN(value))
      siblings[name] = compute(
        pairs.map(([value]) => value),
        pairs.map(([, key]) => key),
      )
    },
  }
}

/** The buckets of an answer. */
function seriesOf(answer: Json): readonly SeriesBucket[] | undefined {
  const list = (answer as { readonly buckets?: Json } | undefined)?.buckets
  if (list === undefined || list === null) return undefined
  const isList = Array.isArray(list)
  const entries = isList
    ? (list as readonly Answers[]).map((one) => [one.key_as_string ?? one.key, one] as const)
    : Object.entries(list as Readonly<Record<string, Answers>>)
  return entries.map(([key, answers]) => {
    const shownKey = typeof key === 'string' ? key : String(numberOf(key))
    return { key: shownKey, docCount: Number(answers.doc_count), answers }
  })
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

function endOf(
  values: readonly number[],
  keys: readonly string[],
  end: (a: number, b: number) => number,
): Answers {
  const value = values.length === 0 ? Number.NaN : values.reduce((a, b) => end(a, b))
  return { value, keys: keys.filter((_, index) => values[index] === value) }
}

function statsOf(values: readonly number[]): Answers {
  const [min, max] = [Math.min, Math.max].map((end) => {
    return values.length === 0 ? null : values.reduce((a, b) => end(a, b))
  })
  const sum = sumOf(values)
  return { count: values.length, min, max, avg: sum / values.length, sum }
}

function readPercentilesBucket(name: string, body: unknown, where: string): Pipeline {
  const members = readMembers(body, where, ['buckets_path', 'gap_policy', 'format', 'percents'])
  const percents = asList(members.percents ?? PERCENTS_DEFAULT).map((percent) => {
    return readNumber(percent, `${where}.percents`)
  })
  return siblingOf(name, members, where, (values) => {
    const sorted = values.toSorted((a, b) => a - b)
    const of = (percent: number) => {
      return sorted[Math.round((percent / 100) * (sorted.length - 1))] ?? Number.NaN
    }
    return { values: Object.fromEntries(percents.map((one) => [percentText(one), of(one)])) }
  })
}
