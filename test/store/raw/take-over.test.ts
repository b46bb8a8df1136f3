/**
 * Goal: what is left of a node that is gone is taken over by exactly one living node, which holds
 * nothing but the work; whoever held the number before can write nothing under it any more.
 * Method: leases of a second or less in one process, on a real PostgreSQL. How rows are brought in
 * is the subject of `test/app/take-over.test.ts`.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { from as copyFrom } from 'pg-copy-streams'
import { INSERT_ARRIVAL_MS_MAX, NODE_GONE_MS } from '../../../src/limits.ts'
import { makeSegmentId, type SegmentId } from '../../../src/model/segment-id.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { Postgres } from '../../../src/store/postgres.ts'
import { CheckpointStore } from '../../../src/store/raw/checkpoint-store.ts'
import { ClockGuard } from '../../../src/store/raw/clock-guard.ts'
import { LostHistoryStore } from '../../../src/store/raw/lost-history-store.ts'
import { type LeaseTimes, NodeLease } from '../../../src/store/raw/node-lease.ts'
import { SetAsideStore } from '../../../src/store/raw/set-aside-store.ts'
import { StoreError } from '../../../src/store/store-error.ts'
import { SILENT_LOG, startDatabase, type TestDatabase } from '../../serve/rest-harness.ts'
import { openTcpFront } from '../../support/store-socket.ts'
import { eventually } from '../temporary.ts'

const TIMES: LeaseTimes = { leaseMs: 300, renewMs: 40, goneMs: 400, arrivalMs: 200 }
/** Of a process that renews nothing: it is frozen, or dead. */
const FROZEN: LeaseTimes = { ...TIMES, renewMs: 1_000_000 }
const STREAM = 1 as StreamId

let database: TestDatabase
let counter = 0
const leases: NodeLease[] = []

before(async () => {
  database = await startDatabase()
})

beforeEach(async () => {
  for (const lease of leases.splice(0)) await lease.stop()
  const tables = ['nodes', 'segments', 'checkpoints', 'observe_checkpoints', 'lost_history']
  for (const table of [...tables, 'set_aside_segments']) {
    await database.postgres.query(`DELETE FROM ${table}`)
  }
})

after(async () => {
  for (const lease of leases) await lease.stop()
  await database?.close()
})

interface ClaimOptions {
  readonly times?: LeaseTimes
  readonly onLost?: () => void
  readonly clock?: ClockGuard
  readonly nodeIdMax?: number
  readonly postgres?: Postgres
}

async function claim(identity: string, options: ClaimOptions = {}): Promise<NodeLease> {
  const defaults = { postgres: database.postgres, times: TIMES, onLost: () => undefined }
  const id = `00000000-0000-4000-8000-00000000000${identity}`
  const lease = await NodeLease.claim({ ...defaults, identity: id, log: SILENT_LOG, ...options })
  leases.push(lease)
  return lease
}

async function commit({ nodeId }: NodeLease): Promise<SegmentId> {
  const id = makeSegmentId({ ms: Date.now(), node: nodeId, counter: counter++ })
  await database.postgres.query(
    `INSERT INTO segments (stream_id, segment_id, ingested_at, event_count, raw_bytes, sent_bytes,
       payload) VALUES ($1, $2, now(), 1, 1, 1, '')`,
    [STREAM, String(id)],
  )
  return id
}

const checkpoints = (lease: NodeLease) => new CheckpointStore(database.postgres, lease)

/** Says that both followers have passed all of it. */
async function finish(lease: NodeLease, id: SegmentId): Promise<void> {
  await checkpoints(lease).write(id)
  await database.postgres.query(
    'INSERT INTO observe_checkpoints (node_id, segment_id) VALUES ($1, $2)',
    [lease.nodeId, String(id)],
  )
}

async function take(by: NodeLease, onLost = () => {}, held: number[] = []): Promise<NodeLease> {
  let taken: NodeLease | undefined
  await eventually('something is taken over', async () => {
    taken = await by.takeOver(held, onLost)
    return taken !== undefined
  })
  leases.push(taken!)
  return taken!
}

const isLost = (cause: unknown) => cause instanceof StoreError && cause.kind === 'lease_lost'

test('of two that try at once one gets it; the number stays as it was', async () => {
  const gone = await claim('a', { times: FROZEN })
  const id = await commit(gone)
  const others = [await claim('b'), await claim('c'), await claim('d'), await claim('e')] as const
  const [b, c] = others
  assert.equal(await b.takeOver([], () => undefined), undefined, 'its lease holds')
  await sleep(TIMES.leaseMs + TIMES.goneMs + 100)
  const tries = await Promise.all(others.map((each) => each.takeOver([], () => undefined)))
  const taken = tries.filter((each) => each !== undefined)
  leases.push(...taken)
  assert.deepEqual(
    taken.map(({ nodeId, epoch }) => [nodeId, epoch]),
    [[gone.nodeId, gone.epoch + 1n]],
  )
  assert.ok(await taken[0]!.hasWork())
  await eventually('it is no living node', () => b.liveNodes === 4)
  await sleep(TIMES.leaseMs + TIMES.goneMs + 100)
  for (const each of others.filter((_, n) => tries[n] === undefined)) {
    assert.equal(await each.takeOver([], () => undefined), undefined, 'the takeover is renewed')
  }
  await finish(taken[0]!, id)
  assert.equal(await taken[0]!.hasWork(), false)
  await taken[0]!.stop({ isDone: true })
  assert.equal(await c.takeOver([], () => undefined), undefined, 'nothing is left of it')
  const again = await claim('a')
  assert.deepEqual([again.nodeId, again.epoch], [gone.nodeId, gone.epoch + 2n])
})

test('a node without work left is let be, until a set-aside segment is to be tried', async () => {
  const setAside = new SetAsideStore(database.postgres)
  const gone = await claim('a', { times: FROZEN })
  const id = await commit(gone)
  await setAside.record(gone, [{ streamId: STREAM, segmentId: id, reason: 'damaged', tries: 5 }])
  await finish(gone, id)
  const b = await claim('b')
  await sleep(TIMES.leaseMs + TIMES.goneMs + 200)
  assert.equal(await b.takeOver([], () => undefined), undefined)
  assert.equal(await setAside.askToRetry(STREAM), 1)
  const taken = await take(b)
  assert.equal((await setAside.readRetries(taken.nodeId)).length, 1)
  await setAside.remove([{ streamId: STREAM, segmentId: id }])
  assert.equal(await taken.hasWork(), false)
  const loss = { what: 'segments', after: 0n as SegmentId, upTo: id, events: 1 } as const
  await new LostHistoryStore(database.postgres).record(taken.nodeId, loss, false)
  assert.equal(await taken.hasWork(), true, 'what a failover lost is still in the projection')
})

test('its node comes back amid a takeover: the taker gives it up, and is waited for', async () => {
  const gone = await claim('a', { times: FROZEN })
  const id = await commit(gone)
  let lostCount = 0
  const taken = await take(await claim('b'), () => void lostCount++)
  const startedAt = performance.now()
  const back = await claim('a')
  assert.deepEqual([back.nodeId, back.epoch], [gone.nodeId, taken.epoch + 1n])
  assert.deepEqual([gone.isInherited, taken.isInherited, back.isInherited], [false, true, true])
  await eventually('the taker hears of it', () => lostCount === 1)
  for (const old of [gone, taken]) {
    await assert.rejects(checkpoints(old).write(id), isLost)
    await assert.rejects(old.assertHeld(), isLost)
  }
  await checkpoints(back).write(id)
  // What the taker may have sent is in ClickHouse before anybody asks what is there.
  await back.untilQuiet()
  assert.ok(performance.now() - startedAt >= TIMES.arrivalMs)
  await taken.stop()
  await eventually('it has its number', async () => back.assertHeld().then(() => true))
})

test('the taker dies: a third takes over both', async () => {
  const gone = await claim('a', { times: FROZEN })
  await commit(gone)
  const dying = await claim('b', { times: { ...FROZEN, goneMs: 1 } })
  await commit(dying)
  await sleep(TIMES.leaseMs - 50)
  // By the clock it has renewed its own lease just now.
  await database.postgres.query(
    `UPDATE nodes SET lease_until = clock_timestamp() + interval '1 second' WHERE node_id = $1`,
    [dying.nodeId],
  )
  const first = await take(dying)
  assert.equal(first.nodeId, gone.nodeId)
  const third = await claim('c')
  const one = await take(third)
  const two = await take(third, () => {}, [one.nodeId])
  assert.deepEqual([one.nodeId, two.nodeId].toSorted(), [gone.nodeId, dying.nodeId].toSorted())
  const epochs = new Map([one, two].map(({ nodeId, epoch }) => [nodeId, epoch]))
  assert.equal(epochs.get(gone.nodeId), first.epoch + 1n)
  await assert.rejects(checkpoints(first).write(0n as SegmentId), isLost)
})

test('a frozen node that wakes up inserts nothing before it has renewed its lease', async () => {
  let [monotonicMs, nowMs] = [0, Date.now()]
  const clock = new ClockGuard({ nowMs: () => nowMs, monotonicMs: () => monotonicMs })
  let lostCount = 0
  const onLost = () => void lostCount++
  const frozen = await claim('a', { times: FROZEN, clock, onLost })
  await frozen.assertHeld()
  const until = async () => {
    const { rows } = await database.postgres.query<{ until: Date }>(
      'SELECT lease_until AS until FROM nodes WHERE node_id = $1',
      [frozen.nodeId],
    )
    return rows[0]!.until.getTime()
  }
  const claimedUntil = await until()
  monotonicMs += TIMES.leaseMs - 1
  await frozen.assertHeld()
  assert.equal(await until(), claimedUntil, 'nothing was asked')
  monotonicMs += 1
  await frozen.assertHeld()
  assert.ok((await until()) > claimedUntil, 'renewed')
  const renewedUntil = await until()
  nowMs += TIMES.leaseMs
  await frozen.assertHeld()
  assert.ok((await until()) > renewedUntil, 'a machine that slept: the other clock went on')
  await commit(frozen)
  await take(await claim('b'))
  monotonicMs += TIMES.leaseMs
  await assert.rejects(frozen.assertHeld(), isLost)
  assert.equal(lostCount, 1)
})

test('without PostgreSQL nothing is inserted once the lease has run out', async (t) => {
  const front = await openTcpFront(database.url)
  const postgres = new Postgres({ url: front.url, log: SILENT_LOG })
  t.after(() => postgres.end())
  let monotonicMs = 0
  const clock = new ClockGuard({ nowMs: () => 0, monotonicMs: () => monotonicMs })
  const lease = await claim('a', { postgres, clock, times: FROZEN })
  await front.close()
  await lease.assertHeld()
  monotonicMs = TIMES.leaseMs
  await assert.rejects(lease.assertHeld(), /lease on node number 0 could not be renewed/)
})

test("where PostgreSQL's clock went on, those that seem gone are not", async () => {
  const living = await claim('a', { times: FROZEN })
  await commit(living)
  const b = await claim('b', { times: { ...FROZEN, leaseMs: 60_000 } })
  await sleep(TIMES.goneMs)
  await database.postgres.query("UPDATE nodes SET lease_until = lease_until - interval '1 hour'")
  assert.equal(await b.takeOver([], () => undefined), undefined)
})

test('after a break in its own renewals all others get as long again', async () => {
  let skippedMs = 0
  const nowMs = () => Date.now() + skippedMs
  const clock = new ClockGuard({ nowMs, monotonicMs: () => performance.now() + skippedMs })
  const gone = await claim('a', { times: FROZEN })
  await commit(gone)
  const b = await claim('b', { clock })
  await sleep(TIMES.leaseMs + TIMES.goneMs - 100)
  skippedMs = TIMES.leaseMs * 2
  await sleep(250)
  assert.equal(await b.takeOver([], () => undefined), undefined)
  await take(b)
})

test('a node that starts takes a number that is worked on last, and ends that', async () => {
  const gone = await claim('a', { times: FROZEN })
  await commit(gone)
  const b = await claim('b', { nodeIdMax: 2 })
  let isLostNow = false
  await take(b, () => {
    isLostNow = true
  })
  const c = await claim('c', { nodeIdMax: 2 })
  assert.equal(c.nodeId, 2)
  const startedAt = performance.now()
  const d = await claim('d', { nodeIdMax: 2 })
  assert.deepEqual([d.nodeId, d.wasTakenOver], [gone.nodeId, true])
  await d.untilQuiet()
  assert.ok(performance.now() - startedAt > TIMES.arrivalMs)
  await eventually('the taker gives it up', () => isLostNow)
})

test('a commit that a frozen process never ends holds up nobody', async () => {
  const gone = await claim('a', { times: FROZEN })
  await commit(gone)
  const session = await database.postgres.connect()
  await session.query('BEGIN')
  await session.query('CALL assert_node_lease($1, $2)', [gone.nodeId, String(gone.epoch)])
  // The rest never comes: PostgreSQL waits for it, whatever its timeouts are.
  const copy = session.query(copyFrom('COPY segments FROM STDIN'))
  const ended = new Promise((resolve) => copy.once('error', resolve))
  await take(await claim('b'))
  assert.match(String(await ended), /terminating connection due to administrator command/)
})

test('by the limits: when a node is gone, who may tell, what is waited for', async () => {
  let monotonicMs = 0
  const clock = new ClockGuard({ nowMs: Date.now, monotonicMs: () => monotonicMs })
  const limits = { times: {} as LeaseTimes, nodeIdMax: 1 }
  const age = ({ nodeId }: NodeLease, ms: number) =>
    database.postgres.query(
      `UPDATE nodes SET lease_until = clock_timestamp() - $2 * interval '1 millisecond'
        WHERE node_id = $1`,
      [nodeId, ms],
    )
  const gone = await claim('a', { times: FROZEN, nodeIdMax: 1 })
  await commit(gone)
  await age(gone, NODE_GONE_MS + 1_000)
  const b = await claim('b', { ...limits, clock })
  assert.equal(b.nodeId, 1)
  monotonicMs = NODE_GONE_MS - 1
  assert.equal(await b.takeOver([], () => undefined), undefined, 'others had not as long')
  monotonicMs = NODE_GONE_MS
  await age(gone, NODE_GONE_MS - 5_000)
  assert.equal(await b.takeOver([], () => undefined), undefined)
  await age(gone, NODE_GONE_MS + 100)
  assert.equal((await b.takeOver([], () => undefined))?.nodeId, gone.nodeId)
  // A number that is not free for long: its holder may have sent something just before.
  await database.postgres.query('UPDATE nodes SET taken_until = NULL, taken_by = NULL')
  await age(gone, INSERT_ARRIVAL_MS_MAX - 500)
  const startedAt = performance.now()
  const c = await claim('c', limits)
  assert.deepEqual([c.nodeId, c.wasTakenOver], [gone.nodeId, true])
  await c.untilQuiet()
  const waitedMs = performance.now() - startedAt
  assert.ok(waitedMs > 300 && waitedMs < 5_000, `${waitedMs} ms`)
})
