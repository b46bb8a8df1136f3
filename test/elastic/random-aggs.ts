/** Random events, and random requests about them. */
import type { Matches, NaiveEvent } from './naive-aggs.ts'

// biome-ignore lint/suspicious/noExplicitAny: a request as it is sent.
type Any = any

export const START_MS = Date.parse('2026-03-01T12:00:00Z')
const RANGE_MS = 3_600_000

export class RandomAggs {
  readonly #next: () => number

  constructor(next: () => number) {
    this.#next = next
  }

  #int(count: number): number {
    return Math.floor(this.#next() * count)
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#int(list.length)]!
  }

  #chance(share: number): boolean {
    return this.#next() < share
  }

  /** In the order of their ids; some have the same time. */
  events(count: number): NaiveEvent[] {
    return Array.from({ length: count }, () => {
      const code = this.#chance(0.9)
        ? this.#pick<unknown>([200, 200, 404, 500, '500', 'none', true])
        : undefined
      return {
        ms: START_MS + this.#int(this.#chance(0.2) ? 60 : RANGE_MS / 1_000) * 1_000 + this.#int(3),
        payload: {
          ...(this.#chance(0.9) && { svc: this.#pick(['api', 'web', 'db', 'é"', 'x'.repeat(40)]) }),
          ...(code !== undefined && { code }),
          ...(this.#chance(0.9) && { n: this.#number() }),
          ...(this.#chance(0.7) && { d: Math.round(this.#next() * 4_000 - 2_000) / 8 }),
          ok: this.#chance(0.5),
          a: { b: this.#pick(['x', 'y', 'z']) },
        },
      }
    })
  }

  #number(): unknown {
    if (this.#chance(0.05)) return 'no number'
    return this.#chance(0.2) ? this.#int(100) / 2 - 20 : this.#int(200) - 100
  }

  request(): {
    readonly body: Any
    readonly fromMs: number
    readonly toMs: number
    readonly query: string
  } {
    const fromMs = START_MS + this.#int(RANGE_MS / 2)
    const toMs = fromMs + 1 + this.#int(RANGE_MS)
    const query = this.#pick(Object.keys(QUERIES))
    const range = { '@timestamp': { gte: fromMs, lte: toMs, format: 'epoch_millis' } }
    const filter = [{ range }, { query_string: { analyze_wildcard: true, query } }]
    const aggs = this.#aggs(0, false)
    return { body: { size: 0, query: { bool: { filter } }, aggs }, fromMs, toMs, query }
  }

  #aggs(level: number, isInTime: boolean): Any {
    const aggs: Any = {}
    const buckets = level === 0 ? 1 + this.#int(2) : this.#int(level > 2 ? 1 : 2)
    for (let at = 0; at < buckets; at++) aggs[`b${at}`] = this.#bucket(level, isInTime)
    const metrics = this.#int(3)
    for (let at = 0; at < metrics; at++) aggs[`m${at}`] = this.#metric()
    const [name, agg] = Object.entries<Any>(aggs)[0] ?? []
    const isList =
      agg !== undefined && ['terms', 'histogram', 'date_histogram'].some((one) => one in agg)
    if (isList && this.#chance(0.3)) {
      aggs.sib = {
        [this.#pick(['sum_bucket', 'avg_bucket', 'max_bucket'])]: {
          buckets_path: `${name}>_count`,
        },
      }
    }
    return aggs
  }

  #bucket(level: number, isInTime: boolean): Any {
    const kinds = [
      'terms',
      'terms',
      'histogram',
      'filters',
      ...(isInTime ? [] : ['date_histogram', 'date_histogram']),
    ]
    const kind = this.#pick(kinds)
    const aggs = this.#aggs(level + 1, isInTime || kind === 'date_histogram')
    switch (kind) {
      case 'terms':
        return { terms: this.#terms(aggs), aggs }
      case 'histogram': {
        const bounds = this.#chance(0.3) && { extended_bounds: { min: -60, max: 130 } }
        const histogram = {
          field: this.#pick(['n', 'd']),
          interval: this.#pick([20, 12.5, 50]),
          ...bounds,
        }
        this.#along(aggs)
        return {
          histogram: { ...histogram, ...this.#least(), ...(this.#chance(0.3) && { offset: 5 }) },
          aggs,
        }
      }
      case 'filters': {
        const names = Object.keys(QUERIES).filter(() => this.#chance(0.5))
        const some = names.length === 0 ? ['svc:api'] : names
        const filters = some.map((query, at) => [`f${at}`, { query_string: { query } }])
        return { filters: { filters: Object.fromEntries(filters) }, aggs }
      }
      default: {
        this.#along(aggs)
        return { date_histogram: this.#time(), aggs }
      }
    }
  }

  #least() {
    return this.#chance(0.3) ? { min_doc_count: this.#int(4) } : {}
  }

  #time(): Any {
    const bounds = { extended_bounds: { min: START_MS, max: START_MS + RANGE_MS } }
    return {
      field: '@timestamp',
      fixed_interval: this.#pick(['5m', '7m', '600s', '1h']),
      format: 'epoch_millis',
      ...this.#least(),
      ...(this.#chance(0.5) && bounds),
      ...(this.#chance(0.2) && { offset: '+30s' }),
    }
  }

  #terms(aggs: Any): Any {
    const field = this.#pick(['svc', 'code', 'ok', 'a.b', 'n'])
    const orders = ['_key', '_count', ...orderable(aggs)]
    return {
      field,
      size: 1 + this.#int(6),
      order: { [this.#pick(orders)]: this.#pick(['asc', 'desc']) },
      ...(this.#chance(0.3) && { min_doc_count: 1 + this.#int(3) }),
      ...(this.#chance(0.3) && { missing: this.#pick(['unknown', 'api', 7, true]) }),
    }
  }

  #metric(): Any {
    const field = this.#pick(['n', 'd'])
    const kind = this.#pick([
      'avg',
      'sum',
      'min',
      'max',
      'value_count',
      'cardinality',
      'stats',
      'extended_stats',
      'percentiles',
      'top_metrics',
    ])
    if (kind === 'percentiles') return { percentiles: { field, percents: [50, 95, 99.9, 25] } }
    if (kind === 'cardinality')
      return { cardinality: { field: this.#pick(['svc', 'code', 'n', 'a.b']) } }
    if (kind !== 'top_metrics') return { [kind]: { field } }
    const sort = { [this.#pick(['@timestamp', 'd'])]: this.#pick(['asc', 'desc']) }
    return { top_metrics: { metrics: [{ field }, { field: 'svc' }], sort, size: 1 } }
  }

  /** What is computed along a list of buckets, of metrics in it. */
  #along(aggs: Any): void {
    const paths = ['_count', ...orderable(aggs)]
    const count = this.#int(3)
    for (let at = 0; at < count; at++) {
      const buckets_path = this.#pick(paths)
      aggs[`p${at}`] = this.#pick([
        { derivative: { buckets_path } },
        { cumulative_sum: { buckets_path } },
        { serial_diff: { buckets_path, lag: 1 + this.#int(3) } },
        {
          moving_fn: {
            buckets_path,
            window: 1 + this.#int(4),
            script: 'MovingFunctions.unweightedAvg(values)',
          },
        },
        {
          bucket_script: {
            buckets_path: { a: buckets_path, b: this.#pick(paths) },
            script: '(params.a - params.b) / (params.b * params.b + 1)',
          },
        },
      ])
    }
  }
}

/** Paths of values of metrics that groups can be ordered by. */
function orderable(aggs: Any): string[] {
  return Object.entries<Any>(aggs).flatMap(([name, agg]) => {
    const [kind] = Object.keys(agg)
    if (['avg', 'sum', 'min', 'max', 'cardinality', 'value_count'].includes(kind!)) return [name]
    if (kind === 'percentiles') return [`${name}[95.0]`]
    return kind === 'stats' ? [`${name}.max`] : []
  })
}

const is =
  (path: string, ...values: readonly unknown[]) =>
  (event: NaiveEvent) => {
    const [first, second] = path.split('.')
    const value = event.payload[first!] as Any
    return values.includes(second === undefined ? value : value?.[second])
  }

export const QUERIES: Matches = {
  '*': () => true,
  'svc:api': is('svc', 'api'),
  'code:"500" OR a.b:x': (event) => is('code', 500, '500')(event) || is('a.b', 'x')(event),
  'NOT ok:true': is('ok', false),
  'n:>=0 AND svc:(api web)': (event) => {
    const { n } = event.payload
    return typeof n === 'number' && n >= 0 && is('svc', 'api', 'web')(event)
  },
  'nothing:here': () => false,
}
