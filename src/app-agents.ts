/** The part of the composition root that builds the tools of agents. */
import { IngestReport } from './accept/ingest-report.ts'
import { agentFormat } from './accept/surfaces/agent/agent-ingest.ts'
import { agentRoutes } from './agents/mcp-route.ts'
import { allTools } from './agents/tools/all-tools.ts'
import type { TryEvents } from './agents/tools/ingest-events.ts'
import { readElementTexts, readMemberTexts } from './api/json-text.ts'
import { BATCH_PADDING, padBatch } from './bytes/batch-buffers.ts'
import type { ReadStores } from './cell/read-stores.ts'
import { IngestError } from './errors.ts'
import type { Route } from './http/exchange.ts'
import type { IngestEvents } from './model/batch/agent-events.ts'
import { type SegmentId, segmentIdAt } from './model/segment-id.ts'
import { readOf } from './model/stored-row.ts'
import type { WorkerPool } from './pool/pool.ts'
import type { AggregateDeps } from './read/aggregate/aggregate.ts'
import type { FacetsDeps } from './read/aggregate/facets.ts'
import type { StreamSource } from './read/find-streams.ts'
import type { SearchDeps } from './read/search/search.ts'
import type { EventReads } from './serve/events.ts'
import type { Guard, StreamFinder } from './serve/guard.ts'
import type { PreviewRedaction } from './serve/redact-preview.ts'
import type { ServeLanes } from './serve/routes.ts'
import type { TailHub } from './tail/tail-hub.ts'
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
  readonly pool: WorkerPool
  readonly tails: TailHub
  readonly ingestByAgent: IngestEvents
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
    listShapes: (streamId, page) => schemas.listShapes(streamId, page),
    events: { events, readSegments },
    preview: parts.previewRedaction,
    ingest: parts.ingestByAgent,
    tryEvents: tryEventsBy(parts.pool, parts.readSegments),
  })
  const onFault = (cause: unknown) => log.error({ err: cause }, 'a tool of an agent failed')
  return agentRoutes({ ...guard, tools, version, onFault })
}

/** Through the worker code of ingest and that of the event list; nothing is stored. */
function tryEventsBy(pool: WorkerPool, readSegments: EventReads['readSegments']): TryEvents {
  return async (
    { streamId, parseUserAgents, redactSensitive, redactFields, otlpContext },
    kind,
    body,
  ) => {
    const part = agentFormat(kind).whole(body, undefined)
    if (part instanceof IngestError) throw part
    const bytes = new Uint8Array(new SharedArrayBuffer(part.bytes.length + BATCH_PADDING))
    bytes.set(part.bytes)
    padBatch(bytes, part.bytes.length)
    const settings = { parseUserAgents, redactSensitive, redactFields, otlpContext }
    const parts = [{ framing: part.framing, start: 0, end: part.bytes.length }]
    const receivedAtMs = Date.now()
    const { batch } = await pool.run({
      kind: 'ingest',
      batch: { streamId, settings, receivedAtMs, bytes, parts },
      output: undefined,
    })
    const report = new IngestReport()
    for (const result of batch.parts) report.add(result)
    const { accepted, rejected, errors, fatal } = report
    const segmentId = segmentIdAt(receivedAtMs) as SegmentId
    const reads = batch.segments.map(({ payload, eventCount }) => {
      const all = { fromOrdinal: 0, toOrdinal: eventCount }
      return readOf({ segmentId, payload, firstEvent: 0 }, all, false)
    })
    const { json } = await readSegments(reads)
    const records = readElementTexts(`[${Buffer.from(json).toString()}]`)
    const payloads = records.map((record) => readMemberTexts(record).get('payload') ?? '{}')
    const shown = fatal === undefined ? errors : [fatal]
    return { report: { accepted, rejected, errors: shown, event_ids: [] }, payloads }
  }
}
