/** Builds retention and compaction of a cell. */
import { RETAIN_STATEMENT_MS_MAX } from '../limits.ts'
import { Compactor } from '../retain/compactor.ts'
import { ProjectionTrimmer } from '../retain/projection-trimmer.ts'
import { Retainer } from '../retain/retainer.ts'
import { RowRemover } from '../retain/row-remover.ts'
import { Splitter } from '../retain/splitter.ts'
import { TableReconciler } from '../retain/table-reconciler.ts'
import { TableNeedsStore } from '../store/catalog/table-needs-store.ts'
import { MixedParts } from '../store/projection/mixed-parts.ts'
import { ProjectionParts } from '../store/projection/projection-parts.ts'
import { TableKeeper } from '../store/projection/table-keeper.ts'
import { CompactionStore } from '../store/raw/compaction-store.ts'
import { RetentionStore } from '../store/raw/retention-store.ts'
import { SplitStore } from '../store/raw/split-store.ts'
import type { StorageStore } from '../store/raw/storage-store.ts'
import { WorkerLock } from '../store/worker-lock.ts'
import { retainObserver, tableObserver } from '../telemetry/observers.ts'
import type { CellContext } from './cell-context.ts'

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
  const retainer = new Retainer({
    lock,
    removeRows: (signal) => remover.round(signal),
    compact: (signal) => compactor.round(signal),
    trimProjection: (signal) => trimmer.round(signal),
    reconcileTables: (signal) => reconciler.round(signal),
    observer,
  })
  metrics.watch('retainWorker', () => Number(lock.isHeld))
  retainer.start()
  stoppers.push(() => retainer.stop())
}
