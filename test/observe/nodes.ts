/** Nodes that learn into one real PostgreSQL, with the worker code in this thread. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ownSegments } from '../../src/app/create-observer.ts'
import type { CommittedSegment } from '../../src/model/batch/committed-group.ts'
import type { EncodedSegment } from '../../src/model/batch/encoded-batch.ts'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import { SegmentIdGenerator } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { Observer, type ObserverOptions } from '../../src/observe/observer.ts'
import { SchemaWriter } from '../../src/store/catalog/schema-writer.ts'
import { ControlDirectory } from '../../src/store/control/control-directory.ts'
import { ControlStore } from '../../src/store/control/control-store.ts'
import type { Postgres } from '../../src/store/postgres.ts'
import { CheckpointStore } from '../../src/store/raw/checkpoint-store.ts'
import { EventStore } from '../../src/store/raw/event-store.ts'
import { NodeLease } from '../../src/store/raw/node-lease.ts'
import { SegmentStore } from '../../src/store/raw/segment-store.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { ReplayPipeline } from '../../workers/replay.ts'
import { SILENT_LOG } from '../serve/rest-harness.ts'
import { batchOf, batchOfParts } from '../workers/batch-of.ts'
import { DEFAULT_SETTINGS } from './settings.ts'

export async function newStream(
  postgres: Postgres,
  caps: Partial<typeof DEFAULT_SETTINGS.schemaCaps> = {},
): Promise<StreamId> {
  const control = new ControlStore(postgres, () => undefined)
  const name = `stream-${Math.random()}`
  const schemaCaps = { ...DEFAULT_SETTINGS.schemaCaps, ...caps }
  return (await control.createStream('owner', { ...DEFAULT_SETTINGS, schemaCaps, name })).streamId
}

export class TestNode {
  readonly lease: NodeLease
  readonly writer: SchemaWriter
  readonly errors: unknown[] = []
  replayed = 0
  rowsLearned = 0
  skippedFields = 0
  skippedShapes = 0
  observer: Observer
  /** Changed by tests that have stores fail. */
  stores: ObserverOptions['stores']
  readonly #segments: SegmentStore
  readonly #ids: SegmentIdGenerator
  readonly #replay = new ReplayPipeline()
  #ingest = new IngestPipeline()

  private constructor(postgres: Postgres, lease: NodeLease) {
    this.lease = lease
    this.writer = new SchemaWriter(postgres, new ControlDirectory(postgres), lease)
    this.#segments = new SegmentStore(postgres, lease)
    this.#ids = new SegmentIdGenerator(lease.nodeId, Date.now)
    const checkpoints = new CheckpointStore(postgres, lease)
    const events = new EventStore(postgres)
    this.stores = {
      load: (streamIds) => this.writer.load(streamIds),
      write: (changes, checkpoint) => this.writer.write(changes, checkpoint),
      readAfter: async (after, limit) => {
        const rows = await checkpoints.readAfter(after, limit)
        return rows.map((row) => ownSegments(row, lease.nodeId))
      },
      readSegment: async (key) => (await events.readPayloads([key])).get(key.segmentId),
      readUndescribed: () => this.writer.readUndescribed(1_000),
      learn: async ({ streamId, payload, part }) => {
        this.rowsLearned++
        return this.#replay.describe(payload, streamId, part)
      },
    }
    this.observer = this.#createObserver(0n as never)
  }

  static async create(postgres: Postgres, identity: string): Promise<TestNode> {
    const onLost = () => undefined
    const lease = await NodeLease.claim({ postgres, identity, log: SILENT_LOG, onLost })
    return new TestNode(postgres, lease)
  }

  /** Starts observe as a fresh process would. */
  async start(): Promise<void> {
    this.observer = this.#createObserver(await this.writer.readCheckpoint())
    this.observer.start()
    await this.caughtUp()
  }

  /** As after kill -9: what was in memory is gone, workers know nothing. */
  crash(): void {
    const dead = this.stores
    const gone = () => Promise.reject(new Error('this process is dead'))
    this.stores = { ...dead }
    Object.assign(dead, { write: gone, load: gone, readAfter: gone })
    void this.observer.stop(0)
    this.#ingest = new IngestPipeline()
    this.stores.write = (changes, checkpoint) => this.writer.write(changes, checkpoint)
  }

  #createObserver(checkpoint: Awaited<ReturnType<SchemaWriter['readCheckpoint']>>): Observer {
    return new Observer({
      stores: this.stores,
      observer: {
        onWrite: () => undefined,
        onSkipped: ({ fields, shapes }) => {
          this.skippedFields += fields
          this.skippedShapes += shapes
        },
        onReplayed: (segments) => {
          this.replayed += segments
        },
        onError: (cause) => this.errors.push(cause),
        onPassedOver: (_, cause) => this.errors.push(cause),
        onModeChange: () => undefined,
      },
      checkpoint,
      flushMs: 20,
    })
  }

  /** What a worker makes of a body; nothing is stored. */
  encode(streamId: StreamId, body: string): readonly EncodedSegment[] {
    return this.#ingest.run({ ...batchOf(body), streamId, receivedAtMs: Date.now() }).segments
  }

  /** Commits a body and tells observe of it, unless `isTold` is false. */
  async commit(streamId: StreamId, body: string, isTold = true): Promise<void> {
    await this.commitSegments(streamId, this.encode(streamId, body), isTold)
  }

  async commitSegments(
    streamId: StreamId,
    encoded: readonly EncodedSegment[],
    isTold = true,
  ): Promise<void> {
    const segments: CommittedSegment[] = encoded.map(({ eventCount, block, delta }) => {
      return { streamId, segmentId: this.#ids.next(), eventCount, block, delta }
    })
    const rows = segments.map(({ segmentId, eventCount }, i) => {
      const { payload, rawBytes, sentBytes } = encoded[i]!
      const sizes = { eventCount, rawBytes, sentBytes }
      return { streamId, segmentId, ingestedAtMs: Date.now(), ...sizes, payload }
    })
    const failure = await this.#segments.commit(rows, [])
    if (failure !== undefined) throw failure.error
    if (isTold) this.observer.add({ segments })
  }

  /** Commits one mixed segment of a body for each stream. */
  async commitMixed(
    bodies: readonly (readonly [StreamId, string])[],
    isTold = true,
  ): Promise<void> {
    const batch = batchOfParts(bodies.map(([, body]) => ['ndjson', body]))
    const owners = bodies.map(([streamId]) => ({ streamId, parts: 1 }))
    const receivedAtMs = Date.now()
    const { segments } = this.#ingest.run({
      ...batch,
      streamId: MIXED_STREAM,
      owners,
      receivedAtMs,
    })
    const { runs: encoded = [], eventCount, rawBytes, sentBytes, payload, block } = segments[0]!
    const runs = encoded.map((run) => ({ ...run, segmentId: this.#ids.next(), storedBytes: 1 }))
    const row = { streamId: MIXED_STREAM, segmentId: runs[0]!.segmentId, runs, eventCount }
    const sizes = { ingestedAtMs: receivedAtMs, rawBytes, sentBytes, payload }
    const failure = await this.#segments.commit([{ ...row, ...sizes }], [])
    if (failure !== undefined) throw failure.error
    const delta = { shapes: [], shapesSkipped: 0, largePaths: [] }
    if (isTold) this.observer.add({ segments: [{ ...row, block, delta }] })
  }

  /** Waits until all that was committed is in the catalog. */
  async caughtUp(): Promise<void> {
    const deadline = performance.now() + 20_000
    while (!this.observer.isCaughtUp) {
      if (performance.now() > deadline) throw new Error('observe does not catch up')
      await sleep(5)
    }
  }

  async stop(): Promise<void> {
    await this.observer.stop(5_000)
    await this.#segments.stop()
    await this.lease.stop()
  }
}
