/** What the stages tell, turned into metrics and log lines. */

import type { Refusals } from '../accept/admission/refusals.ts'
import type { IngestMeter } from '../accept/request/ingest.ts'
import type { CommitObserver } from '../commit/committer.ts'
import type { MaterializeObserver } from '../materialize/materializer.ts'
import type { EncodedBatch } from '../model/batch/encoded-batch.ts'
import type { ObserveObserver } from '../observe/observer.ts'
import type { RetainObserver } from '../retain/retainer.ts'
import type { TableObserver } from '../retain/table-reconciler.ts'
import type { Health } from './health.ts'
import type { Log } from './log.ts'
import type { Metrics, RefusalReason } from './metrics.ts'

export function ingestMeter(metrics: Metrics, refusals: Refusals, rejects: Refusals): IngestMeter {
  return {
    onReply: (surface, status) => metrics.requests.add(surface, status),
    onAcknowledged: (surface, seconds) => metrics.acknowledgeSeconds.observe({ surface }, seconds),
    onJudged: (streamId, report, isStored) => {
      for (const [code, count] of report.rejectedByCode) {
        metrics.eventsRejected.add(code, count)
        rejects.add(streamId, code, count)
      }
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

/** Returns the batch, once it is counted. */
export function countBatch(metrics: Metrics, batch: EncodedBatch): EncodedBatch {
  metrics.batches.inc()
  metrics.countTransforms(batch.transforms)
  for (const { pathsSkipped } of batch.segments) {
    if (pathsSkipped > 0) metrics.projectionPathsSkipped.inc(pathsSkipped)
  }
  return batch
}

export function commitObserver(metrics: Metrics): CommitObserver {
  return {
    onGroup: ({ segments, runs, bytes, seconds }) => {
      metrics.commitGroups.inc()
      metrics.commitSegments.inc(segments)
      if (runs > 0) metrics.commitRuns.inc(runs)
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
/** How often the progress of indexes is logged. */
const TABLES_LOGGED_MS = 60_000

/** Makes listeners, one for each node number that is brought forward; all are one health check. */
export function projectionStalls(
  metrics: Metrics,
  log: Log,
  health: Health,
): () => (reason: string | undefined) => void {
  const stalls = new Map<number, string>()
  let listeners = 0
  health.report('projection')
  metrics.watch('projectionStalled', () => Number(stalls.size > 0))
  return () => {
    const key = listeners++
    return (reason) => {
      const known = stalls.get(key)
      if (reason === undefined) stalls.delete(key)
      else stalls.set(key, reason)
      const [any] = stalls.values()
      health.report('projection', any && `ClickHouse does not take events: ${any}`)
      if (reason === known) return
      if (reason === undefined) log.info({}, 'the projection goes on')
      else log.error({ reason }, 'the projection stands still until this is mended')
    }
  }
}

export function materializeObserver(metrics: Metrics, log: Log): MaterializeObserver {
  return {
    onInsert: ({ rows, seconds }) => {
      metrics.materializeRows.inc(rows)
      metrics.materializeInserts.inc()
      metrics.materializeInsertSeconds.observe(seconds)
    },
    onReplayed: ({ segments, events, seconds }) => {
      metrics.replayedSegments.inc(segments)
      metrics.catchUpEvents.inc(events)
      metrics.catchUpSeconds.inc(seconds)
    },
    onError: (cause, failures) => {
      metrics.materializeErrors.inc()
      if (failures > FAILURES_LOGGED && failures % 100 !== 0) return
      const reason = cause instanceof Error ? cause.message : String(cause)
      log.warn({ reason, failures }, 'the projection could not be brought forward; will retry')
    },
    onSetAside: (segmentId, reason) => {
      metrics.segmentsSetAside.inc()
      log.error({ segmentId: String(segmentId), reason }, 'a segment cannot be projected')
    },
    onModeChange: (mode, reason) => log.info({ mode, reason }, 'projection mode changed'),
  }
}

export function retainObserver(metrics: Metrics, log: Log): RetainObserver {
  return {
    onWorker: (isWorker) => {
      log.info({ isWorker }, isWorker ? 'this node enforces retention' : 'another node does')
    },
    onRemoved: (reason, { rows, events, bytes }) => {
      metrics.removedRows.add(reason, rows)
      metrics.removedEvents.add(reason, events)
      metrics.removedBytes.add(reason, bytes)
    },
    onTrimmed: (what) => metrics.projectionTrims.add(what),
    onCompacted: ({ rows, bytesSaved }) => {
      metrics.compactedRows.inc(rows)
      metrics.compactedMerges.inc()
      if (bytesSaved > 0) metrics.compactedBytesSaved.inc(bytesSaved)
    },
    onSplit: ({ mixedRows, segments, rows }) => {
      metrics.splitMixedRows.inc(mixedRows)
      metrics.splitSegments.inc(segments)
      metrics.splitRows.inc(rows)
    },
    onSkipped: (cause) => {
      metrics.compactSkipped.inc()
      const reason = cause instanceof Error ? cause.message : String(cause)
      log.warn({ reason }, 'rows could not be merged or split; they stay as they are')
    },
    onError: (part, cause, failures) => {
      metrics.retainErrors.add(part)
      if (failures > FAILURES_LOGGED && failures % 100 !== 0) return
      const reason = cause instanceof Error ? cause.message : String(cause)
      log.warn({ part, reason, failures }, 'retention could not go on; will retry')
    },
  }
}

/** Of a worker that keeps tables in their form. */
export function tableObserver(metrics: Metrics, log: Log): TableObserver {
  let waiting = 0
  let toldAtMs = Number.NEGATIVE_INFINITY
  metrics.watch('projectionWaitingRows', () => waiting)
  return {
    onAltered: (streamId) => log.info({ streamId }, 'a projection table was altered'),
    onWaiting: (streamId, rows) => {
      if (rows > 0 && performance.now() - toldAtMs < TABLES_LOGGED_MS) return
      toldAtMs = performance.now()
      const text = rows === 0 ? 'all rows have their indexes' : 'indexes are made for rows'
      log.info({ streamId, rows }, text)
    },
    onWaitingInAll: (rows) => {
      waiting = rows
    },
    onError: tableErrors(log),
  }
}

/** Rows are stored and queries answer all the same, only slower. */
export function tableErrors(log: Log): TableObserver['onError'] {
  return (streamId, cause) => {
    const reason = cause instanceof Error ? cause.message : String(cause)
    log.warn({ streamId, reason }, 'a projection table could not be altered; will retry')
  }
}

export function observeObserver(metrics: Metrics, log: Log): ObserveObserver {
  return {
    onWrite: ({ seconds }) => metrics.observeWriteSeconds.observe(seconds),
    onSkipped: ({ fields, shapes }) => {
      metrics.observeFieldsSkipped.inc(fields)
      metrics.observeShapesSkipped.inc(shapes)
    },
    onReplayed: (segments) => metrics.observeReplayedSegments.inc(segments),
    onError: (cause, failures) => {
      metrics.observeErrors.inc()
      if (failures > FAILURES_LOGGED && failures % 100 !== 0) return
      const reason = cause instanceof Error ? cause.message : String(cause)
      log.warn({ reason, failures }, 'the field catalog could not be written; will retry')
    },
    onPassedOver: (segmentId, cause) => {
      metrics.observeSegmentsPassedOver.inc()
      const reason = cause instanceof Error ? cause.message : String(cause)
      log.error({ segmentId: String(segmentId), reason }, 'a segment cannot be learned from')
    },
    onModeChange: (mode, reason) => log.info({ mode, reason }, 'observe mode changed'),
  }
}
