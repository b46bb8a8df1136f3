/** Builds retention and compaction of a cell. */
import { ColdMover } from '../retain/cold-mover.ts'
import { Compactor } from '../retain/compactor.ts'
import { ProjectionTrimmer } from '../retain/projection-trimmer.ts'
import { RETAIN_PARTS, Retainer, type RetainObserver, type Round } from '../retain/retainer.ts'
import { RowRemover } from '../retain/row-remover.ts'
import { Splitter } from '../retain/splitter.ts'
import { type TableObserver, TableReconciler } from '../retain/table-reconciler.ts'
import { TableNeedsStore } from '../store/catalog/table-needs-store.ts'
import { ColdParts } from '../store/projection/cold-parts.ts'
import { MixedParts } from '../store/projection/mixed-parts.ts'
import { ProjectionParts } from '../store/projection/projection-parts.ts'
import { TableKeeper } from '../store/projection/table-keeper.ts'
import { CompactionStore } from '../store/raw/compaction-store.ts'
import { RetentionStore } from '../store/raw/retention-store.ts'
import { SplitStore } from '../store/raw/split-store.ts'
import type { StorageStore } from '../store/raw/storage-store.ts'
import { UsageHistory } from '../store/raw/usage-history.ts'
import { WorkerLock } from '../store/worker-lock.ts'
import { isWorthLogging, type Log, reasonOf } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { CellContext } from './cell-context.ts'
import { tableErrors } from './create-materializer.ts'

/** How long one statement of retention or compaction may take. */
export const RETAIN_STATEMENT_MS_MAX = 30_000

/** How often the progress of indexes is logged. */
const TABLES_LOGGED_MS = 60_000
/** Like the keys of migrations and of node numbers. */
const RETAIN_LOCK_KEY = '126943966294887'

export function startRetainer(cell: CellContext, storage: StorageStore): void {
  const { stores, streams, pool, metrics, log, stoppers } = cell
  const lock = new WorkerLock(stores.postgres, {
    key: RETAIN_LOCK_KEY,
    statementMsMax: RETAIN_STATEMENT_MS_MAX,
  })
  const observer = retainObserver(metrics, log)
  const remover = new RowRemover({
    store: new RetentionStore(lock.session, streams),
    observer,
    nowMs: Date.now,
  })
  const compaction = new CompactionStore(lock.session)
  const splitter = new Splitter({
    store: new SplitStore(lock.session),
    readCheckpoints: () => compaction.readCheckpoints(),
    split: (work) => pool.run({ kind: 'split', ...work }),
    hasIdleThread: () => pool.hasIdleThread,
    observer,
    nowMs: Date.now,
  })
  const compactor = new Compactor({
    store: compaction,
    splitter,
    merge: (payloads) => pool.run({ kind: 'compact', payloads }),
    hasIdleThread: () => pool.hasIdleThread,
    observer,
    nowMs: Date.now,
  })
  const trimmer = new ProjectionTrimmer({
    parts: new ProjectionParts(stores.clickhouse),
    mixed: new MixedParts(stores.clickhouse),
    storage,
    observer,
  })
  const needs = new TableNeedsStore(stores.postgres, streams)
  const reconciler = new TableReconciler({
    tables: new TableKeeper(stores.clickhouse),
    readNeeds: (streamIds) => needs.read(streamIds),
    observer: tableObserver(metrics, log),
  })
  const history = new UsageHistory(stores.postgres)
  const retainer = new Retainer({
    lock,
    removeRows: (signal) => remover.round(signal),
    compact: (signal) => compactor.round(signal),
    trimProjection: (signal) => trimmer.round(signal),
    reconcileTables: (signal) => reconciler.round(signal),
    ageUsage: () => history.age(Date.now()),
    moveCold: coldRound(cell),
    observer,
  })
  metrics.gauge(
    'ingest_retain_worker',
    'Whether this node is the one that enforces retention',
    () => Number(lock.isHeld),
  )
  retainer.start()
  stoppers.push(() => retainer.stop())
}

/** Undefined where nothing is moved. */
function coldRound({ config, stores, metrics, log }: CellContext): Round | undefined {
  const { clickhouseStoragePolicy: policy, clickhouseColdDays: days } = config
  const moves = metrics.counter(
    'ingest_projection_cold_moves_total',
    "Days of a projection table that began to move to the storage policy's last volume",
  )
  if (policy === undefined || days === undefined) return undefined
  const mover = new ColdMover({
    parts: new ColdParts(stores.clickhouse, stores.clickhouseServers),
    ...{ policy, days },
    onMoved: ({ streamId, id }) => {
      moves.inc()
      log.info({ streamId, day: id }, 'a day of the projection moves to the last volume')
    },
  })
  return (signal) => mover.round(signal)
}

function retainObserver(metrics: Metrics, log: Log): RetainObserver {
  const removed = (name: string, help: string) =>
    metrics.tally(name, help, 'reason', ['age', 'bytes', 'deleted'])
  const rows = removed('ingest_removed_segments_total', 'Rows removed from the raw store')
  const events = removed('ingest_removed_events_total', 'Events removed from the raw store')
  const bytes = removed('ingest_removed_bytes_total', 'Compressed bytes removed from the raw store')
  const trims = metrics.tally(
    'ingest_projection_removals_total',
    'Removals from the projection, by what was removed at once',
    'what',
    ['table', 'partition', 'rows'],
  )
  const errors = metrics.tally(
    'ingest_retain_errors_total',
    'Rounds of retention that failed and will be tried again',
    'part',
    RETAIN_PARTS,
  )
  return {
    ...compactionObserver(metrics, log),
    onWorker: (isWorker) => {
      log.info({ isWorker }, isWorker ? 'this node enforces retention' : 'another node does')
    },
    onRemoved: (reason, gone) => {
      rows.add(reason, gone.rows)
      events.add(reason, gone.events)
      bytes.add(reason, gone.bytes)
    },
    onTrimmed: (what) => trims.add(what),
    onError: (part, cause, failures) => {
      errors.add(part)
      if (!isWorthLogging(failures)) return
      const reason = reasonOf(cause)
      log.warn({ part, reason, failures }, 'retention could not go on; will retry')
    },
  }
}

function compactionObserver(
  metrics: Metrics,
  log: Log,
): Pick<RetainObserver, 'onCompacted' | 'onSplit' | 'onSkipped'> {
  const compacted = metrics.counter(
    'ingest_compacted_segments_total',
    'Rows of the raw store that were merged with others',
  )
  const merges = metrics.counter('ingest_compactions_total', 'Rows that they became')
  const saved = metrics.counter(
    'ingest_compacted_bytes_saved_total',
    'Compressed bytes that merging saved',
  )
  const splitRows = metrics.counter(
    'ingest_split_mixed_rows_total',
    'Mixed rows of the raw store that were split',
  )
  const splitSegments = metrics.counter('ingest_split_segments_total', 'Segments that were in them')
  const madeRows = metrics.counter('ingest_split_rows_total', 'Rows that these became')
  const skipped = metrics.counter(
    'ingest_compactions_skipped_total',
    'Merges and splits that failed; their rows stay as they are',
  )
  return {
    onCompacted: ({ rows, bytesSaved }) => {
      compacted.inc(rows)
      merges.inc()
      if (bytesSaved > 0) saved.inc(bytesSaved)
    },
    onSplit: ({ mixedRows, segments, rows }) => {
      splitRows.inc(mixedRows)
      splitSegments.inc(segments)
      madeRows.inc(rows)
    },
    onSkipped: (cause) => {
      skipped.inc()
      log.warn(
        { reason: reasonOf(cause) },
        'rows could not be merged or split; they stay as they are',
      )
    },
  }
}

/** Of a worker that keeps tables in their form. */
function tableObserver(metrics: Metrics, log: Log): TableObserver {
  let waiting = 0
  let toldAtMs = Number.NEGATIVE_INFINITY
  metrics.gauge('ingest_projection_waiting_rows', 'Rows without their indexes yet', () => waiting)
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
