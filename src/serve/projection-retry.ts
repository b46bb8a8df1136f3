/** Requests another try at bringing set-aside segments of a stream into the projection. */
import type { ObjectSchema } from '../api/schema.ts'
import type { Route } from '../http/exchange.ts'
import { answerJson, type Guard, guardRoute, jsonAnswer } from '../http/guard.ts'
import { findVisibleStream, type StreamFinder } from '../read/find-streams.ts'
import type { SetAsideStore } from '../store/raw/set-aside-store.ts'

export interface ProjectionRetryDeps extends Guard {
  readonly streams: StreamFinder
  readonly setAside: Pick<SetAsideStore, 'askToRetry'>
}

const ASKED: ObjectSchema = {
  type: 'object',
  properties: { stream_id: { type: 'string' }, segments: { type: 'integer' } },
  required: ['stream_id', 'segments'],
}

export function projectionRetryRoutes(deps: ProjectionRetryDeps): Route[] {
  const route = guardRoute(deps, {
    method: 'POST',
    pattern: '/v1/streams/:id/projection/retry',
    operationId: 'retryProjection',
    summary: 'Try again the segments that were left out of the projection',
    tag: 'Streams',
    scope: 'admin',
    answers: { 202: jsonAnswer('How many there are', ASKED) },
    run: async ({ principal, params }) => {
      const { streamId } = await findVisibleStream(deps.streams, principal, params[0])
      const segments = await deps.setAside.askToRetry(streamId)
      return answerJson(202, ASKED, { stream_id: String(streamId), segments })
    },
  })
  return [route]
}
