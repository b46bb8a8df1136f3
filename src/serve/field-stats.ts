/** Statistics of one field over REST. */
import { nullable, type ObjectSchema } from '../api/schema.ts'
import type { Route } from '../http/exchange.ts'
import { type Guard, guardRoute, jsonAnswer, jsonText } from '../http/guard.ts'
import type { AggregateDeps } from '../read/aggregate/aggregate.ts'
import {
  FIELD_STATS_PROPERTIES,
  fieldStats,
  readFieldStatsRequest,
} from '../read/aggregate/field-stats.ts'
import { findVisibleStream, type StreamFinder } from '../read/find-streams.ts'
import { HONEST_PROPERTIES } from '../read/schemas.ts'

export interface FieldStatsRoutesDeps extends Guard, AggregateDeps {
  readonly streams: StreamFinder
}

const STATS: ObjectSchema = {
  type: 'object',
  properties: {
    path: { type: 'string' },
    events: { type: 'integer', description: 'That the query means, in the time range' },
    count: { type: 'integer', description: 'Those that have the field' },
    distinct: { type: 'integer' },
    numbers: nullable({ type: 'object', properties: {}, additionalProperties: {} }),
    top: {
      type: 'array',
      items: { type: 'object', properties: { value: {}, count: { type: 'integer' } } },
    },
    estimated: { type: 'boolean', description: '`distinct` and the quantiles are estimates' },
    ...HONEST_PROPERTIES,
  },
}

export function fieldStatsRoutes(deps: FieldStatsRoutesDeps): Route[] {
  const route = guardRoute(deps, {
    method: 'GET',
    pattern: '/v1/streams/:id/fields/:path/stats',
    operationId: 'getFieldStats',
    summary: 'Statistics of one field',
    tag: 'Catalog',
    path: { path: { type: 'string', description: 'A dotted path, percent-encoded' } },
    query: { properties: FIELD_STATS_PROPERTIES },
    answers: { 200: jsonAnswer('From the projection; `as_of` says how fresh', STATS) },
    scope: 'events:read',
    run: async ({ principal, params, query, signal }) => {
      const stream = await findVisibleStream(deps.streams, principal, params[0])
      const request = readFieldStatsRequest(params[1] ?? '', query, deps.nowMs())
      return jsonText(await fieldStats(deps, request, stream, signal))
    },
  })
  return [route]
}
