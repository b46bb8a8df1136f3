/**
 * Goal: a stream over its budget is refused whole, told when to come back, and let in then; others
 * notice nothing, and its owner sees it in the usage.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { BUDGET_BURST_MS } from '../../../src/accept/admission/budgets.ts'
import { eventually } from '../../store/temporary.ts'
import { Api, NDJSON_TYPE, type Stream } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const DEFAULT_RATE = 200
const BURST_S = BUDGET_BURST_MS / 1_000
const dataDir = makeDataDir()
let service: Service
let api: Api

before(async () => {
  service = await Service.start({ dataDir, args: ['--rate-budget', String(DEFAULT_RATE)] })
  api = new Api(service)
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

function send({ key }: Stream, events: number) {
  const lines = Array.from({ length: events }, (_, i) => `{"n":${i}}`)
  return api.ingest(key, lines.join('\n'), { 'content-type': NDJSON_TYPE })
}

for (const [name, settings, rate] of [
  ['its own budget', { rate_budget: 100 }, 100],
  ["the instance's budget", {}, DEFAULT_RATE],
] as const) {
  test(`over ${name}: 429 until the debt is paid`, async () => {
    const stream = await api.createStream(settings)
    const other = await api.createStream(settings)
    // The burst, and one and a half seconds of debt.
    assert.equal((await send(stream, rate * BURST_S + rate * 1.5)).status, 200)
    const refused = await send(stream, 1)
    assert.equal(refused.status, 429)
    const problem = JSON.parse(refused.text)
    assert.deepEqual([problem.code, problem.retry_after], ['rate_limited', 2])
    assert.equal(refused.headers['retry-after'], '2')
    assert.equal((await send(other, 1)).status, 200, 'another stream has its own')
    await sleep(2_000)
    assert.equal((await send(stream, 1)).status, 200)
    await eventually('the refusal is counted', async () => {
      const { refusals } = await api.usage(stream.id)
      return refusals.some(({ reason, count }) => reason === 'rate_limited' && count === 1)
    })
    assert.equal((await api.usage(stream.id)).events, rate * (BURST_S + 1.5) + 1)
  })
}

test('bytes have a budget too', async () => {
  const stream = await api.createStream({ byte_budget: 1_000 })
  assert.equal((await send(stream, 800)).status, 200)
  const { text, status } = await send(stream, 1)
  assert.equal(status, 429)
  assert.match(text, /byte_budget/)
  // Who that was, what was met, how much came of it; and what was taken of the key before.
  const historyOf = async (path: string) => {
    return JSON.parse(await api.rest(`/v1/streams/${stream.id}/${path}`))
  }
  await eventually('the refusal has its key and limit', async () => {
    const [one] = (await historyOf('refusals')).refused
    const { key, cause, requests, bytes } = one
    assert.deepEqual([key.id, key.name, cause], [stream.keyId, 'test', 'byte_budget'])
    return requests === 1 && bytes === '{"n":0}'.length
  })
  await eventually('the key has what it sent', async () => {
    const [{ key, requests, events }] = (await historyOf('usage/keys')).keys
    return key.id === stream.keyId && requests === 1 && events === 800
  })
})
