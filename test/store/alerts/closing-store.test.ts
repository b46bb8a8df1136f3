/**
 * Goal: what is closed over all nodes stays so: by nodes that live, stop, are gone, come back, or
 * begin with a clock that is behind.
 * Method: leases of a second or less in one process, on a real PostgreSQL.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CLOCK_LEAD_MS_MAX, NODE_GONE_MS } from '../../../src/limits.ts'
import { ClosingStore } from '../../../src/store/alerts/closing-store.ts'
import { ClockGuard } from '../../../src/store/raw/clock-guard.ts'
import { type LeaseTimes, NodeLease } from '../../../src/store/raw/node-lease.ts'
import { StoreError } from '../../../src/store/store-error.ts'
import { underLease } from '../../../src/store/under-lease.ts'
import { SILENT_LOG, startDatabase, type TestDatabase } from '../../serve/rest-harness.ts'
import { eventually } from '../temporary.ts'

const TIMES: LeaseTimes = { leaseMs: 60_000, renewMs: 1_000_000, goneMs: 0, arrivalMs: 0 }

let database: TestDatabase
const leases: NodeLease[] = []

before(async () => {
  database = await startDatabase()
})

beforeEach(async () => {
  for (const lease of leases.splice(0)) await lease.stop()
  await database.postgres.query('DELETE FROM nodes')
  await database.postgres.query('UPDATE closing_wanted SET wanted_ms = 0')
})

after(async () => {
  for (const lease of leases) await lease.stop()
  await database?.close()
})

/** What a node says of itself. */
class Says {
  closedMs = 0
  isOver = false
}

async function claim(
  identity: string,
  options: { times?: Partial<LeaseTimes>; clock?: ClockGuard; onLost?: () => void } = {},
): Promise<{ lease: NodeLease; says: Says }> {
  const { postgres } = database
  const id = `00000000-0000-4000-8000-00000000000${identity}`
  const { times, onLost = () => undefined, ...rest } = options
  const lease = await NodeLease.claim({
    ...{ postgres, identity: id, log: SILENT_LOG, onLost, times: { ...TIMES, ...times }, ...rest },
  })
  leases.push(lease)
  const says = new Says()
  lease.closeBy(says)
  return { lease, says }
}

const closedBy = ({ lease }: { lease: NodeLease }) => new ClosingStore(database.postgres, lease)
const expire = ({ lease }: { lease: NodeLease }, ms: number) =>
  database.postgres.query(
    `UPDATE nodes SET lease_until = clock_timestamp() - $2 * interval '1 millisecond'
      WHERE node_id = $1`,
    [lease.nodeId, ms],
  )

test('the least of all marks, published when somebody waits for more', async () => {
  const [a, b] = [await claim('a'), await claim('b')]
  const closing = closedBy(a)
  const now = Date.now()
  a.says.closedMs = now - 1_000
  b.says.closedMs = now - 2_000
  for (const { lease } of [a, b]) await lease.publishIfWanted()
  assert.equal((await closing.read())?.closedMs, 0, 'nobody asked')
  await closing.want(now - 1_500)
  for (const { lease } of [a, b]) await lease.publishIfWanted()
  assert.deepEqual(await closing.read().then((one) => [one?.closedMs, one?.nodeId]), [
    now - 2_000,
    b.lease.nodeId,
  ])
  b.says.closedMs = now + 3_600_000
  await b.lease.publishIfWanted()
  assert.equal((await closing.read())?.closedMs, now - 1_000)
  await closing.want(now + 60_000)
  a.says.closedMs = now + 7_200_000
  for (const { lease } of [a, b]) await lease.publishIfWanted()
  const { closedMs = 0, nowMs = 0 } = (await closing.read()) ?? {}
  assert.ok(closedMs <= nowMs, 'never of the future, whatever a node says')
})

test('it goes with the renewal of the lease', async () => {
  const a = await claim('a', { times: { renewMs: 20 } })
  a.says.closedMs = Date.now() - 5_000
  await eventually(
    'published',
    async () => (await closedBy(a).read())?.closedMs === a.says.closedMs,
  )
})

test('who claims a number begins above all that is closed', async () => {
  const [a, b] = [await claim('a'), await claim('b')]
  const now = Date.now()
  a.says.closedMs = now - 1_000
  b.says.closedMs = now - 2_000
  await closedBy(a).want(now)
  for (const { lease } of [a, b]) await lease.publishIfWanted()
  assert.equal((await claim('c')).lease.closedMs, now - 1_000, 'a new number')
  const again = await claim('b')
  assert.deepEqual([again.lease.nodeId, again.lease.closedMs], [b.lease.nodeId, now - 1_000])
  assert.equal((await closedBy(a).read())?.closedMs, now - 1_000)
  await database.postgres.query('UPDATE nodes SET closed_ms = $1 WHERE node_id = $2', [
    now + 2 * CLOCK_LEAD_MS_MAX,
    a.lease.nodeId,
  ])
  const later = await claim('d')
  assert.equal(later.lease.closedMs, now - 1_000, 'a mark of the future is of a wrong clock')
})

test('no claim is under way while marks are read', async () => {
  const a = await claim('a')
  const client = await database.postgres.connect()
  await client.query("BEGIN; SELECT pg_advisory_xact_lock('126943966294886')")
  let isRead = false
  const reading = closedBy(a)
    .read()
    .then(() => {
      isRead = true
    })
  await sleep(100)
  assert.equal(isRead, false)
  await client.query('COMMIT')
  await reading
  await client.end()
})

test('a node that stops is closed, unless something of it is not known', async () => {
  const [a, b, c] = [await claim('a'), await claim('b'), await claim('c')]
  for (const each of [a, b, c]) each.says.closedMs = Date.now() - 1_000
  await closedBy(a).want(Date.now())
  await a.lease.publishIfWanted()
  b.says.isOver = true
  await b.lease.stop()
  await c.lease.stop()
  const read = await closedBy(a).read()
  assert.deepEqual([read?.closedMs, read?.nodeId], [0, c.lease.nodeId])
  assert.deepEqual(await a.lease.fenceGone(), [c.lease.nodeId])
  assert.equal((await closedBy(a).read())?.closedMs, a.says.closedMs)
})

test('a node that is gone is fenced: it commits nothing more', async () => {
  let monotonicMs = 0
  const clock = new ClockGuard({ nowMs: Date.now, monotonicMs: () => monotonicMs })
  const times = { goneMs: NODE_GONE_MS }
  let isLost = false
  const gone = await claim('a', { onLost: () => void (isLost = true) })
  const b = await claim('b', { times, clock })
  b.says.closedMs = Date.now() - 1_000
  await closedBy(b).want(Date.now())
  await b.lease.publishIfWanted()
  await expire(gone, NODE_GONE_MS + 1_000)
  assert.deepEqual(await b.lease.fenceGone(), [], 'others had no time to renew theirs')
  monotonicMs = NODE_GONE_MS
  await expire(gone, NODE_GONE_MS - 5_000)
  assert.deepEqual(await b.lease.fenceGone(), [], 'it may come back')
  await expire(gone, NODE_GONE_MS + 100)
  const session = await database.postgres.connect()
  await session.query('BEGIN')
  await session.query('CALL assert_node_lease($1, $2)', [gone.lease.nodeId, '1'])
  assert.deepEqual(await b.lease.fenceGone(), [], 'a commit of it is under way')
  await session.query('COMMIT')
  await session.end()
  assert.deepEqual(await b.lease.fenceGone(), [gone.lease.nodeId])
  assert.equal((await closedBy(b).read())?.closedMs, b.says.closedMs)
  await assert.rejects(
    underLease(database.postgres, gone.lease, async () => undefined),
    (cause) => cause instanceof StoreError && cause.kind === 'lease_lost',
  )
  const back = await claim('a')
  assert.equal(back.lease.closedMs, b.says.closedMs)
  assert.equal(isLost, false, 'it is frozen, and has not looked')
})

test('without a lease of its own a node reads nothing', async () => {
  const a = await claim('a')
  const closing = closedBy(a)
  assert.ok((await closing.read()) !== undefined)
  await claim('a')
  assert.equal(await closing.read(), undefined)
})
