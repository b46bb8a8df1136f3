/** Aggregating queries, histograms, facets, patterns and comparisons over REST. */
import { nullable, type ObjectSchema } from '../api/schema.ts'
import type { Route } from '../http/exchange.ts'
import { splitNames } from '../model/field-path.ts'
import { type AggregateDeps, aggregate } from '../read/aggregate/aggregate.ts'
import { AGGREGATE_PROPERTIES, readAggregateRequest } from '../read/aggregate/aggregate-request.ts'
import {
  FACETS_PROPERTIES,
  type FacetsDeps,
  facets,
  readFacetsRequest,
} from '../read/aggregate/facets.ts'
import {
  HISTOGRAM_PROPERTIES,
  histogram,
  readHistogramRequest,
} from '../read/aggregate/histogram.ts'
import type { CompareDeps } from '../read/compare/compare.ts'
import type { PatternsDeps } from '../read/patterns/find-patterns.ts'
import { compareKind } from './incident/compare-kind.ts'
import { patternsKind } from './incident/patterns-kind.ts'
import { answerOf, type ReadKind, type ReadRoutesDeps, readRoutes } from './read-routes.ts'

export interface QueryRoutesDeps
  extends ReadRoutesDeps,
    AggregateDeps,
    FacetsDeps,
    PatternsDeps,
    CompareDeps {}

const KINDS = [queryKind, histogramKind, facetsKind, patternsKind, compareKind]

export function queryRoutes(deps: QueryRoutesDeps): Route[] {
  const { openStreams, runAggregate, runFacets, patterns, nowMs, ...guarded } = deps
  return KINDS.flatMap((kindOf) => readRoutes(guarded, kindOf(deps)))
}

const ROW: ObjectSchema = {
  type: 'object',
  properties: {
    _bucket: { type: 'string', format: 'date-time' },
    _left_out: {
      type: 'object',
      properties: {},
      additionalProperties: { type: 'integer' },
      description: 'By aggregate: values that are no numbers; absent where all are',
    },
  },
  additionalProperties: {},
}
function queryKind(deps: QueryRoutesDeps): ReadKind {
  return {
    name: 'query',
    operation: 'query',
    summary: 'Count and measure events, by field and by time',
    properties: AGGREGATE_PROPERTIES,
    texts: {
      aggregates: {
        schema: { type: 'string', description: '`count`, `p99:http.duration_ms`, with commas' },
        read: (text) => splitNames(text).map(readAggregateText),
      },
      group_by: {
        schema: { type: 'string', description: 'Paths and `bucket:5m`, with commas' },
        read: (text) => splitNames(text).map(readKeyText),
      },
      order_by: {
        schema: { type: 'string', description: 'A name, or `name:asc`' },
        read: readOrderText,
      },
    },
    answer: answerOf({
      rows: { type: 'array', items: ROW, description: 'A group in a bucket, the largest first' },
      others: { type: 'array', items: ROW, description: 'All groups past `limit` together' },
      total: { type: 'integer', description: 'Events that match' },
      groups: { type: 'integer', description: 'How many groups there are in all' },
      estimated: { type: 'boolean', description: 'Quantiles, `uniq`, or `groups` are estimates' },
      missed_max: nullable(
        { type: 'integer' },
        { description: 'Events that a larger group may have that is missing; null if none is' },
      ),
      bucket: nullable({ type: 'string' }, { description: 'The step of buckets, null without' }),
      bucket_ms: nullable({ type: 'integer' }, { description: 'The same in milliseconds' }),
      time_zone: nullable({ type: 'string' }, { description: 'By whose clocks buckets begin' }),
    }),
    run: async (members, find, signal) => {
      const request = readAggregateRequest(members, deps.nowMs())
      return aggregate(deps, request, await find(), signal)
    },
  }
}

/** `fn`, or `fn:field`. */
function readAggregateText(text: string) {
  const colon = text.indexOf(':')
  return colon < 0 ? { fn: text } : { fn: text.slice(0, colon), field: text.slice(colon + 1) }
}

function readKeyText(text: string) {
  return text.startsWith('bucket:') ? { bucket: text.slice('bucket:'.length) } : text
}

function readOrderText(text: string) {
  const [, by, order] = /^(.*):(asc|desc)$/s.exec(text) ?? []
  return by === undefined ? text : { by, order }
}

function histogramKind(deps: QueryRoutesDeps): ReadKind {
  return {
    name: 'histogram',
    operation: 'histogram',
    summary: 'Count events by time and level',
    properties: HISTOGRAM_PROPERTIES,
    texts: {},
    answer: answerOf({
      buckets: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            _bucket: { type: 'string', format: 'date-time' },
            count: { type: 'integer' },
            levels: { type: 'object', properties: {}, additionalProperties: { type: 'integer' } },
          },
        },
      },
      total: { type: 'integer' },
      bucket: { type: 'string', description: 'The step of buckets' },
      bucket_ms: nullable(
        { type: 'integer' },
        { description: 'The same in milliseconds, null where buckets differ' },
      ),
      time_zone: { type: 'string', description: 'By whose clocks buckets begin' },
    }),
    run: async (members, find, signal) => {
      const request = readHistogramRequest(members, deps.nowMs())
      return histogram(deps, request, await find(), signal)
    },
  }
}

function facetsKind(deps: QueryRoutesDeps): ReadKind {
  const value: ObjectSchema = {
    type: 'object',
    properties: { value: {}, count: { type: 'integer' } },
  }
  const facet: ObjectSchema = {
    type: 'object',
    properties: {
      field: { type: 'string' },
      events: { type: 'integer', description: 'Those that have a value' },
      distinct: { type: 'integer', description: 'Different values; where estimated, at least' },
      estimated: { type: 'boolean', description: 'Counted among the newest events, multiplied' },
      values: { type: 'array', items: value, description: 'The most frequent first' },
    },
  }
  return {
    name: 'facets',
    operation: 'facets',
    summary: 'The most frequent values of several fields',
    properties: FACETS_PROPERTIES,
    texts: {
      fields: {
        schema: { type: 'string', description: 'Paths with commas between them' },
        read: (text) => splitNames(text),
      },
    },
    answer: answerOf({
      facets: { type: 'array', items: facet },
      events: { type: 'integer', description: 'All that match, if there was time to count them' },
    }),
    run: async (members, find, signal) => {
      const request = readFacetsRequest(members, deps.nowMs())
      return facets(deps, request, await find(), signal)
    },
  }
}
