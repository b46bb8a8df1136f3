/**
 * Goal: no size is too large to be removed. ClickHouse refuses to drop tables and partitions over
 * 50 GB, by its own configuration; retention must not stop there.
 * Method: a server that refuses to drop more than a byte, as the embedded store and over TCP as an
 * external one.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import { makeSegmentId } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { MixedParts } from '../../src/store/projection/mixed-parts.ts'
import { projectionTable } from '../../src/store/projection/projection-store.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { insertProjected } from '../store/projection/projected-rows.ts'
import { openTcpFront, type TcpFront } from '../support/store-socket.ts'
import { NEVER, type NewSegment, RetainHarness } from './retain-harness.ts'

const tableOf = (streamId: StreamId) => projectionTable(harness.clickhouse!.database, streamId)

const DAY_MS = 86_400_000
const NOON = (Math.floor(Date.now() / DAY_MS) + 0.5) * DAY_MS
const OPERATIONS = fileURLToPath(new URL('../../../docs/operations.md', import.meta.url))

let harness: RetainHarness
let front: TcpFront
const clients = new Map<string, ClickHouse>()

before(async () => {
  harness = await RetainHarness.start({ clickhouse: true, dropBytesMax: 1 })
  front = await openTcpFront(harness.clickHouseUrl)
  clients.set('embedded', harness.clickhouse!)
  clients.set('external', new ClickHouse({ url: front.url }))
})

after(async () => {
  await clients.get('external')?.close()
  await front?.close()
  await harness?.close()
})

function segmentsAt(ms: number, count = 5): NewSegment[] {
  return Array.from({ length: count }, (_, i) => ({
    ms: ms + i * 1_000,
    lines: Array.from({ length: 10 }, (_, n) => `{"n":${n},"text":"${'ab'.repeat(20)}${i}"}`),
  }))
}

const errors = () => harness.observed.filter((line) => line.startsWith('error'))

test('the server refuses to drop what is there, and says so', async () => {
  const streamId = await harness.newStream()
  await harness.commitAndProject(streamId, segmentsAt(NOON - 9 * DAY_MS))
  for (const sql of [
    `DROP TABLE ${tableOf(streamId)} SYNC`,
    `ALTER TABLE ${tableOf(streamId)} DROP PARTITION ALL`,
    `TRUNCATE TABLE ${tableOf(streamId)}`,
  ]) {
    await assert.rejects(harness.clickhouse!.command(sql), { clickHouseCode: 359 })
  }
})

for (const mode of ['embedded', 'external']) {
  const trim = () => harness.newTrimmer(0, clients.get(mode)!).round(NEVER)

  test(`${mode}: days past retention are dropped`, async () => {
    const streamId = await harness.newStream({ retentionMs: 3 * DAY_MS })
    const segments = [...segmentsAt(NOON - 5 * DAY_MS), ...segmentsAt(NOON - 1.5 * DAY_MS)]
    await harness.commitAndProject(streamId, segments)
    const lock = await harness.heldLock()
    await harness.untilIdle(harness.newRemover(lock))
    await trim()
    assert.equal(await harness.projectedRows(streamId), 50)
    await lock.stop()
  })

  test(`${mode}: what is over a cap is dropped`, async () => {
    const segments = [3, 4, 5, 6].flatMap((days) => segmentsAt(NOON - days * DAY_MS)).reverse()
    const streamId = await harness.newStream({ maxStoredBytes: 1 })
    await harness.commitAndProject(streamId, segments)
    const lock = await harness.heldLock()
    await harness.untilIdle(harness.newRemover(lock))
    assert.deepEqual(await harness.rowIds(streamId), [])
    await trim()
    assert.equal(await harness.projectedRows(streamId), 0)
    await lock.stop()
  })

  test(`${mode}: the table of a deleted stream is dropped`, async () => {
    const streamId = await harness.newStream()
    await harness.commitAndProject(streamId, segmentsAt(NOON - 2 * DAY_MS))
    await harness.control.deleteStream(streamId)
    const lock = await harness.heldLock()
    await harness.untilIdle(harness.newRemover(lock))
    await trim()
    assert.equal(await harness.projectedRows(streamId), -1)
    await lock.stop()
  })

  test(`${mode}: a day of the table that streams share is dropped`, async () => {
    const streamId = await harness.newStream()
    const ms = NOON - 4 * DAY_MS
    const payloads = Array.from({ length: 10 }, (_, n) => `{"n":${n}}`)
    const segmentId = makeSegmentId({ ms, node: 1, counter: streamId })
    await insertProjected(harness.clickhouse!, 'mixed', [{ streamId, segmentId, payloads }])
    await setMark(streamId, ms + DAY_MS)
    await trim()
    const left = await new MixedParts(clients.get(mode)!).listPartitions()
    assert.deepEqual(left, [])
  })
}

async function setMark(streamId: StreamId, ms: number): Promise<void> {
  const before = makeSegmentId({ ms, node: 1, counter: 0 })
  await harness.postgres.query(
    `INSERT INTO stream_storage (stream_id, removed_before) VALUES ($1, $2)
     ON CONFLICT (stream_id) DO UPDATE SET removed_before = excluded.removed_before`,
    [streamId, String(before)],
  )
}

test('a table that cannot be dropped holds up no other stream, and is told', async () => {
  const gone: StreamId[] = []
  for (let i = 0; i < 3; i++) {
    const streamId = await harness.newStream()
    await harness.commitAndProject(streamId, segmentsAt(NOON - 2 * DAY_MS, 1))
    await harness.control.deleteStream(streamId)
    gone.push(streamId)
  }
  const mixed = await harness.newStream()
  const segmentId = makeSegmentId({ ms: NOON - 4 * DAY_MS, node: 1, counter: 1 })
  await insertProjected(harness.clickhouse!, 'mixed', [
    { streamId: mixed, segmentId, payloads: ['{}'] },
  ])
  await setMark(mixed, NOON - 3 * DAY_MS)
  const lock = await harness.heldLock()
  await harness.untilIdle(harness.newRemover(lock))
  const blocked = refusing(harness.clickhouse!, `DROP TABLE IF EXISTS ${tableOf(gone[0]!)}`)
  await assert.rejects(harness.newTrimmer(0, blocked).round(NEVER), /refused/)
  const rows = await Promise.all(gone.map((id) => harness.projectedRows(id)))
  assert.deepEqual(rows, [10, -1, -1])
  assert.deepEqual(await new MixedParts(harness.clickhouse!).listPartitions(), [])
  await harness.newTrimmer().round(NEVER)
  assert.equal(await harness.projectedRows(gone[0]!), -1)
  assert.deepEqual(errors(), [])
  await lock.stop()
})

/** `clickhouse`, but statements that begin with `start` fail. */
function refusing(clickhouse: ClickHouse, start: string): ClickHouse {
  return new Proxy(clickhouse, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      if (name !== 'command') return member.bind(target)
      return async (sql: string, ...rest: unknown[]) => {
        if (sql.startsWith(start)) throw new StoreError('other', 'refused')
        return await member.call(target, sql, ...rest)
      }
    },
  })
}

test('the statement that the page tells to drop the projection with drops it', async () => {
  const page = readFileSync(OPERATIONS, 'utf8')
  const [, sql] = /--data-binary '(DROP DATABASE sluice [^']+)'/.exec(page) ?? []
  await harness.clickhouse!.command(`INSERT INTO ${tableOf(MIXED_STREAM)} (stream_id) SELECT 1`)
  await clients.get('external')!.command(sql ?? '')
  const databases = await harness.clickhouse!.query(
    "SELECT 1 FROM system.databases WHERE name = 'sluice'",
  )
  assert.deepEqual(databases, [])
})
