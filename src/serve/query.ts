/**
 * Query: counts of events, filtered and grouped by a field, over the projection. It may lag ingest
 * by a few seconds. A first small version: a request is one JSON object that later ones extend.
 */
import type { Reply, Route } from '../http/exchange.ts'
import { QUERY_GROUPS_MAX } from '../limits.ts'
import type { StreamId } from '../model/stream.ts'
import type { CountGroup, CountQuery, CountResult } from '../store/projection/query-store.ts'
import { type BodyFields, malformed, readFields, readTime } from './body-fields.ts'
import { ExactNumber, parseExactJson } from './exact-json.ts'
import { readFieldFilter, readFieldPath } from './field-filter.ts'
import {
  findVisibleStream,
  type Guard,
  guardRoute,
  jsonAnswer,
  type StreamFinder,
} from './guard.ts'

/** Answers from the projection; `QueryStore` is one. */
export interface EventCounter {
  count(query: CountQuery, signal?: AbortSignal): Promise<CountResult>
}

export interface QueryRoutesDeps extends Guard {
  readonly streams: StreamFinder
  readonly counter: EventCounter
  readonly nowMs?: () => number
}

const QUERY_BODY_BYTES_MAX = 64 * 1024
const GROUPS_DEFAULT = 100
const HOUR_NS = 3_600_000_000_000n
const TIME_BASES = ['ingested_at', 'event_time'] as const
const FIELDS = ['from', 'to', 'time_basis', 'filter', 'aggregate', 'group_by', 'limit'] as const

export function queryRoutes({ streams, counter, nowMs, ...guard }: QueryRoutesDeps): Route[] {
  const route = guardRoute(guard, {
    method: 'POST',
    pattern: '/v1/streams/:id/query',
    scope: 'events:read',
    operationId: 'query',
    summary: 'Count events',
    tag: 'Reading',
    body: { type: 'object', properties: {}, additionalProperties: {} },
    takesText: true,
    answers: { 200: jsonAnswer('Counts', { type: 'object', properties: {} }) },
    bodyBytesMax: QUERY_BODY_BYTES_MAX,
    run: async ({ principal, params, body, signal }) => {
      const { streamId } = await findVisibleStream(streams, principal, params[0])
      const now = (nowMs ?? Date.now)()
      const query = readQuery(parseExactJson(String(body)), streamId, now)
      const startMs = performance.now()
      const result = await counter.count(query, signal)
      return replyCount(query, result, performance.now() - startMs)
    },
  })
  return [route]
}

/** Throws `malformed`. */
export function readQuery(body: unknown, streamId: StreamId, nowMs: number): CountQuery {
  const fields = readFields(body, FIELDS)
  const { aggregate, filter, group_by: groupBy, time_basis: basis } = fields
  if (aggregate !== undefined && aggregate !== 'count') {
    throw malformed('"aggregate" must be "count"')
  }
  const timeBasis = TIME_BASES.find((name) => name === (basis ?? 'ingested_at'))
  if (timeBasis === undefined) {
    throw malformed('"time_basis" must be "ingested_at" or "event_time"')
  }
  return {
    streamId,
    timeBasis,
    ...readTimeRange(fields, nowMs),
    filter: filter === undefined ? undefined : readFieldFilter('filter', filter),
    groupBy: groupBy === undefined ? undefined : readFieldPath('group_by', groupBy),
    limit: readGroupLimit(fields.limit),
  }
}

/** The range of `from` and `to`: the last hour when both are left out. Throws `malformed`. */
export function readTimeRange(
  fields: BodyFields,
  nowMs: number,
): { readonly fromNs: bigint; readonly toNs: bigint } {
  const nowNs = BigInt(nowMs) * 1_000_000n
  // One past now, so that what was received in this very millisecond is in.
  const toNs = fields.to === undefined ? nowNs + 1_000_000n : readTime('to', fields.to)
  const fromNs = fields.from === undefined ? toNs - HOUR_NS : readTime('from', fields.from)
  if (fromNs >= toNs) throw malformed('"from" must be before "to"')
  return { fromNs, toNs }
}

function readGroupLimit(value: unknown): number {
  if (value === undefined) return GROUPS_DEFAULT
  const limit = value instanceof ExactNumber ? Number(value.text) : 0
  if (Number.isInteger(limit) && limit > 0 && limit <= QUERY_GROUPS_MAX) return limit
  throw malformed(`"limit" must be an integer from 1 to ${QUERY_GROUPS_MAX}`)
}

/** Built as text: a number that was counted keeps its digits, which `JSON.stringify` would not. */
function replyCount(query: CountQuery, result: CountResult, elapsedMs: number): Reply {
  const rows =
    query.groupBy === undefined
      ? [`{"count":${result.total}}`]
      : result.groups.map((group) => `{"group":${groupText(group)},"count":${group.count}}`)
  const stats = { elapsed_ms: Math.round(elapsedMs), rows_read: result.rowsRead }
  const tail = JSON.stringify({ total: result.total, stats }).slice(1)
  const body = `{"rows":[${rows.join(',')}],${tail}`
  return { status: 200, contentType: 'application/json', body }
}

const JSON_NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

/** A group's value as JSON. */
export function groupText({ kind, text }: CountGroup): string {
  if (kind === 'null') return 'null'
  if (kind === 'boolean') return text === 'true' ? 'true' : 'false'
  // Not every float of ClickHouse is a JSON number: inf and nan are told as strings.
  return kind === 'number' && JSON_NUMBER.test(text) ? text : JSON.stringify(text)
}
