/** The catalog: fields with their types, conflicts and samples; Resolve; shapes. */

import { IngestError } from '../errors.ts'
import type { Reply, Route } from '../http/exchange.ts'
import {
  FIELD_PATH_BYTES_MAX,
  FIELDS_PAGE_DEFAULT,
  FIELDS_PAGE_MAX,
  SHAPES_PAGE_DEFAULT,
  SHAPES_PAGE_MAX,
} from '../limits.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import { FIELD_TYPES, type FieldType, hasTypeConflict } from '../model/schema.ts'
import type {
  FieldPage,
  FieldRecord,
  SchemaStore,
  ShapePage,
  ShapeRecord,
} from '../store/catalog/schema-store.ts'
import { isPathTooLong, malformed, readLimit, readParameters } from './body-fields.ts'
import { findVisibleStream, type Guard, guardRoute, hasScope, type StreamFinder } from './guard.ts'

export interface FieldRoutesDeps extends Guard {
  readonly streams: StreamFinder
  readonly schemas: SchemaStore
}

const FIELD_PARAMETERS = ['limit', 'after', 'prefix', 'type', 'conflict'] as const

export function fieldRoutes({ streams, schemas, ...guard }: FieldRoutesDeps): Route[] {
  const stream = '/v1/streams/:id'
  return [
    guardRoute(guard, {
      method: 'GET',
      pattern: `${stream}/fields`,
      scope: 'streams:read',
      run: async ({ principal, params, query }) => {
        const page = readFieldPage(query)
        const { streamId } = await findVisibleStream(streams, principal, params[0])
        const records = await schemas.listFields(streamId, { ...page, limit: page.limit + 1 })
        const shown = records.slice(0, page.limit)
        const last = records.length > shown.length ? shown.at(-1)?.path : undefined
        const next = last === undefined ? undefined : pathCursor(last)
        const mayShow = hasScope(principal, 'events:read')
        const fields = shown.map((field) => fieldJson(field, mayShow))
        return replyPage('fields', fields, next)
      },
    }),
    guardRoute(guard, {
      method: 'POST',
      pattern: `${stream}/fields/:path/resolve`,
      scope: 'streams:write',
      run: async ({ principal, params }) => {
        const { streamId } = await findVisibleStream(streams, principal, params[0])
        const field = await schemas.resolveField(streamId, readPath(params[1]))
        const mayShow = hasScope(principal, 'events:read')
        if (field !== undefined) return replyText(fieldJson(field, mayShow))
        throw new IngestError('not_found', 'the stream has no field with this path')
      },
    }),
    guardRoute(guard, {
      method: 'GET',
      pattern: `${stream}/shapes`,
      scope: 'streams:read',
      run: async ({ principal, params, query }) => {
        const page = readShapePage(query)
        const { streamId } = await findVisibleStream(streams, principal, params[0])
        const { shapes, hasMore } = await schemas.listShapes(streamId, page)
        const next = hasMore ? shapes.at(-1)?.shape : undefined
        return replyPage('shapes', shapes.map(shapeJson), next)
      },
    }),
  ]
}

/** Throws `malformed`. */
export function readFieldPage(query: URLSearchParams): FieldPage {
  const parameters = readParameters(query, FIELD_PARAMETERS)
  const bounds = { fallback: FIELDS_PAGE_DEFAULT, max: FIELDS_PAGE_MAX }
  const type = parameters.get('type')
  if (type !== undefined && !FIELD_TYPES.includes(type as FieldType)) {
    throw malformed(`"type" must be one of ${FIELD_TYPES.join(', ')}`)
  }
  const conflict = parameters.get('conflict')
  if (conflict !== undefined && conflict !== 'true' && conflict !== 'false') {
    throw malformed('"conflict" must be true or false')
  }
  return {
    limit: readLimit(parameters.get('limit'), bounds),
    after: readOptionalPath(readPathCursor(parameters.get('after'))),
    prefix: readOptionalPath(parameters.get('prefix')),
    type: type as FieldType | undefined, // Checked above.
    conflict: conflict === undefined ? undefined : conflict === 'true',
  }
}

function readShapePage(query: URLSearchParams): ShapePage {
  const parameters = readParameters(query, ['limit', 'after'])
  const bounds = { fallback: SHAPES_PAGE_DEFAULT, max: SHAPES_PAGE_MAX }
  const after = parameters.get('after')
  if (after !== undefined && !/^[0-9a-f]{16}$/.test(after)) {
    throw malformed('"after" must be the "next" of an earlier page')
  }
  return { limit: readLimit(parameters.get('limit'), bounds), after }
}

/** The path itself; as JSON when it is empty, which clients would take for "no more pages". */
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
  return path === undefined ? undefined : readPath(path)
}

function readPath(path: string | undefined): string {
  if (path === undefined || isPathTooLong(path) || path.includes('\0')) {
    throw malformed(`a path has at most ${FIELD_PATH_BYTES_MAX} bytes, and no U+0000`)
  }
  return path
}

/**
 * As text: samples are JSON already, and a number keeps its digits. They are values of events: who
 * may not read those gets none, and is told so.
 */
function fieldJson(field: FieldRecord, mayShowSamples: boolean): string {
  const head = JSON.stringify({
    path: field.path,
    types: field.types,
    conflict: hasTypeConflict(field.types),
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

function replyPage(name: string, page: readonly string[], next: string | undefined): Reply {
  return replyText(`{"${name}":[${page.join(',')}],"next":${JSON.stringify(next ?? null)}}`)
}

function replyText(body: string): Reply {
  return { status: 200, contentType: 'application/json', body }
}
