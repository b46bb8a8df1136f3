/**
 * Goal: rows of several streams reach the table that they share, each under its stream, and are
 * found wherever they are; whoever asks for it finds out whether inserts of a node still run, also
 * in the embedded engine, which gives queries ids of its own.
 * Method: the real engine and the workers' blocks; a materialized view that sleeps makes an insert
 * of ours take long.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { loadCorpus } from '../../../bench/corpus.ts'
import { stampBlock, stampMembers } from '../../../src/materialize/stamp.ts'
import { MIXED_STREAM, type MixedRun } from '../../../src/model/mixed-runs.ts'
import { PROJECTION_COLUMNS } from '../../../src/model/projection.ts'
import { makeSegmentId, type SegmentId } from '../../../src/model/segment-id.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { ClickHouse } from '../../../src/store/clickhouse.ts'
import { MemoryFiles } from '../../../src/store/memory-files.ts'
import { ensureClickHouse } from '../../../src/store/migrations/run.ts'
import {
  ProjectionStore,
  projectionTable,
  SPOOL_INSERT_ROWS,
} from '../../../src/store/projection/projection-store.ts'
import { IngestPipeline } from '../../../workers/ingest.ts'
import { ReplayPipeline } from '../../../workers/replay.ts'
import { NOT_EMBEDDED } from '../../support/real-clickhouse.ts'
import { openTcpFront } from '../../support/store-socket.ts'
import { openTestClickHouse, type TestStore } from '../../support/stores.ts'
import { batchOf } from '../../workers/batch-of.ts'
import { eventually } from '../temporary.ts'

const tableOf = (streamId: StreamId) => projectionTable(clickHouse.database, streamId)

const STREAM = 1 as StreamId
const INSERT_MS = 2_000

let store: TestStore
let clickHouse: ClickHouse

before(async () => {
  store = await openTestClickHouse()
  clickHouse = new ClickHouse({ url: store.url })
  await ensureClickHouse(clickHouse)
})

after(async () => {
  await clickHouse?.close()
  await store?.close()
})

/** One row of defaults, as an insert would send it. Makes the table first. */
async function oneRow(projection: ProjectionStore): Promise<Uint8Array> {
  await projection.insert(STREAM, [])
  await clickHouse.command(`INSERT INTO ${tableOf(STREAM)} (ordinal) VALUES (0)`)
  const columns = PROJECTION_COLUMNS.map(([name]) => name).join(', ')
  const front = await openTcpFront(store.url)
  after(() => front.close())
  const { origin, username, password } = new URL(front.url)
  const reply = await fetch(origin, {
    method: 'POST',
    headers: { Authorization: `Basic ${btoa(`${username}:${password}`)}` },
    body: `SELECT ${columns} FROM ${tableOf(STREAM)} FORMAT Native`,
  })
  assert.equal(reply.status, 200)
  return new Uint8Array(await reply.arrayBuffer())
}

async function runningInserts(): Promise<number> {
  const sql = `SELECT toUInt32(count()) AS n FROM system.processes WHERE query LIKE 'INSERT%'`
  return (await clickHouse.query<{ n: number }>(sql))[0]?.n ?? 0
}

test('settleInserts waits for an insert of its own node, and only for that', async () => {
  const projection = new ProjectionStore(clickHouse, { nodeId: 5, epoch: 1n })
  const block = await oneRow(projection)
  await clickHouse.command(
    `CREATE MATERIALIZED VIEW slow ENGINE = Null AS
     SELECT sleepEachRow(${INSERT_MS / 1_000}) AS slept FROM ${tableOf(STREAM)}`,
  )
  let isOver = false
  const insert = projection.insert(STREAM, [block]).then(() => {
    isOver = true
  })
  await eventually('the insert runs', async () => (await runningInserts()) === 1)

  for (const nodeId of [0, 15, 55]) {
    await new ProjectionStore(clickHouse, { nodeId, epoch: 1n }).settleInserts()
    assert.equal(isOver, false, `node ${nodeId} waited for the insert of node 5`)
  }
  // A later process of the same node, which knows nothing of the insert.
  await new ProjectionStore(clickHouse, { nodeId: 5, epoch: 2n }).settleInserts()
  await sleep(50) // The answer to the insert may come just after it left the list.
  assert.ok(isOver, 'it did not wait for the insert')
  await insert
})

test('log_comment ends with the query id, whatever is in it', { skip: NOT_EMBEDDED }, async () => {
  const queryId = `it's \\ a' OR "1"; é {x:String} \\' --`
  const sql = 'SELECT count() FROM numbers(100000000000) WHERE sipHash64(number) = 1'
  const abort = new AbortController()
  const options = { queryId, signal: abort.signal }
  const slow = clickHouse.query(sql, {}, {}, options)
  slow.catch(() => undefined) // It is rejected long before it is awaited.
  const running = async () => {
    const find = `SELECT toUInt32(count()) AS n FROM system.processes
      WHERE endsWith(Settings['log_comment'], {end:String})`
    return (await clickHouse.query<{ n: number }>(find, { end: `/${queryId}` }))[0]?.n
  }
  await eventually('it runs', async () => (await running()) === 1, 3_000)
  abort.abort()
  await assert.rejects(slow)
  await eventually('it was cancelled', async () => (await running()) === 0, 3_000)
})

const NODE = { nodeId: 6, epoch: 1n }
let ids = 0

/** The id of a segment committed so many milliseconds after the others. */
function nextId(ms = 0): SegmentId {
  return makeSegmentId({ ms: 1_767_323_045_000 + ms, node: NODE.nodeId, counter: ids++ })
}

/** A worker's block with a run of so many events for each stream; `n` is counted up. */
function mixedBlock(streams: readonly (readonly [streamId: number, events: number])[], pad = '') {
  const runs: MixedRun[] = streams.map(([streamId, eventCount]) => {
    return { streamId: streamId as StreamId, segmentId: nextId(), eventCount }
  })
  const counts = runs.map(({ eventCount }) => eventCount)
  const events = counts.reduce((sum, count) => sum + count, 0)
  const lines = Array.from({ length: events }, (_, n) => JSON.stringify({ n, pad, [`k${n}`]: 'x' }))
  const [segment] = new IngestPipeline().run(batchOf(lines.join('\n'))).segments
  const streamIds = runs.map(({ streamId }) => streamId)
  const part = { first: 0, counts, streamIds }
  const { block } = new ReplayPipeline().run(segment!.payload, MIXED_STREAM, part)
  stampMembers(block, runs)
  return { runs, bytes: block.bytes }
}

interface MixedRow {
  readonly stream_id: number
  readonly id: string
  readonly ordinal: number
  readonly n: number
  readonly own: string
}

/** Rows in the order of the table; `own` is the key that only this event has. */
function readMixed(streams: readonly number[]): Promise<MixedRow[]> {
  return clickHouse.query<MixedRow>(
    `SELECT stream_id, toString(segment_id) AS id, ordinal, payload.n::UInt32 AS n,
        arrayFirst(p -> startsWith(p, 'k'), JSONAllPaths(payload)) AS own
       FROM ${tableOf(MIXED_STREAM)} WHERE stream_id IN ({streams:Array(UInt32)})
      ORDER BY stream_id, segment_id, ordinal`,
    { streams },
  )
}

function rowsOf(...blocks: readonly { readonly runs: readonly MixedRun[] }[]): MixedRow[] {
  const rows = blocks.flatMap(({ runs }) => {
    let n = 0
    return runs.flatMap(({ streamId, segmentId, eventCount }) => {
      return Array.from({ length: eventCount }, (_, ordinal) => {
        return { stream_id: streamId, id: String(segmentId), ordinal, n, own: `k${n++}` }
      })
    })
  })
  return rows.sort((a, b) => a.stream_id - b.stream_id || (BigInt(a.id) < BigInt(b.id) ? -1 : 1))
}

test('the shared table: rows of several streams, each under its own, in one part', async () => {
  const projection = new ProjectionStore(clickHouse, NODE)
  const blocks = [
    mixedBlock([
      [70_001, 3],
      [12, 1],
      [300, 130],
    ]),
    mixedBlock([[12, 2]]),
    // Too large to be copied in with the others.
    mixedBlock(
      [
        [300, 20],
        [12, 5],
      ],
      'x'.repeat(10_000),
    ),
    mixedBlock([[70_001, 1]]),
  ]
  await projection.insert(
    MIXED_STREAM,
    blocks.map(({ bytes }) => bytes),
  )
  assert.deepEqual(await readMixed([12, 300, 70_001]), rowsOf(...blocks))
  const [parts] = await clickHouse.query<{ parts: number; rows: number }>(
    `SELECT uniqExact(_part)::UInt32 AS parts, count()::UInt32 AS rows
      FROM ${tableOf(MIXED_STREAM)}`,
  )
  assert.deepEqual(parts, { parts: 1, rows: 162 })

  // Somebody drops the table: one insert fails, the next makes it again.
  await clickHouse.command(`DROP TABLE ${tableOf(MIXED_STREAM)} SYNC`)
  const again = mixedBlock([[12, 1]])
  await assert.rejects(projection.insert(MIXED_STREAM, [again.bytes]), /60/)
  await projection.insert(MIXED_STREAM, [again.bytes])
  assert.deepEqual(await readMixed([12]), rowsOf(again))
})

test('findPresent looks into both tables, and knows streams that have none', async () => {
  const projection = new ProjectionStore(clickHouse, NODE)
  await clickHouse.command(`DROP TABLE IF EXISTS ${tableOf(MIXED_STREAM)} SYNC`)
  const [both, own, shared, none] = [401, 402, 403, 404].map((id) => id as StreamId)
  const findPresent = (streamId: StreamId, ids: readonly SegmentId[]) => {
    return projection.findPresent(ids.map((segmentId) => ({ streamId, segmentId })))
  }
  assert.deepEqual(await findPresent(both!, [nextId()]), new Set(), 'no table at all')
  const putOwn = async (streamId: StreamId) => {
    const { block } = new IngestPipeline().run(batchOf('{"n":0}\n{"n":1}')).segments[0]!
    const segmentId = nextId()
    stampBlock(block, segmentId)
    await projection.insert(streamId, [block.bytes])
    return segmentId
  }
  const inOwn = [await putOwn(both!), await putOwn(own!)]
  assert.deepEqual(await findPresent(both!, inOwn), new Set([inOwn[0]]))
  const mixed = mixedBlock([
    [both!, 1],
    [shared!, 3],
  ])
  await projection.insert(MIXED_STREAM, [mixed.bytes])
  const [inBoth, inShared] = mixed.runs.map(({ segmentId }) => segmentId)

  const absent = nextId(86_400_000)
  assert.deepEqual(
    await findPresent(both!, [absent, inBoth!, inOwn[0]!]),
    new Set([inBoth, inOwn[0]]),
  )
  // Many at a time, of streams with tables and without, some moved to a row of their stream.
  const many = Array.from({ length: 700 }, (_, i) => {
    return { streamId: (405 + (i % 100)) as StreamId, segmentId: nextId() }
  })
  const asked = [
    ...many,
    { streamId: none!, segmentId: absent },
    { streamId: own!, segmentId: inOwn[1]! },
    { streamId: both!, segmentId: inOwn[0]! },
    ...mixed.runs,
  ]
  assert.deepEqual(await projection.findPresent(asked), new Set([...inOwn, inBoth, inShared]))
})

test('a spool of as many rows as may be becomes one part', { skip: NOT_EMBEDDED }, async (t) => {
  const dataFiles = MemoryFiles.tryOpenShared()
  if (dataFiles === undefined) return t.skip('no room in /dev/shm, or no Linux')
  const sharing = new ClickHouse({ url: store.url, dataFiles })
  t.after(() => sharing.close())
  const streamId = 77 as StreamId
  const spool = new ProjectionStore(sharing, NODE).tryOpenSpool(streamId)!
  const lines = loadCorpus({ kind: 'json', count: 1_000 })
  const { block } = new IngestPipeline().run(batchOf(lines.join('\n'))).segments[0]!
  for (let rows = 0; rows < SPOOL_INSERT_ROWS; rows += block.rows) {
    stampBlock(block, nextId())
    spool.append([block.bytes])
  }
  await spool.insert(SPOOL_INSERT_ROWS)
  const [found] = await clickHouse.query(
    `SELECT uniqExact(_part)::UInt32 AS parts, uniqExact(segment_id)::UInt32 AS segments,
       count()::UInt32 AS rows FROM ${tableOf(streamId)}`,
  )
  const segments = SPOOL_INSERT_ROWS / block.rows
  assert.deepEqual(found, { parts: 1, segments, rows: SPOOL_INSERT_ROWS })
})
