/**
 * Goal: a body within BODY_BYTES_MAX is never refused for what it becomes: tiny events make blocks
 * of many times its size. All of them reach both stores once, and memory stays bounded.
 * Method: the largest bodies of the smallest events, on a node with its smallest room.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Api, call, NDJSON_TYPE, readIngestAnswer, type Stream } from '../../support/api.ts'
import { ONLY_LONG } from '../../support/fuzzing.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const MIB = 1024 * 1024
const BODY_BYTES = 10 * MIB
/** What the process may take on top of what it has when idle: the blocks alone would be 700 MiB. */
const GROWTH_MIB_MAX = 600
const dataDir = makeDataDir()
let service: Service
let api: Api

before(async () => {
  const args = ['--in-flight-bytes-max', String(2 * BODY_BYTES)]
  service = await Service.start({ dataDir, args })
  api = new Api(service)
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

function residentMib(): number {
  const status = readFileSync(`/proc/${service.pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024
}

/** The largest resident size while `work` runs, less that before, in MiB. */
async function growthDuring<T>(work: Promise<T>): Promise<{ result: T; growthMib: number }> {
  const idleMib = residentMib()
  let peakMib = idleMib
  const timer = setInterval(() => {
    peakMib = Math.max(peakMib, residentMib())
  }, 20)
  const result = await work.finally(() => clearInterval(timer))
  return { result, growthMib: peakMib - idleMib }
}

async function assertInBothStores(stream: Stream, events: number): Promise<void> {
  assert.equal((await api.usage(stream.id)).events, events)
  await api.untilCounted(stream.id, events)
  assert.equal((await api.count(stream.id)).total, events)
}

test('1.3 million tiny events in one body: acknowledged, and in both stores once', {
  skip: ONLY_LONG,
}, async (t) => {
  const stream = await api.createStream()
  const line = '{"a":1}\n'
  const events = BODY_BYTES / line.length
  const send = async () => {
    const startedAt = performance.now()
    const headers = { 'content-type': NDJSON_TYPE }
    const answer = await api.ingest(stream.key, line.repeat(events), headers)
    const ackMs = performance.now() - startedAt
    assert.equal(answer.status, 200, answer.text)
    assert.equal(readIngestAnswer(answer).accepted, events)
    const lag = await api.metric('ingest_projection_lag_seconds')
    await assertInBothStores(stream, events)
    return { ackMs, allMs: performance.now() - startedAt, lag }
  }
  const { result, growthMib } = await growthDuring(send())
  t.diagnostic(
    `acknowledged after ${Math.round(result.ackMs)} ms, ` +
      `in both stores after ${Math.round(result.allMs)} ms, ${Math.round(growthMib)} MiB more`,
  )
  assert.ok(growthMib < GROWTH_MIB_MAX, `${growthMib} MiB`)
  assert.ok(result.lag > 0, 'it shows that the projection is behind')
  assert.ok((await api.metric('ingest_replayed_segments_total')) >= Math.floor(events / 8_192))
})

test('text, numbers and bulk items of the smallest size, and others beside them', async () => {
  const text = await api.createStream()
  const textBody = 'x\n'.repeat(MIB)
  const lines = '{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8}\n'
  const numbers = await api.createStream()
  const other = await api.createStream()
  const count = Math.floor((9 * MIB) / lines.length)
  const headers = { 'content-type': NDJSON_TYPE }
  const answers = await Promise.all([
    api.ingestText(text.key, textBody),
    api.ingest(numbers.key, lines.repeat(count), headers),
    api.ingest(other.key, '{"a":1}'),
  ])
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200],
  )
  await assertInBothStores(text, MIB)
  await assertInBothStores(numbers, count)
  await assertInBothStores(other, 1)
  // The projection is live again, and what comes next does not wait for a catch-up.
  await sleep(500)
  const replayed = await api.metric('ingest_replayed_segments_total')
  await api.ingest(other.key, '{"a":2}')
  await api.untilCounted(other.id, 2)
  assert.equal(await api.metric('ingest_replayed_segments_total'), replayed)
})

test('large bulk requests at once, again and again: each reply has its own items', async () => {
  const { key } = await api.createStream()
  const authorization = `Basic ${Buffer.from(`u:${key}`).toString('base64')}`
  const headers = { authorization, 'content-type': NDJSON_TYPE }
  const pad = 'x'.repeat(300)
  const send = async (request: number) => {
    const ids = Array.from({ length: 1_500 }, (_, i) => `r${request}-${i}`)
    const lines = ids.map((id) => `{"index":{"_id":"${id}"}}\n{"id":"${id}","pad":"${pad}"}\n`)
    const body = lines.join('')
    const answer = await call(`${service.url}/_bulk`, { method: 'POST', headers, body })
    assert.equal(answer.status, 200, answer.text.slice(0, 300))
    const { errors, items } = JSON.parse(answer.text)
    assert.equal(errors, false)
    assert.deepEqual(
      items.map(({ index }: { index: { _id: string } }) => index._id),
      ids,
    )
  }
  for (let round = 0; round < 6; round++) {
    await Promise.all([0, 1, 2, 3, 4].map((i) => send(10 * round + i)))
  }
})

test('a bulk reply that has no room on this node is too large, not overloaded', async () => {
  const { key } = await api.createStream()
  const body = '{"index":{"_index":"i"}}\n{}\n'.repeat(Math.floor((9 * MIB) / 27))
  const authorization = `Basic ${Buffer.from(`u:${key}`).toString('base64')}`
  const headers = { authorization, 'content-type': NDJSON_TYPE }
  const answer = await call(`${service.url}/_bulk`, { method: 'POST', headers, body })
  assert.equal(answer.status, 413, answer.text.slice(0, 300))
})
