/** The follower that brings committed segments into the projection. */
import { type MaterializeObserver, Materializer } from '../materialize/materializer.ts'
import { Rebuilds } from '../materialize/rebuilds.ts'
import type { StreamId } from '../model/stream.ts'
import { ownTextFields } from '../model/text-fields.ts'
import type { TextFieldsOf } from '../pool/messages.ts'
import type { TableObserver } from '../retain/table-reconciler.ts'
import { TableNeedsStore } from '../store/catalog/table-needs-store.ts'
import { ProjectionStore } from '../store/projection/projection-store.ts'
import { SetAsideStore } from '../store/raw/set-aside-store.ts'
import type { Health } from '../telemetry/health.ts'
import { isWorthLogging, type Log, reasonOf } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { CellContext, NodeNumber } from './cell-context.ts'

export function materializeFollower(
  cell: CellContext,
): (number: NodeNumber) => Promise<Materializer> {
  const { stores, log, metrics, health, waiting } = cell
  const store = new SetAsideStore(stores.postgres)
  const stallReporter = projectionStalls(metrics, log, health)
  const observer = materializeObserver(metrics, log)
  const setAside = new Map<NodeNumber, number>()
  metrics.gauge(
    'ingest_projection_set_aside_segments',
    'Segments that this node has left out of the projection, until they are tried again',
    () => [...setAside.values()].reduce((a, b) => a + b, 0),
  )
  return async (number) => {
    const { nodeId } = number.lease
    const onStall = stallReporter()
    const materializer = await createMaterializer(cell, number, {
      setAside: store,
      observer: { ...observer, onStall },
      onSetAsideCount: (segments) => setAside.set(number, segments),
    })
    waiting.add(nodeId, materializer)
    number.stoppers.push(() => {
      waiting.remove(nodeId, materializer)
      setAside.delete(number)
      onStall(undefined)
    })
    if (number.isOwn) watchMaterializer(metrics, materializer)
    return materializer
  }
}

async function createMaterializer(
  { config, stores, streams, buffers, pool, log }: CellContext,
  { lease, checkpoints, isOwn, stoppers }: NodeNumber,
  parts: {
    readonly setAside: SetAsideStore
    readonly observer: MaterializeObserver
    readonly onSetAsideCount: (segments: number) => void
  },
): Promise<Materializer> {
  const { nodeId } = lease
  const { setAside } = parts
  const checkpoint = await checkpoints.read()
  await setAside.forgetAfter(lease, checkpoint)
  const needs = new TableNeedsStore(stores.writes.postgres, streams)
  const projection = new ProjectionStore(stores.writes.clickhouse, lease, {
    place: await stores.insertPlace(nodeId, stoppers),
    assertSame: () => stores.projection.assertSame(),
    readNeeds: (streamId) => needs.readOne(streamId),
    onFormError: tableErrors(log),
    onSettingRefused: (setting) => log.warn({ setting }, 'ClickHouse refuses a setting of tables'),
    assertHeld: () => lease.assertHeld(),
    ...(lease.isInherited && { untilQuiet: () => lease.untilQuiet() }),
  })
  const rebuilds = new Rebuilds(async (streamId, segments) => {
    const ids = segments.flatMap(({ part }) => part.streamIds ?? [streamId])
    const textFields = await textFieldsOf(streams, [...new Set(ids)])
    const replayed = await pool.run({ kind: 'replay', streamId, segments, textFields })
    return replayed.segments.map(({ block }) => block)
  })
  return new Materializer({
    stores: {
      readAfter: (...whose) => checkpoints.readAfter(...whose),
      writeCheckpoint: async (segmentId, live) => {
        await checkpoints.write(segmentId, live)
        if (isOwn) stores.history.saw('checkpoint', segmentId)
      },
      settleInserts: () => projection.settleInserts(),
      findPresent: (segments) => projection.findPresent(segments),
      tryOpenSpool: (streamId) => projection.tryOpenSpool(streamId),
      insert: (streamId, blocks, rows) => projection.insert(streamId, blocks, rows),
      setAside: (segments) => setAside.record(lease, segments),
      readRetries: async () => {
        const { segments, retries } = await setAside.count(nodeId)
        parts.onSetAsideCount(segments)
        return retries === 0 ? [] : await setAside.readRetries(nodeId)
      },
      forgetSetAside: (segments) => setAside.remove(segments),
      rebuild: (segment, part) => rebuilds.rebuild(segment, part),
    },
    observer: parts.observer,
    checkpoint,
    delayMs: config.materializeDelayMs,
    release: (block) => buffers.releaseView(block),
  })
}

/** Of those streams that do not have the default. */
async function textFieldsOf(
  streams: CellContext['streams'],
  streamIds: readonly StreamId[],
): Promise<TextFieldsOf> {
  const all = await streams.findTextFields(streamIds)
  return new Map([...all].filter(([, names]) => ownTextFields(names) !== undefined))
}

function watchMaterializer(metrics: Metrics, materializer: Materializer): void {
  metrics.gauge(
    'ingest_materialize_buffer_bytes',
    'Blocks waiting for ClickHouse',
    () => materializer.bufferBytes,
  )
  metrics.gauge(
    'ingest_projection_lagging_streams',
    'Streams that are being caught up; the node as a whole counts as one',
    () => materializer.lagging,
  )
  metrics.gauge(
    'ingest_projection_lag_seconds',
    'Age of the oldest committed segment that is not in ClickHouse yet',
    () => {
      const oldest = materializer.oldestPendingMs
      return oldest === undefined ? 0 : Math.max(0, (Date.now() - oldest) / 1000)
    },
  )
}

/** Makes listeners, one for each node number that is brought forward; all are one health check. */
function projectionStalls(
  metrics: Metrics,
  log: Log,
  health: Health,
): () => (reason: string | undefined) => void {
  const stalls = new Map<number, string>()
  let listeners = 0
  health.report('projection')
  metrics.gauge(
    'ingest_projection_stalled',
    'Whether ClickHouse refuses what this node sends until somebody mends the cause',
    () => Number(stalls.size > 0),
  )
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

function materializeObserver(metrics: Metrics, log: Log): MaterializeObserver {
  const inserted = metrics.counter(
    'ingest_materialize_rows_total',
    'Events inserted into ClickHouse',
  )
  const inserts = metrics.counter('ingest_materialize_inserts_total', 'Inserts made')
  const insertSeconds = metrics.histogram(
    'ingest_materialize_insert_seconds',
    'One insert into ClickHouse',
  )
  const errors = metrics.counter(
    'ingest_materialize_insert_errors_total',
    'Inserts into ClickHouse that failed and will be tried again',
  )
  const replayed = metrics.counter(
    'ingest_replayed_segments_total',
    'Segments read again from the raw store for ClickHouse',
  )
  const caughtUp = metrics.counter(
    'ingest_catch_up_events_total',
    'Events that catch-up has inserted into ClickHouse',
  )
  const catchUpSeconds = metrics.counter(
    'ingest_catch_up_seconds_total',
    'Time that its steps took',
  )
  const setAside = metrics.counter(
    'ingest_projection_segments_set_aside_total',
    'Segments that could not be projected after several tries; the raw store keeps them',
  )
  return {
    onInsert: ({ rows, seconds }) => {
      inserted.inc(rows)
      inserts.inc()
      insertSeconds.observe(seconds)
    },
    onReplayed: ({ segments, events, seconds }) => {
      replayed.inc(segments)
      caughtUp.inc(events)
      catchUpSeconds.inc(seconds)
    },
    onError: (cause, failures) => {
      errors.inc()
      if (!isWorthLogging(failures)) return
      const reason = reasonOf(cause)
      log.warn({ reason, failures }, 'the projection could not be brought forward; will retry')
    },
    onSetAside: (segmentId, reason) => {
      setAside.inc()
      log.error({ segmentId: String(segmentId), reason }, 'a segment cannot be projected')
    },
    onModeChange: (mode, reason) => log.info({ mode, reason }, 'projection mode changed'),
  }
}

/** Rows are stored and queries answer all the same, only slower. */
export function tableErrors(log: Log): TableObserver['onError'] {
  return (streamId, cause) => {
    const reason = reasonOf(cause)
    log.warn({ streamId, reason }, 'a projection table could not be altered; will retry')
  }
}
