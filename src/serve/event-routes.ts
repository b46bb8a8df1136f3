/** The list of events, newest first, and one event by its id. */
import { nullable, type ObjectSchema } from '../api/schema.ts'
import type { Route } from '../http/exchange.ts'
import { type Guard, guardRoute, jsonAnswer, jsonText } from '../http/guard.ts'
import { EVENTS_QUERY, readPageQuery } from '../read/event-page.ts'
import { EVENT, type EventReads, readEvent, readEventPage } from '../read/events.ts'
import { findVisibleStream, type StreamFinder } from '../read/find-streams.ts'

export interface EventRoutesDeps extends Guard, EventReads {
  readonly streams: StreamFinder
}

const DAMAGED: ObjectSchema = {
  type: 'object',
  properties: { segment_id: { type: 'string' }, events: { type: 'integer' } },
}
const EVENT_PAGE: ObjectSchema = {
  type: 'object',
  properties: {
    events: { type: 'array', items: EVENT },
    next: nullable({ type: 'string' }, { description: '`before` of the next older page' }),
    previous: nullable({ type: 'string' }, { description: '`after` of the next newer page' }),
    damaged: { type: 'array', items: DAMAGED, description: 'Segments that cannot be read' },
  },
}

export function eventRoutes(deps: EventRoutesDeps): Route[] {
  const pattern = '/v1/streams/:id/events'
  return [
    guardRoute(deps, {
      method: 'GET',
      pattern,
      operationId: 'listEvents',
      summary: 'List events, newest first',
      tag: 'Events',
      query: EVENTS_QUERY,
      answers: {
        200: jsonAnswer('From the raw store: nothing acknowledged is missing', EVENT_PAGE),
      },
      scope: 'events:read',
      run: async ({ principal, params, query }) => {
        const { streamId } = await findVisibleStream(deps.streams, principal, params[0])
        return jsonText(await readEventPage(deps, streamId, readPageQuery(query)))
      },
    }),
    guardRoute(deps, {
      method: 'GET',
      pattern: `${pattern}/:event`,
      operationId: 'getEvent',
      summary: 'Read one event',
      tag: 'Events',
      answers: { 200: jsonAnswer('The event', EVENT) },
      scope: 'events:read',
      run: async ({ principal, params }) => {
        const { streamId } = await findVisibleStream(deps.streams, principal, params[0])
        return jsonText(await readEvent(deps, streamId, params[1] ?? ''))
      },
    }),
  ]
}
