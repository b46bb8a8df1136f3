/** What is an Elasticsearch to its clients: writes, and what they ask before these. */
import type { Surface } from '../surface.ts'
import { bulkRoutes } from './bulk.ts'
import { elasticProbeRoutes } from './elastic-probes.ts'

export const elasticSurface: Surface = ({ deps }) => {
  return { routes: [...bulkRoutes(deps), ...elasticProbeRoutes(deps.credentials)] }
}
