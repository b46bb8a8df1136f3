/** Aggregating queries, histograms, facets and comparisons over REST. */
import { nullable, type ObjectSchema, type Schema } from '../api/schema.ts'
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
import { type CompareDeps, compare } from '../read/compare/compare.ts'
import { COMPARE_PROPERTIES, readCompareRequest } from '../read/compare/compare-request.ts'
import { HONEST_PROPERTIES } from '../read/schemas.ts'
import { type ReadKind, type ReadRoutesDeps, readRoutes } from './read-routes.ts'

export interface QueryRoutesDeps extends ReadRoutesDeps, AggregateDeps, FacetsDeps, CompareDeps {}

export function queryRoutes(deps: QueryRoutesDeps): Route[] {
  const { openStreams, runAggregate, runFacets, nowMs, ...guarded } = deps
  return [queryKind, histogramKind, facetsKind, compareKind].flatMap((kindOf) => {
    return readRoutes(guarded, kindOf(deps))
  })
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
const STATS: ObjectSchema = {
  type: 'object',
  properties: {
    elapsed_ms: { type: 'number' },
    engine_ms: { type: 'number', description: "ClickHouse's own time" },
    rows_read: { type: 'integer', description: 'Rows that it looked at' },
  },
}

function answerOf(properties: Readonly<Record<string, Schema>>): ObjectSchema {
  return { type: 'object', properties: { ...properties, ...HONEST_PROPERTIES, stats: STATS } }
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

const COMPARED_SIDE: ObjectSchema = {
  type: 'object',
  properties: {
    count: { type: 'integer' },
    rate: { type: 'number', description: 'Events a second' },
    share: { type: 'number', description: 'Of all events of the side, 0 to 1' },
  },
}
const FACTOR = nullable({ type: 'number' }, { description: 'Null where there was none before' })
const TEXTS: Schema = { type: 'array', items: { type: 'string' } }
const NUMBERS: ObjectSchema = {
  type: 'object',
  properties: {
    count: { type: 'integer', description: 'Numbers that were looked at' },
    p50: nullable({ type: 'number' }, { description: 'To within a sixteenth' }),
    p95: nullable({ type: 'number' }, { description: 'To within a sixteenth' }),
  },
}
const FINDING: ObjectSchema = {
  type: 'object',
  properties: {
    text: { type: 'string', description: 'In plain words' },
    kind: { type: 'string', enum: ['value', 'exists', 'numbers', 'pair'] },
    direction: { type: 'string', enum: ['more', 'fewer'] },
    query: { type: 'string', description: 'Finds just these events, in either range' },
    stream: nullable({ type: 'string' }, { description: 'Of a finding about a whole stream' }),
    window: COMPARED_SIDE,
    baseline: COMPARED_SIDE,
    factor: FACTOR,
    score: { type: 'number', description: 'G², by how much it varies anyway' },
    numbers: nullable(
      { type: 'object', properties: { window: NUMBERS, baseline: NUMBERS } },
      { description: 'Of `numbers`: those of the field' },
    ),
    same: { ...TEXTS, description: 'Conditions that nine tenths of the same events meet' },
    also: { ...TEXTS, description: 'What changed because of these events' },
    within: { ...TEXTS, description: 'Rare values that what is new of it has in common' },
    examples: {
      type: 'array',
      items: {
        type: 'object',
        properties: { stream: { type: 'string' }, id: { type: 'string' } },
      },
    },
  },
}
const RANGE = { from: { type: 'string' }, to: { type: 'string' } } as const
const WHOLE_SIDE: ObjectSchema = {
  type: 'object',
  properties: { count: { type: 'integer' }, rate: { type: 'number' } },
}

function compareKind(deps: QueryRoutesDeps): ReadKind {
  return {
    name: 'compare',
    operation: 'compare',
    summary: 'What is different from before',
    properties: COMPARE_PROPERTIES,
    texts: {
      window: {
        schema: { type: 'string', description: '`FROM..TO`, such as `-15m..now`' },
        read: readRangeText,
      },
      baseline: {
        schema: { type: 'string', description: '`before`, `yesterday`, `FROM..TO`, `query:TEXT`' },
        read: readBaselineText,
      },
      fields: {
        schema: { type: 'string', description: 'Paths with commas between them' },
        read: (text) => splitNames(text),
      },
    },
    answer: answerOf({
      findings: { type: 'array', items: FINDING, description: 'The clearest first' },
      whole: {
        type: 'object',
        properties: {
          text: { type: 'string' },
          window: WHOLE_SIDE,
          baseline: WHOLE_SIDE,
          factor: FACTOR,
        },
        description: 'All events: a change that they have in common is no finding',
      },
      window: { type: 'object', properties: RANGE },
      baseline: { type: 'object', properties: { ...RANGE, query: { type: 'string' } } },
      looked_at: {
        type: 'object',
        properties: {
          events: { type: 'integer', description: 'Whose values were counted' },
          values: { type: 'integer' },
          fields: TEXTS,
        },
      },
      left_out: {
        type: 'object',
        properties: { fields: { type: 'integer' }, names: TEXTS },
        description: 'Fields of too many values, of ever new ones, or past the limit',
      },
      estimated: { type: 'boolean', description: 'Some events stood for all to find candidates' },
    }),
    run: async (members, find, signal) => {
      const request = readCompareRequest(members, deps.nowMs())
      return compare(deps, request, await find(), signal)
    },
  }
}

function readRangeText(text: string) {
  const [from = '', to = 'now'] = text.split('..')
  return { ...(from !== '' && { from }), ...(to !== '' && { to }) }
}

function readBaselineText(text: string) {
  if (text.startsWith('query:')) return { query: text.slice('query:'.length) }
  return text.includes('..') ? readRangeText(text) : text
}
