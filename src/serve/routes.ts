/** Everything that is read and managed over REST, in one list. */

import type { Route } from '../http/exchange.ts'
import type { SegmentRead as StoredRead } from '../model/batch.ts'
import { segmentIdMs } from '../model/segment-id.ts'
import type { ControlStore } from '../store/control-store.ts'
import type { EventStore } from '../store/event-store.ts'
import type { QueryStore } from '../store/query-store.ts'
import type { UsageStore } from '../store/usage-store.ts'
import { eventRoutes } from './events.ts'
import type { ResolveToken } from './guard.ts'
import { keyRoutes } from './keys.ts'
import { queryRoutes } from './query.ts'
import { streamRoutes } from './streams.ts'
import { tokenRoutes } from './tokens.ts'
import { usageRoutes } from './usage.ts'

export interface ServeDeps {
  readonly resolveToken: ResolveToken
  readonly control: ControlStore
  readonly usage: UsageStore
  readonly events: EventStore
  readonly query: QueryStore
  /** Renders event records of stored segments; runs in the pool. */
  readonly readSegments: (reads: readonly StoredRead[]) => Promise<Uint8Array>
}

export function serveRoutes(deps: ServeDeps): Route[] {
  const { resolveToken, control, usage, events, query } = deps
  return [
    ...streamRoutes({ resolveToken, control }),
    ...keyRoutes({ resolveToken, control }),
    ...tokenRoutes({ resolveToken, control }),
    ...usageRoutes({
      resolveToken,
      streams: control,
      usage,
      readProjectionBytes: query.readProjectionBytes,
    }),
    ...eventRoutes({
      resolveToken,
      streams: control,
      events,
      readSegments: (reads) =>
        deps.readSegments(
          reads.map(({ segmentId, ...read }) => ({
            ...read,
            segmentId: String(segmentId),
            ingestedAtMs: segmentIdMs(segmentId),
          })),
        ),
    }),
    ...queryRoutes({ resolveToken, streams: control, counter: query }),
  ]
}
