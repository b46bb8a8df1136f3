/** Asks for another try at the segments of a stream that were left out of the projection. */
import type { Route } from '../http/exchange.ts'
import { jsonReply } from '../http/problem.ts'
import type { SetAsideStore } from '../store/raw/set-aside-store.ts'
import { findVisibleStream, type Guard, guardRoute, type StreamFinder } from './guard.ts'

export interface ProjectionRetryDeps extends Guard {
  readonly streams: StreamFinder
  readonly setAside: Pick<SetAsideStore, 'askToRetry'>
}

export function projectionRetryRoutes(deps: ProjectionRetryDeps): Route[] {
  const route = guardRoute(deps, {
    method: 'POST',
    pattern: '/v1/streams/:id/projection/retry',
    scope: 'admin',
    run: async ({ principal, params }) => {
      const { streamId } = await findVisibleStream(deps.streams, principal, params[0])
      const segments = await deps.setAside.askToRetry(streamId)
      return jsonReply(202, { stream_id: String(streamId), segments })
    },
  })
  return [route]
}
