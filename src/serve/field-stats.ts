/** Statistics of one field, from the projection: it may lag ingest by a few seconds. */
import { nullable, type ObjectSchema } from '../api/schema.ts'
import type { Route } from '../http/exchange.ts'
import { FIELD_PATH_BYTES_MAX, STATS_TOP_DEFAULT, STATS_TOP_MAX } from '../limits.ts'
import { isFieldPath, mayBeInArray } from '../model/field-path.ts'
import type { StreamId } from '../model/stream.ts'
import type {
  FieldStats,
  FieldStatsQuery,
  NumberStats,
} from '../store/projection/field-stats-store.ts'
import { isPathTooLong, malformed, readTime } from './body-fields.ts'
import {
  findVisibleStream,
  type Guard,
  guardRoute,
  jsonAnswer,
  type StreamFinder,
} from './guard.ts'
import { groupText } from './query.ts'

export interface FieldStatsRoutesDeps extends Guard {
  readonly streams: StreamFinder
  /** Precondition: the path passes `isFieldPath`. */
  readonly readStats: (query: FieldStatsQuery, signal: AbortSignal) => Promise<FieldStats>
  readonly nowMs?: () => number
}

const IN_ARRAY = 'values inside arrays ("[]" in the path) have no statistics: ask for the array'
const HOUR_NS = 3_600_000_000_000n
const TIME_BASES = ['ingested_at', 'event_time'] as const
const TIME = {
  type: 'string',
  format: 'date-time',
  description: 'RFC 3339; `from` is in the range, `to` is not',
} as const
const STATS_QUERY = {
  properties: {
    from: TIME,
    to: TIME,
    time_basis: { type: 'string', enum: TIME_BASES, default: 'ingested_at' },
    limit: { type: 'integer', minimum: 1, maximum: STATS_TOP_MAX, default: STATS_TOP_DEFAULT },
  },
} as const
const STATS: ObjectSchema = {
  type: 'object',
  properties: {
    path: { type: 'string' },
    events: { type: 'integer', description: 'In the time range' },
    count: { type: 'integer', description: 'Those that have the field' },
    distinct: { type: 'integer' },
    numbers: nullable({ type: 'object', properties: {}, additionalProperties: {} }),
    top: {
      type: 'array',
      items: { type: 'object', properties: { value: {}, count: { type: 'integer' } } },
    },
  },
}

export function fieldStatsRoutes(deps: FieldStatsRoutesDeps): Route[] {
  const { streams, readStats, nowMs = Date.now, ...guard } = deps
  const route = guardRoute(guard, {
    method: 'GET',
    pattern: '/v1/streams/:id/fields/:path/stats',
    operationId: 'getFieldStats',
    summary: 'Statistics of one field',
    tag: 'Catalog',
    path: { path: { type: 'string', description: 'A dotted path, percent-encoded' } },
    query: STATS_QUERY,
    answers: { 200: jsonAnswer('From the projection, which may lag', STATS) },
    scope: 'events:read',
    run: async ({ principal, params, query, signal }) => {
      const { streamId } = await findVisibleStream(streams, principal, params[0])
      const path = params[1] ?? ''
      const stats = await readStats(readStatsQuery(streamId, path, query, nowMs()), signal)
      // A name may end in brackets, too: only where nothing is, it can be no such field.
      if (stats.count === 0 && mayBeInArray(path)) throw malformed(IN_ARRAY)
      return { status: 200, contentType: 'application/json', body: statsJson(path, stats) }
    },
  })
  return [route]
}

function readStatsQuery(
  streamId: StreamId,
  path: string,
  query: Readonly<Record<string, unknown>>,
  nowMs: number,
): FieldStatsQuery {
  if (isPathTooLong(path)) {
    const limit = `${FIELD_PATH_BYTES_MAX} bytes (FIELD_PATH_BYTES_MAX)`
    throw malformed(`the path is over ${limit}: such a field is not in the analytics store`)
  }
  if (!isFieldPath(path)) throw malformed('this path cannot be asked for in the analytics store')
  const { from, to, limit = STATS_TOP_DEFAULT, time_basis: timeBasis = 'ingested_at' } = query
  // One past now, so that what was received in this very millisecond is in.
  const toNs = to === undefined ? BigInt(nowMs + 1) * 1_000_000n : readTime('to', to)
  const fromNs = from === undefined ? toNs - HOUR_NS : readTime('from', from)
  if (fromNs >= toNs) throw malformed('"from" must be before "to"')
  return {
    streamId,
    path,
    timeBasis: timeBasis as (typeof TIME_BASES)[number],
    fromNs,
    toNs,
    top: Number(limit),
  }
}

/** Built as text, as a query's answer is: numbers among the top values keep their digits. */
function statsJson(path: string, { events, count, distinct, numbers, top }: FieldStats): string {
  const head = JSON.stringify({ path, events, count, distinct, numbers: numbersJson(numbers) })
  const values = top.map((group) => `{"value":${groupText(group)},"count":${group.count}}`)
  return `${head.slice(0, -1)},"top":[${values.join(',')}]}`
}

function numbersJson(numbers: NumberStats | undefined) {
  if (numbers === undefined) return null
  const { count, min, max, average, quantiles } = numbers
  const named = quantiles.map(({ quantile, value }) => [`p${quantile * 100}`, value])
  return { count, min, max, average, ...Object.fromEntries(named) }
}
