/** The part of the composition root that builds the tools of agents. */
import { agentRoutes } from './agents/mcp-route.ts'
import { allTools } from './agents/tools/all-tools.ts'
import type { ReadStores } from './cell/read-stores.ts'
import type { Route } from './http/exchange.ts'
import type { AggregateDeps } from './read/aggregate/aggregate.ts'
import type { FacetsDeps } from './read/aggregate/facets.ts'
import type { StreamSource } from './read/find-streams.ts'
import type { SearchDeps } from './read/search/search.ts'
import type { EventReads } from './serve/events.ts'
import type { Guard, StreamFinder } from './serve/guard.ts'
import type { PreviewRedaction } from './serve/redact-preview.ts'
import type { ServeLanes } from './serve/routes.ts'
import type { Log } from './telemetry/log.ts'
import { version } from './version.ts'

export interface AgentParts extends AggregateDeps, FacetsDeps {
  readonly log: Log
  readonly guard: Guard
  readonly lanes: ServeLanes
  readonly reads: ReadStores
  readonly streams: StreamFinder & StreamSource
  readonly search: SearchDeps
  readonly readSegments: EventReads['readSegments']
  readonly previewRedaction: PreviewRedaction
}

export function createAgentRoutes(parts: AgentParts): Route[] {
  const { guard, lanes, log, reads, readSegments } = parts
  const { events, schemas, usage, readState } = reads
  const tools = allTools({
    ...parts,
    lists: lanes.lists,
    queries: lanes.queries,
    readState,
    readSummaries: (streamIds) => usage.readSummaries(streamIds),
    listFields: (streamId, page) => schemas.listFields(streamId, page),
    events: { events, readSegments },
    preview: parts.previewRedaction,
  })
  const onFault = (cause: unknown) => log.error({ err: cause }, 'a tool of an agent failed')
  return agentRoutes({ ...guard, tools, version, onFault })
}
