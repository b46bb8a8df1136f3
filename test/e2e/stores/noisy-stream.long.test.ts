/**
 * Goal: a stream whose blocks are too many to be kept, which has to be caught up, keeps no other
 * stream's events from queries, nor does it make answers about others older; also where all of
 * them share a table.
 * Method: small compressed bodies of millions of tiny lines, as a hostile client sends them.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { PROMOTED_STREAMS_MAX } from '../../../src/limits.ts'
import { Api, call, type Stream } from '../../support/api.ts'
import { ONLY_LONG } from '../../support/fuzzing.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const LINES = 5_000_000
/** More than blocks are kept of, by far. */
const BODIES = ONLY_LONG ? 2 : 3
/** Streams that have tables of their own because they came first; later ones share one. */
const FIRST = PROMOTED_STREAMS_MAX
/** Of a quiet stream's event, until queries count it: the delay of inserts is 2 s of it. */
const LAG_MS_MAX = 5_000
const dataDir = makeDataDir()
let service: Service

before(async () => {
  service = await Service.start({ dataDir })
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

async function lagging(url: string): Promise<number> {
  const { text } = await call(`${url}/metrics`)
  return Number(/^ingest_projection_lagging_streams (\d+)$/m.exec(text)?.[1])
}

test('while a noisy stream is caught up, the events of others are there', async (t) => {
  const api = new Api(service)
  const [noisy, quiet] = [await api.createStream(), await api.createStream()]
  const body = gzipSync(Buffer.alloc(2 * LINES, 'a\n'))
  const gzip = { 'content-encoding': 'gzip' }
  const sending = Array.from({ length: BODIES }, () => api.ingestText(noisy.key, body, gzip))
  for (let tries = 0; (await lagging(api.url)) === 0; tries++) {
    assert.ok(tries < 1_500, 'it never was behind')
    await sleep(10)
  }
  const startedAt = performance.now()
  assert.equal((await api.ingest(quiet.key, '{"n":1}')).status, 200)
  await api.untilCounted(quiet.id, 1, 60_000)
  const { total } = await api.count(noisy.id)
  t.diagnostic(`after ${Math.round(performance.now() - startedAt)} ms, with ${total} of the others`)
  assert.ok(total < BODIES * LINES, 'before the noisy one was caught up')
  for (const { status } of await Promise.all(sending)) assert.equal(status, 200)
  await api.untilCounted(noisy.id, BODIES * LINES, 120_000)
  assert.equal((await api.count(noisy.id)).total, BODIES * LINES)
})

/** How long each of a quiet stream's events takes until it is counted, while `isOn`. */
async function watchLag(api: Api, { id, key }: Stream, isOn: () => boolean) {
  const lagsMs: number[] = []
  let oldestMs = 0
  for (let events = 1; isOn(); events++) {
    assert.equal((await api.ingest(key, '{"n":1}')).status, 200)
    const sentAt = performance.now()
    for (;;) {
      const counted = await api.count(id)
      oldestMs = Math.max(oldestMs, Date.now() - Date.parse(counted.as_of))
      if (counted.total >= events) break
      assert.ok(performance.now() - sentAt < 60_000, 'it is never counted')
      await sleep(50)
    }
    lagsMs.push(Math.round(performance.now() - sentAt))
  }
  return { lagsMs, oldestMs }
}

test('nor does one with which they share a table', async (t) => {
  const api = new Api(service)
  for (let i = 0; i < FIRST; i++) await api.createStream()
  const [noisy, quiet] = [await api.createStream(), await api.createStream()]
  const body = gzipSync(Buffer.alloc(2 * LINES, 'a\n'))
  let isOn = true
  const watched = watchLag(api, quiet, () => isOn)
  const send = async () => {
    for (;;) {
      const { status } = await api.ingestText(noisy.key, body, { 'content-encoding': 'gzip' })
      if (status === 200) return
      assert.equal(status, 429, 'too much is in flight')
      await sleep(100 + Math.random() * 500)
    }
  }
  await Promise.all(Array.from({ length: BODIES }, send))
  while ((await lagging(api.url)) > 0) await sleep(100)
  isOn = false
  const { lagsMs, oldestMs } = await watched
  t.diagnostic(`counted after ${lagsMs.join(', ')} ms; oldest answer ${oldestMs} ms`)
  assert.ok(Math.max(...lagsMs) <= LAG_MS_MAX, `counted after ${lagsMs.join(', ')} ms`)
  assert.ok(oldestMs <= LAG_MS_MAX, `an answer as of ${oldestMs} ms ago`)
  await api.untilCounted(noisy.id, BODIES * LINES, 120_000)
  assert.equal((await api.count(noisy.id)).total, BODIES * LINES)
})
