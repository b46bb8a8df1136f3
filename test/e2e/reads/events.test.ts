/**
 * Goal: an event is in the list the moment its ingest is answered; ids rise, order holds, and a
 * reader that follows cursors while ingest goes on sees every event once.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Api, type EventRecord, NDJSON_TYPE } from '../../support/api.ts'
import { type SharedService, shareService } from '../../support/service.ts'

let service: SharedService
let api: Api

before(async () => {
  service = await shareService()
  api = new Api(service)
})

after(async () => {
  await service?.close()
})

test('visible the moment the answer is there, and ids rise', async () => {
  const stream = await api.createStream()
  let newest = ''
  for (let n = 0; n < 50; n++) {
    assert.equal((await api.ingest(stream.key, `{"n":${n}}`)).status, 200)
    const { events, previous } = await api.page(stream.id, '?limit=1')
    assert.deepEqual(events[0]?.payload, { n })
    assert.equal(previous, events[0]?.id)
    assert.ok(compareIds(events[0]?.id ?? '', newest) > 0)
    newest = events[0]?.id ?? ''
    const one = JSON.parse(
      await api.rest(`/v1/streams/${stream.id}/events/${newest}`),
    ) as EventRecord
    assert.deepEqual(one, events[0])
  }
})

function compareIds(a: string, b: string): number {
  if (b === '') return 1
  const [[a1, a2], [b1, b2]] = [a, b].map((id) => id.split('-').map(BigInt)) as [bigint[], bigint[]]
  const difference = a1 === b1 ? (a2 ?? 0n) - (b2 ?? 0n) : (a1 ?? 0n) - (b1 ?? 0n)
  return difference > 0n ? 1 : difference < 0n ? -1 : 0
}

test('the order of a request is the order of its events, over many segments', async () => {
  const stream = await api.createStream()
  const lines = Array.from({ length: 20_000 }, (_, n) => JSON.stringify({ n, pad: 'x'.repeat(50) }))
  const answer = await api.ingest(stream.key, lines.join('\n'), { 'content-type': NDJSON_TYPE })
  assert.equal(answer.status, 200)
  const events = await api.events(stream.id)
  assert.equal(events.length, 20_000)
  assert.ok(events.every(({ payload }, i) => payload.n === 19_999 - i))
  const times = new Set(events.map(({ ingested_at: time }) => time))
  assert.ok(times.size >= 1 && [...times].every((time) => Date.parse(time) <= Date.now()))
})

/** Sends numbered events, one request after the other, until it is told to stop. */
function sendNumbers(key: string, writer: string): { stop: () => Promise<number> } {
  let isOn = true
  let n = 0
  const running = (async () => {
    while (isOn) {
      const count = 1 + (n % 7)
      const events = Array.from({ length: count }, (_, i) => ({ writer, n: n + i }))
      assert.equal((await api.ingest(key, JSON.stringify(events))).status, 200)
      n += count
    }
  })()
  return {
    stop: async () => {
      isOn = false
      await running
      return n
    },
  }
}

test('followed upwards while ingest continues: every event, once, in order', async () => {
  const stream = await api.createStream()
  await api.ingest(stream.key, '{"writer":"first","n":0}')
  const seen: EventRecord[] = []
  let after = (await api.page(stream.id)).previous
  const writers = ['a', 'b', 'c'].map((name) => sendNumbers(stream.key, name))
  const follow = async () => {
    const page = await api.page(stream.id, `?after=${after}&limit=100`)
    seen.push(...page.events.toReversed())
    after = page.previous
    return page.events.length
  }
  const end = performance.now() + 2_000
  while (performance.now() < end) {
    await follow()
    await sleep(5)
  }
  const counts = await Promise.all(writers.map((writer) => writer.stop()))
  while ((await follow()) > 0);
  const total = counts.reduce((sum, count) => sum + count, 0)
  assert.ok(total > 500, `only ${total} events`)
  assertEachOnce(seen, counts)
})

test('paged downwards while ingest continues: the events of the start, once each', async () => {
  const stream = await api.createStream()
  const early = await Promise.all(
    ['a', 'b', 'c'].map(async (name) => {
      const writer = sendNumbers(stream.key, name)
      await sleep(300)
      return writer.stop()
    }),
  )
  const start = (await api.page(stream.id, '?limit=1')).events[0]
  const late = sendNumbers(stream.key, 'late')
  const seen: EventRecord[] = start === undefined ? [] : [start]
  for (let before = start?.id ?? null; before !== null; ) {
    const page = await api.page(stream.id, `?before=${before}&limit=37`)
    seen.push(...page.events)
    before = page.next
  }
  await late.stop()
  assertEachOnce(seen.toReversed(), early)
})

/** Each writer's numbers from 0 on, in order; ids rise. */
function assertEachOnce(events: readonly EventRecord[], counts: readonly number[]): void {
  for (const [i, name] of ['a', 'b', 'c'].entries()) {
    const numbers = events.filter(({ payload }) => payload.writer === name)
    assert.equal(numbers.length, counts[i], name)
    assert.ok(
      numbers.every(({ payload }, n) => payload.n === n),
      `${name} is out of order`,
    )
  }
  for (const [i, event] of events.entries()) {
    assert.ok(compareIds(event.id, events[i - 1]?.id ?? '') > 0, 'ids rise')
  }
}

test('the analytics store has it a few seconds later, large integers exact', async () => {
  const stream = await api.createStream()
  await api.ingest(stream.key, '{"n":9223372036854775807,"d":1,"d":2}\n{"n":18446744073709551615}')
  await api.untilCounted(stream.id, 2, 15_000)
  const range = { from: '2020-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z', group_by: 'n' }
  const text = await api.rest(`/v1/streams/${stream.id}/query`, 'POST', range)
  assert.match(text, /"n":9223372036854775807,"count":1/)
  assert.match(text, /"n":18446744073709551615,"count":1/)
  const last = await api.count(stream.id, { query: 'd:2' })
  assert.equal(last.total, 1, 'of duplicate keys the projection has the last')
})
