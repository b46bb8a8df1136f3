/** All routes of reading and management over REST, in one list. */

import type { BodyBudget } from '../http/body-budget.ts'
import type { Route } from '../http/exchange.ts'
import type { SegmentRead } from '../model/batch/segment-read.ts'
import type { ReviewedEvents, ReviewRequest } from '../model/redaction-review.ts'
import type { StreamId } from '../model/stream.ts'
import type { FieldCatalogStore } from '../store/catalog/field-catalog-store.ts'
import type { SchemaStore } from '../store/catalog/schema-store.ts'
import type { ControlStore } from '../store/control/control-store.ts'
import type { ReadProjectionBytes } from '../store/projection/aggregate/projection-bytes.ts'
import type { EventStore } from '../store/raw/event-store.ts'
import type { SetAsideStore } from '../store/raw/set-aside-store.ts'
import type { UsageStore } from '../store/raw/usage-store.ts'
import { eventRoutes, type ReadRecords } from './events.ts'
import { fieldRoutes } from './fields.ts'
import type { ResolveToken, StreamFinder } from './guard.ts'
import { keyRoutes } from './keys.ts'
import type { Lane } from './lane.ts'
import { keepBytes } from './projection-bytes.ts'
import { projectionRetryRoutes } from './projection-retry.ts'
import { type PreviewRedaction, redactPreviewRoutes } from './redact-preview.ts'
import { redactReviewRoutes } from './redact-review.ts'
import { streamRoutes } from './streams.ts'
import { tokenRoutes } from './tokens.ts'
import { usageRoutes } from './usage.ts'

/** Lanes for reads of the projection, reads of the raw store and catalog, reviews, changes. */
export interface ServeLanes {
  readonly queries: Lane
  readonly lists: Lane
  readonly reviews: Lane
  readonly management: Lane
}

export interface ServeDeps {
  readonly lanes: ServeLanes
  readonly resolveToken: ResolveToken
  /** The memory for bodies of all these routes. */
  readonly bodies: BodyBudget
  readonly control: ControlStore
  /** Where reads look streams up: in their own lane, not in that of `control`. */
  readonly streams: StreamFinder
  readonly usage: UsageStore
  readonly setAside: SetAsideStore
  readonly events: EventStore
  readonly readProjectionBytes: ReadProjectionBytes
  /** 0 to 1; null when it is not known now. */
  readonly readIndexedShare: (streamId: StreamId) => Promise<number | null>
  readonly schemas: SchemaStore
  readonly catalogs: FieldCatalogStore
  /** Renders event records of stored segments; runs in the pool. */
  readonly readSegments: (reads: readonly SegmentRead[]) => Promise<ReadRecords>
  readonly previewRedaction: PreviewRedaction
  readonly isIngestBusy: () => boolean
  /** What redaction would change in stored segments; runs in the pool. */
  readonly reviewSegments: (request: ReviewRequest, signal: AbortSignal) => Promise<ReviewedEvents>
}

export function serveRoutes(deps: ServeDeps): Route[] {
  const { resolveToken, bodies, lanes, control, streams, usage } = deps
  const { setAside, events, schemas } = deps
  const management = { resolveToken, bodies, lane: lanes.management, control }
  const lists = { resolveToken, bodies, lane: lanes.lists, streams }
  const reviews = { resolveToken, bodies, lane: lanes.reviews, streams }
  return [
    ...streamRoutes(management),
    ...keyRoutes(management),
    ...tokenRoutes(management),
    ...usageRoutes({
      ...lists,
      usage,
      setAside,
      readSchemaState: (streamId) => schemas.readState(streamId),
      readProjectionBytes: keepBytes(deps.readProjectionBytes, () => performance.now()),
      readIndexedShare: keepBytes(deps.readIndexedShare, () => performance.now()),
    }),
    ...projectionRetryRoutes({ ...management, streams: control, setAside }),
    ...fieldRoutes({ ...lists, schemas }),
    ...eventRoutes({ ...lists, events, readSegments: deps.readSegments }),
    ...redactPreviewRoutes({ ...lists, preview: deps.previewRedaction }),
    ...redactReviewRoutes({
      ...reviews,
      events,
      givesWay: deps.isIngestBusy,
      reviewSegments: deps.reviewSegments,
    }),
  ]
}
