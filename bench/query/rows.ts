/**
 * What is measured, row by row: the request to the REST API, the same work as SQL over the table of
 * the stream that somebody would write who knows its types, and how the two answers compare.
 */
import { quoteFieldPath } from '../../src/model/field-path.ts'
import { KNOWN_TRACE_ID, RARE_WORD } from './query-corpus.ts'

/** Receipt times that hold all events, and the table they are in. */
export interface Scene {
  readonly table: string
  readonly fromMs: number
  readonly toMs: number
}

export type EngineRow = Readonly<Record<string, unknown>>
/** Of an answer; numbers and texts in a fixed order, so that two can be compared. */
export type Told = readonly unknown[]

export interface QueryRow {
  readonly name: string
  /** Milliseconds. */
  readonly mustMs: number
  readonly goalMs: number
  /** Behind `/v1/streams/{id}`, or with `isAtRoot` as it is. */
  readonly path: string
  readonly isAtRoot?: boolean
  readonly body: (scene: Scene) => object | string
  readonly sql: (scene: Scene) => string
  readonly told: (answer: Answer) => Told
  readonly toldByEngine: (rows: readonly EngineRow[]) => Told
}

/** What rows read of answers. */
interface Answer {
  readonly total?: number
  readonly rows?: readonly Readonly<Record<string, unknown>>[]
  readonly buckets?: readonly { _bucket: string; levels: Readonly<Record<string, number>> }[]
  readonly events?: readonly { readonly id: string }[]
  readonly patterns?: readonly { readonly count: number; readonly pattern_ids: readonly string[] }[]
  /** Of `_msearch`. */
  readonly responses?: readonly Panel[]
}

interface Panel {
  readonly aggregations: Readonly<Record<string, PanelBuckets>>
  readonly hits: { readonly hits: readonly unknown[] }
}

interface PanelBuckets {
  readonly buckets: readonly PanelBucket[]
}

type PanelBucket = Readonly<Partial<Record<string, PanelBuckets>>> & { readonly doc_count: number }

const BUCKETS_MAX = 120
const STEPS_S = [1, 5, 10, 30, 60, 300]
const PAGE = 100

const INTEGERS = ['user.id', 'http.status']
const string = (path: string) => `payload.${quoteFieldPath(path)}.:String`
const integer = (path: string) => `payload.${quoteFieldPath(path)}.:Int64`
const float = (path: string) => `payload.${quoteFieldPath(path)}.:Float64`
const isTrace = (id: string) => `${string('trace.trace_id')} = '${id}'`
const folded = (path: string) => `lowerUTF8(${string(path)})`
const DURATION = 'http.duration_ms'
/** A whole number of milliseconds is an integer in JSON. */
const duration = `ifNull(${float(DURATION)}, toFloat64(${integer(DURATION)}))`

export const QUERY_ROWS: readonly QueryRow[] = [
  counted('count', [10, 3], '', ''),
  series(),
  levels(),
  grouped('grp_level', [40, 20], { by: '_level', sql: 'level', limit: 10 }),
  grouped('grp_ns', [40, 20], { by: 'k8s.namespace', limit: 100 }),
  grouped('grp_status', [40, 20], { by: 'http.status', limit: 100 }),
  grouped('top_ip', [150, 80], { by: 'http.ip', limit: 10 }),
  grouped('top_user', [150, 80], { by: 'user.id', limit: 10 }),
  measured('uniq_user', [{ fn: 'uniq', field: 'user.id' }], `uniqExact(${integer('user.id')})`),
  measured(
    'quant',
    [
      { fn: 'p50', field: DURATION },
      { fn: 'p99', field: DURATION },
    ],
    `quantileExact(0.5)(${duration}), quantileExact(0.99)(${duration})`,
  ),
  counted('svc', [50, 25], 'service:cart', `${string('service')} = 'cart'`),
  counted('status', [50, 25], 'http.status:500', `${integer('http.status')} = 500`),
  counted(
    'two',
    [50, 25],
    'http.status:503 level:error',
    `${integer('http.status')} = 503 AND ${string('level')} = 'error'`,
  ),
  counted(
    'range',
    [50, 25],
    'http.duration_ms:>890',
    `(${float(DURATION)} > 890 OR ${integer(DURATION)} > 890)`,
  ),
  counted('word', [20, 10], RARE_WORD, `hasAllTokens(${folded('message')}, ['${RARE_WORD}'])`),
  counted('common', [20, 10], 'request', `hasAllTokens(${folded('message')}, ['request'])`),
  counted(
    'phrase',
    [20, 10],
    '"signed in from"',
    `hasPhrase(${folded('message')}, 'signed in from')`,
  ),
  counted(
    'substr',
    [150, 100],
    'message:*arenkorb*',
    `position(${folded('message')}, 'arenkorb') > 0`,
  ),
  counted(
    'regex',
    [150, 100],
    'message:/attempt [0-9]+ of/',
    `match(${string('message')}, 'attempt [0-9]+ of')`,
  ),
  counted('trace', [25, 10], `trace.trace_id:${KNOWN_TRACE_ID}`, isTrace(KNOWN_TRACE_ID)),
  counted('exists', [25, 10], 'error.type:*', `isNotNull(${string('error.type')})`),
  newest('last100', '', ''),
  newest('last100_503', 'http.status:503', `${integer('http.status')} = 503`),
  newest('last100_word', 'upstream', `hasAllTokens(${folded('message')}, ['upstream'])`),
  patterns(),
  panels(),
]

/** The step of buckets, seconds. */
export function stepOf({ fromMs, toMs }: Scene): number {
  const step = STEPS_S.find((seconds) => (toMs - fromMs) / seconds / 1_000 <= BUCKETS_MAX)
  return step ?? STEPS_S.at(-1)!
}

function range({ fromMs, toMs }: Scene): object {
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() }
}

function source({ table, fromMs, toMs }: Scene, condition = ''): string {
  const at = (ms: number) => `fromUnixTimestamp64Milli(toInt64(${ms}), 'UTC')`
  const times = `ingested_at >= ${at(fromMs)} AND ingested_at < ${at(toMs)}`
  return `FROM ${table} WHERE ${times}${condition === '' ? '' : ` AND ${condition}`}`
}

/** The engine's work for a search by a trace id; the event itself may not be there yet. */
export function traceSql(scene: Scene, id: string): string {
  return `SELECT count() AS c ${source(scene, isTrace(id))}`
}

/** How many events match. */
function counted(
  name: string,
  [mustMs, goalMs]: readonly [number, number],
  query: string,
  condition: string,
): QueryRow {
  return {
    name,
    mustMs,
    goalMs,
    path: '/query',
    body: (scene) => ({ query, ...range(scene) }),
    sql: (scene) => `SELECT count() AS c ${source(scene, condition)}`,
    told: ({ total }) => [total],
    toldByEngine: (rows) => rows.map(({ c }) => Number(c)),
  }
}

function measured(name: string, aggregates: readonly object[], sql: string): QueryRow {
  return {
    name,
    mustMs: 100,
    goalMs: 60,
    path: '/query',
    body: (scene) => ({ aggregates, ...range(scene) }),
    sql: (scene) => `SELECT ${sql} ${source(scene)}`,
    told: ({ rows = [] }) => rows.flatMap((row) => Object.values(row).map(Number)),
    toldByEngine: (rows) => rows.flatMap((row) => Object.values(row).map(Number)),
  }
}

function grouped(
  name: string,
  [mustMs, goalMs]: readonly [number, number],
  group: { readonly by: string; readonly sql?: string; readonly limit: number },
): QueryRow {
  const { by, limit } = group
  const column = group.sql ?? (INTEGERS.includes(by) ? integer(by) : string(by))
  return {
    name,
    mustMs,
    goalMs,
    path: '/query',
    body: (scene) => ({ group_by: [by], limit, ...range(scene) }),
    sql: (scene) =>
      `SELECT ${column} AS v, count() AS c ${source(scene)}
       GROUP BY v ORDER BY c DESC, v LIMIT ${limit}`,
    told: ({ rows = [] }) => rows.map((row) => [row[by], Number(row.count)]),
    toldByEngine: (rows) => rows.map(({ v, c }) => [v, Number(c)]),
  }
}

function bucketSql(scene: Scene): string {
  return `intDiv(toUnixTimestamp64Milli(ingested_at), ${stepOf(scene) * 1_000})`
}

function series(): QueryRow {
  return {
    name: 'hist',
    mustMs: 40,
    goalMs: 20,
    path: '/query',
    body: (scene) => ({ group_by: [{ bucket: `${stepOf(scene)}s` }], ...range(scene) }),
    sql: (scene) =>
      `SELECT ${bucketSql(scene)} AS b, count() AS c ${source(scene)} GROUP BY b ORDER BY b`,
    told: ({ rows = [] }) => rows.map(({ count }) => Number(count)).filter((count) => count > 0),
    toldByEngine: (rows) => rows.map(({ c }) => Number(c)),
  }
}

function levels(): QueryRow {
  return {
    name: 'hist_level',
    mustMs: 40,
    goalMs: 20,
    path: '/histogram',
    body: (scene) => ({ bucket: `${stepOf(scene)}s`, ...range(scene) }),
    sql: (scene) =>
      `SELECT ${bucketSql(scene)} AS b, level AS v, count() AS c ${source(scene)}
       GROUP BY b, v ORDER BY b, v`,
    told: ({ buckets = [] }) =>
      buckets.flatMap(({ levels: counts }) => {
        return Object.entries(counts).filter(([, count]) => count > 0)
      }),
    toldByEngine: (rows) => rows.map(({ v, c }) => [v, Number(c)]),
  }
}

/** The newest events, whole. */
function newest(name: string, query: string, condition: string): QueryRow {
  return {
    name,
    mustMs: 40,
    goalMs: 20,
    path: '/search',
    body: (scene) => ({ query, limit: PAGE, ...range(scene) }),
    sql: (scene) =>
      `SELECT toString(segment_id) AS s, ordinal AS o, ingested_at, event_time, payload
       ${source(scene, condition)}
       ORDER BY ingested_at DESC, segment_id DESC, ordinal DESC LIMIT ${PAGE}`,
    told: ({ events = [] }) => events.map(({ id }) => id),
    toldByEngine: (rows) => rows.map(({ s, o }) => `${s}-${o}`),
  }
}

/** What kinds of messages there are, with templates and counts by level and time. */
function patterns(): QueryRow {
  const id = `leftPad(lower(hex(pattern)), 16, '0')`
  return {
    name: 'patterns',
    mustMs: 300,
    goalMs: 150,
    path: '/patterns',
    body: (scene) => ({ limit: 200, ...range(scene) }),
    sql: (scene) =>
      `SELECT ${id} AS v, count() AS c ${source(scene, 'pattern != 0')} GROUP BY pattern`,
    told: ({ patterns: rows = [] }) => [
      rows.reduce((sum, { count }) => sum + count, 0),
      ...rows.flatMap(({ pattern_ids: ids }) => ids).sort(),
    ],
    toldByEngine: (rows) => [
      rows.reduce((sum, { c }) => sum + Number(c), 0),
      ...rows.map(({ v }) => String(v)).sort(),
    ],
  }
}

/** A dashboard of Grafana: ten panels in one `_msearch`. Told is how many points each has. */
function panels(): QueryRow {
  const time = (scene: Scene, aggs: object = {}) => {
    const histogram = { field: '_ingested_at', fixed_interval: `${stepOf(scene)}s` }
    return { t: { date_histogram: { ...histogram, min_doc_count: 1 }, aggs } }
  }
  const by = (field: string, aggs: object = {}) => ({ g: { terms: { field, size: 100 }, aggs } })
  const quantiles = { q: { percentiles: { field: DURATION, percents: [50, 99] } } }
  const mean = { m: { avg: { field: DURATION } } }
  const searches = (scene: Scene): (readonly [query: string, more: object])[] => [
    ['*', { aggs: time(scene) }],
    ['*', { aggs: by('_level', time(scene)) }],
    ['*', { aggs: by('http.status', time(scene)) }],
    ['*', { aggs: by('k8s.namespace', time(scene)) }],
    ['*', { aggs: time(scene, quantiles) }],
    ['*', { aggs: by('k8s.namespace', mean) }],
    ['*', { aggs: { u: { cardinality: { field: 'user.id' } } } }],
    ['http.status:>=500', { aggs: time(scene) }],
    ['level:error', { aggs: by('http.status') }],
    ['request', { aggs: time(scene), size: PAGE, sort: [{ _ingested_at: 'desc' }] }],
  ]
  return {
    name: 'panels',
    mustMs: 1_000,
    goalMs: 500,
    path: '/_msearch',
    isAtRoot: true,
    body: (scene) =>
      searches(scene)
        .map((one) => panelText(scene, one))
        .join(''),
    sql: panelsSql,
    told: ({ responses = [] }) => responses.map(({ aggregations: { t, g } }) => pointsOf(t ?? g)),
    toldByEngine: ([row = {}]) => Object.values(row).map(Number),
  }
}

function panelText(
  { fromMs, toMs }: Scene,
  [query, more]: readonly [query: string, more: object],
): string {
  const range = { _ingested_at: { gte: fromMs, lte: toMs - 1, format: 'epoch_millis' } }
  const filter = [{ range }, { query_string: { analyze_wildcard: true, query } }]
  return `{}\n${JSON.stringify({ size: 0, query: { bool: { filter } }, ...more })}\n`
}

function pointsOf(list: PanelBuckets | undefined): number {
  return (list?.buckets ?? []).reduce((sum, { t }) => sum + (t?.buckets.length ?? 1), 0)
}

function panelsSql(scene: Scene): string {
  const b = bucketSql(scene)
  const level = string('level')
  const points = (columns: string, keys: string, condition = '') =>
    `(SELECT count() FROM (SELECT ${columns} ${source(scene, condition)} GROUP BY ${keys}))`
  const namespace = string('k8s.namespace')
  const status = integer('http.status')
  const word = `hasAllTokens(${folded('message')}, ['request'])`
  return `SELECT ${[
    points(`${b} AS b`, 'b'),
    points(`${b} AS b, level AS v`, 'b, v', "level != ''"),
    points(`${b} AS b, ${status} AS v`, 'b, v', `isNotNull(${status})`),
    points(`${b} AS b, ${namespace} AS v`, 'b, v', `isNotNull(${namespace})`),
    points(`${b} AS b, quantilesExact(0.5, 0.99)(${duration})`, 'b'),
    points(`${namespace} AS v, avg(${duration})`, 'v', `isNotNull(${namespace})`),
    `(SELECT uniqExact(${integer('user.id')}) * 0 ${source(scene)})`,
    points(`${b} AS b`, 'b', `${status} >= 500`),
    points(`${status} AS v`, 'v', `${level} = 'error' AND isNotNull(${status})`),
    points(`${b} AS b`, 'b', word),
  ].join(', ')}`
}
