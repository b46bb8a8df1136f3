/** Help with writing a query over one stream: explain and complete. */
import { nullable, type ObjectSchema } from '../api/schema.ts'
import type { Route } from '../http/exchange.ts'
import { answerJson, type Guard, guardRoute, jsonAnswer } from '../http/guard.ts'
import { QUERY_TEXT_BYTES_MAX } from '../language/bounds.ts'
import { GRANULE_ROWS } from '../model/projection.ts'
import { FIELD_TYPES } from '../model/schema.ts'
import type { Stream } from '../model/stream.ts'
import {
  findStreams,
  findVisibleStream,
  type StreamFinder,
  type StreamSource,
  splitStreams,
} from '../read/find-streams.ts'
import { READ_PROPERTIES, STREAMS_TEXT } from '../read/schemas.ts'
import { type CompleteDeps, completeQuery } from '../read/search/complete-query.ts'
import { type ExplainDeps, explain } from '../read/search/explain.ts'
import { readSearchRequest } from '../read/search/search-request.ts'

export interface QueryInputDeps extends Guard {
  readonly streams: StreamFinder & StreamSource
  readonly input: ExplainDeps & CompleteDeps
}

const SHARE: ObjectSchema = {
  type: 'object',
  properties: { selected: { type: 'integer' }, total: { type: 'integer' } },
}
const INDEX: ObjectSchema = {
  type: 'object',
  properties: { type: { type: 'string' }, name: nullable({ type: 'string' }), granules: SHARE },
}
const CLAUSE: ObjectSchema = {
  type: 'object',
  properties: {
    query: { type: 'string' },
    start: { type: 'integer' },
    end: { type: 'integer' },
    granules: { ...SHARE, description: `Blocks of ${GRANULE_ROWS} rows that it leaves by itself` },
    indexes: { type: 'array', items: INDEX, description: 'In the order of their use' },
  },
}
const EXPLAINED: ObjectSchema = {
  type: 'object',
  properties: {
    query: { type: 'string', description: 'The canonical form' },
    tree: { type: 'object', properties: {}, additionalProperties: {} },
    text_fields: { type: 'array', items: { type: 'string' } },
    rows_max: { type: 'integer', description: 'At most so many rows would be looked at' },
    granules: SHARE,
    clauses: { type: 'array', items: CLAUSE, description: 'What AND joins, each by itself' },
  },
}
const PROPOSAL: ObjectSchema = {
  type: 'object',
  properties: {
    text: { type: 'string', description: 'What replaces the text from `start` to `end`' },
    kind: { type: 'string', enum: ['field', 'value', 'operator'] },
    count: { type: 'integer', description: 'Of a value: among the newest events' },
    types: {
      type: 'array',
      items: { type: 'string', enum: FIELD_TYPES },
      description: 'Of a field of the catalog',
    },
    share: { type: 'number', description: 'Of a field: of the events that have it, 0 to 1' },
  },
}
const COMPLETED: ObjectSchema = {
  type: 'object',
  properties: {
    kind: { type: 'string', enum: ['clause', 'value', 'operator', 'none'] },
    start: { type: 'integer' },
    end: { type: 'integer' },
    prefix: { type: 'string' },
    is_quoted: { type: 'boolean' },
    proposals: { type: 'array', items: PROPOSAL },
  },
}

export function queryInputRoutes({ streams, input, ...guard }: QueryInputDeps): Route[] {
  const shared = { method: 'GET', tag: 'Reading', scope: 'events:read' } as const
  return [
    guardRoute(guard, {
      ...shared,
      pattern: '/v1/streams/:id/explain',
      operationId: 'explain',
      summary: 'Explain a query',
      query: { properties: READ_PROPERTIES },
      answers: { 200: jsonAnswer('How it was understood, and what it reads', EXPLAINED) },
      run: async ({ principal, params, query, signal }) => {
        const stream = await findVisibleStream(streams, principal, params[0])
        const request = readSearchRequest(query, input.nowMs())
        return answerJson(200, EXPLAINED, await explain(input, request, stream, signal))
      },
    }),
    guardRoute(guard, {
      ...shared,
      pattern: '/v1/streams/:id/complete',
      operationId: 'complete',
      summary: 'Propose how a query goes on',
      query: { properties: PLACE },
      answers: { 200: jsonAnswer('Proposals, the best first', COMPLETED) },
      run: async ({ principal, params, query, signal }) => {
        const stream = await findVisibleStream(streams, principal, params[0])
        return answerJson(200, COMPLETED, await proposalsOf(input, [stream], query, signal))
      },
    }),
    guardRoute(guard, {
      ...shared,
      pattern: '/v1/complete',
      operationId: 'completeStreams',
      summary: 'Propose how a query over several streams goes on',
      query: { properties: { ...PLACE, streams: STREAMS_TEXT } },
      answers: { 200: jsonAnswer('Proposals, the best first', COMPLETED) },
      run: async ({ principal, query, signal }) => {
        const asked = splitStreams(String(query.streams ?? '*'))
        const found = await findStreams(streams, principal, asked)
        return answerJson(200, COMPLETED, await proposalsOf(input, found, query, signal))
      },
    }),
  ]
}

const PLACE = {
  query: {
    type: 'string',
    maxLength: QUERY_TEXT_BYTES_MAX,
    default: '',
    description: 'The text, which need not be a query yet',
  },
  at: {
    type: 'integer',
    minimum: 0,
    maximum: QUERY_TEXT_BYTES_MAX,
    description: 'The place in UTF-16 code units; the end when left out',
  },
} as const

async function proposalsOf(
  input: CompleteDeps,
  streams: readonly Stream[],
  query: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
) {
  const text = String(query.query ?? '')
  const place = { text, at: Number(query.at ?? text.length) }
  return await completeQuery(input, streams, place, signal)
}
