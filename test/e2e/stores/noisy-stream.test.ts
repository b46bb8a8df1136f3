/**
 * Goal: a stream whose blocks are too many to be kept, which has to be caught up, keeps no other
 * stream's events from queries.
 * Method: small compressed bodies of millions of tiny lines, as a hostile client sends them.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { Api, call } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const LINES = 5_000_000
const BODIES = 3
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
