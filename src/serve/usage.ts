/** Usage of a stream: what it holds, how far its projection lags, and what was refused. */
import type { Route } from '../http/exchange.ts'
import { jsonReply } from '../http/problem.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import type { StreamId } from '../model/stream.ts'
import type { UsageStore } from '../store/usage-store.ts'
import { findVisibleStream, guardRoute, type ResolveToken, type StreamFinder } from './guard.ts'

export interface UsageRoutesDeps {
  readonly resolveToken: ResolveToken
  readonly streams: StreamFinder
  readonly usage: UsageStore
  /** Bytes on disk of the stream's projection table, null when that cannot be told now. */
  readonly readProjectionBytes: (streamId: StreamId) => Promise<number | null>
  readonly nowMs?: () => number
}

export function usageRoutes(deps: UsageRoutesDeps): Route[] {
  const nowMs = deps.nowMs ?? Date.now
  const route = guardRoute(deps.resolveToken, {
    method: 'GET',
    pattern: '/v1/streams/:id/usage',
    scope: 'streams:read',
    run: async ({ principal, params }) => {
      const { streamId } = await findVisibleStream(deps.streams, principal, params[0])
      const [usage, lag, refusals, projectionBytes] = await Promise.all([
        deps.usage.readUsage(streamId),
        deps.usage.readProjectionLag(streamId),
        deps.usage.readRefusals(streamId),
        deps.readProjectionBytes(streamId),
      ])
      const lagMs = lag.oldestMs === null ? 0 : Math.max(0, nowMs() - lag.oldestMs)
      return jsonReply(200, {
        stream_id: String(streamId),
        events: usage.events,
        segments: usage.segments,
        raw_bytes: usage.rawBytes,
        stored_bytes: { raw: usage.storedBytes, projection: projectionBytes },
        projection: { lag_seconds: lagMs / 1_000, segments_behind: lag.segmentsBehind },
        // For the owner and for admins: just those who can see the stream at all.
        refusals: refusals.map(({ reason, count, lastAtMs }) => {
          return { reason, count, last_at: formatTimeMs(lastAtMs) }
        }),
        // No catalog learns yet, so no cap can have been met.
        schema_learning: 'ok',
      })
    },
  })
  return [route]
}
