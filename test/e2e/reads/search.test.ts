/**
 * Goal: a search gives what a filter over the event list gives, page by page, in both orders; what
 * was acknowledged is found by the next search, whatever the projection is doing; several streams
 * are searched as one; exports are whole. `lifecycle` and `crash/kill-service` search after a
 * restart and after a kill.
 * Method: a real service; queries whose meaning here is a line of JavaScript.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Api, call, type EventPage, type EventRecord, type Stream } from '../../support/api.ts'
import { someOf } from '../../support/fuzzing.ts'
import { createRandom } from '../../support/random.ts'
import { type SharedService, shareService } from '../../support/service.ts'

const random = createRandom()
const nat = (max: number) => Math.floor(random.next() * (max + 1))
let service: SharedService
let api: Api

before(async () => {
  service = await shareService()
  api = new Api(service)
})

after(async () => {
  await service?.close()
})

interface SearchPage extends EventPage {
  readonly complete: boolean
  readonly reason: string | null
}

type Payload = Record<string, unknown>

const LEVELS = ['debug', 'info', 'warn', 'error']
const WORDS = ['timeout', 'connected', 'retry', 'disk full', 'user login']

function makeEvent(n: number): Payload {
  return {
    n,
    level: LEVELS[nat(3)],
    message: `${WORDS[nat(4)]} number ${n % 17}`,
    ...(n % 5 === 0 && { http: { status: 200 + 100 * nat(3) } }),
    ...(n % 7 === 0 && { tags: ['a', `t${n % 3}`] }),
  }
}

const QUERIES: readonly (readonly [query: string, test: (event: Payload) => boolean])[] = [
  ['', () => true],
  ['level:error', ({ level }) => level === 'error'],
  ['timeout -level:debug', (e) => /timeout/.test(String(e.message)) && e.level !== 'debug'],
  ['"disk full" OR http.status:>=400', (e) => isFull(e) || statusOf(e) >= 400],
  ['n:[100 TO 900}', ({ n }) => Number(n) >= 100 && Number(n) < 900],
  ['tags:t1', ({ tags }) => Array.isArray(tags) && tags.includes('t1')],
  ['NOT http.status:*', ({ http }) => http === undefined],
  ['n:77', ({ n }) => n === 77],
  ['nothing.has:this', () => false],
]
const isFull = ({ message }: Payload) => /disk full/.test(String(message))
const statusOf = ({ http }: Payload) =>
  Number((http as { status: number } | undefined)?.status ?? 0)

async function search(stream: Stream, body: object): Promise<SearchPage> {
  const text = await api.rest(`/v1/streams/${stream.id}/search`, 'POST', body)
  return JSON.parse(text) as SearchPage
}

/** All pages, each event in the order in which it came. */
async function searchAll(stream: Stream, body: { order?: string; limit: number; query: string }) {
  const found: EventRecord[] = []
  let cursor: object = {}
  for (;;) {
    const page = await search(stream, { from: '-1d', ...body, ...cursor })
    assert.ok(page.complete, page.reason ?? '')
    assert.ok(page.events.length <= body.limit)
    found.push(...page.events)
    if (page.next === null) return found
    cursor = body.order === 'oldest' ? { after: page.next } : { before: page.next }
  }
}

async function ingest(stream: Stream, events: readonly Payload[]): Promise<void> {
  const answer = await api.ingest(stream.key, events.map((each) => JSON.stringify(each)).join('\n'))
  assert.equal(answer.status, 200, answer.text)
}

test('pages of a search are the event list, filtered', async () => {
  const stream = await api.createStream()
  for (let n = 0; n < 1_500; ) {
    const count = 1 + nat(120)
    await ingest(
      stream,
      Array.from({ length: count }, (_, i) => makeEvent(n + i)),
    )
    n += count
  }
  for (let round = 0; round < 2; round++) {
    const all = await api.events(stream.id)
    for (const [query, matches] of someOf(QUERIES)) {
      for (const order of ['newest', 'oldest']) {
        const expected = all.filter(({ payload }) => matches(payload as Payload))
        if (order === 'oldest') expected.reverse()
        const found = await searchAll(stream, { query, order, limit: 100 + nat(900) })
        assert.deepEqual(found, expected, `${query} (${order}, round ${round})`)
      }
    }
    await api.untilCounted(stream.id, all.length, 30_000)
  }
})

test('what was acknowledged is found by the next search', async () => {
  const stream = await api.createStream()
  const busy = await api.createStream()
  let isOn = true
  const writing = [0, 1].map(async () => {
    while (isOn)
      await ingest(
        busy,
        Array.from({ length: 500 }, (_, n) => makeEvent(n)),
      )
  })
  for (let n = 0; n < 40; n++) {
    const id = `trace-${n}-${nat(1e9)}`
    await ingest(stream, [...Array.from({ length: nat(20) }, makeEvent), { n, trace: id }])
    const { events, complete } = await search(stream, { query: `trace:"${id}"` })
    assert.ok(complete)
    assert.deepEqual(
      events.map(({ payload }) => payload.trace),
      [id],
    )
    const { events: before } = await search(stream, { query: 'trace:*', limit: 1_000 })
    assert.equal(before.length, n + 1)
  }
  isOn = false
  await Promise.all(writing)
})

test('the first search of a new stream means what later ones mean', async () => {
  for (let n = 0; n < 3; n++) {
    const stream = await api.createStream()
    await ingest(stream, [
      { message: 'the card was declined', a: 'foo bar' },
      { message: 'all is well', a: 'foo', b: 'declined' },
    ])
    for (const query of ['a:foo', 'declined']) {
      const found = async () => (await search(stream, { query })).events.length
      assert.equal(await found(), 1, `${query}, at once`)
      if (n > 0) continue
      await api.untilCounted(stream.id, 2)
      assert.equal(await found(), 1, `${query}, later`)
    }
  }
})

test('the newest page is followed with `previous`, and misses nothing', async () => {
  const stream = await api.createStream()
  await ingest(stream, [makeEvent(0)])
  let { previous } = await search(stream, { query: 'n:*' })
  const seen: number[] = []
  for (let n = 1; n < 200; n += 10) {
    await ingest(
      stream,
      Array.from({ length: 10 }, (_, i) => makeEvent(n + i)),
    )
    for (;;) {
      const page = await search(stream, { query: 'n:*', after: previous, limit: 7 })
      seen.push(...page.events.toReversed().map(({ payload }) => Number(payload.n)))
      previous = page.previous
      if (page.events.length < 7) break
    }
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 200 }, (_, i) => i + 1),
  )
})

test('several streams are one list, each record with its stream', async () => {
  const streams = [await api.createStream(), await api.createStream(), await api.createStream()]
  const mark = `fleet${nat(1e9)}`
  for (let n = 0; n < 30; n++) await ingest(streams[n % 3]!, [{ n, mark }])
  const body = { streams: streams.map(({ id }) => id), query: `mark:${mark}` }
  const text = await api.rest('/v1/search', 'POST', body)
  const { events } = JSON.parse(text) as { events: (EventRecord & { _stream: string })[] }
  assert.deepEqual(
    events.map(({ payload }) => payload.n),
    Array.from({ length: 30 }, (_, i) => 29 - i),
  )
  assert.deepEqual(
    events.map(({ _stream }) => _stream),
    events.map(({ payload }) => {
      return streams[Number(payload.n) % 3]?.id
    }),
  )
  const all = JSON.parse(await api.rest(`/v1/search?query=mark:${mark}&limit=1000`)) as EventPage
  assert.equal(all.events.length, 30)
})

test('very many streams are one list, page by page, however little time there is', async () => {
  const streams: Stream[] = []
  for (let n = 0; n < 150; n++) streams.push(await api.createStream())
  let total = 0
  for (let n = 0; n < 450; n++) {
    const { key } = streams[nat(99)]! // The others have none.
    const events = Array.from({ length: 1 + nat(4) }, (_, at) => ({ n, at }))
    const answer = await api.ingest(key, JSON.stringify(events))
    assert.equal(answer.status, 200, answer.text)
    total += events.length
  }
  const ids = streams.map(({ id }) => id)
  for (const [order, onwards] of [
    ['newest', 'before'],
    ['oldest', 'after'],
  ] as const) {
    const found: string[] = []
    let cursor: string | null = null
    do {
      const from = cursor === null ? {} : { [onwards]: cursor }
      const body = { streams: ids, order, limit: 90, timeout_ms: 1, ...from }
      const page = JSON.parse(await api.rest('/v1/search', 'POST', body)) as SearchPage
      assert.ok(page.events.length > 0 || page.next === null, 'each page gets on')
      found.push(...page.events.map(({ id }) => id))
      cursor = page.next
    } while (cursor !== null)
    assert.equal(found.length, total)
    const places = found.map((id) => id.split('-').map(BigInt))
    const sign = order === 'newest' ? -1n : 1n
    for (const [at, [segment, ordinal]] of places.slice(1).entries()) {
      const [segmentBefore, ordinalBefore] = places[at]!
      const step = segment! - segmentBefore! || ordinal! - ordinalBefore!
      assert.ok(step * sign > 0n, `${found[at]}, then ${found[at + 1]}`)
    }
  }
})

test('an export has every event, as lines and as CSV, and continues after a cursor', async () => {
  const stream = await api.createStream()
  const count = 12_000
  await ingest(
    stream,
    Array.from({ length: count }, (_, n) => makeEvent(n)),
  )
  const path = `${api.url}/v1/streams/${stream.id}/search`
  const headers = { authorization: `Bearer ${api.token}` }
  const exported = async (accept: string, query: string) => {
    const answer = await call(`${path}?${query}`, { headers: { ...headers, accept } })
    assert.equal(answer.status, 200, answer.text)
    return answer.text
  }
  const lines = (await exported('application/x-ndjson', 'query=level:error')).trimEnd().split('\n')
  const records = lines.map((line) => JSON.parse(line) as EventRecord)
  const all = (await api.events(stream.id)).toReversed()
  const errors = all.filter(({ payload }) => payload.level === 'error')
  assert.deepEqual(records, errors)
  const half = records[Math.floor(records.length / 2)]!
  const rest = await exported('application/x-ndjson', `query=level:error&after=${half.id}`)
  const [first] = rest.split('\n')
  assert.equal(first, lines[Math.floor(records.length / 2) + 1])
  const csv = await exported('text/csv', 'fields=n,http.status')
  const rows = csv.trimEnd().split('\r\n')
  assert.equal(rows[0], '_id,_ingested_at,_event_time,n,http.status')
  assert.equal(rows.length, count + 1)
  assert.match(rows[6]!, /^[0-9]+-5,[^,]+,[^,]+,5,[0-9]{3}$/)
  const none = await call(path, { headers: { ...headers, accept: 'text/csv' } })
  assert.equal(none.status, 400)
})

test('fields take the place of the payload, and bad requests say what is wrong', async () => {
  const stream = await api.createStream()
  await ingest(stream, [{ a: { b: 12345678901234567890n.toString() }, n: 1 }])
  const { events } = await search(stream, { fields: ['a', 'n', 'x'] })
  const [event] = events as unknown as { fields: unknown; payload: unknown }[]
  assert.deepEqual(event?.fields, { a: { b: '12345678901234567890' }, n: 1 })
  assert.equal(event?.payload, undefined)
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ query: 'level:(error' }, /column/],
    [{ before: '1-1', after: '1-1' }, /exclude each other/],
    [{ limit: 1_001 }, /from 1 to 1000/],
    [{ order: 'up' }, /newest/],
    [{ from: 'yesterday' }, /"from" must be/],
    [{ fields: ['a[].b'] }, /as a whole/],
    [{ before: 'x' }, /"before" must be the id of an event/],
    [{ filter: {} }, /unknown field "filter"/],
  ]
  for (const [body, message] of wrong) {
    const answer = await api.tryRest(`/v1/streams/${stream.id}/search`, 'POST', body)
    assert.equal(answer.status, 400, answer.text)
    assert.match((JSON.parse(answer.text) as { detail: string }).detail, message)
  }
})
