/** The part of the composition root that builds the tools of agents. */
import { IngestReport } from '../accept/ingest-report.ts'
import { agentFormat } from '../accept/surfaces/agent/agent-ingest.ts'
import { allTools } from '../agents/all-tools.ts'
import type { ExplainAlertDeps } from '../agents/explain-alert.ts'
import type { TryEvents } from '../agents/ingest-events.ts'
import { agentRoutes } from '../agents/mcp-route.ts'
import { readElementTexts, readMemberTexts } from '../api/json-text.ts'
import { BATCH_PADDING, padBatch } from '../bytes/batch-buffers.ts'
import { IngestError } from '../errors.ts'
import type { Route } from '../http/exchange.ts'
import type { Guard } from '../http/guard.ts'
import type { IngestEvents } from '../model/batch/agent-events.ts'
import { type SegmentId, segmentIdAt } from '../model/segment-id.ts'
import { readOf } from '../model/stored-row.ts'
import { transformSettings } from '../model/stream.ts'
import type { WorkerPool } from '../pool/pool.ts'
import type { EventReads } from '../read/events.ts'
import type { TailHub } from '../tail/tail-hub.ts'
import { version } from '../version.ts'
import type { Context } from './context.ts'
import type { Reading } from './create-reading.ts'

interface AgentParts {
  readonly guard: Guard
  readonly reading: Reading
  readonly pool: WorkerPool
  readonly tails: TailHub
  readonly ingestByAgent: IngestEvents
  readonly alerts: ExplainAlertDeps['alerts']
}

export function createAgentRoutes(
  { log }: Pick<Context, 'log'>,
  { guard, reading, pool, tails, ingestByAgent, alerts }: AgentParts,
): Route[] {
  const { lanes, readSegments, schemas, usage } = reading
  const tools = allTools({
    ...{ ...reading, alerts },
    lists: lanes.lists,
    queries: lanes.queries,
    tails,
    readSummaries: (streamIds) => usage.readSummaries(streamIds),
    listFields: (streamId, page) => schemas.listFields(streamId, page),
    listShapes: (streamId, page) => schemas.listShapes(streamId, page),
    events: reading,
    ingest: ingestByAgent,
    tryEvents: tryEventsBy(pool, readSegments),
  })
  const onFault = (cause: unknown) => log.error({ err: cause }, 'a tool of an agent failed')
  return agentRoutes({ ...guard, tools, version, onFault })
}

/** Through the worker code of ingest and that of the event list; nothing is stored. */
function tryEventsBy(pool: WorkerPool, readSegments: EventReads['readSegments']): TryEvents {
  return async (stream, kind, body) => {
    const part = agentFormat(kind).whole(body, undefined)
    if (part instanceof IngestError) throw part
    const bytes = new Uint8Array(new SharedArrayBuffer(part.bytes.length + BATCH_PADDING))
    bytes.set(part.bytes)
    padBatch(bytes, part.bytes.length)
    const { streamId } = stream
    const settings = transformSettings(stream)
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
