/**
 * Goal: in a stream past its caps, answers that ask the catalog which fields there are say that
 * they may lack some; other answers, and those about other streams, are complete.
 * Method: a real service; fields past the cap, and a batch with more shapes than are learned.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Api, NDJSON_TYPE, type Stream } from '../../support/api.ts'
import { ONLY_LONG } from '../../support/fuzzing.ts'
import { type SharedService, shareService } from '../../support/service.ts'

const HEADERS = { 'content-type': NDJSON_TYPE }
let service: SharedService
let api: Api

before(async () => {
  service = await shareService()
  api = new Api(service)
})

after(async () => {
  await service?.close()
})

interface Answer {
  readonly complete: boolean
  readonly reason: string | null
  readonly total?: number
  readonly events?: readonly unknown[]
}

const RANGE = { from: '-1h' }
const COUNTS = ['query', 'histogram', 'facets'] as const

async function ask({ id }: Stream, route: string, body: object): Promise<Answer> {
  const text = await api.rest(`/v1/streams/${id}/${route}`, 'POST', { ...RANGE, ...body })
  return JSON.parse(text) as Answer
}

async function exported({ id }: Stream, query: string, accept = NDJSON_TYPE): Promise<string> {
  const params = new URLSearchParams({ query, fields: 'n' })
  const url = `${service.url}/v1/streams/${id}/search?${params}`
  const headers = { authorization: `Bearer ${service.token}`, accept }
  return await (await fetch(url, { headers })).text()
}

async function untilPartial(stream: Stream, query: string): Promise<void> {
  const deadline = performance.now() + 30_000
  while ((await ask(stream, 'query', { query })).complete) {
    assert.ok(performance.now() < deadline, 'it is told')
    await sleep(200)
  }
}

async function assertTold(stream: Stream, query: string): Promise<void> {
  for (const route of COUNTS) {
    const { complete, reason } = await ask(stream, route, { query })
    assert.deepEqual({ complete, reason }, { complete: false, reason: 'unlearned_fields' }, route)
  }
  const aggregates = [{ fn: 'count', query }]
  assert.equal((await ask(stream, 'query', { aggregates })).complete, false)
  const { complete, reason } = await ask(stream, 'search', { query })
  assert.equal(complete, false)
  assert.match(String(reason), /never learned/)
  assert.match(await exported(stream, query), /"complete":false,"reason":"[^"]*never learned/)
  const last = (await exported(stream, query, 'text/csv')).trimEnd().split('\r\n').at(-1)!
  // RFC 4180, section 2, 7: quotes within a cell are doubled.
  assert.match(last, /^"incomplete: (?:[^"]|"")*""\*""(?:[^"]|"")*",,,$/)
}

async function assertComplete(stream: Stream, query: string, events: number): Promise<void> {
  for (const route of COUNTS) {
    const { complete, reason } = await ask(stream, route, { query })
    assert.deepEqual({ complete, reason }, { complete: true, reason: null }, `${route} ${query}`)
  }
  assert.equal((await ask(stream, 'query', { query })).total, events, query)
  const page = await ask(stream, 'search', { query })
  assert.deepEqual([page.complete, page.events?.length], [true, events], query)
  assert.doesNotMatch(await exported(stream, query), /"complete":false/)
}

test('past the cap of fields: what asks the catalog says so, the rest is complete', async () => {
  const stream = await api.createStream({ field_soft_cap: 1, field_hard_cap: 2 })
  const send = (event: object) => api.ingest(stream.key, JSON.stringify(event), HEADERS)
  await send({ a: 'first', b: 1 })
  await api.untilCounted(stream.id, 1)
  await send({ who: { name: 'Ann the second' } })
  await api.untilCounted(stream.id, 2)
  for (const query of ['second', 'who.*:second', '*:second', 'a:first OR NOT second']) {
    await untilPartial(stream, query)
    await assertTold(stream, query)
  }
  for (const query of ['who.name="Ann the second"', 'a="first"', 'b:>=1']) {
    await assertComplete(stream, query, 1)
  }
  await assertComplete(stream, '', 2)
})

test('past the shapes of a batch: fields that are named are complete, words are not', {
  skip: ONLY_LONG,
}, async () => {
  const stream = await api.createStream()
  const events = Array.from({ length: 400 }, (_, n) => {
    return JSON.stringify({ message: `number${n}`, [`p${n}`]: n, http: { [`h${n % 9}`]: 'x' } })
  })
  await api.ingest(stream.key, events.join('\n'), HEADERS)
  await api.untilCounted(stream.id, 400)
  await untilPartial(stream, 'http.*:x')
  await assertTold(stream, 'http.*:x')
  // A text field may be among what was not learned.
  await assertTold(stream, 'number399')
  await assertComplete(stream, 'message:number399', 1)
  await assertComplete(stream, 'http.h3:x', 45)

  const other = await api.createStream()
  await api.ingest(other.key, JSON.stringify({ note: 'first', http: { a: 'x' } }), HEADERS)
  await api.untilCounted(other.id, 1)
  await assertComplete(other, 'http.*:x', 1)
  await assertComplete(other, 'first', 1)
})
