/**
 * Real stores with streams whose segments are as old as a test wants them, and retention's parts
 * over them. Segments are made by the worker code and committed as ingest commits them.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startEmbeddedClickHouse } from '../../src/embedded/clickhouse.ts'
import { stampBlock } from '../../src/materialize/stamp.ts'
import type { EncodedSegment } from '../../src/model/batch/encoded-batch.ts'
import { makeSegmentId, type SegmentId } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { Compactor } from '../../src/retain/compactor.ts'
import { ProjectionTrimmer } from '../../src/retain/projection-trimmer.ts'
import type { RetainObserver } from '../../src/retain/retainer.ts'
import { RowRemover } from '../../src/retain/row-remover.ts'
import { Splitter } from '../../src/retain/splitter.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { ControlDirectory } from '../../src/store/control/control-directory.ts'
import { ControlStore, type StreamSettings } from '../../src/store/control/control-store.ts'
import { ensureClickHouse } from '../../src/store/migrations/run.ts'
import { Postgres } from '../../src/store/postgres.ts'
import { MixedParts } from '../../src/store/projection/mixed-parts.ts'
import { ProjectionParts } from '../../src/store/projection/projection-parts.ts'
import { ProjectionStore } from '../../src/store/projection/projection-store.ts'
import { CheckpointStore } from '../../src/store/raw/checkpoint-store.ts'
import { CompactionStore } from '../../src/store/raw/compaction-store.ts'
import { NodeLease } from '../../src/store/raw/node-lease.ts'
import { RetentionStore } from '../../src/store/raw/retention-store.ts'
import { SegmentStore } from '../../src/store/raw/segment-store.ts'
import { SplitStore } from '../../src/store/raw/split-store.ts'
import { StorageStore } from '../../src/store/raw/storage-store.ts'
import { UsageStore } from '../../src/store/raw/usage-store.ts'
import { WorkerLock } from '../../src/store/worker-lock.ts'
import { CompactPipeline } from '../../workers/compact.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { SplitPipeline } from '../../workers/split.ts'
import { DEFAULT_SETTINGS } from '../observe/settings.ts'
import { holdNumber } from '../store/raw/hold-number.ts'
import { makeDirectory, recordingLog, removeDirectory } from '../store/temporary.ts'
import { openTestClickHouse, openTestPostgres, type TestStore } from '../support/stores.ts'
import { batchOf } from '../workers/batch-of.ts'
import { countProjected } from './count-projected.ts'

export const NEVER = new AbortController().signal

/** A ClickHouse of its own: its configuration includes the files of this directory. */
async function startLimited(bytes: number): Promise<TestStore> {
  const dataDir = makeDirectory()
  const directory = join(dataDir, 'clickhouse', 'config.d')
  mkdirSync(directory, { recursive: true })
  const names = ['max_table_size_to_drop', 'max_partition_size_to_drop']
  const settings = names.map((name) => `<${name}>${bytes}</${name}>`)
  writeFileSync(join(directory, 'drops.xml'), `<clickhouse>${settings.join('')}</clickhouse>`)
  const store = await startEmbeddedClickHouse({ dataDir, log: recordingLog() })
  const close = async () => {
    await store.stop()
    removeDirectory(dataDir)
  }
  return { url: store.url, close }
}

export interface NewSegment {
  readonly ms: number
  readonly node?: number
  readonly lines: readonly string[]
}

export class RetainHarness {
  readonly postgres: Postgres
  readonly control: ControlStore
  readonly usage: UsageStore
  readonly storage: StorageStore
  readonly observed: string[] = []
  readonly observer: RetainObserver
  clickhouse: ClickHouse | undefined
  readonly #stores: TestStore[]
  readonly #lease: NodeLease
  readonly #segments: SegmentStore
  readonly #pipeline = new IngestPipeline()
  readonly #compacting = new CompactPipeline()
  readonly #splitting = new SplitPipeline()
  readonly #closers: (() => Promise<unknown>)[] = []
  #counter = 0
  #streams = 0
  #locks = 0

  private constructor(parts: {
    stores: TestStore[]
    postgres: Postgres
    lease: NodeLease
  }) {
    this.#stores = parts.stores
    this.postgres = parts.postgres
    this.#lease = parts.lease
    this.#segments = new SegmentStore(this.postgres, parts.lease)
    this.control = new ControlStore(this.postgres, () => undefined)
    this.usage = new UsageStore(this.postgres)
    this.storage = new StorageStore(this.postgres, new ControlDirectory(this.postgres))
    this.observer = {
      onWorker: (isWorker) => this.observed.push(`worker ${isWorker}`),
      onRemoved: (reason, { rows }) => this.observed.push(`removed ${reason} ${rows}`),
      onTrimmed: (what) => this.observed.push(`trimmed ${what}`),
      onCompacted: ({ rows }) => this.observed.push(`compacted ${rows}`),
      onSplit: ({ mixedRows, segments, rows }) => {
        this.observed.push(`split ${mixedRows} of ${segments} into ${rows}`)
      },
      onSkipped: (cause) => this.observed.push(`skipped ${cause}`),
      onError: (part, cause) => this.observed.push(`error ${part} ${cause}`),
    }
  }

  /** `dropBytesMax`: ClickHouse refuses to drop what is larger, unless a statement asks it to. */
  static async start(options: {
    clickhouse: boolean
    dropBytesMax?: number
  }): Promise<RetainHarness> {
    const log = recordingLog()
    const stores = [await openTestPostgres()]
    const postgres = new Postgres({ url: stores[0]!.url, log })
    const identity = randomUUID()
    const lease = await NodeLease.claim({ postgres, identity, log, onLost: () => undefined })
    if (options.clickhouse) {
      const bytesMax = options.dropBytesMax
      stores.push(await (bytesMax === undefined ? openTestClickHouse() : startLimited(bytesMax)))
    }
    const harness = new RetainHarness({ stores, postgres, lease })
    if (options.clickhouse) {
      harness.clickhouse = new ClickHouse({ url: stores[1]!.url })
      await ensureClickHouse(harness.clickhouse)
    }
    return harness
  }

  async close(): Promise<void> {
    for (const closer of this.#closers) await closer()
    await this.#segments.stop()
    await this.#lease.stop()
    await this.clickhouse?.close()
    await this.postgres.end()
    for (const store of this.#stores) await store.close()
  }

  get clickHouseUrl(): string {
    return this.#stores[1]!.url
  }

  async newStream(settings: Partial<StreamSettings> = {}): Promise<StreamId> {
    const name = `stream ${++this.#streams}`
    const all = { name, ...DEFAULT_SETTINGS, ...settings }
    return (await this.control.createStream('owner', all)).streamId
  }

  /** Commits segments; returns their ids. Equal times get rising counters. */
  async commit(streamId: StreamId, segments: readonly NewSegment[]): Promise<SegmentId[]> {
    const rows = segments.map(({ ms, node = 1, lines }) => {
      const segmentId = makeSegmentId({ ms, node, counter: this.#counter++ % 4_096 })
      const { payload, eventCount, rawBytes, sentBytes } = this.encode(lines)
      const sizes = { eventCount, rawBytes, sentBytes }
      return { streamId, segmentId, ingestedAtMs: ms, ...sizes, payload }
    })
    for (let at = 0; at < rows.length; at += 1_000) {
      assert.equal(await this.#segments.commit(rows.slice(at, at + 1_000), []), undefined)
    }
    return rows.map((row) => row.segmentId)
  }

  encode(lines: readonly string[]): EncodedSegment {
    const { segments } = this.#pipeline.run(batchOf(lines.join('\n')))
    assert.equal(segments.length, 1)
    return { ...segments[0]!, payload: Uint8Array.from(segments[0]!.payload) }
  }

  /** Brings segments into the projection, one insert for all. */
  async project(
    streamId: StreamId,
    ids: readonly SegmentId[],
    segments: readonly NewSegment[],
  ): Promise<void> {
    const projection = new ProjectionStore(this.clickhouse!, { nodeId: 1, epoch: 1n })
    const blocks = segments.map(({ lines }, index) => {
      const { block } = this.encode(lines)
      stampBlock(block, ids[index]!)
      return Uint8Array.from(block.bytes)
    })
    await projection.insert(streamId, blocks)
  }

  async commitAndProject(
    streamId: StreamId,
    segments: readonly NewSegment[],
  ): Promise<SegmentId[]> {
    const ids = await this.commit(streamId, segments)
    await this.project(streamId, ids, segments)
    return ids
  }

  /** Says that everything of a node up to now is in the projection and was learned from. */
  async checkpoint(node: number, ms = Date.now()): Promise<void> {
    const id = makeSegmentId({ ms, node, counter: 0 })
    await new CheckpointStore(this.postgres, await holdNumber(this.postgres, node)).write(id)
    await this.postgres.query(
      `INSERT INTO observe_checkpoints (node_id, segment_id) VALUES ($1, $2)
       ON CONFLICT (node_id) DO UPDATE SET segment_id = excluded.segment_id`,
      [node, String(id)],
    )
  }

  /** Locks of one key exclude each other. */
  newLock(key = ++this.#locks): WorkerLock {
    const lock = new WorkerLock(this.postgres, { key: String(key), statementMsMax: 10_000 })
    this.#closers.push(() => lock.stop())
    return lock
  }

  async heldLock(): Promise<WorkerLock> {
    const lock = this.newLock()
    assert.ok(await lock.tryHold())
    return lock
  }

  newRemover(lock: WorkerLock, nowMs: () => number = Date.now): RowRemover {
    const store = new RetentionStore(lock.session, new ControlDirectory(this.postgres))
    return new RowRemover({ store, observer: this.observer, nowMs, ageScanMs: 0, youngestMs: 0 })
  }

  /** `meanwhile`: what happens while events are sorted in the pool. */
  newCompactor(
    lock: Pick<WorkerLock, 'session'>,
    nowMs: () => number = Date.now,
    meanwhile: () => Promise<unknown> = async () => undefined,
  ): Compactor {
    const compaction = new CompactionStore(lock.session)
    const splitter = new Splitter({
      store: new SplitStore(lock.session),
      readCheckpoints: () => compaction.readCheckpoints(),
      split: async (work) => {
        await meanwhile()
        return this.#splitting.run(work)
      },
      hasIdleThread: () => true,
      observer: this.observer,
      nowMs,
      everyMs: 0,
    })
    return new Compactor({
      store: compaction,
      splitter,
      merge: async (payloads) => this.#compacting.run(payloads),
      hasIdleThread: () => true,
      observer: this.observer,
      nowMs,
      everyMs: 0,
    })
  }

  newTrimmer(trimMs = 0, clickhouse = this.clickhouse!): ProjectionTrimmer {
    const parts = new ProjectionParts(clickhouse)
    const mixed = new MixedParts(clickhouse)
    const { storage, observer } = this
    return new ProjectionTrimmer({ parts, mixed, storage, observer, trimMs })
  }

  /** Rounds until nothing is left to be done at once. */
  async untilIdle(worker: { round(signal: AbortSignal): Promise<boolean> }): Promise<void> {
    while (await worker.round(NEVER));
  }

  /** Ids of the rows in the raw store, oldest first. */
  async rowIds(streamId: StreamId): Promise<SegmentId[]> {
    const { rows } = await this.postgres.query<{ segment_id: string }>(
      'SELECT segment_id FROM segments WHERE stream_id = $1 ORDER BY segment_id',
      [streamId],
    )
    return rows.map((row) => BigInt(row.segment_id) as SegmentId)
  }

  /** Rows of the projection table, removed ones that are still there included; -1 without one. */
  async projectedRows(streamId: StreamId): Promise<number> {
    const tables = await new ProjectionParts(this.clickhouse!).listTables()
    return tables.find((table) => table.streamId === streamId)?.rows ?? -1
  }

  /** What a query over all time counts. */
  counted(streamId: StreamId): Promise<number> {
    return countProjected(this.clickhouse!, this.postgres, streamId)
  }

  /** Usage counts what the rows say, whatever was done. */
  async assertUsageIsTrue(streamId: StreamId): Promise<void> {
    const { rows } = await this.postgres.query<Record<string, number>>(
      `SELECT count(*)::float8 AS segments, COALESCE(sum(event_count), 0)::float8 AS events,
         COALESCE(sum(sent_bytes), 0)::float8 AS "sentBytes",
         COALESCE(sum(stored_bytes), 0)::float8 AS "storedBytes"
       FROM stream_segments WHERE stream_id = $1`,
      [streamId],
    )
    assert.deepEqual({ ...(await this.usage.readUsage(streamId)) }, { ...rows[0] })
  }
}
