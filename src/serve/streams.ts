/** Streams: list, create, read, change, delete. */
import { writeJson } from '../api/write-answer.ts'
import type { Route } from '../http/exchange.ts'
import { answerJson, type Guard, guardRoute, jsonAnswer } from '../http/guard.ts'
import { findVisibleStream, listVisibleStreams } from '../read/find-streams.ts'
import {
  completeSettings,
  NEW_STREAM,
  readNewSettings,
  readSettings,
  STREAM,
  STREAM_CHANGES,
  streamJson,
} from '../read/stream-settings.ts'
import type { ControlStore } from '../store/control/control-store.ts'
import { ID_PAGE_QUERY, idPageSchema, replyIdPage } from './id-page.ts'

export interface StreamRoutesDeps extends Guard {
  readonly control: ControlStore
}

const STREAMS = idPageSchema('streams', STREAM)

export function streamRoutes(deps: StreamRoutesDeps): Route[] {
  return [...collectionRoutes(deps), ...oneStreamRoutes(deps)]
}

function collectionRoutes({ control, ...guard }: StreamRoutesDeps): Route[] {
  const pattern = '/v1/streams'
  return [
    guardRoute(guard, {
      method: 'GET',
      pattern,
      operationId: 'listStreams',
      summary: 'List streams',
      tag: 'Streams',
      scope: 'streams:read',
      query: ID_PAGE_QUERY,
      answers: { 200: jsonAnswer('In the order of creation', STREAMS) },
      run: async ({ principal, query }) => {
        return await replyIdPage('streams', query, {
          read: (page) => listVisibleStreams(control, principal, page),
          idOf: ({ streamId }) => streamId,
          write: (stream) => writeJson(STREAM, streamJson(stream)),
        })
      },
    }),
    guardRoute(guard, {
      method: 'POST',
      pattern,
      operationId: 'createStream',
      summary: 'Create a stream',
      tag: 'Streams',
      scope: 'streams:write',
      needsAllStreams: true,
      body: NEW_STREAM,
      answers: { 201: jsonAnswer('The stream; `Location` has its path', STREAM) },
      run: async ({ principal, body }) => {
        const stream = await control.createStream(principal.owner, readNewSettings(body))
        const headers = [['Location', `/v1/streams/${stream.streamId}`]] as const
        return { ...answerJson(201, STREAM, streamJson(stream)), headers }
      },
    }),
  ]
}

function oneStreamRoutes({ control, ...guard }: StreamRoutesDeps): Route[] {
  const one = '/v1/streams/:id'
  return [
    guardRoute(guard, {
      method: 'GET',
      pattern: one,
      operationId: 'getStream',
      summary: 'Read a stream',
      tag: 'Streams',
      scope: 'streams:read',
      answers: { 200: jsonAnswer('The stream', STREAM) },
      run: async ({ principal, params }) => {
        const stream = await findVisibleStream(control, principal, params[0])
        return answerJson(200, STREAM, streamJson(stream))
      },
    }),
    guardRoute(guard, {
      method: 'PATCH',
      pattern: one,
      operationId: 'changeStream',
      summary: 'Change the settings that the body names',
      tag: 'Streams',
      scope: 'streams:write',
      body: STREAM_CHANGES,
      answers: { 200: jsonAnswer('The stream as changed', STREAM) },
      run: async ({ principal, params, body }) => {
        const stream = await findVisibleStream(control, principal, params[0])
        const changes = readSettings(body)
        // An empty change must not make all nodes forget what they cached.
        if (Object.keys(changes).length === 0) return answerJson(200, STREAM, streamJson(stream))
        const settings = completeSettings(changes, stream)
        const changed = await control.updateStream(stream.streamId, settings)
        return answerJson(200, STREAM, streamJson(changed))
      },
    }),
    guardRoute(guard, {
      method: 'DELETE',
      pattern: one,
      operationId: 'deleteStream',
      summary: 'Delete a stream with its keys and events',
      tag: 'Streams',
      scope: 'streams:write',
      needsAllStreams: true,
      answers: { 204: { description: 'Hidden at once; its data goes in the background' } },
      run: async ({ principal, params }) => {
        const stream = await findVisibleStream(control, principal, params[0])
        await control.deleteStream(stream.streamId)
        return { status: 204 }
      },
    }),
  ]
}
