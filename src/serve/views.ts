/**
 * Saved views of a stream: list, create, read, change, delete, run. They belong to the stream: a
 * token that can see the stream sees the views that are shared, and its owner's own.
 */
import { assertMatch, changedMeanwhile, etagOf, IF_MATCH } from '../api/entity-tag.ts'
import { nullable, type ObjectSchema, RFC3339 } from '../api/schema.ts'
import { IngestError } from '../errors.ts'
import type { Reply, Route } from '../http/exchange.ts'
import { type Guard, guardRoute, type HttpRequest, jsonAnswer, jsonText } from '../http/guard.ts'
import { jsonReply } from '../http/problem.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import { type Stream, seenOwner, tryParseRowId } from '../model/stream.ts'
import { readName } from '../read/body-fields.ts'
import { findVisibleStream, type StreamFinder } from '../read/find-streams.ts'
import type { ReadMembers } from '../read/read-request.ts'
import { READ_PROPERTIES } from '../read/schemas.ts'
import type { ViewRun } from '../read/views/run-view.ts'
import {
  NEW_VIEW,
  problemOf,
  readViewSettings,
  VIEW_CHANGES,
  VIEW_PROPERTIES,
} from '../read/views/view-settings.ts'
import type { View } from '../store/control/view.ts'
import type { ViewStore } from '../store/control/view-store.ts'
import { ID_PAGE_QUERY, idPageSchema, replyIdPage } from './id-page.ts'

/** The answer as JSON. */
type RunView = (run: ViewRun, signal: AbortSignal) => Promise<string | Uint8Array>

export interface ViewRoutesDeps extends Guard {
  readonly views: ViewStore
  readonly streams: StreamFinder
  /** `queryView` and `searchView`. */
  readonly queryView: RunView
  readonly searchView: RunView
}

const VIEW: ObjectSchema = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    ...VIEW_PROPERTIES,
    created_by: { type: 'string', description: 'The owner of the token that made it' },
    created_at: RFC3339,
    updated_at: RFC3339,
    version: { type: 'integer', description: 'Rises with each change; also the `ETag`' },
    problem: nullable(
      { type: 'string' },
      { description: 'Why it cannot be run, when this version cannot read it any more' },
    ),
  },
}
const VIEWS = idPageSchema('views', VIEW)
const COLLECTION = '/v1/streams/:id/views'
const ONE = '/v1/streams/:id/views/:view'

export function viewRoutes(deps: ViewRoutesDeps): Route[] {
  return [...collectionRoutes(deps), ...oneViewRoutes(deps), ...runRoutes(deps)]
}

function collectionRoutes(deps: ViewRoutesDeps): Route[] {
  const { views, streams } = deps
  return [
    guardRoute(deps, {
      method: 'GET',
      pattern: COLLECTION,
      operationId: 'listViews',
      summary: 'List the saved views of a stream',
      tag: 'Views',
      scope: 'streams:read',
      query: ID_PAGE_QUERY,
      answers: { 200: jsonAnswer('In the order of creation', VIEWS) },
      run: async ({ principal, params, query }) => {
        const { streamId } = await findVisibleStream(streams, principal, params[0])
        return await replyIdPage('views', query, {
          read: (page) => views.list(streamId, seenOwner(principal), page),
          idOf: ({ viewId }) => viewId,
          write: (view) => JSON.stringify(viewJson(view)),
        })
      },
    }),
    guardRoute(deps, {
      method: 'POST',
      pattern: COLLECTION,
      operationId: 'createView',
      summary: 'Save a view',
      tag: 'Views',
      scope: 'streams:write',
      body: NEW_VIEW,
      answers: { 201: jsonAnswer('The view; `Location` has its path', VIEW) },
      run: async ({ principal, params, body }) => {
        const { streamId } = await findVisibleStream(streams, principal, params[0])
        const settings = readViewSettings(readMembers(body), undefined)
        const view = await views.create(
          { streamId, createdBy: principal.owner, settings },
          seenOwner(principal),
        )
        const location = `/v1/streams/${streamId}/views/${view.viewId}`
        return viewReply(201, view, [['Location', location]])
      },
    }),
  ]
}

function oneViewRoutes(deps: ViewRoutesDeps): Route[] {
  const { views } = deps
  return [
    guardRoute(deps, {
      method: 'GET',
      pattern: ONE,
      operationId: 'getView',
      summary: 'Read a saved view',
      tag: 'Views',
      scope: 'streams:read',
      answers: { 200: jsonAnswer('The view; `ETag` has its version', VIEW) },
      run: async (request) => viewReply(200, (await findView(deps, request)).view),
    }),
    guardRoute(deps, {
      method: 'PATCH',
      pattern: ONE,
      operationId: 'updateView',
      summary: 'Change a saved view',
      tag: 'Views',
      scope: 'streams:write',
      headers: IF_MATCH,
      body: VIEW_CHANGES,
      answers: { 200: jsonAnswer('The view as changed', VIEW) },
      run: async (request) => {
        const { view } = await findView(deps, request)
        assertMatch(request.headers, view, 'view')
        const settings = readViewSettings(readMembers(request.body), view.settings)
        const changed = await views.update(view, settings, seenOwner(request.principal))
        // Somebody else changed it between our read and our write.
        if (changed === undefined) throw changedMeanwhile('view')
        return viewReply(200, changed)
      },
    }),
    guardRoute(deps, {
      method: 'DELETE',
      pattern: ONE,
      operationId: 'deleteView',
      summary: 'Delete a saved view',
      tag: 'Views',
      scope: 'streams:write',
      headers: IF_MATCH,
      answers: { 204: { description: 'Deleted' } },
      run: async (request) => {
        const { view } = await findView(deps, request)
        assertMatch(request.headers, view, 'view')
        await views.delete(view)
        return { status: 204 }
      },
    }),
  ]
}

/** The settings of the view that a run may override. */
const RUN_PROPERTIES = {
  from: READ_PROPERTIES.from,
  to: READ_PROPERTIES.to,
  timeout_ms: READ_PROPERTIES.timeout_ms,
  limit: { type: 'integer', minimum: 1 },
} as const
const RUN_QUERY: ObjectSchema = { type: 'object', properties: RUN_PROPERTIES }
const RUN_SEARCH: ObjectSchema = {
  type: 'object',
  properties: { ...RUN_PROPERTIES, before: { type: 'string' }, after: { type: 'string' } },
}
const ANY_JSON = { type: 'object', properties: {}, additionalProperties: {} } as const

function runRoutes(deps: ViewRoutesDeps): Route[] {
  const shared = { method: 'POST', tag: 'Views', scope: 'events:read' } as const
  return [
    guardRoute(deps, {
      ...shared,
      pattern: `${ONE}/query`,
      operationId: 'queryView',
      summary: "Run a saved view's aggregates",
      body: RUN_QUERY,
      answers: { 200: jsonAnswer('As of a query', ANY_JSON) },
      run: async (request) => {
        const run = await findRun(deps, request)
        return jsonText(await deps.queryView(run, request.signal))
      },
    }),
    guardRoute(deps, {
      ...shared,
      pattern: `${ONE}/search`,
      operationId: 'searchView',
      summary: "Find a saved view's events",
      body: RUN_SEARCH,
      answers: { 200: jsonAnswer('As of a search', ANY_JSON) },
      run: async (request) => {
        const run = await findRun(deps, request)
        return jsonText(await deps.searchView(run, request.signal))
      },
    }),
  ]
}

async function findRun(deps: ViewRoutesDeps, request: HttpRequest): Promise<ViewRun> {
  const { view, stream } = await findView(deps, request)
  return { settings: view.settings, changes: request.body as ReadMembers, stream }
}

/** Throws `not_found` for a stream or view that is missing or that the principal may not see. */
async function findView(
  { views, streams }: ViewRoutesDeps,
  { principal, params }: HttpRequest,
): Promise<{ readonly view: View; readonly stream: Stream }> {
  const stream = await findVisibleStream(streams, principal, params[0])
  const viewId = tryParseRowId(params[1])
  const owner = seenOwner(principal)
  const view = viewId && (await views.find(stream.streamId, owner, viewId))
  if (view) return { view, stream }
  throw new IngestError('not_found', 'the stream has no view with this id')
}

function readMembers(body: unknown): ReadMembers & { readonly name?: string } {
  const members = body as ReadMembers
  return members.name === undefined
    ? (members as { readonly name?: string })
    : { ...members, name: readName('name', members.name) }
}

function viewReply(
  status: number,
  view: View,
  headers: readonly (readonly [string, string])[] = [],
): Reply {
  const reply = jsonReply(status, viewJson(view))
  return { ...reply, headers: [...headers, ['ETag', etagOf(view)]] }
}

function viewJson(view: View) {
  return {
    id: String(view.viewId),
    ...view.settings,
    created_by: view.createdBy,
    created_at: formatTimeMs(view.createdAtMs),
    updated_at: formatTimeMs(view.updatedAtMs),
    version: view.version,
    problem: problemOf(view.settings) ?? null,
  }
}
