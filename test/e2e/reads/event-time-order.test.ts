/**
 * Goal: by event time, pages and exports are in the order in which events happened, whenever they
 * were sent, also those of a moment ago; each event is there once.
 * Method: history sent out of order in many requests, read page by page both ways, and exported.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Api, call, type EventRecord, NDJSON_TYPE, type Stream } from '../../support/api.ts'

import { type SharedService, shareService } from '../../support/service.ts'

const EVENTS = 600
const PAGE = 70
const START_MS = Date.now() - 3 * 86_400_000
let service: SharedService
let api: Api
let stream: Stream

interface Page {
  readonly events: readonly EventRecord[]
  readonly next: string | null
  readonly previous: string | null
  readonly complete: boolean
}

/** Of two clocks: every tenth happens at the same moment as the one before. */
const timeOf = (n: number) => START_MS + (n - (n % 10 === 0 ? 1 : 0)) * 60_000

before(async () => {
  service = await shareService()
  api = new Api(service)
  stream = await api.createStream()
  // A step that shares no divisor with their number visits all.
  const order = Array.from({ length: EVENTS }, (_, at) => (at * 211) % EVENTS)
  const send = async (some: readonly number[]) => {
    const lines = some.map((n) => {
      const level = n % 3 === 0 ? 'error' : 'info'
      return JSON.stringify({ n, level, timestamp: new Date(timeOf(n)).toISOString() })
    })
    const answer = await api.ingest(stream.key, lines.join('\n'), { 'content-type': NDJSON_TYPE })
    assert.equal(answer.status, 200, answer.text)
  }
  for (let at = 0; at < EVENTS - 100; at += 50) await send(order.slice(at, at + 50))
  await api.untilCounted(stream.id, EVENTS - 100)
  // The rest waits to be projected when it is read.
  for (let at = EVENTS - 100; at < EVENTS; at += 20) await send(order.slice(at, at + 20))
})

after(async () => {
  await service?.close()
})

async function page(members: object): Promise<Page> {
  const from = new Date(START_MS - 3_600_000).toISOString()
  const body = { time_basis: 'event_time', from, limit: PAGE, ...members }
  return JSON.parse(await api.rest(`/v1/streams/${stream.id}/search`, 'POST', body)) as Page
}

/** Numbers in the order of their times; those of one time go by their ids. */
function assertInOrder(events: readonly EventRecord[], sign: 1 | -1): void {
  for (const [index, event] of events.entries()) {
    if (index === 0) continue
    const last = events[index - 1]!
    const times = [last, event].map(({ event_time: time }) => Date.parse(time))
    const ids = [last, event].map(({ id }) => id.split('-').map(BigInt))
    const difference =
      times[0] !== times[1]
        ? times[1]! - times[0]!
        : Number(ids[1]![0]! - ids[0]![0]! || ids[1]![1]! - ids[0]![1]!)
    assert(difference * sign > 0, `${last.id} ${last.event_time}, ${event.id} ${event.event_time}`)
  }
}

for (const order of ['newest', 'oldest'] as const) {
  for (const query of ['', 'level:error']) {
    test(`${order} first, ${query || 'all'}: pages have all, in order, both ways`, async () => {
      const found: EventRecord[] = []
      const pages: Page[] = []
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const at =
          cursor === undefined ? {} : order === 'newest' ? { before: cursor } : { after: cursor }
        const next = await page({ order, query, ...at })
        assert.equal(next.complete, true)
        found.push(...next.events)
        pages.push(next)
        cursor = next.next
      }
      assert.equal(found.length, query === '' ? EVENTS : EVENTS / 3)
      assert.equal(new Set(found.map(({ id }) => id)).size, found.length)
      assertInOrder(found, order === 'newest' ? -1 : 1)
      const { previous } = pages.at(-1)!
      const back = await page({ order, query, [order === 'newest' ? 'after' : 'before']: previous })
      assert.deepEqual(back.events, pages.at(-2)!.events)
    })
  }
}

test('an export is in that order, and has all that was there when it began', async () => {
  const from = new Date(START_MS - 3_600_000).toISOString()
  const path = `/v1/streams/${stream.id}/search?time_basis=event_time&from=${from}`
  const headers = { authorization: `Bearer ${service.token}`, accept: NDJSON_TYPE }
  for (const order of ['oldest', 'newest'] as const) {
    const { status, text } = await call(`${service.url}${path}&order=${order}`, { headers })
    assert.equal(status, 200, text.slice(0, 300))
    const events = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as EventRecord)
    assert.equal(events.length, EVENTS)
    assertInOrder(events, order === 'newest' ? -1 : 1)
  }
})

test('cursors of one order are refused in the other', async () => {
  const { events } = await page({})
  const byId = await api.tryRest(`/v1/streams/${stream.id}/search`, 'POST', {
    time_basis: 'event_time',
    before: events[0]!.id,
  })
  assert.deepEqual(
    [byId.status, byId.text.includes('of a page by event time')],
    [400, true],
    byId.text,
  )
})
