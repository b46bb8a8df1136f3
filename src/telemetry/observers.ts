/** What the stages tell, turned into metrics and log lines. */
import type { IngestMeter } from '../accept/ingest-handler.ts'
import type { Refusals } from '../accept/refusals.ts'
import type { CommitObserver } from '../commit/committer.ts'
import type { MaterializeObserver } from '../materialize/materializer.ts'
import type { Log } from './log.ts'
import type { Metrics, RefusalReason } from './metrics.ts'

export function ingestMeter(metrics: Metrics, refusals: Refusals): IngestMeter {
  return {
    onReply: (surface, status) => metrics.requests.add(surface, status),
    onAcknowledged: (surface, seconds) => metrics.acknowledgeSeconds.observe({ surface }, seconds),
    onJudged: (_streamId, report, isStored) => {
      for (const [code, count] of report.rejectedByCode) metrics.eventsRejected.add(code, count)
      if (!isStored) return
      metrics.eventsAccepted.inc(report.accepted)
      metrics.requestBytes.inc(report.acceptedBytes)
      if (report.repaired > 0) metrics.utf8Repaired.inc(report.repaired)
    },
    onRefused: (streamId, reason) => {
      metrics.refusals.add(reason as RefusalReason)
      if (streamId !== undefined) refusals.add(streamId, reason)
    },
  }
}

export function commitObserver(metrics: Metrics): CommitObserver {
  return {
    onGroup: ({ segments, bytes, seconds }) => {
      metrics.commitGroups.inc()
      metrics.commitSegments.inc(segments)
      metrics.commitBytes.inc(bytes)
      metrics.commitSeconds.observe(seconds)
    },
    onRetry: () => metrics.commitRetries.inc(),
    onUnknown: (outcome) =>
      metrics.commitAmbiguous.add(outcome === 'dropped' ? 'unresolved' : outcome),
  }
}

/** How many failures in a row are logged one by one; after that, every hundredth. */
const FAILURES_LOGGED = 3

export function materializeObserver(metrics: Metrics, log: Log): MaterializeObserver {
  return {
    onInsert: ({ rows, seconds }) => {
      metrics.materializeRows.inc(rows)
      metrics.materializeInserts.inc()
      metrics.materializeInsertSeconds.observe(seconds)
    },
    onReplayed: (segments) => metrics.replayedSegments.inc(segments),
    onError: (cause, failures) => {
      metrics.materializeErrors.inc()
      if (failures > FAILURES_LOGGED && failures % 100 !== 0) return
      const reason = cause instanceof Error ? cause.message : String(cause)
      log.warn({ reason, failures }, 'the projection could not be brought forward; will retry')
    },
    onSetAside: (segmentId, cause) => {
      metrics.segmentsSetAside.inc()
      const reason = cause instanceof Error ? cause.message : String(cause)
      log.error({ segmentId: String(segmentId), reason }, 'a segment cannot be projected')
    },
    onModeChange: (mode, reason) => log.info({ mode, reason }, 'projection mode changed'),
  }
}
