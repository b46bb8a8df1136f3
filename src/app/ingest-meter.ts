/** What is counted of ingest: its requests, their events, and what workers did to them. */
import type { KeyUsage } from '../accept/admission/key-usage.ts'
import type { RefusalHistory } from '../accept/admission/refusal-history.ts'
import type { Refusals } from '../accept/admission/refusals.ts'
import type { IngestMeter } from '../accept/request/ingest.ts'
import { ERRORS, type ErrorCode } from '../errors.ts'
import type { EncodedBatch, TransformCounts } from '../model/batch/encoded-batch.ts'
import { REJECT_CODES } from '../model/batch/part-result.ts'
import { NO_KEY } from '../model/batch/usage-counts.ts'
import type { Metrics } from '../telemetry/metrics.ts'

const REFUSAL_REASONS = [
  ...(Object.keys(ERRORS) as ErrorCode[]),
  'plain_text_not_accepted',
] as const
type RefusalReason = (typeof REFUSAL_REASONS)[number]

/** What counts by stream. */
export interface StreamMeters {
  readonly refusals: Refusals
  readonly rejects: Refusals
  readonly history: RefusalHistory
  readonly keys: KeyUsage
}

export function ingestMeter(
  metrics: Metrics,
  { refusals, rejects, history, keys }: StreamMeters,
): IngestMeter {
  const requests = metrics.pairTally<string, `${number}`>(
    'ingest_requests_total',
    'Requests answered, by surface and HTTP status',
    ['surface', 'status'],
  )
  const bytes = metrics.counter('ingest_request_bytes_total', 'Bytes of accepted events')
  const accepted = metrics.counter('ingest_events_accepted_total', 'Events made durable')
  const rejected = metrics.tally(
    'ingest_events_rejected_total',
    'Events rejected one by one out of requests that were taken',
    'reason',
    REJECT_CODES,
  )
  const repaired = metrics.counter(
    'ingest_utf8_repaired_events_total',
    'Events whose invalid UTF-8 was replaced by U+FFFD',
  )
  const refused = metrics.tally(
    'ingest_refusals_total',
    'Whole requests that were not taken',
    'reason',
    REFUSAL_REASONS,
  )
  const acknowledgeSeconds = metrics.histogram(
    'ingest_acknowledge_seconds',
    'From the first byte of an ingest request to its acknowledgement',
    { labelNames: ['surface'] as const },
  )
  return {
    onReply: (surface, status) => requests.add(surface, `${status}`),
    onAcknowledged: (surface, seconds) => acknowledgeSeconds.observe({ surface }, seconds),
    onJudged: ({ stream: { streamId }, keyId = NO_KEY }, report, isStored) => {
      for (const [code, count] of report.rejectedByCode) {
        rejected.add(code, count)
        rejects.add(streamId, code, count)
      }
      if (!isStored) return
      accepted.inc(report.accepted)
      bytes.inc(report.acceptedBytes)
      keys.add(streamId, keyId, report.accepted, report.acceptedBytes)
      if (report.repaired > 0) repaired.inc(report.repaired)
    },
    onRefused: (refusal) => {
      const { streamId, reason } = refusal
      refused.add(reason as RefusalReason)
      history.add(refusal)
      if (streamId !== undefined) refusals.add(streamId, reason)
    },
  }
}

/** Returns what counts a batch that a worker has encoded, and gives it back. */
export function batchCounter(metrics: Metrics): (batch: EncodedBatch) => EncodedBatch {
  const batches = metrics.counter('ingest_batches_total', 'Batches handed to workers')
  const countTransforms = transformCounter(metrics)
  const skipped = metrics.counter(
    'ingest_projection_paths_skipped_total',
    'Paths left out of a block that had too many; the raw events keep them',
  )
  return (batch) => {
    batches.inc()
    countTransforms(batch.transforms)
    for (const { pathsSkipped } of batch.segments) if (pathsSkipped > 0) skipped.inc(pathsSkipped)
    return batch
  }
}

function transformCounter(metrics: Metrics): (counts: TransformCounts) => void {
  const extracted = metrics.counter(
    'ingest_events_extracted_total',
    'Events whose log string was made an object',
  )
  const redacted = metrics.counter('ingest_events_redacted_total', 'Events redacted in part')
  const userAgents = metrics.tally(
    'ingest_user_agent_lookups_total',
    'User agent strings: remembered, parsed, or not parsed as the budget was spent',
    'result',
    ['hit', 'miss', 'skipped'],
  )
  return (counts) => {
    const { eventsExtracted, eventsRedacted, userAgentHits, userAgentMisses } = counts
    if (eventsExtracted > 0) extracted.inc(eventsExtracted)
    if (eventsRedacted > 0) redacted.inc(eventsRedacted)
    if (userAgentHits > 0) userAgents.add('hit', userAgentHits)
    if (userAgentMisses > 0) userAgents.add('miss', userAgentMisses)
    if (counts.userAgentsSkipped > 0) userAgents.add('skipped', counts.userAgentsSkipped)
  }
}
