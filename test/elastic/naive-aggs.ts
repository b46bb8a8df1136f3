/**
 * Elasticsearch's aggregations evaluated plainly over events in memory: for each bucket the list of
 * its events, for each metric a loop. It knows nothing of queries, groups or levels.
 */

export interface NaiveEvent {
  readonly ms: number
  readonly payload: Readonly<Record<string, unknown>>
}

// biome-ignore lint/suspicious/noExplicitAny: requests and answers as they are sent.
type Any = any

/** What a query of a filter means, by its text. */
export type Matches = Readonly<Record<string, (event: NaiveEvent) => boolean>>

/**
 * A list of terms whose values are of several kinds has all of them as texts, under all parents
 * alike: those are found first that are least deep.
 */
export function naiveAggs(aggs: Any, events: readonly NaiveEvent[], matches: Matches): Any {
  const texts = new Set<Any>()
  for (;;) {
    const kinds = new Map<Any, { readonly depth: number; readonly of: Set<string> }>()
    const answers = naiveLevel(aggs, events, { matches, texts, kinds, depth: 0 })
    const mixed = [...kinds].filter(([, { of }]) => of.size > 1)
    if (mixed.length === 0) return answers
    const least = Math.min(...mixed.map(([, { depth }]) => depth))
    for (const [body, { depth }] of mixed) if (depth === least) texts.add(body)
  }
}

interface Around {
  readonly matches: Matches
  readonly texts: ReadonlySet<Any>
  readonly kinds: Map<Any, { readonly depth: number; readonly of: Set<string> }>
  readonly depth: number
}

function naiveLevel(aggs: Any, events: readonly NaiveEvent[], around: Around): Any {
  const answers: Any = {}
  for (const [name, agg] of Object.entries<Any>(aggs)) {
    const [kind] = Object.keys(agg).filter((key) => key !== 'aggs')
    const body = agg[kind!]
    if (kind! in METRICS) answers[name] = METRICS[kind!]!(body, events)
    else if (!(kind! in PIPELINES) && !kind!.endsWith('_bucket')) {
      answers[name] = naiveBuckets(kind!, body, agg.aggs ?? {}, events, around)
    }
  }
  for (const [name, agg] of Object.entries<Any>(aggs)) {
    const [kind] = Object.keys(agg)
    if (!kind!.endsWith('_bucket')) continue
    const [list, path] = agg[kind!].buckets_path.split('>')
    const values = answers[list].buckets
      .map((bucket: Any) => numberAt(bucket, path))
      .filter((value: number) => !Number.isNaN(value))
    const sum = values.reduce((all: number, value: number) => all + value, 0)
    if (kind === 'sum_bucket') answers[name] = { value: sum }
    if (kind === 'avg_bucket') answers[name] = { value: sum / values.length }
    if (kind === 'max_bucket') answers[name] = { value: Math.max(...values) }
  }
  return answers
}

function at(event: NaiveEvent, path: string): unknown {
  let value: Any = event.payload
  for (const name of path.split('.')) value = value?.[name]
  return value
}

function numbers(events: readonly NaiveEvent[], path: string): number[] {
  return events.map((event) => at(event, path)).filter((one) => typeof one === 'number') as number[]
}

const add = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0)
const orNull = (value: number) => (Number.isFinite(value) ? value : null)

const METRICS: Readonly<Record<string, (body: Any, events: readonly NaiveEvent[]) => Any>> = {
  avg: ({ field }, events) => {
    const values = numbers(events, field)
    return { value: orNull(add(values) / values.length) }
  },
  sum: ({ field }, events) => ({ value: add(numbers(events, field)) }),
  min: ({ field }, events) => ({ value: orNull(Math.min(...numbers(events, field))) }),
  max: ({ field }, events) => ({ value: orNull(Math.max(...numbers(events, field))) }),
  value_count: ({ field }, events) => ({
    value: events.filter((event) => at(event, field) !== undefined).length,
  }),
  cardinality: ({ field }, events) => {
    const values = events.map((event) => at(event, field)).filter((one) => one !== undefined)
    return { value: new Set(values).size }
  },
  percentiles: ({ field, percents }, events) => {
    const sorted = numbers(events, field).sort((a, b) => a - b)
    const of = (percent: number) => {
      if (sorted.length === 0) return null
      return sorted[
        percent === 100 ? sorted.length - 1 : Math.floor((percent / 100) * sorted.length)
      ]
    }
    const text = (percent: number) => (Number.isInteger(percent) ? `${percent}.0` : `${percent}`)
    return { values: Object.fromEntries(percents.map((one: number) => [text(one), of(one)])) }
  },
  stats: ({ field }, events) => naiveStats(numbers(events, field)),
  extended_stats: ({ field }, events) => {
    const values = numbers(events, field)
    const { avg } = naiveStats(values)
    const variance = add(values.map((value) => (value - (avg ?? 0)) ** 2)) / values.length
    return {
      ...naiveStats(values),
      sum_of_squares: add(values.map((value) => value * value)),
      variance: orNull(variance),
      std_deviation: orNull(Math.sqrt(variance)),
    }
  },
  top_metrics: ({ metrics, sort }, events) => {
    const [[name, order]] = Object.entries<string>(sort) as [[string, string]]
    const keyOf = (event: NaiveEvent) => (name === '@timestamp' ? event.ms : at(event, name))
    const ranked = events
      .map((event, index) => ({ event, index, key: keyOf(event) }))
      .filter(({ key }) => typeof key === 'number') as Any[]
    const sign = order === 'desc' ? -1 : 1
    ranked.sort((a, b) => sign * (a.key - b.key || a.index - b.index))
    const [first] = ranked
    if (first === undefined) return { top: [] }
    const shown = metrics.map(({ field }: Any) => [field, at(first.event, field) ?? null])
    return { top: [{ sort: [first.key], metrics: Object.fromEntries(shown) }] }
  },
}

function naiveStats(values: readonly number[]) {
  return {
    count: values.length,
    min: orNull(Math.min(...values)),
    max: orNull(Math.max(...values)),
    avg: orNull(add(values) / values.length),
    sum: add(values),
  }
}

function naiveBuckets(
  kind: string,
  body: Any,
  aggs: Any,
  events: readonly NaiveEvent[],
  around: Around,
): Any {
  // What is not shown says nothing of the kinds below it.
  const below = (some: readonly NaiveEvent[], isShown = true) => ({
    doc_count: some.length,
    ...naiveLevel(aggs, some, {
      ...around,
      depth: around.depth + 1,
      kinds: isShown ? around.kinds : new Map(),
    }),
  })
  if (kind === 'filters') {
    const entries = Object.entries<Any>(body.filters).map(([name, filter]) => {
      return [name, below(events.filter(around.matches[filter.query_string.query]!))]
    })
    return { buckets: Object.fromEntries(entries) }
  }
  const buckets =
    kind === 'terms'
      ? naiveTerms(body, events, below, around)
      : naiveSteps(kind, body, events, below)
  naivePipelines(aggs, buckets.buckets)
  return buckets
}

type Below = (events: readonly NaiveEvent[], isShown?: boolean) => Any

const KINDS = ['string', 'number', 'boolean']

function naiveTerms(body: Any, events: readonly NaiveEvent[], below: Below, around: Around): Any {
  const isText = around.texts.has(body)
  const groups = new Map<unknown, NaiveEvent[]>()
  for (const event of events) {
    const value = at(event, body.field) ?? body.missing
    if (value === undefined) continue
    const key = isText ? String(value) : value
    groups.set(key, [...(groups.get(key) ?? []), event])
  }
  const [[by, direction]] = Object.entries<string>(body.order ?? { _count: 'desc' }) as [
    [string, string],
  ]
  const sign = direction === 'desc' ? -1 : 1
  const compare = (a: unknown, b: unknown) => {
    const kinds = KINDS.indexOf(typeof a) - KINDS.indexOf(typeof b)
    if (kinds !== 0) return kinds
    if (typeof a === 'number') return a - (b as number)
    return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)))
  }
  const rows = [...groups].map(([key, events]) => ({ key, events, bucket: below(events, false) }))
  const some = rows.filter(({ bucket }) => bucket.doc_count >= (body.min_doc_count ?? 1))
  some.sort((a, b) => {
    const ties = compare(a.key, b.key)
    if (by === '_key') return sign * ties
    const [left, right] = [a, b].map(({ bucket }) => numberAt(bucket, by, true)) as [number, number]
    const [isNoneA, isNoneB] = [Number.isNaN(left), Number.isNaN(right)]
    // Groups without a value are last in both directions.
    if (isNoneA || isNoneB) return Number(isNoneA) - Number(isNoneB) || ties
    return sign * (left - right) || ties
  })
  const shown = some.slice(0, body.size)
  const known = around.kinds.get(body) ?? { depth: around.depth, of: new Set() }
  around.kinds.set(body, known)
  for (const { key } of shown) known.of.add(typeof key)
  const others = some.slice(body.size).reduce((sum, { bucket }) => sum + bucket.doc_count, 0)
  return {
    sum_other_doc_count: others,
    buckets: shown.map(({ key, events: of }) => {
      const members =
        typeof key === 'boolean' ? { key: Number(key), key_as_string: `${key}` } : { key }
      return { ...members, ...below(of) }
    }),
  }
}

const STEP_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 }

function naiveSteps(kind: string, body: Any, events: readonly NaiveEvent[], below: Below): Any {
  const isTime = kind === 'date_histogram'
  const unit = isTime ? body.fixed_interval.slice(-1) : ''
  const step = isTime ? Number(body.fixed_interval.slice(0, -1)) * STEP_MS[unit]! : body.interval
  const offset = isTime ? Number(/\d+/.exec(body.offset ?? '0')?.[0]) * 1_000 : (body.offset ?? 0)
  const valueIn = (event: NaiveEvent) => (isTime ? event.ms : at(event, body.field))
  const placeOf = (value: number) => Math.floor((value - offset) / step)
  const byPlace = new Map<number, NaiveEvent[]>()
  for (const event of events) {
    const value = valueIn(event)
    if (typeof value !== 'number') continue
    const place = placeOf(value)
    byPlace.set(place, [...(byPlace.get(place) ?? []), event])
  }
  const least = body.min_doc_count ?? 0
  const { min, max } = body.extended_bounds ?? {}
  const bounds = least > 0 ? [] : [min, max].filter((one) => one !== undefined).map(placeOf)
  const places = [...byPlace.keys(), ...bounds]
  const buckets: Any[] = []
  if (places.length === 0) return { buckets }
  for (let place = Math.min(...places); place <= Math.max(...places); place++) {
    const some = byPlace.get(place) ?? []
    if (some.length < least) continue
    const key = place * step + offset
    buckets.push({ key, ...(isTime && { key_as_string: String(key) }), ...below(some) })
  }
  return { buckets }
}

/** NaN where there is none. */
function numberAt(bucket: Any, path: string, ofEmpty = false): number {
  if (path === '_count') return bucket.doc_count
  if (bucket.doc_count === 0 && !ofEmpty) return Number.NaN
  const [, name, inBrackets, behindDot] = /^([^[.]+)(?:\[([^\]]+)\]|\.(.+))?$/.exec(path)!
  const property = inBrackets ?? behindDot
  const answer = bucket[name!]
  const found =
    property === undefined ? answer?.value : (answer?.[property] ?? answer?.values?.[property])
  return typeof found === 'number' ? found : Number.NaN
}

const PIPELINES: Readonly<Record<string, (name: string, body: Any, buckets: Any[]) => void>> = {
  derivative: (name, body, buckets) => {
    for (let at = 1; at < buckets.length; at++) {
      const value =
        numberAt(buckets[at], body.buckets_path) - numberAt(buckets[at - 1], body.buckets_path)
      buckets[at][name] = { value: orNull(value) }
    }
  },
  cumulative_sum: (name, body, buckets) => {
    let sum = 0
    for (const bucket of buckets) {
      sum += numberAt(bucket, body.buckets_path) || 0
      bucket[name] = { value: sum }
    }
  },
  serial_diff: (name, body, buckets) => {
    for (let at = body.lag; at < buckets.length; at++) {
      const before = numberAt(buckets[at - body.lag], body.buckets_path)
      const value = numberAt(buckets[at], body.buckets_path) - before
      if (!Number.isNaN(value)) buckets[at][name] = { value }
    }
  },
  moving_fn: (name, body, buckets) => {
    const known = buckets.filter((bucket) => !Number.isNaN(numberAt(bucket, body.buckets_path)))
    for (const [at, bucket] of known.entries()) {
      const some = known.slice(Math.max(0, at - body.window), at)
      const values = some.map((one) => numberAt(one, body.buckets_path))
      bucket[name] = { value: orNull(add(values) / values.length) }
    }
  },
  bucket_script: (name, body, buckets) => {
    for (const bucket of buckets) {
      const [a, b] = [body.buckets_path.a, body.buckets_path.b].map((path) =>
        numberAt(bucket, path),
      )
      if (Number.isNaN(a!) || Number.isNaN(b!)) continue
      bucket[name] = { value: orNull((a! - b!) / (b! * b! + 1)) }
    }
  },
}

function naivePipelines(aggs: Any, buckets: Any[]): void {
  for (const [name, agg] of Object.entries<Any>(aggs)) {
    const [kind] = Object.keys(agg)
    PIPELINES[kind!]?.(name, agg[kind!], buckets)
  }
}
