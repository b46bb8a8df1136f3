/**
 * Goal: what retention removes of mixed rows is counted out and not there any more, the oldest
 * first, and its bytes are gone in the end, too.
 * Method: a real PostgreSQL; mixed rows with times of the past, made by the worker code.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { COMPACT_AGE_MS, COMPACT_WINDOW_MS } from '../../src/limits.ts'
import type { SegmentId } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import {
  commitMixed,
  compact,
  leftover,
  look,
  NOTHING,
  newStreams,
  readEvents,
  removeBefore,
  retain,
  rowsOf,
} from './mixed-rows.ts'
import { RetainHarness } from './retain-harness.ts'

/** A window of time that is over. */
const START =
  (Math.floor((Date.now() - COMPACT_AGE_MS) / COMPACT_WINDOW_MS) - 8) * COMPACT_WINDOW_MS

let harness: RetainHarness

before(async () => {
  harness = await RetainHarness.start({ clickhouse: false })
  await harness.checkpoint(1)
})

beforeEach(async () => {
  await harness.postgres.query('TRUNCATE segments, segment_runs, stream_usage, stream_storage')
  harness.observed.length = 0
})

after(async () => harness?.close())

test('retention removes rows and runs alike, the oldest first, and counts them out', async () => {
  const [streamId, other] = (await newStreams(harness, 2)) as [StreamId, StreamId]
  const lines = ['{"a":1}', '{"a":2}']
  const ids: SegmentId[] = []
  for (let n = 0; n < 10; n++) {
    const ms = START + n * 1_000
    if (n % 3 === 0) ids.push(...(await harness.commit(streamId, [{ ms, lines }])))
    else {
      const runs = [other, streamId].map((id) => ({ streamId: id, lines }))
      ids.push((await commitMixed(harness, { ms, runs }))[1]!)
    }
  }
  const untouched = await look(harness, [other])
  await removeBefore(harness, streamId, ids[5]!)
  assert.deepEqual(
    (await readEvents(harness, streamId)).map((text) => text.split(' ')[0]),
    ids.slice(5).flatMap((id) => [`${id}-0`, `${id}-1`]),
  )
  assert.ok(harness.observed.includes('removed age 5'))
  assert.deepEqual((await harness.usage.readSpan(streamId)).oldestMs, START + 5_000)
  await harness.assertUsageIsTrue(streamId)
  await removeBefore(harness, streamId, (ids[9]! + 1n) as SegmentId)
  assert.equal((await harness.usage.readUsage(streamId)).storedBytes, 0)
  assert.deepEqual(await look(harness, [other]), untouched)
  await compact(harness)
  assert.deepEqual(await look(harness, [other]), untouched)
  assert.deepEqual(await rowsOf(harness, streamId), [])
})

test('a cap counts runs, and takes the oldest of them', async () => {
  const [streamId] = (await newStreams(harness, 1)) as [StreamId]
  const ids: SegmentId[] = []
  for (let n = 0; n < 20; n++) {
    const runs = [{ streamId, lines: ['{"a":1}'] }]
    ids.push(...(await commitMixed(harness, { ms: START + n, runs })))
  }
  const { storedBytes } = await harness.usage.readUsage(streamId)
  await harness.control.updateStream(streamId, { maxStoredBytes: Math.ceil(storedBytes / 2) })
  await retain(harness)
  const left = (await readEvents(harness, streamId)).map((text) => BigInt(text.split('-')[0]!))
  assert.deepEqual(left, ids.slice(10))
  await harness.assertUsageIsTrue(streamId)
  await harness.control.updateStream(streamId, { maxStoredBytes: null })
})

test('a mixed row of which nothing is left is deleted, its payload unread', async () => {
  const streamIds = (await newStreams(harness, 2)) as [StreamId, StreamId]
  const runs = streamIds.map((streamId) => ({ streamId, lines: ['{"a":1}'] }))
  const [, last] = await commitMixed(harness, { ms: START, runs })
  await harness.postgres.query(`UPDATE segments SET payload = '\\x07'`)
  for (const id of streamIds) await removeBefore(harness, id, (last! + 1n) as SegmentId)
  await compact(harness)
  assert.deepEqual(await leftover(harness, streamIds), NOTHING)
  assert.deepEqual(
    harness.observed.filter((line) => /^(split|skipped)/.test(line)),
    ['split 1 of 0 into 0'],
  )
})

test('a deleted stream is purged when the mixed rows of its time are gone', async () => {
  const [streamId, other] = (await newStreams(harness, 2)) as [StreamId, StreamId]
  const runs = [streamId, other].map((id) => ({ streamId: id, lines: ['{"a":1}'] }))
  await commitMixed(harness, { ms: START, runs })
  await harness.control.deleteStream(streamId)
  await harness.postgres.query(
    `UPDATE streams SET deleted_at = to_timestamp($2::float8 / 1000) WHERE stream_id = $1`,
    [streamId, START + 60_000],
  )
  // Younger than it can have anything in.
  await commitMixed(harness, { ms: Date.now(), runs: runs.slice(1) })
  const isPurged = async () => {
    await retain(harness)
    const { rows } = await harness.postgres.query<{ is: boolean }>(
      'SELECT purged_at IS NOT NULL AS is FROM streams WHERE stream_id = $1',
      [streamId],
    )
    return rows[0]?.is
  }
  assert.equal(await isPurged(), false)
  assert.deepEqual(await leftover(harness, [streamId]), { mixed: 2, runs: 0 }, 'only its bytes')
  await compact(harness)
  assert.equal((await leftover(harness, [])).mixed, 1)
  assert.equal(await isPurged(), true)
  assert.deepEqual(await rowsOf(harness, streamId), [])
})
