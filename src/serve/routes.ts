/** All routes of management and reading over REST, in one list. */
import type { Route } from '../http/exchange.ts'
import type { Lanes } from '../read/lanes.ts'
import type { CompleteDeps } from '../read/search/complete-query.ts'
import type { ExplainDeps } from '../read/search/explain.ts'
import { queryView, searchView } from '../read/views/run-view.ts'
import type { SchemaStore } from '../store/catalog/schema-store.ts'
import { type ChannelRoutesDeps, channelRoutes } from './alert-channels.ts'
import { type SilenceRoutesDeps, silenceRoutes } from './alerts/silences.ts'
import { type AlertRoutesDeps, alertRoutes } from './alerts.ts'
import { type EventRoutesDeps, eventRoutes } from './event-routes.ts'
import { type FieldStatsRoutesDeps, fieldStatsRoutes } from './field-stats.ts'
import { type FieldRoutesDeps, fieldRoutes } from './fields.ts'
import { type FoundFieldsDeps, foundFieldsRoutes } from './found-fields.ts'
import { keyRoutes } from './keys.ts'
import { cachedForSeconds } from './projection-bytes.ts'
import { type ProjectionRetryDeps, projectionRetryRoutes } from './projection-retry.ts'
import { queryInputRoutes } from './query-input.ts'
import { type QueryRoutesDeps, queryRoutes } from './query-routes.ts'
import {
  type RedactPreviewDeps,
  type RedactReviewDeps,
  redactPreviewRoutes,
  redactReviewRoutes,
} from './redact-routes.ts'
import { type SearchRoutesDeps, searchRoutes } from './search.ts'
import { type SessionRoutesDeps, sessionRoutes } from './session.ts'
import { type StreamRoutesDeps, streamRoutes } from './streams.ts'
import { type TailRoutesDeps, tailRoutes } from './tail.ts'
import { type TokenRoutesDeps, tokenRoutes } from './tokens.ts'
import { type UsageRoutesDeps, usageRoutes } from './usage.ts'
import { type UsageHistoryDeps, usageHistoryRoutes } from './usage-history.ts'
import { type ViewRoutesDeps, viewRoutes } from './views.ts'

/** What the groups of routes work with, and the lanes that they share out. */
export type ServeDeps = Omit<
  StreamRoutesDeps &
    TokenRoutesDeps &
    SessionRoutesDeps &
    ProjectionRetryDeps &
    Omit<UsageRoutesDeps, 'readSchemaStates'> &
    UsageHistoryDeps &
    FieldRoutesDeps &
    FoundFieldsDeps &
    EventRoutesDeps &
    RedactPreviewDeps &
    RedactReviewDeps &
    TailRoutesDeps &
    QueryRoutesDeps &
    FieldStatsRoutesDeps &
    SearchRoutesDeps &
    AlertRoutesDeps &
    ChannelRoutesDeps &
    SilenceRoutesDeps &
    Omit<ViewRoutesDeps, 'queryView' | 'searchView'>,
  'lane'
> &
  Pick<ExplainDeps, 'explainIds'> &
  Pick<CompleteDeps, 'topValues'> & { readonly lanes: Lanes; readonly schemas: SchemaStore }

/** `deps.streams` looks streams up in the lane of reads, not in that of `deps.control`. */
export function serveRoutes({ lanes, ...deps }: ServeDeps): Route[] {
  const { control, schemas, search, explainIds, topValues, fieldIndex } = deps
  const management = { ...deps, lane: lanes.management, streams: control }
  const lists = { ...deps, lane: lanes.lists }
  const queries = { ...deps, lane: lanes.queries }
  return [
    ...streamRoutes(management),
    ...keyRoutes(management),
    ...tokenRoutes(management),
    ...sessionRoutes(management),
    ...projectionRetryRoutes(management),
    ...usageRoutes({
      ...lists,
      readSchemaStates: (streamIds) => schemas.readStates(streamIds),
      readProjectionBytes: cachedForSeconds(deps.readProjectionBytes, () => performance.now()),
      readIndexedShare: cachedForSeconds(deps.readIndexedShare, () => performance.now()),
    }),
    ...usageHistoryRoutes(lists),
    ...fieldRoutes(lists),
    ...foundFieldsRoutes(lists),
    ...eventRoutes(lists),
    ...redactPreviewRoutes(lists),
    ...tailRoutes(lists),
    ...redactReviewRoutes({ ...deps, lane: lanes.reviews }),
    ...queryRoutes(queries),
    ...searchRoutes(queries),
    ...queryInputRoutes({ ...queries, input: { ...search, explainIds, topValues, fieldIndex } }),
    ...fieldStatsRoutes(queries),
    ...alertRoutes(lists),
    ...channelRoutes(management),
    ...silenceRoutes(management),
    ...viewRoutes({
      ...queries,
      queryView: (run, signal) => queryView(deps, run, signal),
      searchView: (run, signal) => searchView(search, run, signal),
    }),
  ]
}
