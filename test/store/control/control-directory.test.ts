/** Goal: a cell hears of every stream just once, however many pages they fill. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { StreamId } from '../../../src/model/stream.ts'
import { ControlDirectory } from '../../../src/store/control/control-directory.ts'
import { ControlStore } from '../../../src/store/control/control-store.ts'
import { DEFAULT_SETTINGS } from '../../observe/settings.ts'
import { startDatabase, type TestDatabase } from '../../serve/rest-harness.ts'

let database: TestDatabase

before(async () => {
  database = await startDatabase()
  const control = new ControlStore(database.postgres, () => undefined)
  for (let n = 1; n <= 10; n++) {
    const maxStoredBytes = n % 2 === 0 ? n : null
    const settings = { ...DEFAULT_SETTINGS, name: `s${n}`, retentionMs: n * 1000, maxStoredBytes }
    await control.createStream('ann', settings)
  }
  await database.postgres.query(
    `UPDATE streams SET deleted_at = now() - interval '1 minute' WHERE name IN ('s3', 's6', 's9')`,
  )
})

after(() => database?.close())

async function flat<T>(pages: AsyncIterable<readonly T[]>): Promise<T[]> {
  const all: T[] = []
  for await (const page of pages) all.push(...page)
  return all
}

test('live, capped and deleted streams, by pages of any size', async () => {
  const idOf = new Map<string, number>()
  const { rows } = await database.postgres.query<{ name: string; stream_id: number }>(
    'SELECT name, stream_id FROM streams',
  )
  for (const row of rows) idOf.set(row.name, row.stream_id)
  const ids = (...numbers: number[]) => numbers.map((n) => idOf.get(`s${n}`))
  for (const page of [1, 2, 3, 7, 100]) {
    const directory = new ControlDirectory(database.postgres, page)
    const live = await flat(directory.pageLive())
    assert.deepEqual(
      live.map((one) => [one.streamId, one.retentionMs]),
      [1, 2, 4, 5, 7, 8, 10].map((n) => [idOf.get(`s${n}`), n * 1000]),
    )
    const capped = await flat(directory.pageCapped())
    assert.deepEqual(
      capped.map((one) => one.streamId),
      ids(2, 4, 8, 10),
    )
    assert.deepEqual(
      capped.map((one) => one.maxStoredBytes),
      [2, 4, 8, 10],
    )
    const deleted = await flat(directory.pageDeleted())
    assert.deepEqual(
      deleted.map((one) => one.streamId),
      ids(3, 6, 9),
    )
    for (const { ageMs, deletedMs } of deleted) {
      assert.ok(ageMs >= 60_000 && ageMs < 600_000, `${ageMs} ms ago`)
      assert.ok(Math.abs(Date.now() - ageMs - deletedMs) < 60_000)
    }
  }
})

test('a purged stream is neither deleted nor live any more, and its keys are gone', async () => {
  const directory = new ControlDirectory(database.postgres)
  const control = new ControlStore(database.postgres, () => undefined)
  const [gone, other] = await flat(directory.pageDeleted())
  const [live] = await flat(directory.pageLive())
  await control.createKey(live!.streamId, 'kept')
  await directory.markPurged([gone!.streamId])
  await directory.markPurged([gone!.streamId])
  assert.deepEqual(
    (await flat(directory.pageDeleted())).map((one) => one.streamId).includes(gone!.streamId),
    false,
  )
  const unknown = 999_999 as StreamId
  const found = await directory.findDeleted([
    gone!.streamId,
    other!.streamId,
    live!.streamId,
    unknown,
  ])
  assert.deepEqual(
    found,
    new Map([
      [live!.streamId, false],
      [gone!.streamId, true],
      [other!.streamId, true],
    ]),
  )
  assert.equal((await control.listKeys(live!.streamId)).length, 1)
})

test('caps are those of streams that live', async () => {
  const control = new ControlStore(database.postgres, () => undefined)
  const directory = new ControlDirectory(database.postgres)
  const [gone] = await flat(directory.pageDeleted())
  const [live] = await flat(directory.pageLive())
  const schemaCaps = { fieldsSoft: 1, fieldsHard: 2, shapesSoft: 3, shapesHard: 4 }
  await control.updateStream(live!.streamId, { schemaCaps })
  const caps = await directory.findSchemaCaps([gone!.streamId, live!.streamId, 999_999 as StreamId])
  assert.deepEqual(caps, new Map([[live!.streamId, schemaCaps]]))
})
