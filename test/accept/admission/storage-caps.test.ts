/**
 * Goal: ingest is refused while a stream, or the instance, is over its cap, and only then; by the
 * same count that retention uses.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { STORAGE_POLL_MS, StorageCaps } from '../../../src/accept/admission/storage-caps.ts'
import { IngestError } from '../../../src/errors.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import type { StorageState } from '../../../src/store/raw/storage-store.ts'
import { STORAGE_CAP_SLACK } from '../../../src/store/raw/storage-store.ts'
import { RetainHarness } from '../../retain/retain-harness.ts'
import { eventually } from '../../store/temporary.ts'
import { settle } from '../../support/virtual-time.ts'

let harness: RetainHarness

before(async () => {
  harness = await RetainHarness.start({ clickhouse: false })
})

after(async () => harness?.close())

const one = { streamId: 1 as StreamId }
const two = { streamId: 2 as StreamId }

function isRefused(caps: StorageCaps, stream: { readonly streamId: StreamId }): boolean {
  try {
    caps.check(stream)
    return false
  } catch (cause) {
    assert.ok(cause instanceof IngestError)
    assert.equal(cause.code, 'storage_cap_reached')
    assert.ok((cause.retryAfterSeconds ?? 0) > 0)
    return true
  }
}

async function capsOver(state: StorageState, storageBytesMax?: number): Promise<StorageCaps> {
  const caps = new StorageCaps({ readState: async () => state, storageBytesMax })
  await caps.start()
  caps.stop()
  return caps
}

test('a stream over its cap is refused, others are not', async () => {
  const caps = await capsOver({ overCap: new Set([one.streamId]), totalBytes: undefined })
  assert.deepEqual([isRefused(caps, one), isRefused(caps, two)], [true, false])
  assert.equal(caps.streamsOverCap, 1)
})

test('past the cap of the instance all streams are refused, exactly at it none', async () => {
  const state = { overCap: new Set<StreamId>(), totalBytes: 100 }
  assert.equal(isRefused(await capsOver(state, 100), one), false)
  assert.equal(isRefused(await capsOver(state, 99), one), true)
  assert.equal(isRefused(await capsOver(state), one), false)
})

test('ingest resumes by itself; while the store is away, the last reading counts', async () => {
  let state: StorageState | undefined = { overCap: new Set([one.streamId]), totalBytes: undefined }
  const readState = async () => {
    if (state === undefined) throw new Error('away')
    return state
  }
  const caps = new StorageCaps({ readState, storageBytesMax: undefined, pollMs: 5 })
  await caps.start()
  assert.equal(isRefused(caps, one), true)
  state = undefined
  await new Promise((resolve) => setTimeout(resolve, 30))
  assert.equal(isRefused(caps, one), true)
  state = { overCap: new Set(), totalBytes: undefined }
  await eventually('taken again', () => !isRefused(caps, one))
  caps.stop()
})

test('what counts: both stores, only events still held, with a tenth of slack', async () => {
  const streamId = await harness.newStream({ maxStoredBytes: 1_000_000 })
  const projection = { streamId, rows: 100, bytes: 1_000 }
  await harness.storage.recordProjection([projection])
  const lines = Array.from({ length: 50 }, (_, n) => `{"n":${n}}`)
  await harness.commit(streamId, [{ ms: Date.now(), lines }])
  const { storedBytes } = await harness.usage.readUsage(streamId)
  // Half of the projection's rows belong to events that are still held.
  const held = storedBytes + 500
  const isOver = async (maxStoredBytes: number) => {
    await harness.control.updateStream(streamId, { maxStoredBytes })
    return (await harness.storage.readState({ total: false })).overCap.has(streamId)
  }
  assert.equal(await isOver(held), false)
  assert.equal(await isOver(Math.ceil(held / STORAGE_CAP_SLACK)), false)
  assert.equal(await isOver(Math.floor(held / STORAGE_CAP_SLACK) - 1), true)
  const { totalBytes } = await harness.storage.readState({ total: true })
  assert.equal(totalBytes, storedBytes + 1_000, 'on the disk is all of the projection')
  await harness.control.updateStream(streamId, { maxStoredBytes: null })
  assert.equal((await harness.storage.readState({ total: false })).overCap.size, 0)
})

test('a table of an unknown stream is not counted', async () => {
  const stray = { streamId: 9_999 as StreamId, rows: 1, bytes: 1 }
  assert.equal((await harness.storage.recordProjection([stray])).size, 0)
})

test('the streams over their cap are read again every STORAGE_POLL_MS', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let reads = 0
  const readState = async () => {
    reads++
    return { overCap: new Set<StreamId>(), totalBytes: undefined }
  }
  const caps = new StorageCaps({ readState, storageBytesMax: undefined })
  await caps.start()
  assert.equal(reads, 1)
  t.mock.timers.tick(STORAGE_POLL_MS - 1)
  await settle()
  assert.equal(reads, 1)
  t.mock.timers.tick(1)
  await settle()
  assert.equal(reads, 2)
  caps.stop()
})
