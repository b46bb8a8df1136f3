/** The routes of the read side, in one list. */
import type { Route } from '../../http/exchange.ts'
import { aggregate } from '../../read/aggregate/aggregate.ts'
import { readAggregateRequest } from '../../read/aggregate/aggregate-request.ts'
import { search as runSearch } from '../../read/search/search.ts'
import { readSearchRequest } from '../../read/search/search-request.ts'
import type { ViewStore } from '../../store/control/view-store.ts'
import { fieldStatsRoutes } from './field-stats.ts'
import { type QueryInputDeps, queryInputRoutes } from './query-input.ts'
import { type QueryRoutesDeps, queryRoutes } from './query-routes.ts'
import { type SearchRoutesDeps, searchRoutes } from './search.ts'
import { type ViewRoutesDeps, viewRoutes } from './views.ts'

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
    ...viewRoutes({ ...guarded, views, ...viewRuns(deps) }),
  ]
}

/** A view is run by the code that answers queries and searches. */
function viewRuns(deps: ReadingDeps): Pick<ViewRoutesDeps, 'runQuery' | 'runSearch'> {
  const { search, nowMs } = deps
  return {
    runQuery: async (members, stream, signal) =>
      await aggregate(deps, readAggregateRequest(members, nowMs()), [stream], signal),
    runSearch: async (members, stream, signal) => {
      const request = readSearchRequest(members, nowMs())
      return await runSearch(search, { request, streams: [stream], tellsStream: false }, signal)
    },
  }
}
