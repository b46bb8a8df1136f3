/**
 * Goal: a number whose ids are from the future is left alone, by its own node and by others, and
 * what was committed under it has somebody who brings it in.
 * Method: a real server; rows are written with such ids.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { CLOCK_LEAD_MS_MAX } from '../../../src/limits.ts'
import { makeSegmentId } from '../../../src/model/segment-id.ts'
import { type LeaseTimes, NodeLease } from '../../../src/store/raw/node-lease.ts'
import { SILENT_LOG, startDatabase, type TestDatabase } from '../../serve/rest-harness.ts'
import { eventually } from '../temporary.ts'

const YEARS_MS = 10 * 365 * 86_400_000
const OWN = '00000000-0000-4000-8000-00000000000a'
const OTHER = '00000000-0000-4000-8000-00000000000b'

let database: TestDatabase

before(async () => {
  database = await startDatabase()
})

beforeEach(async () => {
  for (const table of ['nodes', 'segments', 'checkpoints', 'observe_checkpoints']) {
    await database.postgres.query(`DELETE FROM ${table}`)
  }
})

after(async () => {
  await database?.close()
})

async function claim(identity: string, times: Partial<LeaseTimes> = {}): Promise<NodeLease> {
  const { postgres } = database
  const onLost = () => undefined
  return NodeLease.claim({ postgres, identity, log: SILENT_LOG, onLost, times })
}

async function commitAt(ms: number, node: number): Promise<string> {
  const id = String(makeSegmentId({ ms, node, counter: 0 }))
  await database.postgres.query(
    `INSERT INTO segments (stream_id, segment_id, ingested_at, event_count, raw_bytes, sent_bytes,
       payload) VALUES (1, $1, now(), 1, 1, 1, '')`,
    [id],
  )
  return id
}

async function checkpointAt(table: string, node: number, id: string): Promise<void> {
  await database.postgres.query(
    `INSERT INTO ${table} (node_id, segment_id) VALUES ($1, $2)
     ON CONFLICT (node_id) DO UPDATE SET segment_id = excluded.segment_id`,
    [node, id],
  )
}

/** Numbers whose work the node takes over; what came before it is there. */
async function left(lease: NodeLease): Promise<number[]> {
  const taken: NodeLease[] = []
  const ids = () => taken.map(({ nodeId }) => nodeId)
  for (;;) {
    const next = await lease.takeOver(ids(), () => undefined)
    if (next === undefined) break
    taken.push(next)
  }
  for (const each of taken) await each.stop()
  return ids()
}

test('an id within the bound changes nothing', async () => {
  const first = await claim(OWN)
  await commitAt(Date.now() + CLOCK_LEAD_MS_MAX - 10_000, first.nodeId)
  await first.stop()
  const again = await claim(OWN)
  assert.deepEqual([again.nodeId, await left(again)], [first.nodeId, []])
  await again.stop()
})

test('its own node takes another number, holds the old one until all is brought in', async () => {
  const first = await claim(OWN)
  assert.equal(first.nodeId, 0)
  const id = await commitAt(Date.now() + YEARS_MS, 0)
  await first.stop()
  const second = await claim(OWN)
  assert.equal(second.nodeId, 1)
  const old = await second.takeOver([], () => undefined)
  assert.equal(old?.nodeId, 0)
  assert.equal(await second.takeOver([0], () => undefined), undefined, 'it is held already')
  const { rows } = await database.postgres.query<{ live: boolean; taken: boolean }>(
    `SELECT lease_until > clock_timestamp() AS live, taken_until > clock_timestamp() AS taken
      FROM nodes ORDER BY node_id`,
  )
  assert.deepEqual(rows, [
    { live: false, taken: true },
    { live: true, taken: null },
  ])
  await old.stop()
  await second.stop()
  await checkpointAt('checkpoints', 0, id)
  const third = await claim(OWN)
  assert.deepEqual(
    [third.nodeId, await left(third)],
    [1, [0]],
    'the catalog has not learned from it',
  )
  await third.stop()
  await checkpointAt('observe_checkpoints', 0, id)
  const fourth = await claim(OWN)
  assert.deepEqual([fourth.nodeId, await left(fourth)], [1, []])
  await fourth.stop()
})

test('a checkpoint alone poisons too: the segment may have been removed since', async () => {
  await (await claim(OWN)).stop()
  const id = String(makeSegmentId({ ms: Date.now() + YEARS_MS, node: 0, counter: 0 }))
  await checkpointAt('checkpoints', 0, id)
  const next = await claim(OWN)
  assert.deepEqual([next.nodeId, await left(next)], [1, []])
  await next.stop()
})

test("a gone node's is brought in by another, under another number", async () => {
  await (await claim(OTHER)).stop()
  await commitAt(Date.now() + YEARS_MS, 0)
  const tooSoon = await claim(OWN)
  assert.deepEqual([tooSoon.nodeId, await left(tooSoon)], [1, []])
  await tooSoon.stop()
  const later = await claim(OWN, { goneMs: 300 })
  await eventually('it is gone', async () => (await left(later)).join() === '0')
  await later.stop()
})
