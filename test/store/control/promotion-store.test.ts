/**
 * Goal: no more than PROMOTED_STREAMS_MAX streams have tables of their own; a busy one gets a place
 * and keeps it; every node hears of each change.
 * Method: a real database; times are moved in it.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import {
  PROMOTED_BUSY_NOTED_MS,
  PROMOTED_IDLE_MS,
  PROMOTED_STREAMS_MAX,
} from '../../../src/limits.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { ControlStore } from '../../../src/store/control/control-store.ts'
import { CredentialStore } from '../../../src/store/control/credential-store.ts'
import { PromotionStore } from '../../../src/store/control/promotion-store.ts'
import { UsageStore } from '../../../src/store/raw/usage-store.ts'
import { DEFAULT_SETTINGS } from '../../observe/settings.ts'
import { startDatabase, type TestDatabase } from '../../serve/rest-harness.ts'

let database: TestDatabase
let control: ControlStore
let store: PromotionStore
let ids: StreamId[]

before(async () => {
  database = await startDatabase()
  control = new ControlStore(database.postgres, () => undefined)
  store = new PromotionStore(database.postgres)
})

after(async () => {
  await database?.close()
})

/** PROMOTED_STREAMS_MAX streams, and three more. */
beforeEach(async () => {
  await database.postgres.query('UPDATE streams SET deleted_at = now()')
  ids = []
  for (let n = 0; n < PROMOTED_STREAMS_MAX + 3; n++) {
    const { streamId } = await control.createStream('o', { name: `s${n}`, ...DEFAULT_SETTINGS })
    ids.push(streamId)
  }
})

/** Places in `ids` of the streams that are promoted. */
async function promoted(): Promise<number[]> {
  const streams = await Promise.all(ids.map((each) => control.findStream(each)))
  return streams.flatMap((stream, n) => (stream?.isPromoted ? [n] : []))
}

async function ageBusy(n: number, ms: number): Promise<void> {
  await database.postgres.query(
    `UPDATE streams SET busy_at = now() - $2::bigint * interval '1 millisecond'
     WHERE stream_id = $1`,
    [ids[n], ms],
  )
}

const FIRST = Array.from({ length: PROMOTED_STREAMS_MAX }, (_, n) => n)
const [A, B, C] = [0, 1, 2].map((n) => PROMOTED_STREAMS_MAX + n) as [number, number, number]
const NEWEST = PROMOTED_STREAMS_MAX - 1

test('the first streams have tables of their own; the place of a deleted one is free', async () => {
  assert.deepEqual(await promoted(), FIRST)
  await control.deleteStream(ids[2]!)
  const { isPromoted } = await control.createStream('o', { name: 'next', ...DEFAULT_SETTINGS })
  assert.equal(isPromoted, true)
})

test('a busy stream takes the place of one that never was; nodes hear of both', async () => {
  const credentials = new CredentialStore(database.postgres)
  const version = await credentials.readVersion()
  assert.deepEqual(await store.promote([ids[A]!]), [ids[A]])
  assert.deepEqual(await promoted(), [...FIRST.slice(0, -1), A])
  const changes = await credentials.readChanges(version, await credentials.readVersion())
  const kind = 'stream'
  assert.deepEqual(changes, [
    { kind, streamId: ids[A] },
    { kind, streamId: ids[NEWEST] },
  ])
})

test('PROMOTED_IDLE_MS: a busy stream keeps its place so long, over restarts too', async () => {
  await store.promote(FIRST.map((n) => ids[n]!))
  for (const n of FIRST) await ageBusy(n, PROMOTED_IDLE_MS - 60_000)
  const credentials = new CredentialStore(database.postgres)
  const version = await credentials.readVersion()
  assert.deepEqual(await new PromotionStore(database.postgres).promote([ids[A]!]), [])
  assert.equal(
    await new CredentialStore(database.postgres).readVersion(),
    version,
    'nothing changed',
  )
  await ageBusy(3, PROMOTED_IDLE_MS + 1)
  await ageBusy(5, PROMOTED_IDLE_MS + 60_000)
  assert.deepEqual(await store.promote([ids[A]!, ids[B]!, ids[C]!]), [ids[A], ids[B]])
  assert.deepEqual(await promoted(), [...FIRST.filter((n) => n !== 3 && n !== 5), A, B])
})

test('PROMOTED_BUSY_NOTED_MS: that a stream is busy is noted so often', async () => {
  await ageBusy(0, PROMOTED_IDLE_MS + 60_000)
  await ageBusy(1, PROMOTED_BUSY_NOTED_MS - 60_000)
  await store.promote([ids[0]!, ids[1]!])
  const { rows } = await database.postgres.query<{ stream_id: number; age: number }>(
    `SELECT stream_id, extract(epoch FROM now() - busy_at)::float8 AS age FROM streams
     WHERE stream_id = ANY ($1::integer[]) ORDER BY stream_id`,
    [ids.slice(0, 2)],
  )
  assert(rows[0]!.age < 60)
  assert(rows[1]!.age > 60, 'it is known well enough')
})

test('nodes that promote at once share the places there are', async () => {
  for (const n of FIRST.slice(0, -1)) await ageBusy(n, 0)
  const done = await Promise.all([A, B, C].map((n) => store.promote([ids[n]!])))
  assert.equal(done.flat().length, 1)
  assert.equal((await promoted()).length, PROMOTED_STREAMS_MAX)
})

test('what streams have sent only grows: what retention took away is not taken off', async () => {
  await database.postgres.query(
    `INSERT INTO stream_usage (stream_id, node_id, segment_count, event_count, sent_bytes,
       stored_bytes)
     VALUES ($1, 1, 1, 1, 100, 1), ($1, 2, 1, 1, 50, 1), ($1, -1, -1, -1, -120, -1)`,
    [ids[0]],
  )
  const sent = await new UsageStore(database.postgres).readSentBytes()
  assert.equal(sent.get(ids[0]!), 150)
})
