import type { AgentTool } from './agent-tool.ts'
import { type AggregateToolDeps, aggregateTool } from './aggregate.ts'
import { type DescribeStreamDeps, describeStreamTool } from './describe-stream.ts'
import { type ExplainAlertDeps, explainAlertTool } from './explain-alert.ts'
import { type ExplainChangeDeps, explainChangeTool } from './explain-change.ts'
import { type FindPatternsDeps, findPatternsTool } from './find-patterns.ts'
import { type GetEventDeps, getEventTool } from './get-event.ts'
import { type IngestEventsDeps, ingestEventsTool } from './ingest-events.ts'
import { listAlertsTool } from './list-alerts.ts'
import { type ListStreamsDeps, listStreamsTool } from './list-streams.ts'
import { type RedactPreviewToolDeps, redactPreviewTool } from './redact-preview.ts'
import { type SearchToolDeps, searchEventsTool } from './search-events.ts'
import { type TailSampleDeps, tailSampleTool } from './tail-sample.ts'

export interface ToolDeps
  extends Omit<ListStreamsDeps, 'streams'>,
    SearchToolDeps,
    AggregateToolDeps,
    FindPatternsDeps,
    GetEventDeps,
    DescribeStreamDeps,
    ExplainAlertDeps,
    ExplainChangeDeps,
    IngestEventsDeps,
    TailSampleDeps,
    RedactPreviewToolDeps {}

export function allTools(deps: ToolDeps): readonly AgentTool[] {
  return [
    aggregateTool(deps),
    describeStreamTool(deps),
    explainAlertTool(deps),
    explainChangeTool(deps),
    findPatternsTool(deps),
    getEventTool(deps),
    ingestEventsTool(deps),
    listAlertsTool(deps),
    listStreamsTool(deps),
    redactPreviewTool(deps),
    searchEventsTool(deps),
    tailSampleTool(deps),
  ]
}
