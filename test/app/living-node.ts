/**
 * A node as the composition root makes it, but for its HTTP and its committer: on real stores, with
 * the worker code in this thread, and leases of a second or less.
 */
import { startFollowing } from '../../src/app/cell.ts'
import type { CellContext } from '../../src/app/cell-context.ts'
import type { Follower } from '../../src/follow/follower.ts'
import { WaitingSegments } from '../../src/materialize/waiting-segments.ts'
import { type SegmentId, SegmentIdGenerator } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import type { DescribeTask, ReplayTask } from '../../src/pool/messages.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { ControlDirectory } from '../../src/store/control/control-directory.ts'
import { Postgres } from '../../src/store/postgres.ts'
import { CheckpointStore } from '../../src/store/raw/checkpoint-store.ts'
import { EventStore } from '../../src/store/raw/event-store.ts'
import { History } from '../../src/store/raw/history.ts'
import { type LeaseTimes, NodeLease } from '../../src/store/raw/node-lease.ts'
import { SegmentStore } from '../../src/store/raw/segment-store.ts'
import { Health } from '../../src/telemetry/health.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { ReplayPipeline } from '../../workers/replay.ts'
import { SILENT_LOG } from '../serve/rest-harness.ts'
import { type RecordingLog, recordingLog } from '../store/temporary.ts'
import { openTcpFront, type TcpFront } from '../support/store-socket.ts'
import { batchOf } from '../workers/batch-of.ts'

export const TIMES: LeaseTimes = { leaseMs: 400, renewMs: 50, goneMs: 500, arrivalMs: 300 }
/** Of a process that renews nothing. */
export const FROZEN: LeaseTimes = { ...TIMES, renewMs: 1_000_000 }
const POLL_MS = 50

export interface NodeOptions {
  readonly identity: string
  readonly postgresUrl: string
  readonly clickHouseUrl: string
  readonly times?: LeaseTimes
  readonly materializeDelayMs?: number
}

export class LivingNode {
  readonly log: RecordingLog = recordingLog()
  readonly metrics = new Metrics({ version: 'test', engine: 'test' })
  readonly health = new Health()
  readonly lease: NodeLease
  readonly postgres: Postgres
  lostCount = 0
  readonly #fronts: readonly TcpFront[]
  readonly #stoppers: (() => unknown)[] = []
  readonly #ingest = new IngestPipeline()
  readonly #segments: SegmentStore
  readonly #ids: SegmentIdGenerator
  #followers: readonly Follower[] = []

  private constructor(fronts: readonly TcpFront[], postgres: Postgres, lease: NodeLease) {
    this.#fronts = fronts
    this.postgres = postgres
    this.lease = lease
    this.#segments = new SegmentStore(postgres, lease)
    this.#ids = new SegmentIdGenerator(lease.nodeId, Date.now)
  }

  static async start(options: NodeOptions): Promise<LivingNode> {
    const urls = [options.postgresUrl, options.clickHouseUrl]
    const fronts = await Promise.all(urls.map(openTcpFront))
    const [postgresUrl, url] = fronts.map((front) => front.url) as [string, string]
    const postgres = new Postgres({ url: postgresUrl, log: SILENT_LOG })
    const clickhouse = new ClickHouse({ url })
    const { times = TIMES } = options
    const identity = `00000000-0000-4000-8000-00000000000${options.identity}`
    const onLost = () => void node.lostCount++
    const lease = await NodeLease.claim({ postgres, identity, log: SILENT_LOG, onLost, times })
    const node: LivingNode = new LivingNode(fronts, postgres, lease)
    node.#stoppers.push(
      ...[() => postgres.end(), () => clickhouse.close()],
      ...[() => node.#segments.stop(), () => lease.stop()],
    )
    try {
      await node.#follow(clickhouse, identity, options.materializeDelayMs ?? 20)
      return node
    } catch (cause) {
      await node.stop()
      throw cause
    }
  }

  async #follow(
    clickhouse: ClickHouse,
    identity: string,
    materializeDelayMs: number,
  ): Promise<void> {
    const { postgres, lease, log, metrics, health } = this
    health.declare('projection', 'degraded')
    const stores = {
      ...{ postgres, clickhouse, lease, writes: { postgres, clickhouse } },
      projection: { assertSame: () => clickhouse.ping() },
      insertPlace: async () => undefined,
      history: new History(lease, identity),
    }
    const cell = {
      ...{ stores, log, metrics, health, stoppers: this.#stoppers },
      config: { materializeDelayMs, drainTimeoutMs: 3_000 },
      streams: new ControlDirectory(postgres),
      buffers: { releaseView: () => undefined },
      pool: { run: poolOf(new ReplayPipeline()) },
      waiting: new WaitingSegments(),
      events: new EventStore(postgres),
    }
    const checkpoints = new CheckpointStore(postgres, lease)
    const number = { lease, checkpoints, isOwn: true, stoppers: this.#stoppers }
    const context = cell as unknown as CellContext
    this.#followers = await startFollowing(context, number, POLL_MS)
  }

  /** Commits a body and tells the followers of it, unless `isTold` is false. */
  async commit(streamId: StreamId, body: string, isTold = true): Promise<SegmentId[]> {
    const receivedAtMs = Date.now()
    const { segments } = this.#ingest.run({ ...batchOf(body), streamId, receivedAtMs })
    const ids = segments.map(() => this.#ids.next())
    const rows = segments.map(({ eventCount, rawBytes, sentBytes, payload }, i) => {
      const sizes = { eventCount, rawBytes, sentBytes, payload: Uint8Array.from(payload) }
      return { streamId, segmentId: ids[i]!, ingestedAtMs: receivedAtMs, ...sizes }
    })
    const failure = await this.#segments.commit(rows, [])
    if (failure !== undefined) throw failure.error
    const committed = segments.map(({ eventCount, block, delta }, i) => {
      const copy = { ...block, bytes: Uint8Array.from(block.bytes) }
      return { streamId, segmentId: ids[i]!, eventCount, block: copy, delta }
    })
    if (isTold) for (const follower of this.#followers) follower.add({ segments: committed })
    return ids
  }

  get isIdle(): boolean {
    return this.#followers.every((follower) => follower.isIdle)
  }

  async metric(name: string): Promise<number> {
    const text = await this.metrics.scrape()
    const escaped = name.replace(/[{}"]/g, '\\$&')
    return Number(new RegExp(`^${escaped} (\\S+)$`, 'm').exec(text)?.[1])
  }

  /** As by kill -9: nothing of it reaches a store any more. */
  async die(): Promise<void> {
    for (const front of this.#fronts) await front.close()
    await this.stop()
  }

  async stop(): Promise<void> {
    for (const stop of this.#stoppers.splice(0).reverse()) await stop()
    for (const front of this.#fronts) await front.close()
  }
}

/** What the pool does for followers. */
function poolOf(replay: ReplayPipeline) {
  return async (task: ReplayTask | DescribeTask) => {
    if (task.kind === 'describe') {
      return { deltas: replay.describe(task.payload, task.streamId, task.part) }
    }
    const segments = task.segments.map(({ payload, part }) => {
      const { block, ...segment } = replay.run(payload, task.streamId, part)
      return { ...segment, block: { ...block, bytes: Uint8Array.from(block.bytes) } }
    })
    return { segments }
  }
}
