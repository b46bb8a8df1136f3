/**
 * Goal: splitting mixed rows changes nothing but where events lie: no event more or less, none
 * under another id, nothing counted differently, whatever retention does meanwhile and wherever it
 * is interrupted.
 * Method: a real PostgreSQL; mixed rows with times of the past, made by the worker code.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { Random } from '../../bench/random.ts'
import {
  COMPACT_AGE_MS,
  COMPACT_MEMBERS_MAX,
  COMPACT_WAIT_MS_MAX,
  COMPACT_WINDOW_MS,
  SPLIT_ROWS_MAX,
} from '../../src/limits.ts'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import type { SegmentId } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import type { Queryable } from '../../src/store/postgres.ts'
import { CHECKPOINT_TABLES } from '../../src/store/raw/compaction-store.ts'
import { rounds, testSeed } from '../support/fuzzing.ts'
import {
  commitMixed,
  compact,
  leftover,
  look,
  NOTHING,
  newStreams,
  readEvents,
  removeBefore,
  rowsOf,
  withLock,
} from './mixed-rows.ts'
import { NEVER, RetainHarness } from './retain-harness.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)
const random = new Random(seed)
const ROUNDS = rounds(4)

/** A window of time that is over, and not so long ago that rows no longer wait. */
const START =
  (Math.floor((Date.now() - COMPACT_AGE_MS) / COMPACT_WINDOW_MS) - 8) * COMPACT_WINDOW_MS

let harness: RetainHarness

before(async () => {
  harness = await RetainHarness.start({ clickhouse: false })
  for (const node of [0, 1, 2]) await harness.checkpoint(node)
})

beforeEach(async () => {
  await harness.postgres.query('TRUNCATE segments, segment_runs, stream_usage, stream_storage')
  harness.observed.length = 0
})

after(async () => harness?.close())

function randomLines(): string[] {
  return Array.from({ length: 1 + random.below(6) }, () => {
    const time = random.chance(0.3) ? `"ts":"2026-01-02T03:04:${10 + random.below(49)}Z",` : ''
    return `{${time}"n":${random.below(1e9)},"s":"${random.hex(random.below(20))}"}`
  })
}

test('random mixed rows become rows of their streams; all else stays as it was', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const streamIds = await newStreams(harness, 2 + random.below(8))
    let ms = START
    let mixedRows = 0
    for (let n = 0; n < 60; n++) {
      ms += random.chance(0.05) ? COMPACT_WINDOW_MS / 2 : random.below(5_000)
      if (random.chance(0.15)) {
        const lines = randomLines()
        await harness.commit(random.pick(streamIds), [{ ms, node: random.below(3), lines }])
        continue
      }
      const owners = streamIds.filter(() => random.chance(0.6))
      if (owners.length === 0) continue
      const runs = owners.map((streamId) => ({ streamId, lines: randomLines() }))
      await commitMixed(harness, { ms, node: random.below(3), runs })
      mixedRows++
    }
    const [first] = streamIds
    const ids = (await readEvents(harness, first!)).map((text) => BigInt(text.split('-')[0]!))
    await removeBefore(harness, first!, random.pick(ids) as SegmentId)
    const seen = await look(harness, streamIds)
    assert.ok((await leftover(harness, streamIds)).mixed > 0)
    await compact(harness)
    assert.deepEqual(await leftover(harness, streamIds), NOTHING)
    assert.deepEqual(await look(harness, streamIds), seen, `round ${round}`)
    for (const streamId of streamIds) {
      const rows = await rowsOf(harness, streamId)
      assert.ok(rows.length < mixedRows / 2, 'merged, too')
      for (const [index, row] of rows.entries()) {
        const next = rows[index + 1]
        const last = BigInt(row.last_segment_id ?? row.segment_id)
        assert.ok(next === undefined || last < BigInt(next.segment_id), 'rows do not overlap')
      }
    }
    const { rows: late } = await harness.postgres.query(
      `SELECT 1 FROM segments
       WHERE ingested_at <> timestamptz 'epoch' + (segment_id >> 21) * interval '1 millisecond'`,
    )
    assert.equal(late.length, 0)
  }
})

test('interrupted at any statement it leaves all as it was, and the next one does it', async () => {
  const streamIds = await newStreams(harness, 3)
  const commit = async () => {
    for (let n = 0; n < 4; n++) {
      const runs = streamIds.map((streamId) => ({ streamId, lines: randomLines() }))
      await commitMixed(harness, { ms: START + n * 1_000, runs })
    }
  }
  await commit()
  const seen = await look(harness, streamIds)
  const before = await leftover(harness, streamIds)
  let interruptions = 0
  for (let at = 0; ; at++) {
    let count = 0
    const isDone = await withLock(harness, async ({ session }) => {
      const dying: Queryable = {
        query: async (text, values) => {
          if (count++ < at) return session.query(text, values)
          await session
            .query('SELECT pg_terminate_backend(pg_backend_pid())')
            .catch(() => undefined)
          throw new Error('killed')
        },
      }
      const compactor = harness.newCompactor({ session: dying })
      return compactor.round(NEVER).then(
        () => true,
        () => false,
      )
    })
    assert.deepEqual(await look(harness, streamIds), seen, `interrupted at ${at}`)
    const { mixed } = await leftover(harness, streamIds)
    assert.ok(mixed === before.mixed || mixed === 0, 'the ones or the others')
    if (mixed === 0 || isDone) break
    interruptions++
  }
  assert.ok(interruptions > 8, 'also amid the transaction')
  await compact(harness)
  assert.deepEqual(await leftover(harness, streamIds), NOTHING)
  assert.deepEqual(await look(harness, streamIds), seen)
})

test('a failure of our own within the transaction leaves no transaction behind', async () => {
  const [streamId] = (await newStreams(harness, 1)) as [StreamId]
  for (const n of [0, 1]) {
    await commitMixed(harness, { ms: START + n, runs: [{ streamId, lines: ['{"a":1}'] }] })
  }
  const seen = await look(harness, [streamId])
  await withLock(harness, async ({ session }) => {
    const failing: Queryable = {
      query: (text, values) => {
        if (text.startsWith('INSERT INTO segments')) throw new Error('ours')
        return session.query(text, values)
      },
    }
    await assert.rejects(harness.newCompactor({ session: failing }).round(NEVER), /ours/)
    await harness.untilIdle(harness.newCompactor({ session }))
  })
  assert.deepEqual(await look(harness, [streamId]), seen)
  assert.deepEqual(await leftover(harness, [streamId]), NOTHING)
})

test('runs that go while events are sorted stay gone, and the rest is split later', async () => {
  const streamIds = (await newStreams(harness, 2)) as [StreamId, StreamId]
  const ids: SegmentId[][] = []
  for (let n = 0; n < 4; n++) {
    const runs = streamIds.map((streamId) => ({ streamId, lines: randomLines() }))
    ids.push(await commitMixed(harness, { ms: START + n * 1_000, runs }))
  }
  const [kept] = await look(harness, [streamIds[1]])
  const remove = () => removeBefore(harness, streamIds[0], ids[2]![0]!)
  await withLock(harness, async (lock) => {
    await harness.newCompactor(lock, Date.now, remove).round(NEVER)
  })
  assert.equal((await leftover(harness, streamIds)).mixed, 4, 'nothing happened')
  await compact(harness)
  assert.deepEqual(await leftover(harness, streamIds), NOTHING)
  const [rest, other] = await look(harness, streamIds)
  assert.deepEqual(other, kept)
  assert.ok(rest!.texts.length > 0 && rest!.texts.every((text) => text >= String(ids[2]![0])))
})

test('rows wait for all followers of their node; after too long, each run is a row', async () => {
  const [streamId, other] = (await newStreams(harness, 2)) as [StreamId, StreamId]
  const runs = [streamId, other].map((id) => ({ streamId: id, lines: randomLines() }))
  const ids = [
    await commitMixed(harness, { ms: START, node: 9, runs }),
    await commitMixed(harness, { ms: START + 1, node: 9, runs }),
  ]
  const seen = await look(harness, [streamId, other])
  for (const table of CHECKPOINT_TABLES) {
    await compact(harness)
    assert.equal((await leftover(harness, [])).mixed, 2, `before ${table}`)
    // One short of the first row's last run.
    const checkpoint = table === CHECKPOINT_TABLES[0] ? ids[1]![1]! : ids[0]![1]! - 1n
    await harness.postgres.query(`INSERT INTO ${table} (node_id, segment_id) VALUES (9, $1)`, [
      String(checkpoint),
    ])
  }
  await compact(harness)
  assert.equal((await leftover(harness, [])).mixed, 2, 'one short')
  await compact(harness, START + COMPACT_WAIT_MS_MAX + 1)
  assert.equal((await leftover(harness, [])).mixed, 1, 'the first one has waited too long')
  await compact(harness, START + COMPACT_WAIT_MS_MAX + 2)
  assert.deepEqual(await leftover(harness, [streamId, other]), NOTHING)
  assert.deepEqual(await look(harness, [streamId, other]), seen)
  for (const [index, id] of [streamId, other].entries()) {
    assert.deepEqual(
      (await rowsOf(harness, id)).map((row) => ({ ...row })),
      ids.map((each) => {
        return { segment_id: String(each[index]), last_segment_id: null, members: null }
      }),
    )
  }
  for (const table of CHECKPOINT_TABLES) {
    await harness.postgres.query(`DELETE FROM ${table} WHERE node_id = 9`)
  }
})

test('a window that is not over is left; a row that waits holds up no other', async () => {
  const [streamId] = (await newStreams(harness, 1)) as [StreamId]
  const end = START + COMPACT_WINDOW_MS
  const own = [0, 10, 20].map((n) => ({ ms: START + n, lines: ['{"a":1}'] }))
  await harness.commit(streamId, own)
  const runs = [{ streamId, lines: ['{"b":1}'] }]
  await commitMixed(harness, { ms: START + 5, runs })
  await commitMixed(harness, { ms: START + 6, node: 8, runs })
  await commitMixed(harness, { ms: end + 1, runs })
  const seen = await look(harness, [streamId])
  await compact(harness, end + COMPACT_AGE_MS - 1)
  assert.equal((await leftover(harness, [])).mixed, 3)
  await compact(harness, end + COMPACT_AGE_MS)
  assert.equal((await leftover(harness, [])).mixed, 2, 'node 8 has no checkpoint')
  assert.equal((await rowsOf(harness, streamId)).length, 1, 'merged without it')
  assert.deepEqual(await look(harness, [streamId]), seen)
  await harness.checkpoint(8)
  await compact(harness, end + COMPACT_AGE_MS)
  assert.equal((await leftover(harness, [])).mixed, 1)
  assert.equal((await rowsOf(harness, streamId)).length, 2, 'it lies within the merged one')
  await compact(harness)
  assert.equal((await rowsOf(harness, streamId)).length, 3, 'a row is of one window')
  assert.deepEqual(await look(harness, [streamId]), seen)
})

test('what comes late into a window that was merged is merged, too', async () => {
  const [streamId] = (await newStreams(harness, 1)) as [StreamId]
  const own = [0, 10, 20].map((n) => ({ ms: START + n, lines: ['{"a":1}'] }))
  await harness.commit(streamId, own)
  await compact(harness)
  assert.equal((await rowsOf(harness, streamId)).length, 1)
  for (const n of [30, 40]) {
    await commitMixed(harness, { ms: START + n, runs: [{ streamId, lines: ['{"b":1}'] }] })
  }
  const seen = await look(harness, [streamId])
  await compact(harness)
  assert.deepEqual(await look(harness, [streamId]), seen)
  assert.equal((await rowsOf(harness, streamId)).length, 1)
})

test('a row that cannot be read is left alone, tried once, and holds nothing up', async () => {
  const [streamId, other] = (await newStreams(harness, 2)) as [StreamId, StreamId]
  const ids: SegmentId[][] = []
  for (let n = 0; n < 7; n++) {
    const runs = [streamId, other].map((id) => ({ streamId: id, lines: [`{"n":${n}}`] }))
    ids.push(await commitMixed(harness, { ms: START + n, runs }))
  }
  await harness.postgres.query(
    `UPDATE segments SET payload = '\\x07' WHERE stream_id = $1 AND segment_id = $2`,
    [MIXED_STREAM, String(ids[3]![0])],
  )
  await withLock(harness, async (lock) => {
    const compactor = harness.newCompactor(lock)
    for (let round = 0; round < 3; round++) await harness.untilIdle(compactor)
    assert.deepEqual(await leftover(harness, [streamId, other]), { mixed: 1, runs: 2 })
    assert.equal(harness.observed.filter((line) => line.startsWith('skipped')).length, 1)
    // Split around the one, then merged: what was in it is not between them as a row.
    assert.equal((await rowsOf(harness, streamId)).length, 1)
    for (const id of [streamId, other]) await removeBefore(harness, id, ids[5]![0]!)
    await harness.untilIdle(compactor)
  })
  assert.deepEqual(await leftover(harness, [streamId, other]), NOTHING, 'nothing of it is left')
})

test('more rows than one look, and more bytes than one statement', async () => {
  const [streamId, other] = (await newStreams(harness, 2)) as [StreamId, StreamId]
  const rows = Array.from({ length: SPLIT_ROWS_MAX + 5 }, (_, n) => {
    return { ms: START + n, runs: [{ streamId, lines: [`{"n":${n}}`] }] }
  })
  await Promise.all(rows.map((row) => commitMixed(harness, row)))
  for (let n = 0; n < 20; n++) {
    // Brotli makes six bits of each of its characters: 13 MiB are more than one statement takes.
    const lines = [`{"s":"${randomText(900_000)}"}`]
    await commitMixed(harness, { ms: START + 2_000 + n, runs: [{ streamId: other, lines }] })
  }
  const seen = await look(harness, [streamId, other])
  let inserts = 0
  await withLock(harness, async ({ session }) => {
    const counting: Queryable = {
      query: (text, values) => {
        if (text.startsWith('INSERT INTO segments')) inserts++
        return session.query(text, values)
      },
    }
    await harness.untilIdle(harness.newCompactor({ session: counting }))
  })
  assert.ok(inserts >= 3, `${inserts} statements`)
  assert.deepEqual(await leftover(harness, [streamId, other]), NOTHING)
  assert.deepEqual(await look(harness, [streamId, other]), seen)
  const rowsMin = Math.ceil((SPLIT_ROWS_MAX + 5) / COMPACT_MEMBERS_MAX)
  assert.equal((await rowsOf(harness, streamId)).length, rowsMin)
})

function randomText(length: number): string {
  const bytes = Buffer.alloc(Math.ceil((length * 3) / 4))
  for (let at = 0; at + 4 <= bytes.length; at += 4) bytes.writeUInt32LE(random.below(2 ** 32), at)
  return bytes.toString('base64').slice(0, length)
}
