/** The follower that learns fields and shapes from committed segments. */
import { segmentIdNode } from '../model/segment-id.ts'
import type { LoadedRow } from '../model/stored-row.ts'
import { type ObserveObserver, Observer } from '../observe/observer.ts'
import { SchemaWriter } from '../store/catalog/schema-writer.ts'
import { StoreError } from '../store/store-error.ts'
import { isWorthLogging, type Log, reasonOf } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { CellContext, NodeNumber } from './cell-context.ts'

/** How many shapes without a description are looked up at the start. */
const UNDESCRIBED_MAX = 1_000

export function observeFollower(cell: CellContext): (number: NodeNumber) => Promise<Observer> {
  const { metrics, log } = cell
  const told = observeObserver(metrics, log)
  return async (number) => {
    const observer = await createObserver(cell, number, told)
    const cacheBytes = () => observer.cacheBytes
    if (number.isOwn) {
      metrics.gauge('ingest_observe_cache_bytes', 'What is known of streams, in memory', cacheBytes)
    }
    return observer
  }
}

async function createObserver(
  { stores, streams, pool, events }: CellContext,
  { lease, checkpoints, isOwn }: NodeNumber,
  observer: ObserveObserver,
): Promise<Observer> {
  const writer = new SchemaWriter(stores.writes.postgres, streams, lease)
  return new Observer({
    stores: {
      load: (streamIds) => writer.load(streamIds),
      write: async (changes, checkpoint) => {
        const counts = await writer.write(changes, checkpoint)
        if (isOwn && checkpoint !== undefined) stores.history.saw('catalog', checkpoint)
        return counts
      },
      readAfter: async (after, limit) => {
        const rows = await checkpoints.readAfter(after, limit)
        return rows.map((row) => ownSegments(row, lease.nodeId))
      },
      readSegment: async (key) => (await events.readPayloads([key])).get(key.segmentId),
      readUndescribed: () => writer.readUndescribed(UNDESCRIBED_MAX),
      learn: async (task) => (await pool.run({ kind: 'describe', ...task })).deltas,
    },
    observer,
    checkpoint: await writer.readCheckpoint(),
  })
}

/** The row with this node's segments only: other nodes count their own in a merged row. */
export function ownSegments(row: LoadedRow, nodeId: number): LoadedRow {
  const segments = row.segments.filter(({ segmentId }) => segmentIdNode(segmentId) === nodeId)
  return { ...row, segments }
}

function observeObserver(metrics: Metrics, log: Log): ObserveObserver {
  const writeSeconds = metrics.histogram(
    'ingest_observe_write_seconds',
    'One transaction of the field catalog',
  )
  const errors = metrics.counter(
    'ingest_observe_errors_total',
    'Steps of observe that failed and are tried again',
  )
  const replayed = metrics.counter(
    'ingest_observe_replayed_segments_total',
    'Segments read again from the raw store for the field catalog',
  )
  const passedOver = metrics.counter(
    'ingest_observe_segments_passed_over_total',
    'Segments that could not be learned from after several tries',
  )
  const fieldsSkipped = metrics.counter(
    'ingest_observe_fields_skipped_total',
    'Times that a new field was skipped because its stream is at the hard cap',
  )
  const shapesSkipped = metrics.counter(
    'ingest_observe_shape_events_skipped_total',
    'Events whose new shape was skipped because of a bound',
  )
  return {
    onWrite: ({ seconds }) => writeSeconds.observe(seconds),
    onSkipped: ({ fields, shapes }) => {
      fieldsSkipped.inc(fields)
      shapesSkipped.inc(shapes)
    },
    onReplayed: (segments) => replayed.inc(segments),
    onError: (cause, failures) => {
      // Its lease tells of that, and ends whoever works for the number.
      if (cause instanceof StoreError && cause.kind === 'lease_lost') return
      errors.inc()
      if (!isWorthLogging(failures)) return
      const reason = reasonOf(cause)
      log.warn({ reason, failures }, 'the field catalog could not be written; will retry')
    },
    onPassedOver: (segmentId, cause) => {
      passedOver.inc()
      const reason = reasonOf(cause)
      log.error({ segmentId: String(segmentId), reason }, 'a segment cannot be learned from')
    },
    onModeChange: (mode, reason) => log.info({ mode, reason }, 'observe mode changed'),
  }
}
