/** The routes of the read side, in one list. */
import type { Route } from '../../http/exchange.ts'
import { fieldStatsRoutes } from './field-stats.ts'
import { type QueryRoutesDeps, queryRoutes } from './query-routes.ts'
import { type SearchRoutesDeps, searchRoutes } from './search.ts'

export interface ReadingDeps extends QueryRoutesDeps, SearchRoutesDeps {}

/** `deps.lane` is that of queries. */
export function readingRoutes(deps: ReadingDeps): Route[] {
  const { search, ...counting } = deps
  const { openStreams, runAggregate, runFacets, nowMs, ...guarded } = counting
  return [
    ...queryRoutes(counting),
    ...searchRoutes({ ...guarded, search }),
    ...fieldStatsRoutes(counting),
  ]
}
