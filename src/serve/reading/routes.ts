/** The routes of the read side, in one list. */
import type { Route } from '../../http/exchange.ts'
import { type SearchRoutesDeps, searchRoutes } from './search.ts'

export type ReadingDeps = SearchRoutesDeps

/** `deps.lane` is that of queries. */
export function readingRoutes(deps: ReadingDeps): Route[] {
  return [...searchRoutes(deps)]
}
