/**
 * Goal: an insert on a replica that hung past its session, and past the insert's own time, brings
 * nothing when the replica wakes up: by then its rows have been inserted elsewhere. Nor does one
 * that the replica had not begun to read.
 * Method: a replica is frozen at random moments of an insert, and before one; when it counts as
 * over, what is absent is inserted on the other one; then the first is woken.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { PROJECTION_COLUMNS } from '../../src/model/projection.ts'
import { makeSegmentId } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { ClickHouseHosts, splitHosts } from '../../src/store/clickhouse-hosts.ts'
import { ClusterLayout } from '../../src/store/cluster/cluster-layout.ts'
import { ShardReplicas } from '../../src/store/cluster/shard-replicas.ts'
import { ensureClickHouse } from '../../src/store/migrations/run.ts'
import { createTableSql } from '../../src/store/projection/projection-store.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { eventually } from '../store/temporary.ts'
import { createRandom } from '../support/random.ts'
import { CLUSTER, ClickHouseCluster, SESSION_MS } from './clickhouse-cluster.ts'
import { noClusterLab } from './lab-tools.ts'

const skip = noClusterLab()
const ROUNDS = 12
const INSERT_MS_MAX = 4_000
const STREAM = 7 as StreamId
const START_MS = Date.parse('2026-03-01T10:00:00Z')
/** Of the columns, but for the segment. */
const VALUES: Record<string, string> = {
  ordinal: '0',
  ingested_at: "'2026-03-01 10:00:00.000'",
  event_time: "'2026-03-01 10:00:00.000'",
  shape: '1',
  level: "'info'",
  service: "'x'",
  context: "''",
  payload: `'{"n":1}'`,
}
const { next, seed } = createRandom()
console.log(`TEST_SEED=${seed}`)

let cluster: ClickHouseCluster
let hosts: ClickHouseHosts
let layout: ClusterLayout
let place: ShardReplicas
let clickhouse: ClickHouse

before(async () => {
  if (skip) return
  cluster = await ClickHouseCluster.start({ shards: [2] })
  const urls = splitHosts(cluster.url('', 'default'))
  hosts = new ClickHouseHosts(urls, { pingEveryMs: 200, pingMsMax: 1_500 })
  layout = await ClusterLayout.read({ url: urls[0]!, cluster: CLUSTER, hosts })
  const [shard] = layout.shards
  place = new ShardReplicas({
    ...layout.options,
    ...{ shard: shard!, recorded: [shard!], replicasMin: 1, insertMsMax: INSERT_MS_MAX },
    unknownPartMs: 0, // Keeper is there all the time: no part is unknown to it,
  })
  clickhouse = new ClickHouse({ ...layout.options })
  await ensureClickHouse(clickhouse, layout.clients)
  await clickhouse.command(createTableSql(clickhouse.database, STREAM, clickhouse.place))
})

after(async () => {
  hosts?.stop()
  await place?.clickhouse.close()
  await clickhouse?.close()
  await layout?.close()
  await cluster?.close()
})

const segmentOf = (round: number) => makeSegmentId({ ms: START_MS, node: 1, counter: round })

/** Of ten rows, each of which takes its time. */
function insert(client: ClickHouse, round: number, msOfRow: number): Promise<void> {
  const sql = `INSERT INTO sluice.events_${STREAM}
      (segment_id, ordinal, ingested_at, event_time, shape, level, service, context, payload)
    SELECT ${segmentOf(round)}, number, parseDateTime64BestEffort('2026-03-01T10:00:00Z', 3, 'UTC'),
      '2026-03-01 10:00:00', 1, 'info', 'x', '', '{"n":1}'
    FROM numbers(10) WHERE sleepEachRow(${msOfRow / 1_000}) = 0`
  const settings = { ...place.settings(), async_insert: 0 as const }
  return client.command(sql, undefined, { settings, queryId: `late-${round}-${msOfRow}` })
}

/** A block of one row, as `insertSql` takes it. */
async function makeBlock(round: number): Promise<Uint8Array> {
  const values = PROJECTION_COLUMNS.map(([name, type]) => {
    const value = name === 'segment_id' ? `'${segmentOf(round)}'` : VALUES[name]
    return `CAST(${value} AS ${type}) AS ${name}`
  })
  const { origin, username, password } = new URL(hosts.hosts[1]!.url)
  const answer = await fetch(origin, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
    },
    body: `SELECT ${values.join(', ')} FORMAT Native`,
  })
  assert.equal(answer.status, 200)
  return new Uint8Array(await answer.arrayBuffer())
}

async function untilOver(): Promise<void> {
  await eventually(
    'the insert is over',
    async () => {
      const running = await place.findRunning('late-').catch((cause) => {
        if (!(cause instanceof StoreError) || cause.kind !== 'unavailable') throw cause
        return ['unknown']
      })
      return running.length === 0
    },
    SESSION_MS + INSERT_MS_MAX + 20_000,
  )
}

async function assertEachOnce(rows: number): Promise<void> {
  const table = `sluice.events_${STREAM}`
  const sql = `SELECT count() AS n, uniqExact(segment_id, ordinal) AS d FROM ${table}`
  for (const client of layout.clients) {
    const [row] = await client.query<{ n: string; d: string }>(sql)
    assert.deepEqual([Number(row?.n), Number(row?.d)], [rows, rows])
  }
}

test('an insert that a replica reads when it wakes up late brings nothing', { skip }, async () => {
  const block = await makeBlock(0)
  const table = `sluice.events_${STREAM}`
  const send = (client: ClickHouse, queryId: string) => {
    const settings = place.settings()
    return client.insertNative(place.insertSql(table, PROJECTION_COLUMNS), [block], {
      ...{ queryId, settings },
    })
  }
  const [first, second] = layout.clients
  cluster.freeze('s1r1')
  const failed = await send(first!, 'late-0').then(
    () => assert.fail('it is stored'),
    (cause: StoreError) => cause,
  )
  assert.equal(failed.kind, 'unavailable')
  place.failed(failed)
  await untilOver()
  assert.equal((await place.findPresent([{ streamId: STREAM, segmentId: segmentOf(0) }])).size, 0)
  await send(second!, 'late-1')
  cluster.thaw('s1r1')
  await eventually('it answers', async () => hosts.hosts.every(({ isAway }) => !isAway))
  await sleep(2 * SESSION_MS)
  await place.stored(`events_${STREAM}`)
  await assertEachOnce(1)
})

test('a replica that wakes up late inserts nothing', { skip }, async (t) => {
  const [first, second] = layout.clients // Of one server each: nothing is asked of another.
  let absent = 0
  for (let round = 1; round <= ROUNDS; round++) {
    // From asleep amid its rows to the moment of its commit and after.
    const begun = insert(first!, round, 150).catch((cause) => cause)
    await sleep(next() * 1_900)
    cluster.freeze('s1r1')
    place.failed(await begun)
    await untilOver()
    const segments = [{ streamId: STREAM, segmentId: segmentOf(round) }]
    const present = await place.findPresent(segments)
    if (present.size === 0) {
      absent++
      await insert(second!, round, 0)
    }
    cluster.thaw('s1r1')
    await eventually('it answers', async () => hosts.hosts.every(({ isAway }) => !isAway))
    await eventually(
      'both have the same',
      async () => {
        return (await place.findPresent(segments).catch(() => new Set())).size === 1
      },
      30_000,
    )
  }
  await sleep(2 * SESSION_MS)
  await assertEachOnce(10 * ROUNDS + 1)
  t.diagnostic(`${absent} of ${ROUNDS} were absent`)
  assert.ok(absent > 0)
})
