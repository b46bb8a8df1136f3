/** Everything that is read and managed over REST, in one list. */

import type { Route } from '../http/exchange.ts'
import type { SegmentRead as StoredRead } from '../model/batch.ts'
import { segmentIdMs } from '../model/segment-id.ts'
import type { ControlStore } from '../store/control-store.ts'
import type { EventStore } from '../store/event-store.ts'
import type { FieldStatsStore } from '../store/field-stats-store.ts'
import type { QueryStore } from '../store/query-store.ts'
import type { SchemaStore } from '../store/schema-store.ts'
import type { SetAsideStore } from '../store/set-aside-store.ts'
import type { UsageStore } from '../store/usage-store.ts'
import { eventRoutes } from './events.ts'
import { fieldStatsRoutes } from './field-stats.ts'
import { fieldRoutes } from './fields.ts'
import type { ResolveToken } from './guard.ts'
import { keyRoutes } from './keys.ts'
import { keepBytes } from './projection-bytes.ts'
import { projectionRetryRoutes } from './projection-retry.ts'
import { queryRoutes } from './query.ts'
import { type PreviewRedaction, redactPreviewRoutes } from './redact-preview.ts'
import { streamRoutes } from './streams.ts'
import { tokenRoutes } from './tokens.ts'
import { usageRoutes } from './usage.ts'

export interface ServeDeps {
  readonly resolveToken: ResolveToken
  readonly control: ControlStore
  readonly usage: UsageStore
  readonly setAside: SetAsideStore
  readonly events: EventStore
  readonly query: QueryStore
  readonly schemas: SchemaStore
  readonly fieldStats: FieldStatsStore
  /** Renders event records of stored segments; runs in the pool. */
  readonly readSegments: (reads: readonly StoredRead[]) => Promise<Uint8Array>
  readonly previewRedaction: PreviewRedaction
}

export function serveRoutes(deps: ServeDeps): Route[] {
  const { resolveToken, control, usage, setAside, events, query, schemas, fieldStats } = deps
  return [
    ...streamRoutes({ resolveToken, control }),
    ...keyRoutes({ resolveToken, control }),
    ...tokenRoutes({ resolveToken, control }),
    ...usageRoutes({
      resolveToken,
      streams: control,
      usage,
      setAside,
      readSchemaState: (streamId) => schemas.readState(streamId),
      readProjectionBytes: keepBytes(query.readProjectionBytes, () => performance.now()),
    }),
    ...projectionRetryRoutes({ resolveToken, streams: control, setAside }),
    ...fieldRoutes({ resolveToken, streams: control, schemas }),
    ...fieldStatsRoutes({
      resolveToken,
      streams: control,
      readStats: (stats) => fieldStats.read(stats),
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
    ...redactPreviewRoutes({ resolveToken, streams: control, preview: deps.previewRedaction }),
    ...queryRoutes({ resolveToken, streams: control, counter: query }),
  ]
}
