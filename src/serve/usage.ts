/**
 * Usage of streams: what they hold and have learned, how far their projection lags, what was
 * refused and rejected. For those who can see the stream: its owner and admins. Of one stream in
 * full; of all in short, from PostgreSQL alone, so that a thousand are one answer.
 */
import { nullable, type ObjectSchema, RFC3339, type Schema } from '../api/schema.ts'
import { writeJson } from '../api/write-answer.ts'
import type { Route } from '../http/exchange.ts'
import { answerJson, type Guard, guardRoute, jsonAnswer } from '../http/guard.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import { LEARNING_STATES, learningState, type SchemaCaps, worseState } from '../model/schema.ts'
import type { Stream, StreamId } from '../model/stream.ts'
import {
  findVisibleStream,
  listVisibleStreams,
  type StreamFinder,
  type StreamSource,
} from '../read/find-streams.ts'
import type { SchemaState } from '../store/catalog/schema-store.ts'
import type { SetAsideStore } from '../store/raw/set-aside-store.ts'
import type { RefusalCount, StreamOverview, UsageStore } from '../store/raw/usage-store.ts'
import { ID_PAGE_QUERY, idPageSchema, replyIdPage } from './id-page.ts'

export interface UsageRoutesDeps extends Guard {
  readonly streams: StreamFinder & StreamSource
  readonly usage: UsageStore
  readonly setAside: Pick<SetAsideStore, 'readReasons'>
  /** In the order of the ids. */
  readonly readSchemaStates: (streamIds: readonly StreamId[]) => Promise<readonly SchemaState[]>
  /** The stream's bytes on disk in the projection, null when they are not known now. */
  readonly readProjectionBytes: (streamId: StreamId) => Promise<number | null>
  /** The share of its rows there that have their indexes, null when it is not known now. */
  readonly readIndexedShare: (streamId: StreamId) => Promise<number | null>
  readonly nowMs?: () => number
}

const COUNTS: Schema = {
  type: 'array',
  items: {
    type: 'object',
    properties: {
      reason: { type: 'string' },
      count: { type: 'integer' },
      last_at: RFC3339,
    },
    required: ['reason', 'count', 'last_at'],
  },
}
const STATE: Schema = { type: 'string', enum: LEARNING_STATES }
const CAPPED: Schema = {
  type: 'object',
  properties: {
    state: STATE,
    count: { type: 'integer' },
    soft_cap: { type: 'integer' },
    hard_cap: { type: 'integer' },
  },
}
const USAGE: ObjectSchema = {
  type: 'object',
  properties: {
    stream_id: { type: 'string' },
    events: { type: 'integer' },
    segments: { type: 'integer' },
    raw_bytes: { type: 'integer', description: 'Of the events held, as they were sent' },
    stored_bytes: {
      type: 'object',
      description: 'On disk',
      properties: { raw: { type: 'integer' }, projection: nullable({ type: 'integer' }) },
    },
    oldest_event_at: nullable(RFC3339),
    newest_event_at: nullable(RFC3339),
    projection: {
      type: 'object',
      properties: {
        lag_seconds: { type: 'number' },
        segments_behind: { type: 'integer' },
        indexed: nullable({ type: 'number' }),
        set_aside: COUNTS,
      },
    },
    refusals: COUNTS,
    rejected_events: COUNTS,
    schema_learning: STATE,
    schema: {
      type: 'object',
      properties: { fields: CAPPED, shapes: CAPPED, type_conflicts: { type: 'integer' } },
    },
  },
}

const OVERVIEW: ObjectSchema = {
  type: 'object',
  properties: {
    stream_id: { type: 'string' },
    ...{ events: { type: 'integer' }, segments: { type: 'integer' } },
    raw_bytes: { type: 'integer', description: 'Of the events held, as they were sent' },
    stored_bytes: {
      type: 'object',
      description: 'On disk; of the projection as it was seconds ago',
      properties: { raw: { type: 'integer' }, projection: { type: 'integer' } },
    },
    oldest_event_at: nullable(RFC3339),
    newest_event_at: nullable(RFC3339),
    lag_seconds: { type: 'number', description: 'By how much queries are behind' },
    set_aside: { type: 'integer', description: 'Segments that queries do not see' },
    refused: { type: 'integer', description: 'Requests with a valid key, of all time' },
    rejected_events: { type: 'integer', description: 'Of all time' },
    schema_learning: STATE,
    type_conflicts: { type: 'integer' },
  },
}
const OVERVIEWS = idPageSchema('usage', OVERVIEW)

export function usageRoutes(deps: UsageRoutesDeps): Route[] {
  return [usageOfOne(deps), usageOfAll(deps)]
}

interface Overview {
  readonly stream: Stream
  readonly overview: StreamOverview
  readonly schema: SchemaState
}

function usageOfAll(deps: UsageRoutesDeps): Route {
  const nowMs = deps.nowMs ?? Date.now
  return guardRoute(deps, {
    method: 'GET',
    pattern: '/v1/usage',
    operationId: 'listUsage',
    summary: 'What each stream holds, in short',
    tag: 'Streams',
    scope: 'streams:read',
    query: ID_PAGE_QUERY,
    answers: { 200: jsonAnswer('By stream, in the order of creation', OVERVIEWS) },
    run: async ({ principal, query }) => {
      return await replyIdPage<Overview>('usage', query, {
        read: async (page) => {
          const streams = await listVisibleStreams(deps.streams, principal, page)
          const ids = streams.map(({ streamId }) => streamId)
          const [overviews, schemas] = await Promise.all([
            deps.usage.readOverviews(ids),
            deps.readSchemaStates(ids),
          ])
          return streams.map((stream, at) => {
            return { stream, overview: overviews[at]!, schema: schemas[at]! }
          })
        },
        idOf: ({ stream }) => stream.streamId,
        write: (one) => writeJson(OVERVIEW, overviewJson(one, nowMs())),
      })
    },
  })
}

function overviewJson({ stream, overview, schema }: Overview, nowMs: number) {
  const { behindSinceMs: since } = overview
  const { schema_learning, schema: learned } = schemaJson(stream.schemaCaps, schema)
  return {
    stream_id: String(stream.streamId),
    events: overview.events,
    segments: overview.segments,
    raw_bytes: overview.sentBytes,
    stored_bytes: { raw: overview.storedBytes, projection: overview.projectionBytes },
    oldest_event_at: timeOrNull(overview.oldestMs),
    newest_event_at: timeOrNull(overview.newestMs),
    lag_seconds: since === null ? 0 : Math.max(0, nowMs - since) / 1_000,
    set_aside: overview.setAside,
    refused: overview.refused,
    rejected_events: overview.rejected,
    schema_learning,
    type_conflicts: learned.type_conflicts,
  }
}

function usageOfOne(deps: UsageRoutesDeps): Route {
  const nowMs = deps.nowMs ?? Date.now
  return guardRoute(deps, {
    method: 'GET',
    pattern: '/v1/streams/:id/usage',
    operationId: 'getUsage',
    summary: 'What a stream holds, and what was refused',
    tag: 'Streams',
    answers: { 200: jsonAnswer('Over all nodes', USAGE) },
    scope: 'streams:read',
    run: async ({ principal, params }) => {
      const stream = await findVisibleStream(deps.streams, principal, params[0])
      const { streamId, schemaCaps } = stream
      const [usage, span, lag, setAside, refusals, rejects, projectionBytes, indexed, schemas] =
        await Promise.all([
          deps.usage.readUsage(streamId),
          deps.usage.readSpan(streamId),
          deps.usage.readProjectionLag(streamId),
          deps.setAside.readReasons(streamId),
          deps.usage.readRefusals(streamId),
          deps.usage.readRejects(streamId),
          deps.readProjectionBytes(streamId),
          deps.readIndexedShare(streamId),
          deps.readSchemaStates([streamId]),
        ])
      const lagMs = lag.oldestMs === null ? 0 : Math.max(0, nowMs() - lag.oldestMs)
      return answerJson(200, USAGE, {
        stream_id: String(streamId),
        events: usage.events,
        segments: usage.segments,
        raw_bytes: usage.sentBytes,
        stored_bytes: { raw: usage.storedBytes, projection: projectionBytes },
        oldest_event_at: timeOrNull(span.oldestMs),
        newest_event_at: timeOrNull(span.newestMs),
        projection: {
          lag_seconds: lagMs / 1_000,
          segments_behind: lag.segmentsBehind,
          indexed,
          set_aside: setAside.map(countJson),
        },
        refusals: refusals.map(countJson),
        rejected_events: rejects.map(countJson),
        ...schemaJson(schemaCaps, schemas[0]!),
      })
    },
  })
}

/** `schema_learning`: the worse of the two states; `schema`: the numbers. */
function schemaJson(caps: SchemaCaps, { fields, shapes, conflicts }: SchemaState) {
  const fieldCaps = { soft: caps.fieldsSoft, hard: caps.fieldsHard }
  const shapeCaps = { soft: caps.shapesSoft, hard: caps.shapesHard }
  const fieldState = learningState(fields, fieldCaps)
  const shapeState = learningState(shapes, shapeCaps)
  return {
    schema_learning: worseState(fieldState, shapeState),
    schema: {
      fields: { state: fieldState, count: fields, ...capsJson(fieldCaps) },
      shapes: { state: shapeState, count: shapes, ...capsJson(shapeCaps) },
      type_conflicts: conflicts,
    },
  }
}

function capsJson({ soft, hard }: { readonly soft: number; readonly hard: number }) {
  return { soft_cap: soft, hard_cap: hard }
}

function countJson({ reason, count, lastAtMs }: RefusalCount) {
  return { reason, count, last_at: formatTimeMs(lastAtMs) }
}

function timeOrNull(ms: number | null): string | null {
  return ms === null ? null : formatTimeMs(ms)
}
