/**
 * Goal: the number that a window was decided with is the number that is found there for ever after,
 * whatever nodes did around its end: transactions held open, broken connections whose COMMIT nobody
 * knows of, nodes that freeze, are fenced and come back, clocks an hour off, evaluators that die.
 * Method: two nodes with real committers, leases and evaluators on a real PostgreSQL, through
 * sockets that stall and break at random. Time goes 20 times as fast, for PostgreSQL too: its
 * `clock_timestamp` is ours. What is asked is counted in the raw store itself.
 */
import assert from 'node:assert/strict'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Evaluator } from '../../src/alerts/evaluator.ts'
import { readRuleSettings } from '../../src/alerts/rule-settings.ts'
import { ClosingMark } from '../../src/commit/closing-mark.ts'
import { Committer } from '../../src/commit/committer.ts'
import { createRawStoreWriter } from '../../src/commit/raw-store-writer.ts'
import { CLOCK_LEAD_MS_MAX } from '../../src/limits.ts'
import { SEGMENT_ID_MS_SHIFT, SegmentIdGenerator } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { ClosingStore } from '../../src/store/alerts/closing-store.ts'
import { DecisionStore } from '../../src/store/alerts/decision-store.ts'
import { RuleStore } from '../../src/store/alerts/rule-store.ts'
import { Postgres } from '../../src/store/postgres.ts'
import { CheckpointStore } from '../../src/store/raw/checkpoint-store.ts'
import { ClockGuard } from '../../src/store/raw/clock-guard.ts'
import { NodeLease } from '../../src/store/raw/node-lease.ts'
import { SegmentStore } from '../../src/store/raw/segment-store.ts'
import { WorkerLock } from '../../src/store/worker-lock.ts'
import { someSegment } from '../commit/some-segments.ts'
import { SILENT_LOG, startDatabase, type TestDatabase } from '../serve/rest-harness.ts'
import { eventually } from '../store/temporary.ts'
import { createRandom } from '../support/random.ts'
import { socketPath } from '../support/store-socket.ts'
import { CountedEvents, STREAM } from './counted-events.ts'

const SPEED = 20
const WINDOW_MS = 10_000
const RUN_MS = 45_000
const LEASE_MS = 20_000
/** How much of the time a frozen node is: long enough to be fenced. */
const FROZEN_MS = (LEASE_MS + 60_000 + 30_000) / SPEED
const BASE_MS = Date.now()
const fastNow = () => BASE_MS + (Date.now() - BASE_MS) * SPEED

let database: TestDatabase
const { seed, next: random } = createRandom()

before(async () => {
  database = await startDatabase()
  const name = new URL(database.url).pathname.slice(1)
  await database.postgres.query(`CREATE SCHEMA fake`)
  await database.postgres.query(
    `CREATE FUNCTION fake.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
     $$ SELECT to_timestamp(${BASE_MS / 1000}::float8
       + (extract(epoch FROM pg_catalog.clock_timestamp()) 
         - ${BASE_MS / 1000}::float8) * ${SPEED}) $$`,
  )
  await database.postgres.query(`ALTER DATABASE ${name} SET search_path = public, fake, pg_catalog`)
})

after(async () => {
  await database?.close()
})

/** A port in front of PostgreSQL that stalls and breaks. */
class Front {
  readonly #sockets = new Set<Socket>()
  readonly #server = createServer((client) => {
    const upstream = connect(socketPath(database.url))
    const pairs: [Socket, Socket][] = [
      [client, upstream],
      [upstream, client],
    ]
    for (const [from, to] of pairs) {
      this.#sockets.add(from)
      if (this.#isHeld) from.pause()
      from.on('data', (bytes) => to.write(bytes))
      from.on('error', () => from.destroy())
      from.on('close', () => {
        this.#sockets.delete(from)
        to.destroy()
      })
    }
  })
  #isHeld = false
  url = ''

  async open(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    const { username, password, pathname } = new URL(database.url)
    const { port } = this.#server.address() as AddressInfo
    this.url = `postgres://${username}:${password}@127.0.0.1:${port}${pathname}`
    return this
  }

  hold(isHeld: boolean): void {
    this.#isHeld = isHeld
    for (const socket of this.#sockets) isHeld ? socket.pause() : socket.resume()
  }

  break(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async close(): Promise<void> {
    this.break()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

/** A process: a lease, a committer, an evaluator, on a socket of its own. */
class Process {
  readonly front: Front
  readonly committer: Committer
  readonly #stoppers: (() => unknown)[]
  isLost = false

  private constructor(front: Front, committer: Committer, stoppers: (() => unknown)[]) {
    this.front = front
    this.committer = committer
    this.#stoppers = stoppers
  }

  static async start(identity: string, skewMs: number): Promise<Process> {
    const front = await new Front().open()
    const options = { url: front.url, log: SILENT_LOG, statementMsMax: 3_000, connectMsMax: 1_000 }
    const postgres = new Postgres(options)
    const monotonicMs = () => performance.now() * SPEED
    const clock = new ClockGuard({ nowMs: () => fastNow() + skewMs, monotonicMs })
    await clock.compare(postgres).catch(() => undefined)
    const id = `00000000-0000-4000-8000-00000000000${identity}`
    const times = { leaseMs: LEASE_MS, renewMs: 60, goneMs: 60_000, arrivalMs: 0 }
    const onLost = () => void (node.isLost = true)
    const lease = await NodeLease.claim({
      ...{ postgres, identity: id, log: SILENT_LOG, clock, times, onLost },
    })
    const newest = await new CheckpointStore(postgres, lease).readNewest()
    const ids = new SegmentIdGenerator(
      lease.nodeId,
      () => clock.nowMs,
      newest,
      () => clock.latestMs,
    )
    ids.moveTo(lease.closedMs)
    const closing = new ClosingMark(ids, clock, { lagMsMax: CLOCK_LEAD_MS_MAX })
    const segments = new SegmentStore(postgres, lease)
    const committer = new Committer({
      ...{ store: createRawStoreWriter(segments, onLost), ids, closing },
      forward: () => undefined,
      observer: { onGroup: () => {}, onRetry: () => {}, onUnknown: () => {} },
      resolveMsMax: 800,
    })
    lease.closeBy({
      get closedMs() {
        return closing.read()
      },
      get isOver() {
        return committer.isOver
      },
    })
    const publishing = setInterval(() => void lease.publishIfWanted().catch(() => {}), 10)
    const evaluator = startEvaluator(postgres, lease)
    const node: Process = new Process(front, committer, [
      ...[() => postgres.end(), () => lease.stop(), () => segments.stop()],
      ...[() => committer.stop(), () => clearInterval(publishing), () => evaluator.stop()],
    ])
    return node
  }

  /** As by kill -9, or in order. */
  async end(isKilled: boolean): Promise<void> {
    this.front.hold(false)
    if (isKilled) await this.front.close()
    for (const stop of this.#stoppers.toReversed()) await stop()
    if (!isKilled) await this.front.close()
  }
}

function startEvaluator(postgres: Postgres, lease: NodeLease): Evaluator {
  const lock = new WorkerLock(postgres, { key: '77', statementMsMax: 2_000 })
  const evaluator = new Evaluator({
    lock,
    decisions: new DecisionStore(lock.session, lease),
    closing: new ClosingStore(postgres, lease),
    fenceGone: () => lease.fenceGone(),
    streamsOf: async () => [STREAM],
    ask: new StoredCounts(),
    observer: {
      ...{ onWorker: () => {}, onDecided: () => {}, onFailed: () => {}, onLag: () => {} },
      ...{ onFenced: () => void fenced++, onError: () => {} },
    },
    roundMs: 20,
  })
  evaluator.start()
  return evaluator
}

let fenced = 0

/** What is in the raw store now. */
async function countIn(fromMs: number, toMs: number): Promise<number> {
  const shift = (ms: number) => String(BigInt(ms) << BigInt(SEGMENT_ID_MS_SHIFT))
  const { rows } = await database.postgres.query<{ count: string }>(
    `SELECT COALESCE(sum(event_count), 0) AS count FROM segments
      WHERE segment_id >= $1 AND segment_id < $2`,
    [shift(fromMs), shift(toMs)],
  )
  return Number(rows[0]!.count)
}

/** Each window by itself, as everything in PostgreSQL counts as projected. */
class StoredCounts extends CountedEvents {
  override readonly runAggregate: CountedEvents['runAggregate'] = async ({
    fromNs,
    toNs,
    keys,
  }) => {
    const [fromMs, toMs] = [Number(fromNs / 1_000_000n), Number(toNs / 1_000_000n)]
    const [buckets] = keys.flatMap((key) => (key.kind === 'bucket' ? [key.buckets] : []))
    const stats = { rowsRead: 0, engineMs: 0 }
    const row = (count: number, bucket?: number) => {
      const values = [String(count), String(count)]
      return { group: [], isOthers: false, bucket, values, leftOut: [0, 0] }
    }
    if (buckets === undefined) {
      const total = await countIn(fromMs, toMs)
      return { rows: [row(total)], total: BigInt(total), groups: 1, isEstimated: false, stats }
    }
    const rows = []
    for (let index = 0; index < buckets.count; index++) {
      const start = buckets.startMs + index * buckets.stepMs
      rows.push(row(await countIn(start, start + buckets.stepMs), index))
    }
    return { rows, total: 0n, groups: 1, isEstimated: false, stats }
  }
}

async function live(identity: string, skewMs: number, untilMs: number): Promise<void> {
  while (Date.now() < untilMs) {
    const node = await Process.start(identity, skewMs).catch(() => undefined)
    if (node === undefined) {
      await sleep(100)
      continue
    }
    const diesAtMs = Math.min(untilMs, Date.now() + 4_000 + random() * 8_000)
    while (Date.now() < diesAtMs && !node.isLost) {
      const segments = Array.from({ length: 1 + Math.floor(random() * 3) }, () => someSegment())
      node.committer.submit(1 as StreamId, segments).catch(() => undefined)
      const chance = random()
      if (chance < 0.02) node.front.break()
      else if (chance < 0.04) {
        node.front.hold(true)
        await sleep(random() * 2_000)
        node.front.hold(false)
      } else if (chance < 0.0425) {
        node.front.hold(true)
        await sleep(FROZEN_MS)
        node.front.hold(false)
      }
      await sleep(random() * 40)
    }
    await node.end(random() < 0.5)
  }
}

test('what was decided of a window stays true', { timeout: 180_000 }, async (t) => {
  t.diagnostic(`TEST_SEED=${seed}`)
  const { postgres } = database
  const viewer = new Postgres({ url: database.url, log: SILENT_LOG })
  const settings = readRuleSettings({ condition: { op: '>', value: 20 }, window: '10s' })
  const { rule } = await new RuleStore(viewer).put({
    rights: { owner: 'ann', asAdmin: false, streamIds: undefined },
    ...{ name: 'counted', settings, everyMs: WINDOW_MS, delayMs: 0 },
    isOther: () => true,
    assertMatch: () => undefined,
  })
  const untilMs = Date.now() + RUN_MS
  await Promise.all([
    live('a', 0, untilMs),
    live('b', -3_600_000, untilMs),
    live('c', 30_000, untilMs),
  ])
  const endMs = fastNow()
  const last = await Process.start('d', 0)
  await eventually(
    'all windows are decided',
    async () => {
      const { rows } = await viewer.query<{ cursor_ms: string }>(
        'SELECT cursor_ms FROM alert_rules',
      )
      return Number(rows[0]!.cursor_ms) >= endMs + WINDOW_MS
    },
    30_000,
  )
  await last.end(false)
  const { rows } = await postgres.query<{ from_ms: string; until_ms: string; event_count: string }>(
    `SELECT from_ms, until_ms, event_count FROM alert_windows
      WHERE outcome <> $1 ORDER BY until_ms`,
    ['gap'],
  )
  let sum = 0
  for (const [index, { from_ms: from, until_ms: until, event_count: count }] of rows.entries()) {
    assert.equal(Number(from), rule.cursorMs + index * WINDOW_MS, 'one after another')
    const found = await countIn(Number(from), Number(until))
    assert.equal(Number(count), found, `window ${index} of ${rows.length}`)
    sum += found
  }
  const all = await countIn(Number(rows[0]!.from_ms), Number(rows.at(-1)!.until_ms))
  t.diagnostic(`${rows.length} windows, ${all} events, ${fenced} times a node was fenced`)
  assert.equal(sum, all)
  assert.ok(all > 500 && rows.length > 60)
  await viewer.end()
})
