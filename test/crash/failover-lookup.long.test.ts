/**
 * Goal: a COMMIT of unknown outcome is looked up rightly where commits wait for a standby: what is
 * durable on the primary alone is not taken for committed, as a failover would lose it.
 * Method: a standby that hangs while a commit waits for it, and the commit's backend ended: from
 * then on the primary shows the rows. The look-up must wait for the standby all the same. Then the
 * primary dies with such a commit, and the promoted standby is asked.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeSegmentId, type SegmentId } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { Postgres } from '../../src/store/postgres.ts'
import { NodeLease } from '../../src/store/raw/node-lease.ts'
import { type SegmentRow, SegmentStore } from '../../src/store/raw/segment-store.ts'
import { eventually, recordingLog } from '../store/temporary.ts'
import { PostgresPair } from '../support/postgres-pair.ts'
import { migrate } from '../support/stores.ts'

const log = recordingLog()
const IDENTITY = '00000000-0000-4000-8000-00000000000a'
const MS = Date.now()
let pair: PostgresPair
let postgres: Postgres
let lease: NodeLease
let store: SegmentStore

before(async () => {
  pair = await PostgresPair.start()
  await migrate(pair.url)
  postgres = new Postgres({ url: pair.url, log })
  const onLost = () => assert.fail('nobody took the number')
  const times = { renewMs: 600_000 }
  lease = await NodeLease.claim({ postgres, identity: IDENTITY, log, onLost, times })
  store = new SegmentStore(postgres, lease)
})

after(async () => {
  await store?.stop()
  await lease?.stop()
  await postgres?.end()
  await pair?.close()
})

function rowOf(counter: number): SegmentRow & { readonly segmentId: SegmentId } {
  const segmentId = makeSegmentId({ ms: MS, node: lease.nodeId, counter })
  const sizes = { eventCount: 1, rawBytes: 2, sentBytes: 2, payload: new Uint8Array([1]) }
  return { streamId: 1 as StreamId, segmentId, ingestedAtMs: MS, ...sizes }
}

/** Commits a row that is durable on the primary alone, and which it shows. */
async function commitAlone(row: SegmentRow): Promise<void> {
  pair.freeze('standby')
  const committing = store.commit([row], [])
  const sql = `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE wait_event = 'SyncRep' AND backend_type = 'client backend'`
  await eventually('its backend is ended', async () => (await pair.sql(sql)).length === 1)
  const failure = await committing
  assert.equal(failure?.mayHaveCommitted, true, failure?.error.message)
  const shown = `SELECT 1 FROM segments WHERE segment_id = ${row.segmentId}`
  await eventually('it is there', async () => (await pair.sql(shown)).length === 1)
}

test('what the standby does not have is not committed yet', async () => {
  assert.equal(await store.commit([rowOf(1)], []), undefined)
  assert.equal(await store.wasCommitted(rowOf(1)), true)
  await commitAlone(rowOf(2))
  let answer: boolean | undefined
  const lookingUp = store.wasCommitted(rowOf(2)).then((found) => {
    answer = found
  })
  await sleep(1_500)
  assert.equal(answer, undefined, 'it waits for the standby')
  pair.thaw('standby')
  await lookingUp
  assert.equal(answer, true)
})

test('nor is a COMMIT whose wait for the standby was cancelled', async () => {
  pair.freeze('standby')
  const committing = store.commit([rowOf(4)], [])
  const sql = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
    WHERE wait_event = 'SyncRep' AND backend_type = 'client backend'`
  await eventually('it is cancelled', async () => (await pair.sql(sql)).length === 1)
  const failure = await committing
  assert.equal(failure?.mayHaveCommitted, true, 'PostgreSQL calls that a success')
  pair.thaw('standby')
  assert.equal(await store.wasCommitted(rowOf(4)), true)
})

test('what only the former primary had is absent on the new one, and is stored once', async () => {
  await commitAlone(rowOf(3))
  await pair.killPrimary()
  // What is on the way to it when the standby goes on has come from the former primary as well.
  pair.thaw('standby')
  await pair.promote()
  const wasCommitted = await eventuallyKnown(rowOf(3))
  if (!wasCommitted) assert.equal(await store.commit([rowOf(3)], []), undefined)
  const { rowCount } = await postgres.query('SELECT 1 FROM segments')
  assert.equal(rowCount, 4)
  const { rows } = await postgres.query('SELECT event_count::integer AS n FROM stream_usage')
  assert.deepEqual(rows, [{ n: 4 }])
})

/** As commit does: asks until it gets an answer. */
async function eventuallyKnown(row: SegmentRow): Promise<boolean> {
  let answer: boolean | undefined
  await eventually('the new primary knows', async () => {
    answer = await store.wasCommitted(row)
    return true
  })
  return answer === true
}
