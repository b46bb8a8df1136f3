/**
 * Goal: what is past a stream's retention or over its cap leaves both stores, oldest first and
 * nothing else, is not seen from the moment it was decided, and does not come back.
 * Method: real stores; segments are committed with times of the past.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { StreamId } from '../../src/model/stream.ts'
import { partitionEndMs } from '../../src/retain/mixed-trimmer.ts'
import { Retainer } from '../../src/retain/retainer.ts'
import { RETAIN_STEP_ROWS_MAX, RETAIN_WALK_ROWS_MAX } from '../../src/retain/row-remover.ts'
import { CredentialStore } from '../../src/store/control/credential-store.ts'
import { ProjectionParts } from '../../src/store/projection/projection-parts.ts'

import { EventStore } from '../../src/store/raw/event-store.ts'
import { eventually } from '../store/temporary.ts'
import { NEVER, type NewSegment, RetainHarness } from './retain-harness.ts'

const DAY_MS = 86_400_000
const NOW = Date.now()
/** The noon before last: never the day that a mark of this file's lies in by accident. */
const NOON = Math.floor(NOW / DAY_MS) * DAY_MS - 2 * DAY_MS + DAY_MS / 2

let harness: RetainHarness

before(async () => {
  harness = await RetainHarness.start({ clickhouse: true })
})

after(async () => harness?.close())

/** `count` segments of ten events each, `stepMs` apart. */
function segmentsFrom(ms: number, count: number, stepMs: number): NewSegment[] {
  return Array.from({ length: count }, (_, i) => ({
    ms: ms + i * stepMs,
    lines: Array.from({ length: 10 }, (_, n) => `{"n":${n},"text":"${'ab'.repeat(20)}${i}"}`),
  }))
}

async function listed(streamId: StreamId): Promise<bigint[]> {
  const range = { streamId, start: 0n, end: 1n << 62n, newestFirst: false, limit: 10_000 }
  return (await new EventStore(harness.postgres).listSegments(range)).map((one) => one.segmentId)
}

test('events past retention are removed by receipt time, whole days as partitions', async () => {
  const streamId = await harness.newStream({ retentionMs: 3 * DAY_MS })
  const old = segmentsFrom(NOW - 5 * DAY_MS, 20, 60_000)
  const young = segmentsFrom(NOW - DAY_MS, 5, 60_000)
  const ids = await harness.commitAndProject(streamId, [...old, ...young])
  const lock = await harness.heldLock()
  await harness.untilIdle(harness.newRemover(lock))
  assert.deepEqual(await harness.rowIds(streamId), ids.slice(20))
  assert.deepEqual(await listed(streamId), ids.slice(20))
  await harness.assertUsageIsTrue(streamId)
  assert.equal(await harness.counted(streamId), 50, 'queries heed the mark at once')
  assert.equal(await harness.projectedRows(streamId), 250)
  await harness.newTrimmer().round(NEVER)
  assert.equal(await harness.projectedRows(streamId), 50)
  assert.equal(await harness.counted(streamId), 50)
  assert.ok(harness.observed.includes('trimmed partition'))
  await lock.stop()
})

test('within a day the rest is written anew, and only once a quarter is removed', async () => {
  const streamId = await harness.newStream()
  const segments = segmentsFrom(NOON, 100, 1_000)
  const ids = await harness.commitAndProject(streamId, segments)
  const lock = await harness.heldLock()
  const trimmer = harness.newTrimmer()
  const removeBefore = async (index: number) => {
    await harness.postgres.query(
      `INSERT INTO stream_storage (stream_id, removed_before) VALUES ($1, $2)
       ON CONFLICT (stream_id) DO UPDATE SET removed_before = excluded.removed_before`,
      [streamId, String(ids[index])],
    )
    await harness.untilIdle(harness.newRemover(lock))
  }
  await removeBefore(20)
  await trimmer.round(NEVER)
  assert.equal(await harness.projectedRows(streamId), 1_000, 'a fifth waits')
  assert.equal(await harness.counted(streamId), 800)
  await removeBefore(40)
  await trimmer.round(NEVER)
  await eventually('deleted', async () => (await harness.projectedRows(streamId)) === 600)
  assert.equal(await harness.counted(streamId), 600)

  // What a node inserts late, below the mark, is not seen and goes with the next round.
  await harness.project(streamId, ids.slice(0, 40), segments.slice(0, 40))
  assert.equal(await harness.projectedRows(streamId), 1_000)
  assert.equal(await harness.counted(streamId), 600)
  await trimmer.round(NEVER)
  await eventually('deleted again', async () => (await harness.projectedRows(streamId)) === 600)

  // Nothing of a day left: the partition goes, though the day is not past the mark.
  await removeBefore(99)
  await harness.postgres.query(
    'UPDATE stream_storage SET removed_before = removed_before + 1 WHERE stream_id = $1',
    [streamId],
  )
  await harness.untilIdle(harness.newRemover(lock))
  await trimmer.round(NEVER)
  assert.equal(await harness.projectedRows(streamId), 0)
  assert.deepEqual(await harness.rowIds(streamId), [])
  await harness.assertUsageIsTrue(streamId)
  await lock.stop()
})

test('a table is looked into once in a while only, and sooner when much was removed', async () => {
  const streamId = await harness.newStream()
  const ids = await harness.commitAndProject(streamId, segmentsFrom(NOON, 10, 1_000))
  const trimmer = harness.newTrimmer(3_600_000)
  const mark = async (index: number) => {
    await harness.postgres.query(
      `INSERT INTO stream_storage (stream_id, removed_before) VALUES ($1, $2)
       ON CONFLICT (stream_id) DO UPDATE SET removed_before = excluded.removed_before`,
      [streamId, String(ids[index])],
    )
  }
  await mark(1)
  await trimmer.round(NEVER)
  await mark(8)
  await trimmer.round(NEVER)
  assert.equal(await harness.projectedRows(streamId), 100, 'not again so soon')
  await harness.newTrimmer(3_600_000).round(NEVER)
  await eventually('deleted', async () => (await harness.projectedRows(streamId)) === 20)
})

test('over its cap a stream loses its oldest, just so many, and no other stream any', async () => {
  const segments = segmentsFrom(NOON, 200, 1_000)
  const otherId = await harness.newStream()
  const otherIds = await harness.commit(otherId, segments.slice(0, 3))
  const streamId = await harness.newStream({ maxStoredBytes: 1 })
  const ids = await harness.commitAndProject(streamId, segments)
  await harness.newTrimmer().round(NEVER) // Records what the projection takes.
  const sizes = await new ProjectionParts(harness.clickhouse!).listTables()
  const projection = sizes.find((table) => table.streamId === streamId)!
  const raw = (await harness.usage.readUsage(streamId)).storedBytes
  const total = raw + projection.bytes
  const cap = Math.floor(total / 4)
  await harness.control.updateStream(streamId, { maxStoredBytes: cap })
  const lock = await harness.heldLock()
  const remover = harness.newRemover(lock)
  await harness.untilIdle(remover)
  const left = await harness.rowIds(streamId)
  assert.deepEqual(left, ids.slice(-left.length), 'the oldest went')
  const share = left.length / ids.length
  assert.ok(share <= 0.25 && share > 0.22, `a quarter is left, not ${share}`)

  // ClickHouse still has the rows; that must not cost the stream any more of what it holds.
  await harness.untilIdle(remover)
  await harness.newTrimmer(3_600_000).round(NEVER)
  await harness.untilIdle(remover)
  assert.equal((await harness.rowIds(streamId)).length, left.length)
  await eventually('deleted', async () => (await harness.projectedRows(streamId)) < 600)
  await harness.assertUsageIsTrue(streamId)
  assert.deepEqual(await harness.rowIds(otherId), otherIds)
  await lock.stop()
})

test('a cap takes as many looks as it needs, and nothing that is too young', async () => {
  const streamId = await harness.newStream({ maxStoredBytes: 1 })
  const count = RETAIN_WALK_ROWS_MAX + RETAIN_STEP_ROWS_MAX
  const rows = segmentsFrom(NOON, count, 10).map(({ ms }) => ({ ms, lines: ['{"a":1}'] }))
  await harness.commit(streamId, rows)
  const [young] = await harness.commit(streamId, [{ ms: NOW + 3_600_000, lines: ['{"a":1}'] }])
  const lock = await harness.heldLock()
  const remover = harness.newRemover(lock)
  const before = harness.observed.length
  for (let round = 0; round < 4; round++) await harness.untilIdle(remover)
  assert.deepEqual(await harness.rowIds(streamId), [young])
  const removed = harness.observed.slice(before).map((line) => Number(line.split(' ')[2]))
  assert.equal(
    removed.reduce((sum, rows) => sum + rows),
    count,
  )
  assert.ok(Math.max(...removed) <= RETAIN_STEP_ROWS_MAX && removed.length > 3, 'small steps')
  await lock.stop()
})

test('a clock that is ahead removes nothing, whichever of the two it is', async () => {
  const streamId = await harness.newStream({ retentionMs: DAY_MS })
  const ids = await harness.commit(streamId, [{ ms: NOW - 60_000, lines: ['{"a":1}'] }])
  const lock = await harness.heldLock()
  await harness.untilIdle(harness.newRemover(lock, () => NOW + 400 * DAY_MS))
  assert.deepEqual(await harness.rowIds(streamId), ids)
  // This node's is right and the database's ahead: the same as this node's being behind.
  await harness.untilIdle(harness.newRemover(lock, () => NOW - 400 * DAY_MS))
  assert.deepEqual(await harness.rowIds(streamId), ids)
  await lock.stop()
})

test('a deleted stream leaves both stores, also what comes in late, and its name', async () => {
  const streamId = await harness.newStream()
  const { text: key } = await harness.control.createKey(streamId, 'key')
  const segments = segmentsFrom(NOW - 60_000, 30, 10)
  const ids = await harness.commitAndProject(streamId, segments)
  await harness.postgres.query('INSERT INTO stream_schemas (stream_id) VALUES ($1)', [streamId])
  await harness.control.deleteStream(streamId)
  const prefix = key.split('_')[1] ?? ''
  assert.equal(
    (await new CredentialStore(harness.postgres).findCredentials('key', [prefix])).size,
    0,
    'at once',
  )
  const lock = await harness.heldLock()
  const remover = harness.newRemover(lock)
  await harness.untilIdle(remover)
  assert.deepEqual(await harness.rowIds(streamId), [])
  assert.deepEqual(await listed(streamId), [])
  await harness.newTrimmer().round(NEVER)
  assert.equal(await harness.projectedRows(streamId), -1)

  // A request that was under way, and a node that had the block in its memory.
  await harness.commit(streamId, segments.slice(0, 1))
  await harness.project(streamId, ids.slice(0, 1), segments.slice(0, 1))
  await harness.untilIdle(remover)
  assert.deepEqual(await harness.rowIds(streamId), [])
  await harness.newTrimmer().round(NEVER)
  assert.equal(await harness.projectedRows(streamId), -1)

  const left = async () => {
    const count = (table: string) => `(SELECT count(*) FROM ${table} WHERE stream_id = $1)`
    // Every table that has something of a stream, whoever adds one.
    const { rows: found } = await harness.postgres.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.columns
       WHERE table_schema = 'public' AND column_name = 'stream_id'
         AND table_name NOT IN ('streams', 'stream_storage')`,
    )
    const tables = found.map(({ name }) => name)
    const { rows } = await harness.postgres.query<{ n: number; name: string }>(
      `SELECT (${tables.map(count).join(' + ')})::float8 AS n, name FROM streams
       WHERE stream_id = $1`,
      [streamId],
    )
    return rows[0]
  }
  assert.notEqual((await left())?.n, 0, 'not before requests under way have ended')
  await harness.postgres.query(
    `UPDATE streams SET deleted_at = deleted_at - interval '11 minutes' WHERE stream_id = $1`,
    [streamId],
  )
  await harness.untilIdle(remover)
  assert.deepEqual(await left(), { n: 0, name: '' })
  await lock.stop()
})

test('with ClickHouse away rows go, and the projection follows when it is back', async () => {
  const streamId = await harness.newStream({ retentionMs: 3 * DAY_MS })
  await harness.commitAndProject(streamId, segmentsFrom(NOW - 9 * DAY_MS, 10, 1_000))
  const lock = harness.newLock()
  const remover = harness.newRemover(lock)
  let isAway = true
  const trimmer = harness.newTrimmer()
  const retainer = new Retainer({
    lock,
    removeRows: (signal) => remover.round(signal),
    compact: async () => false,
    trimProjection: (signal) => {
      if (isAway) throw new Error('away')
      return trimmer.round(signal)
    },
    observer: harness.observer,
    roundMs: 20,
    projectionMs: 20,
  })
  retainer.start()
  await eventually('removed', async () => (await harness.rowIds(streamId)).length === 0)
  await eventually('said so', () => harness.observed.some((line) => /^error projection/.test(line)))
  assert.equal(await harness.projectedRows(streamId), 100)
  isAway = false
  await eventually('trimmed', async () => (await harness.projectedRows(streamId)) === 0)
  await retainer.stop()
})

test('one worker at a time; when it loses its session, another goes on', async () => {
  const key = 1_000
  const [first, second] = [harness.newLock(key), harness.newLock(key)]
  assert.ok(await first.tryHold())
  assert.equal(await second.tryHold(), false)
  assert.ok(await first.tryHold(), 'it stays with it')
  const { rows } = await first.session.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  await harness.postgres.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid])
  await assert.rejects(first.session.query('SELECT 1'))
  assert.equal(first.isHeld, false)
  await eventually('the other one has it', () => second.tryHold())
  assert.equal(await first.tryHold(), false)
  await second.stop()
  await eventually('it has it again', () => first.tryHold())
  await first.stop()
})

test('of two nodes one does the work, and the other takes over when it stops', async () => {
  const retainers = ['first', 'second'].map((name) => {
    const lock = harness.newLock(2_000)
    const rounds: string[] = []
    const work = (what: string) => async () => {
      rounds.push(what)
      return false
    }
    const retainer = new Retainer({
      lock,
      removeRows: work('rows'),
      compact: work('compaction'),
      trimProjection: work('projection'),
      observer: { ...harness.observer, onWorker: (is) => rounds.push(`${name} ${is}`) },
      roundMs: 10,
      projectionMs: 10,
    })
    return { retainer, rounds, name }
  })
  const [first, second] = retainers as [(typeof retainers)[0], (typeof retainers)[0]]
  first.retainer.start()
  await eventually('the first works', () => first.rounds.includes('projection'))
  second.retainer.start()
  const count = first.rounds.length
  await eventually('it goes on', () => first.rounds.length > count + 9)
  assert.deepEqual(second.rounds, [])
  await first.retainer.stop()
  await eventually('the second works', () => second.rounds.includes('projection'))
  assert.deepEqual(second.rounds.slice(0, 3), ['second true', 'rows', 'compaction'])
  await second.retainer.stop()
})

test('a partition ends with its day', () => {
  assert.equal(partitionEndMs('20240228'), Date.UTC(2024, 1, 29))
  assert.equal(partitionEndMs('20251231'), Date.UTC(2026, 0, 1))
})
