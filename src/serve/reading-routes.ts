/** The routes of the read side, in one list. */
import type { Route } from '../http/exchange.ts'
import { queryView, searchView } from '../read/views/run-view.ts'
import type { ViewStore } from '../store/control/view-store.ts'
import { fieldStatsRoutes } from './field-stats.ts'
import { type QueryInputDeps, queryInputRoutes } from './query-input.ts'
import { type QueryRoutesDeps, queryRoutes } from './query-routes.ts'
import { type SearchRoutesDeps, searchRoutes } from './search.ts'
import { viewRoutes } from './views.ts'

export interface ReadingDeps
  extends QueryRoutesDeps,
    SearchRoutesDeps,
    Pick<QueryInputDeps, 'input'> {
  readonly views: ViewStore
}

/** `deps.lane` is that of queries. */
export function readingRoutes(deps: ReadingDeps): Route[] {
  const { search, input, views, ...counting } = deps
  const { openStreams, runAggregate, runFacets, nowMs, ...guarded } = counting
  return [
    ...queryRoutes(counting),
    ...searchRoutes({ ...guarded, search }),
    ...queryInputRoutes({ ...guarded, input }),
    ...fieldStatsRoutes(counting),
    ...viewRoutes({
      ...guarded,
      views,
      queryView: (run, signal) => queryView(deps, run, signal),
      searchView: (run, signal) => searchView(search, run, signal),
    }),
  ]
}
