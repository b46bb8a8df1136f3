/** Streams: list, create, read, change, delete. */
import type { Route } from '../http/exchange.ts'
import { jsonReply } from '../http/problem.ts'
import type { ControlStore } from '../store/control/control-store.ts'
import { findVisibleStream, type Guard, guardRoute } from './guard.ts'
import { readIdPage, replyIdPage } from './id-page.ts'
import { completeSettings, readNewSettings, readSettings, streamJson } from './stream-settings.ts'

export interface StreamRoutesDeps extends Guard {
  readonly control: ControlStore
}

export function streamRoutes({ control, ...guard }: StreamRoutesDeps): Route[] {
  const pattern = '/v1/streams'
  const one = '/v1/streams/:id'
  return [
    guardRoute(guard, {
      method: 'GET',
      pattern,
      scope: 'streams:read',
      run: async ({ principal, query }) => {
        const page = readIdPage(query)
        const owner = principal.scopes.has('admin') ? undefined : principal.owner
        const streams = await control.listStreams(owner, { ...page, limit: page.limit + 1 })
        return replyIdPage('streams', streams.map(streamJson), page.limit)
      },
    }),
    guardRoute(guard, {
      method: 'POST',
      pattern,
      scope: 'streams:write',
      body: 'json',
      run: async ({ principal, body }) => {
        const stream = await control.createStream(principal.owner, readNewSettings(body))
        const headers = [['Location', `/v1/streams/${stream.streamId}`]] as const
        return { ...jsonReply(201, streamJson(stream)), headers }
      },
    }),
    guardRoute(guard, {
      method: 'GET',
      pattern: one,
      scope: 'streams:read',
      run: async ({ principal, params }) => {
        const stream = await findVisibleStream(control, principal, params[0])
        return jsonReply(200, streamJson(stream))
      },
    }),
    guardRoute(guard, {
      method: 'PATCH',
      pattern: one,
      scope: 'streams:write',
      body: 'json',
      run: async ({ principal, params, body }) => {
        const stream = await findVisibleStream(control, principal, params[0])
        const changes = readSettings(body)
        // An empty change must not make all nodes forget what they cached.
        if (Object.keys(changes).length === 0) return jsonReply(200, streamJson(stream))
        const settings = completeSettings(changes, stream)
        return jsonReply(200, streamJson(await control.updateStream(stream.streamId, settings)))
      },
    }),
    guardRoute(guard, {
      method: 'DELETE',
      pattern: one,
      scope: 'streams:write',
      run: async ({ principal, params }) => {
        const stream = await findVisibleStream(control, principal, params[0])
        await control.deleteStream(stream.streamId)
        return { status: 204 }
      },
    }),
  ]
}
