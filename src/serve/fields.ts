/** The catalog: fields with their types, conflicts and samples; Resolve; shapes. */

import { renderInTurns } from '../api/main-turns.ts'
import { pageInTurns } from '../api/page-in-turns.ts'
import { nullable, type ObjectSchema, RFC3339, type Schema } from '../api/schema.ts'
import { IngestError, malformed } from '../errors.ts'
import type { Reply, Route } from '../http/exchange.ts'
import { type Guard, guardRoute, jsonAnswer } from '../http/guard.ts'
import {
  FIELD_PATH_BYTES_MAX,
  FIELDS_PAGE_DEFAULT,
  FIELDS_PAGE_MAX,
  SHAPES_PAGE_DEFAULT,
  SHAPES_PAGE_MAX,
} from '../limits.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import { FIELD_TYPES, type FieldType, hasTypeConflict } from '../model/schema.ts'
import { hasScope, type StreamId } from '../model/stream.ts'
import { isPathTooLong } from '../read/body-fields.ts'
import type { FieldSource } from '../read/find-fields.ts'
import { findVisibleStream, type StreamFinder } from '../read/find-streams.ts'
import type {
  FieldPage,
  FieldRecord,
  SchemaStore,
  ShapePage,
  ShapeRecord,
} from '../store/catalog/schema-store.ts'
import type { EventCounts } from '../store/catalog/shape-counts.ts'
import { NEXT_PAGE } from './id-page.ts'

export interface FieldRoutesDeps extends Guard {
  readonly streams: StreamFinder
  readonly schemas: SchemaStore
  readonly fieldIndex: FieldSource
}

const AFTER: Schema = { type: 'string', description: 'The `next` of the page before, as it is' }
const FIELDS_QUERY = {
  properties: {
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: FIELDS_PAGE_MAX,
      default: FIELDS_PAGE_DEFAULT,
      description:
        'Fields of a page, in the order of the bytes of their paths; it may end earlier: go on ' +
        'while there is a `next`',
    },
    after: AFTER,
    prefix: { type: 'string', description: 'Only paths that begin so' },
    contains: {
      type: 'string',
      description: 'Only paths that have this somewhere; the case of A to Z does not matter',
    },
    type: {
      type: 'string',
      enum: FIELD_TYPES,
      description: 'Only fields that have this type',
    },
    conflict: {
      type: 'boolean',
      description: '`true`: only fields in a type conflict; `false`: only the others',
    },
  },
} as const
const SHAPES_QUERY = {
  properties: {
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: SHAPES_PAGE_MAX,
      default: SHAPES_PAGE_DEFAULT,
      description: 'Shapes of a page; it may end earlier: go on while there is a `next`',
    },
    after: AFTER,
  },
} as const
const TYPE: Schema = { type: 'string', enum: FIELD_TYPES }
const SHARE = nullable(
  { type: 'number' },
  { description: "Of the stream's events, from 0 to 1; null: not known" },
)
const SEEN: ObjectSchema = {
  type: 'object',
  properties: { type: TYPE, last_seen_at: RFC3339, share: SHARE },
}
const FIELD: ObjectSchema = {
  type: 'object',
  properties: {
    path: { type: 'string' },
    types: { type: 'array', items: TYPE },
    seen: { type: 'array', items: SEEN, description: 'Each of the types' },
    conflict: { type: 'boolean' },
    share: SHARE,
    first_seen_at: RFC3339,
    last_seen_at: RFC3339,
    resolved_at: nullable(RFC3339),
    samples: { type: 'array', items: {}, description: 'Up to 5 distinct values, newest first' },
    samples_withheld: { type: 'boolean', description: 'The token lacks `events:read`' },
  },
}
const SHAPE: ObjectSchema = {
  type: 'object',
  properties: {
    shape: { type: 'string' },
    events: { type: 'integer' },
    first_seen_at: RFC3339,
    last_seen_at: RFC3339,
    example_event_id: { type: 'string' },
    paths: nullable({
      type: 'array',
      items: { type: 'object', properties: { path: { type: 'string' }, type: TYPE } },
    }),
  },
}
const pageOf = (name: string, items: Schema): ObjectSchema => {
  return { type: 'object', properties: { [name]: { type: 'array', items }, next: NEXT_PAGE } }
}
const PATH: Schema = { type: 'string', description: 'A dotted path, percent-encoded' }

export function fieldRoutes({ streams, schemas, fieldIndex, ...guard }: FieldRoutesDeps): Route[] {
  const stream = '/v1/streams/:id'
  return [
    guardRoute(guard, {
      method: 'GET',
      pattern: `${stream}/fields`,
      operationId: 'listFields',
      summary: 'List the fields that Sluice has learned',
      tag: 'Catalog',
      query: FIELDS_QUERY,
      answers: { 200: jsonAnswer("In the order of their paths' bytes", pageOf('fields', FIELD)) },
      scope: 'streams:read',
      run: async ({ principal, params, query }) => {
        const page = readFieldPage(query)
        const { streamId } = await findVisibleStream(streams, principal, params[0])
        const mayShow = hasScope(principal, 'events:read')
        const counts = await countsOf(fieldIndex, streamId)
        const { text, last } = await pageInTurns<FieldRecord>({
          limit: page.limit,
          read: (after, limit) =>
            schemas.listFields(streamId, { ...page, after: after?.path ?? page.after, limit }),
          write: (field) => fieldJson(field, counts, mayShow),
        })
        const next = last && pathCursor(last.path)
        return replyText(`{"fields":[${text}],"next":${JSON.stringify(next ?? null)}}`)
      },
    }),
    guardRoute(guard, {
      method: 'POST',
      pattern: `${stream}/fields/:path/resolve`,
      operationId: 'resolveField',
      summary: 'End a type conflict: only the type that was seen last stays',
      tag: 'Catalog',
      path: { path: PATH },
      answers: { 200: jsonAnswer('The field as it is then', FIELD) },
      scope: 'streams:write',
      run: async ({ principal, params }) => {
        const { streamId } = await findVisibleStream(streams, principal, params[0])
        const field = await schemas.resolveField(streamId, readFieldPath(params[1]))
        if (field === undefined) {
          throw new IngestError('not_found', 'the stream has no field with this path')
        }
        const mayShow = hasScope(principal, 'events:read')
        return replyText(fieldJson(field, await countsOf(fieldIndex, streamId), mayShow))
      },
    }),
    guardRoute(guard, {
      method: 'GET',
      pattern: `${stream}/shapes`,
      operationId: 'listShapes',
      summary: 'List the shapes of events',
      tag: 'Catalog',
      query: SHAPES_QUERY,
      answers: { 200: jsonAnswer('Those with the most events first', pageOf('shapes', SHAPE)) },
      scope: 'streams:read',
      run: async ({ principal, params, query }) => {
        const page = readShapePage(query)
        const { streamId } = await findVisibleStream(streams, principal, params[0])
        const { shapes, hasMore } = await schemas.listShapes(streamId, page)
        const next = hasMore ? shapes.at(-1)?.shape : undefined
        return replyText(await renderInTurns(shapesJson(shapes, next)))
      },
    }),
  ]
}

/** Throws `malformed`. */
export function readFieldPage(query: Readonly<Record<string, unknown>>): FieldPage {
  const { limit = FIELDS_PAGE_DEFAULT, after, prefix, contains, type, conflict } = query
  return {
    limit: Number(limit),
    after: readOptionalPath(readPathCursor(after as string | undefined)),
    prefix: readOptionalPath(prefix as string | undefined),
    contains: readOptionalPath(contains as string | undefined),
    type: type as FieldType | undefined,
    conflict: conflict as boolean | undefined,
  }
}

function readShapePage(query: Readonly<Record<string, unknown>>): ShapePage {
  const { limit = SHAPES_PAGE_DEFAULT } = query
  const after = query.after as string | undefined
  if (after !== undefined && !/^[0-9a-f]{16}$/.test(after)) {
    throw malformed('"after" must be the "next" of an earlier page')
  }
  return { limit: Number(limit), after }
}

/** The path itself; as JSON if empty, since clients would read an empty one as "no more pages". */
function pathCursor(path: string): string {
  return path === '' || path.startsWith('"') ? JSON.stringify(path) : path
}

function readPathCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined || !cursor.startsWith('"')) return cursor
  try {
    return String(JSON.parse(cursor))
  } catch {
    throw malformed('"after" must be the "next" of an earlier page')
  }
}

function readOptionalPath(path: string | undefined): string | undefined {
  return path === undefined ? undefined : readFieldPath(path)
}

/** Throws `malformed`. */
export function readFieldPath(path: string | undefined): string {
  if (path === undefined || isPathTooLong(path) || path.includes('\0')) {
    throw malformed(`a path has at most ${FIELD_PATH_BYTES_MAX} bytes, and no U+0000`)
  }
  return path
}

/** Undefined for a stream without events. */
async function countsOf(source: FieldSource, streamId: StreamId) {
  const { streams } = await source.load([streamId])
  return streams[0]?.counts
}

/**
 * As text: samples are JSON already, and a number keeps its digits. Samples are values of events: a
 * token that may not read events gets none, and the answer says so.
 */
function fieldJson(
  field: FieldRecord,
  counts: EventCounts | undefined,
  mayShowSamples: boolean,
): string {
  const counted = counts?.of(field.path)
  const shareOf = (events = 0) => (events === 0 ? null : events / counts!.events)
  const head = JSON.stringify({
    path: field.path,
    types: field.types,
    seen: field.types.map((type, index) => ({
      type,
      last_seen_at: formatTimeMs(field.typesSeenMs[index]!),
      share: shareOf(counted?.byType[FIELD_TYPES.indexOf(type)]),
    })),
    conflict: hasTypeConflict(field.types),
    share: shareOf(counted?.events),
    first_seen_at: formatTimeMs(field.firstSeenMs),
    last_seen_at: formatTimeMs(field.lastSeenMs),
    resolved_at: field.resolvedAtMs === null ? null : formatTimeMs(field.resolvedAtMs),
  })
  if (!mayShowSamples) return `${head.slice(0, -1)},"samples":[],"samples_withheld":true}`
  return `${head.slice(0, -1)},"samples":[${field.samples.join(',')}]}`
}

function shapeJson(shape: ShapeRecord): string {
  const head = JSON.stringify({
    shape: shape.shape,
    events: shape.events,
    first_seen_at: formatTimeMs(shape.firstSeenMs),
    last_seen_at: formatTimeMs(shape.lastSeenMs),
    example_event_id: `${shape.exampleSegmentId}-${shape.exampleOrdinal}`,
  })
  if (shape.pathsJson === null) return `${head.slice(0, -1)},"paths":null}`
  const paths = JSON.parse(shape.pathsJson) as readonly (readonly [string, FieldType])[]
  const shown = paths.map(([path, type]) => ({ path, type }))
  return `${head.slice(0, -1)},"paths":${JSON.stringify(shown)}}`
}

function* shapesJson(shapes: readonly ShapeRecord[], next: string | undefined): Generator<string> {
  yield '{"shapes":['
  for (const [index, shape] of shapes.entries()) yield `${index > 0 ? ',' : ''}${shapeJson(shape)}`
  yield `],"next":${JSON.stringify(next ?? null)}}`
}

function replyText(body: string | Uint8Array | undefined): Reply {
  return { status: 200, contentType: 'application/json', ...(body !== undefined && { body }) }
}
