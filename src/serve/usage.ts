/**
 * Usage of a stream: what it holds and has learned, how far its projection lags, what was refused
 * and rejected. For those who can see the stream: its owner and admins.
 */
import { nullable, type ObjectSchema, RFC3339, type Schema } from '../api/schema.ts'
import type { Route } from '../http/exchange.ts'
import { answerJson, type Guard, guardRoute, jsonAnswer } from '../http/guard.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import { LEARNING_STATES, learningState, type SchemaCaps, worseState } from '../model/schema.ts'
import type { StreamId } from '../model/stream.ts'
import { findVisibleStream, type StreamFinder } from '../read/find-streams.ts'
import type { SchemaState } from '../store/catalog/schema-store.ts'
import type { SetAsideStore } from '../store/raw/set-aside-store.ts'
import type { RefusalCount, UsageStore } from '../store/raw/usage-store.ts'

export interface UsageRoutesDeps extends Guard {
  readonly streams: StreamFinder
  readonly usage: UsageStore
  readonly setAside: Pick<SetAsideStore, 'readReasons'>
  readonly readSchemaState: (streamId: StreamId) => Promise<SchemaState>
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

export function usageRoutes(deps: UsageRoutesDeps): Route[] {
  const nowMs = deps.nowMs ?? Date.now
  const route = guardRoute(deps, {
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
      const [usage, span, lag, setAside, refusals, rejects, projectionBytes, indexed, schema] =
        await Promise.all([
          deps.usage.readUsage(streamId),
          deps.usage.readSpan(streamId),
          deps.usage.readProjectionLag(streamId),
          deps.setAside.readReasons(streamId),
          deps.usage.readRefusals(streamId),
          deps.usage.readRejects(streamId),
          deps.readProjectionBytes(streamId),
          deps.readIndexedShare(streamId),
          deps.readSchemaState(streamId),
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
        ...schemaJson(schemaCaps, schema),
      })
    },
  })
  return [route]
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
