/**
 * Goal: what a node that is gone has committed gets into the projection and into the catalog once,
 * by another one, whatever becomes of either meanwhile; and nothing waits for it afterwards.
 * Method: nodes with real followers on real stores, and leases of a second or less. Whole services,
 * with the lease's real times, are the subject of `test/crash/gone-nodes.long.test.ts`.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type TakeoverObserver, Takeovers } from '../../src/app/take-over.ts'
import { NODES_TAKEN_OVER_MAX, TAKE_OVER_POLL_MS } from '../../src/limits.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { ensureClickHouse } from '../../src/store/migrations/run.ts'
import type { NodeLease } from '../../src/store/raw/node-lease.ts'
import { ReadStateStore } from '../../src/store/raw/read-state-store.ts'
import { newStream } from '../observe/nodes.ts'
import { countProjected } from '../retain/count-projected.ts'
import { startDatabase, type TestDatabase } from '../serve/rest-harness.ts'
import { eventually } from '../store/temporary.ts'
import { ONLY_LONG } from '../support/fuzzing.ts'
import { openTestClickHouse, type TestStore } from '../support/stores.ts'
import { FROZEN, LivingNode, type NodeOptions, TIMES } from './living-node.ts'

let database: TestDatabase
let clickHouseStore: TestStore
let clickhouse: ClickHouse
const nodes: LivingNode[] = []

before(async () => {
  ;[database, clickHouseStore] = await Promise.all([startDatabase(), openTestClickHouse()])
  clickhouse = new ClickHouse({ url: clickHouseStore.url })
  await ensureClickHouse(clickhouse)
})

afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.stop()))
  for (const table of ['nodes', 'segments', 'checkpoints', 'observe_checkpoints']) {
    await database.postgres.query(`DELETE FROM ${table}`)
  }
})

after(async () => {
  await clickhouse?.close()
  await clickHouseStore?.close()
  await database?.close()
})

async function start(identity: string, options: Partial<NodeOptions> = {}): Promise<LivingNode> {
  const urls = { postgresUrl: database.url, clickHouseUrl: clickHouseStore.url }
  const node = await LivingNode.start({ ...urls, identity, ...options })
  nodes.push(node)
  return node
}

const count = (streamId: StreamId) => countProjected(clickhouse, database.postgres, streamId)

/** How far behind answers about the stream are. */
async function behindMs(streamId: StreamId): Promise<number> {
  const nowMs = Date.now()
  const states = new ReadStateStore(database.postgres, () => nowMs)
  return nowMs - (await states.read([streamId])).asOfMs
}

/** As the catalog counts them. */
async function learned(streamId: StreamId): Promise<number> {
  const { rows } = await database.postgres.query<{ events: string }>(
    'SELECT COALESCE(sum(event_count), 0) AS events FROM stream_shapes WHERE stream_id = $1',
    [streamId],
  )
  return Number(rows[0]?.events)
}

const lines = (n: number, from = 0) =>
  Array.from({ length: n }, (_, i) => JSON.stringify({ n: from + i })).join('\n')

/** All of it is there once, and the number holds nothing back. */
async function assertBroughtIn(by: LivingNode, streamId: StreamId, events: number): Promise<void> {
  const done = 'ingest_takeovers_total{state="done"}'
  await eventually('the work is done', async () => (await by.metric(done)) >= 1)
  assert.deepEqual([await count(streamId), await learned(streamId)], [events, events])
  assert.equal(await behindMs(streamId), 0)
  assert.equal(await by.metric('ingest_nodes_taken_over'), 0)
  const { rows } = await database.postgres.query(
    'SELECT 1 FROM nodes WHERE taken_until IS NOT NULL',
  )
  assert.equal(rows.length, 0)
}

test('a dead node: another brings in what is missing, and lets the number go', async () => {
  const stream = await newStream(database.postgres)
  const gone = await start('a')
  await gone.commit(stream, lines(10))
  await eventually('some of it is there', async () => (await count(stream)) === 10)
  await gone.commit(stream, lines(20, 10), false)
  await gone.commit(stream, lines(5, 30), false)
  await gone.die()
  // As if it had met a failover that lost something: what there is of it is taken out.
  await database.postgres.query(
    `INSERT INTO lost_history (node_id, what, after_segment_id, up_to_segment_id, event_count)
     VALUES ($1, 'segments', 0, 1, 0)`,
    [gone.lease.nodeId],
  )
  const other = await start('b')
  await other.commit(stream, lines(7, 35))
  await eventually('its own is there', async () => (await count(stream)) === 17)
  assert.ok((await behindMs(stream)) > 0, 'what is missing is known to be')
  await assertBroughtIn(other, stream, 42)
  const told = other.log.lines.filter((line) => /node number/.test(line))
  assert.deepEqual(told, [
    `took over the work left of a node number that no node holds {"nodeId":${gone.lease.nodeId}}`,
    `the work left of a node number is done {"nodeId":${gone.lease.nodeId}}`,
  ])
  const { rows } = await database.postgres.query('SELECT settled_at FROM lost_history')
  assert.ok((rows as { settled_at: Date | null }[]).every((row) => row.settled_at !== null))
  const next = await start('a')
  assert.equal(next.lease.nodeId, gone.lease.nodeId)
})

test('a frozen node that wakes up after its work was done doubles nothing', async () => {
  const stream = await newStream(database.postgres)
  // Its block waits in memory until all is over.
  const frozen = await start('a', { times: FROZEN, materializeDelayMs: 3_500 })
  await eventually('it follows', () => frozen.isIdle)
  await frozen.commit(stream, lines(10))
  const other = await start('b')
  await assertBroughtIn(other, stream, 10)
  assert.ok(!frozen.isIdle, 'its insert is still to come')
  const checkpoint = await readCheckpoint(frozen.lease.nodeId)
  await eventually('it wakes up', async () => {
    return frozen.lostCount === 1 || (await count(stream)) > 10
  })
  assert.equal(await count(stream), 10)
  await assert.rejects(frozen.commit(stream, lines(1)), { kind: 'lease_lost' })
  await sleep(800) // It tries to catch up, and to write its checkpoint.
  assert.equal(await count(stream), 10)
  assert.deepEqual(await readCheckpoint(frozen.lease.nodeId), checkpoint)
  assert.deepEqual(
    frozen.log.lines.filter((line) => /stands still|will retry/.test(line)),
    [],
  )
})

async function readCheckpoint(nodeId: number): Promise<unknown> {
  const { rows } = await database.postgres.query(
    'SELECT segment_id, updated_at, live_segment_id FROM checkpoints WHERE node_id = $1',
    [nodeId],
  )
  return rows[0]
}

test('its node comes back amid the takeover, which ends without alarm', {
  skip: ONLY_LONG,
}, async () => {
  const stream = await newStream(database.postgres)
  const gone = await start('a')
  for (let n = 0; n < 40; n++) await gone.commit(stream, lines(3, n * 3), false)
  await gone.die()
  const other = await start('b')
  const begun = 'ingest_takeovers_total{state="begun"}'
  await eventually('it is taken over', async () => (await other.metric(begun)) === 1)
  const back = await start('a')
  assert.equal(back.lease.nodeId, gone.lease.nodeId)
  const startedAt = performance.now()
  await back.commit(stream, lines(10, 200))
  await eventually('it has done its work', () => back.isIdle).catch((cause: unknown) => {
    throw new Error(back.log.lines.join('\n'), { cause })
  })
  assert.ok(performance.now() - startedAt > TIMES.arrivalMs + 900, 'it has waited for the taker')
  await eventually('all of it', async () => (await count(stream)) === 130)
  assert.equal(await behindMs(stream), 0)
  const [returned, done] = await Promise.all(
    ['returned', 'done'].map((how) => other.metric(`ingest_takeovers_total{state="${how}"}`)),
  )
  assert.deepEqual([returned, done], [1, 0], other.log.lines.join('\n'))
  assert.equal(other.lostCount, 0)
  assert.doesNotMatch(other.log.lines.join('\n'), /stands still|will retry|cannot/)
})

test('the taker dies amid the takeover: a third brings in what both left', {
  skip: ONLY_LONG,
}, async () => {
  const [one, two] = [await newStream(database.postgres), await newStream(database.postgres)]
  const gone = await start('a')
  for (let n = 0; n < 30; n++) await gone.commit(one, lines(3, n * 3), false)
  await gone.die()
  const taker = await start('b')
  await taker.commit(two, lines(9), false)
  const begun = 'ingest_takeovers_total{state="begun"}'
  await eventually('it is taken over', async () => (await taker.metric(begun)) === 1)
  await taker.die()
  const third = await start('c')
  const done = 'ingest_takeovers_total{state="done"}'
  await eventually('both are done', async () => (await third.metric(done)) === 2)
  assert.deepEqual([await count(one), await count(two)], [90, 9])
  assert.deepEqual([await behindMs(one), await behindMs(two)], [0, 0])
})

test('it looks every TAKE_OVER_POLL_MS, and goes on after a failure', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let asked = 0
  const failures: number[] = []
  const takeovers = new Takeovers({
    lease: {
      takeOver: async () => {
        asked++
        throw new Error('away')
      },
    },
    startFollowers: async () => [],
    observer: {
      onTaken: () => undefined,
      onEnded: () => undefined,
      onError: (_, count) => failures.push(count),
    },
    pollMs: TAKE_OVER_POLL_MS,
  })
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  takeovers.start()
  await settled()
  assert.equal(asked, 1)
  t.mock.timers.tick(TAKE_OVER_POLL_MS - 1)
  await settled()
  assert.equal(asked, 1)
  t.mock.timers.tick(1)
  await settled()
  assert.deepEqual([asked, failures], [2, [1, 2]])
  await takeovers.stop()
})

test('a node does the work of NODES_TAKEN_OVER_MAX others at a time', async () => {
  const ended: string[] = []
  let left = NODES_TAKEN_OVER_MAX + 2
  let nextId = 0
  let hasWork = true
  const fake = () => {
    const nodeId = nextId++
    const stop = async ({ isDone = false } = {}) => void ended.push(`${nodeId} ${isDone}`)
    return { nodeId, hasWork: async () => hasWork, stop } as unknown as NodeLease
  }
  const observer: TakeoverObserver = {
    onTaken: () => undefined,
    onEnded: () => undefined,
    onError: (cause) => assert.fail(String(cause)),
  }
  const takeovers = new Takeovers({
    lease: { takeOver: async () => (left-- > 0 ? fake() : undefined) },
    startFollowers: async () => [],
    observer,
    pollMs: 5,
  })
  takeovers.start()
  await eventually('it has as many as may be', () => {
    return takeovers.nodeIds.length === NODES_TAKEN_OVER_MAX
  })
  await sleep(50)
  assert.equal(takeovers.nodeIds.length, NODES_TAKEN_OVER_MAX)
  hasWork = false
  await eventually('it goes on with the others', () => ended.length === NODES_TAKEN_OVER_MAX + 2)
  assert.ok(ended.every((end) => end.endsWith('true')))
  await takeovers.stop()
})
