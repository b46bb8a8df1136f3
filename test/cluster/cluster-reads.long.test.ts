/**
 * Goal: on a cluster of shards, one of them with two replicas, answers are those of one server:
 * every kind of read, of tables of both kinds, over events that two nodes sent to both shards; with
 * the rights that the docs name; and while a shard is away no answer has fewer events in silence.
 * Method: real servers and services; what an answer should be is a line of JavaScript.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ColdMover } from '../../src/retain/cold-mover.ts'
import { CATALOG_CACHE_MS } from '../../src/store/catalog/field-catalog-store.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { ClickHouseHosts, splitHosts } from '../../src/store/clickhouse-hosts.ts'
import { ColdParts } from '../../src/store/projection/cold-parts.ts'
import { eventually } from '../store/temporary.ts'
import { Api, type EventPage, NDJSON_TYPE, type Stream } from '../support/api.ts'
import { ENTRY, makeDataDir, removeDataDir, Service } from '../support/service.ts'
import { openTestPostgres, type TestStore } from '../support/stores.ts'
import { CLUSTER, ClickHouseCluster } from './clickhouse-cluster.ts'
import { noClusterLab } from './lab-tools.ts'

const skip = noClusterLab()
const EVENTS = 20_000
/** How many replicas each has. */
const SHARDS = [2, 1]
/** Inserted into the large stream's table beside them. */
const OLD_EVENTS = 20
const START_MS = Date.now() - 3_600_000
const EVENT_TIMES = {
  time_basis: 'event_time',
  from: new Date(START_MS - 1).toISOString(),
  to: new Date().toISOString(),
}

interface Payload {
  readonly n: number
  readonly level: string
  readonly service: string
  readonly message: string
  readonly trace_id: string
  readonly ms: number
}

const LEVELS = ['debug', 'info', 'warn', 'error']
const TEXTS = ['connection timeout', 'disk full', 'full disk', 'user logged in', 'Größe überall']
const all = Array.from({ length: EVENTS }, (_, n): Payload => {
  return {
    n,
    level: LEVELS[n % 4]!,
    service: `svc-${n % 7}`,
    message: `${TEXTS[n % 5]} after ${n % 100} ms`,
    trace_id: `t${n % 1_000}`,
    ms: n % 100,
  }
})

const dataDirs = [makeDataDir(), makeDataDir()]
const nodes: Service[] = []
const apis: Api[] = []
let cluster: ClickHouseCluster
let postgres: TestStore
let large: Stream
let small: Stream

function toLines(events: readonly Payload[]): string {
  const time = (n: number) => new Date(START_MS + n * 50).toISOString()
  return events.map((event) => JSON.stringify({ ...event, timestamp: time(event.n) })).join('\n')
}

async function send(node: number, stream: Stream, events: readonly Payload[]): Promise<void> {
  const headers = { 'content-type': NDJSON_TYPE }
  const answer = await apis[node]!.ingest(stream.key, toLines(events), headers)
  assert.equal(answer.status, 200, answer.text)
}

async function startNode(): Promise<void> {
  const env = {
    SLUICE_CLICKHOUSE_URL: cluster.url(),
    SLUICE_CLICKHOUSE_CLUSTER: CLUSTER,
    SLUICE_CLICKHOUSE_STORAGE_POLICY: 'hot_cold',
    SLUICE_CLICKHOUSE_COLD_DAYS: '30',
    SLUICE_POSTGRES_URL: postgres.url,
  }
  const args = ['--materialize-delay-ms', '300']
  const token = nodes[0]?.token
  const dataDir = dataDirs[nodes.length]!
  const node = await Service.start({ dataDir, env, args, ...(token && { token }) })
  nodes.push(node)
  apis.push(new Api(node))
}

before(async () => {
  if (skip) return
  ;[cluster, postgres] = await Promise.all([
    ClickHouseCluster.start({ shards: SHARDS, hasColdVolume: true }),
    openTestPostgres(),
  ])
  await startNode()
  await startNode()
  const [api] = apis
  large = await api!.createStream()
  await send(0, large, all.slice(0, 1_000)) // Its fields are learned from these.
  await api!.untilCounted(large.id, 1_000)
  for (let at = 1_000; at < EVENTS; at += 1_000) {
    await send((at / 1_000) % 2, large, all.slice(at, at + 1_000))
  }
  for (let n = 0; n < 9; n++) small = await api!.createStream()
  await send(0, small, all.slice(0, 20))
  await send(1, small, all.slice(20, 40))
  for (const stream of [large, small]) await api!.untilProjected(stream.id)
  // A node knows that late what others have learned of fields; until then words have an `as_of`.
  await sleep(CATALOG_CACHE_MS)
})

after(async () => {
  for (const node of nodes) await node.kill()
  await cluster?.close()
  await postgres?.close()
  for (const dataDir of dataDirs) await removeDataDir(dataDir)
})

async function ask<T>(path: string, body: object, stream = large): Promise<T> {
  return JSON.parse(await apis[1]!.rest(`/v1/streams/${stream.id}/${path}`, 'POST', body)) as T
}

test('each node has its shard, and its events are on each replica of that', { skip }, async () => {
  const counts: number[][] = []
  for (const { name } of cluster.nodes) {
    const sql = ['events_0', 'events_1'].map((table) => `SELECT count() FROM sluice.${table}`)
    counts.push(await Promise.all(sql.map(async (each) => Number(await cluster.query(name, each)))))
  }
  const [first, other] = [counts[0], counts.at(-1)]
  for (const replica of counts.slice(0, SHARDS[0])) assert.deepEqual(replica, first)
  const sums = [0, 1].map((at) => first![at]! + other![at]!)
  assert.deepEqual(sums, [40, EVENTS])
  assert.ok(first![1]! > 1_000 && other![1]! > 1_000, `${counts}`)
  // Servers that have just started are not read yet.
  const told = nodes
    .flatMap(({ output }) => output.split('\n'))
    .filter((line) => {
      return /"level":"(warn|error)"/.test(line) && !line.includes('reads fail again and again')
    })
  assert.deepEqual(told, [])
})

const QUERIES: readonly (readonly [query: string, test: (event: Payload) => boolean])[] = [
  ['timeout', ({ message }) => message.includes('timeout')],
  ['"disk full" OR größe', ({ n }) => n % 5 === 1 || n % 5 === 4],
  ['level:error service:svc-3', (event) => event.level === 'error' && event.service === 'svc-3'],
  ['ms:[20 TO 22} OR trace_id:t999', ({ n, ms }) => ms === 20 || ms === 21 || n % 1_000 === 999],
  ['nothing.has:this', () => false],
]

for (const [query, isMeant] of QUERIES) {
  test(`found: ${query}`, { skip }, async () => {
    const meant = all.filter(isMeant).map(({ n }) => n)
    assert.equal((await apis[0]!.count(large.id, { query })).total, meant.length)
    for (const order of ['newest', 'oldest']) {
      const page = await ask<EventPage>('search', { ...EVENT_TIMES, query, order, limit: 200 })
      const expected = order === 'newest' ? meant.toReversed() : meant
      assert.deepEqual(
        page.events.map(({ payload }) => payload.n),
        expected.slice(0, 200),
      )
    }
  })
}

test('counts by label, a histogram, facets, the largest groups', { skip }, async () => {
  const { rows } = await apis[0]!.count(large.id, { group_by: '_level' })
  assert.deepEqual(
    Object.fromEntries(rows.map(({ _level, count }) => [String(_level), count])),
    Object.fromEntries(LEVELS.map((level) => [level, EVENTS / 4])),
  )
  const { buckets } = await ask<{ buckets: { levels: Record<string, number> }[] }>('histogram', {
    ...{ ...EVENT_TIMES, bucket: '1m', query: 'level:info' },
  })
  const infos = buckets.reduce((sum, { levels }) => sum + (levels.info ?? 0), 0)
  assert.equal(infos, EVENTS / 4)
  const { facets } = await ask<{ facets: { field: string; distinct: number }[] }>('facets', {
    ...{ ...EVENT_TIMES, fields: ['_service', 'ms'], limit: 2 },
  })
  assert.deepEqual(
    facets.map(({ field, distinct }) => [field, distinct]),
    [
      ['_service', 7],
      ['ms', 100],
    ],
  )
  const groups = await ask<{ rows: object[]; groups: number }>('query', {
    ...{ ...EVENT_TIMES, query: 'ms:>=90', group_by: ['trace_id'], limit: 3 },
    aggregates: [{ fn: 'max', field: 'n', as: 'last' }],
  })
  assert.deepEqual(
    [groups.groups, groups.rows],
    [100, [999, 998, 997].map((n) => ({ trace_id: `t${n}`, last: EVENTS - 1_000 + n }))],
  )
})

test('a stream in the shared table, and the values of a field', { skip }, async () => {
  const { events } = await ask<EventPage>('search', { query: '', order: 'oldest' }, small)
  assert.deepEqual(
    events.map(({ payload }) => payload.n),
    all.slice(0, 40).map(({ n }) => n),
  )
  assert.equal((await apis[0]!.count(small.id, { query: 'level:error' })).total, 10)
})

/** Past the nodes: OLD_EVENTS / 2 of the large stream. */
async function insertOld(server: string, segment: number): Promise<void> {
  await cluster.query(
    server,
    `INSERT INTO sluice.events_1
       (segment_id, ordinal, ingested_at, event_time, shape, level, service, context, payload)
     SELECT ${segment}, number, '2026-01-01 10:00:00', '2026-01-01 10:00:00', 1, 'old', 'x', '',
       '{"n":1}'
     FROM numbers(${OLD_EVENTS / 2})`,
  )
}

test('old days move to the cold volume on each replica, and are read all the same', {
  skip,
}, async (t) => {
  for (const name of ['s1r1', 's2r1']) {
    await insertOld(name, 1)
  }
  const clickhouse = new ClickHouse({
    url: splitHosts(cluster.url('', 'default'))[0]!,
    hosts: new ClickHouseHosts(splitHosts(cluster.url('', 'default')).slice(0, 1)),
    cluster: CLUSTER,
  })
  t.after(() => clickhouse.close())
  const servers = splitHosts(cluster.url('', 'default')).map((url) => new ClickHouse({ url }))
  t.after(() => Promise.all(servers.map((server) => server.close())))
  const parts = new ColdParts(clickhouse, () => servers)
  const moved: string[] = []
  const onMoved = ({ id }: { id: string }) => void moved.push(id)
  const mover = new ColdMover({ parts, policy: 'hot_cold', days: 1, onMoved })
  const find = `SELECT DISTINCT disk_name FROM system.parts
    WHERE table = 'events_1' AND active AND partition_id = '20260101'`
  await eventually('the day is on cold disks', async () => {
    await mover.round(new AbortController().signal)
    const disks = await Promise.all(cluster.nodes.map(({ name }) => cluster.query(name, find)))
    return disks.every((disk) => disk === 'cold')
  })
  // The service may have been first.
  assert.ok(!moved.some((id) => id !== '20260101'), 'nothing newer')
  const sql = `SELECT count() AS n FROM cluster('${CLUSTER}', sluice.events_1) WHERE level = 'old'`
  const [row] = await clickhouse.query<{ n: number }>(sql)
  assert.equal(Number(row?.n), OLD_EVENTS)
  await assert.rejects(parts.findColdVolume('default'), /has no second volume/)
  await assert.rejects(parts.findColdVolume('none'), /there is no storage policy none/)
})

function check(user: string): { readonly status: number | null; readonly lines: string[] } {
  const args = ['check-clickhouse', '--clickhouse-cluster', CLUSTER]
  const env = { ...process.env, SLUICE_CLICKHOUSE_URL: cluster.url('', user) }
  const { status, stdout } = spawnSync(process.execPath, [ENTRY, ...args], { env })
  return { status, lines: String(stdout).trimEnd().split('\n') }
}

test('check-clickhouse tries it all, says what is not allowed, and leaves nothing', {
  skip,
}, async () => {
  const { status, lines } = check('default')
  assert.deepEqual(
    lines.filter((line) => !/^(ok| {5})/.test(line)),
    ['All of it holds.'],
  )
  assert.equal(status, 0)
  assert.ok(lines.length > 10, lines.join('\n'))
  const refused = check('sluice') // Its rights are on the projection's database alone.
  assert.equal(refused.status, 1)
  assert.match(
    refused.lines.join('\n'),
    /^FAIL a database of its own, sluice_check: .*ACCESS_DENIED/m,
  )
  const find = "SELECT count() FROM system.databases WHERE name = 'sluice_check'"
  for (const { name } of cluster.nodes) assert.equal(await cluster.query(name, find), '0')
})

test('while a shard is away nothing is counted as whole; then all is again', {
  skip,
}, async () => {
  await cluster.kill('s2r1')
  const path = `/v1/streams/${large.id}/query`
  const answer = await apis[0]!.tryRest(path, 'POST', { query: 'level:error' })
  assert.equal(answer.status, 503, answer.text)
  await send(0, large, all.slice(0, 10))
  await cluster.startAgain('s2r1')
  const counted = async () => (await apis[0]!.count(large.id)).total === EVENTS + OLD_EVENTS + 10
  await eventually('all are counted', counted, 60_000)
})

test('while a replica is back and lacks events, the other one is read', { skip }, async (t) => {
  const path = `/v1/streams/${large.id}/query`
  const range = { from: '2020-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' }
  let expected = (await apis[0]!.count(large.id)).total
  for (const [name, other] of [
    ['s1r1', 's1r2'],
    ['s1r2', 's1r1'],
  ] as const) {
    await cluster.kill(name)
    await insertOld(other, expected)
    expected += OLD_EVENTS / 2
    const counted = async () => (await apis[1]!.count(large.id)).total === expected
    await eventually('they are counted without it', counted, 30_000)
    await cluster.startAgain(name)
    const endMs = performance.now() + 20_000
    let [answers, refused] = [0, 0]
    for (; performance.now() < endMs; await sleep(50)) {
      const answer = await apis[answers % 2]!.tryRest(path, 'POST', range)
      if (answer.status === 200) answers++
      else refused++
      if (answer.status === 200) assert.equal(JSON.parse(answer.text).total, expected)
    }
    t.diagnostic(`${name} is back: ${answers} answers, ${refused} refused`)
    assert.ok(answers > 50 && refused < answers / 10, 'it is read on')
  }
})

test('the tables of a stream that was deleted go from every server', {
  skip,
}, async () => {
  await apis[0]!.rest(`/v1/streams/${large.id}`, 'DELETE')
  const find = "SELECT count() FROM system.tables WHERE database = 'sluice' AND name = 'events_1'"
  const isGone = async () => {
    const left = await Promise.all(cluster.nodes.map(({ name }) => cluster.query(name, find)))
    return left.every((count) => count === '0')
  }
  await eventually('it is gone', isGone, 60_000)
})

test('a database of the other kind is refused; another one is filled from the first event', {
  skip,
}, async () => {
  for (const node of nodes.splice(0)) await node.stop() // Which gives its number up.
  const common = { SLUICE_POSTGRES_URL: postgres.url }
  const args = ['--data', dataDirs[0]!, '--port', '0']
  const one = splitHosts(cluster.url('', 'default'))[0]!
  const alone = await Service.runToEnd(args, { ...common, SLUICE_CLICKHOUSE_URL: one })
  assert.equal(alone.code, 1)
  assert.match(alone.stderr, /database sluice is Replicated: say of which cluster/)
  await cluster.query('s1r1', 'CREATE DATABASE plain')
  const env = (database: string) => ({
    ...common,
    SLUICE_CLICKHOUSE_URL: cluster.url('', 'default').replace(/sluice$/, database),
    SLUICE_CLICKHOUSE_CLUSTER: CLUSTER,
    SLUICE_REBUILD_PROJECTION: 'true',
  })
  const plain = await Service.runToEnd(args, env('plain'))
  assert.match(plain.stderr, /database plain is Atomic, and a cluster needs a Replicated one/)
  const token = apis[0]!.token
  for (const dataDir of dataDirs) {
    nodes.push(await Service.start({ dataDir, env: env('anew'), token }))
  }
  const api = new Api(nodes[0]!)
  await eventually('all are there', async () => (await api.count(small.id)).total === 40, 60_000)
  const rows = `SELECT count() FROM cluster('${CLUSTER}', anew.events_0)`
  assert.equal(await cluster.query('s2r1', rows), '40')
})
