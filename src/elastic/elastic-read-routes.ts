/** All that clients of Elasticsearch read: Grafana's data source, and client libraries. */
import type { Route } from '../http/exchange.ts'
import type { Lanes } from '../read/lanes.ts'
import { type HealthRoutesDeps, healthRoutes } from './health-routes.ts'
import { type IndexRoutesDeps, indexRoutes } from './index-routes.ts'
import { elasticSearchRoutes, type SearchRoutesOptions } from './search-routes.ts'

export type ElasticReadDeps = Omit<
  SearchRoutesOptions & IndexRoutesDeps & HealthRoutesDeps,
  'lane' | 'manner'
> & { readonly lanes: Lanes }

export function elasticReadRoutes({ lanes, ...deps }: ElasticReadDeps): Route[] {
  return [
    ...elasticSearchRoutes({ ...deps, lane: lanes.queries }),
    ...indexRoutes({ ...deps, lane: lanes.lists }),
    ...healthRoutes({ ...deps, lane: lanes.lists }),
  ]
}
