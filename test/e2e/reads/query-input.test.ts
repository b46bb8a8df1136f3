/**
 * Goal: a query is explained as it was understood, with what it leaves ClickHouse to read; an input
 * box gets the fields and the values that there are, at the place it asks about.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  COMPLETE_PROPOSALS_MAX,
  EXPLAIN_CLAUSES_MAX,
  QUERY_PATHS_MAX,
} from '../../../src/limits.ts'
import { GRANULE_ROWS } from '../../../src/model/projection.ts'
import { eventually } from '../../store/temporary.ts'
import { Api, type Problem, type Stream } from '../../support/api.ts'
import { type SharedService, shareService } from '../../support/service.ts'

let service: SharedService
let api: Api
let stream: Stream

before(async () => {
  service = await shareService()
  api = new Api(service)
  stream = await api.createStream()
  const events = Array.from({ length: 300 }, (_, n) => ({
    level: ['info', 'warn', 'error'][n % 3],
    message: `request ${n} took a while`,
    http: { status: 200 + (n % 4), route: `/api/v${n % 30}` },
    items: [{ price: n, name: 'x y' }],
    'odd key': true,
    service: 'checkout',
  }))
  await api.ingest(stream.key, JSON.stringify(events))
  await api.untilCounted(stream.id, 300, 30_000)
  // Names, and which of them have text, come to the catalog one after the other.
  await eventually('the catalog knows them', async () => {
    const { proposals } = await complete('http.')
    return proposals.length > 0 && (await explain('a')).text_fields.includes('message')
  })
})

after(async () => {
  await service?.close()
})

interface Completed {
  readonly kind: string
  readonly start: number
  readonly end: number
  readonly proposals: readonly { text: string; kind: string; count?: number }[]
}

async function complete(query: string, at = query.length): Promise<Completed> {
  const params = new URLSearchParams({ query, at: String(at) })
  return JSON.parse(await api.rest(`/v1/streams/${stream.id}/complete?${params}`)) as Completed
}

// biome-ignore lint/suspicious/noExplicitAny: the test looks into the reply.
async function explain(query: string): Promise<any> {
  const params = new URLSearchParams({ query, from: '-1d' })
  return JSON.parse(await api.rest(`/v1/streams/${stream.id}/explain?${params}`))
}

test('an explanation has the tree, the canonical form, and what each clause leaves', async () => {
  const query = 'level:error   http.status:>=400 "a while"'
  const found = await explain(query)
  assert.equal(found.query, 'level:error AND http.status>=400 AND "a while"')
  assert.equal(found.tree.kind, 'and')
  assert.ok(found.granules.total >= 1 && found.granules.selected <= found.granules.total)
  assert.equal(found.rows_max, found.granules.selected * GRANULE_ROWS)
  assert.deepEqual(
    found.clauses.map((clause: { start: number; end: number }) =>
      query.slice(clause.start, clause.end),
    ),
    ['level:error', 'http.status:>=400', '"a while"'],
  )
  for (const { indexes } of found.clauses) {
    assert.ok(
      indexes.some(({ type }: { type: string }) => type === 'PrimaryKey'),
      'pruned by time',
    )
  }
  const many = Array.from({ length: 40 }, (_, n) => `a${n}:1`).join(' ')
  assert.equal((await explain(many)).clauses.length, EXPLAIN_CLAUSES_MAX)
  const times = await explain('_ingested_at:>2026-01-01T00:00:00Z')
  assert.equal(times.tree.test.low.value.timeNs, '1767225600000000000')
  const wrong = await api.tryRest(`/v1/streams/${stream.id}/explain?query=a:(`)
  assert.equal(wrong.status, 400)
})

test('a query that asks too much is refused as elsewhere, at its place', async () => {
  const wide = await api.createStream()
  const fields = Array.from({ length: QUERY_PATHS_MAX + 10 }, (_, n) => [`f${n}`, 'word'])
  await api.ingest(wide.key, JSON.stringify(Object.fromEntries(fields)))
  await api.untilCounted(wide.id, 1)
  const ask = (path: string) => api.tryRest(`/v1/streams/${wide.id}/${path}?query=level:a%20*:word`)
  // Until the fields are learned there is nothing to refuse.
  await eventually('it is refused', async () => (await ask('histogram')).status === 400, 30_000)
  const [explained, counted] = [await ask('explain'), await ask('histogram')]
  assert.equal(explained.status, 400, explained.text)
  const [told, expected] = [explained, counted].map(({ text }) => JSON.parse(text) as Problem)
  assert.equal(told!.detail, expected!.detail)
})

test('fields are proposed by the beginning of their names, then by what is in them', async () => {
  const { kind, start, end, proposals } = await complete('level:error htt')
  assert.deepEqual([kind, start, end], ['clause', 12, 15])
  assert.deepEqual(
    proposals.map(({ text }) => text),
    ['http.route:', 'http.status:'],
  )
  const inside = await complete('status')
  assert.ok(inside.proposals.some(({ text }) => text === 'http.status:'))
  const system = await complete('_lev')
  assert.deepEqual(
    system.proposals.map(({ text }) => text),
    ['_level:'],
  )
  assert.ok((await complete('odd')).proposals.some(({ text }) => text.startsWith('`odd key`')))
  const element = await complete('items[]:{pri')
  assert.deepEqual(
    element.proposals.map(({ text }) => text),
    ['price:'],
  )
  const ofAll = async (query: string) => {
    const params = new URLSearchParams({ query, streams: stream.id })
    return (JSON.parse(await api.rest(`/v1/complete?${params}`)) as Completed).proposals
  }
  const found = await ofAll('TATUS')
  assert.deepEqual(found, [{ text: 'http.status:', kind: 'field', types: ['integer'], share: 1 }])
  const values = (await ofAll('http.status:03')).map(({ text }) => text)
  assert.deepEqual(values, ['203'])
  assert.deepEqual((await ofAll('items[]:{ri'))[0]?.text, 'price:')
})

test('values are the most frequent ones, as they are to be written', async () => {
  const level = await complete('level:')
  assert.deepEqual(
    new Set(level.proposals.map(({ text }) => text)),
    new Set(['info', 'warn', 'error']),
  )
  assert.ok(level.proposals.every(({ count }) => count === 100))
  assert.deepEqual(
    (await complete('level:ER')).proposals.map(({ text }) => text),
    ['error'],
  )
  assert.deepEqual(
    (await complete('level:rro')).proposals.map(({ text }) => text),
    ['error'],
    'by a part of it',
  )
  const status = await complete('http.status:20')
  assert.deepEqual(status.proposals.map(({ text }) => text).sort(), ['200', '201', '202', '203'])
  const routes = await complete('http.route:')
  assert.equal(routes.proposals.length, COMPLETE_PROPOSALS_MAX)
  assert.match(routes.proposals[0]!.text, /^"\/api\/v\d+"$/)
  assert.deepEqual(
    (await complete('_level:w')).proposals.map(({ text }) => text),
    ['warn'],
  )
  assert.deepEqual(
    (await complete('_service:')).proposals.map(({ text }) => text),
    ['checkout'],
  )
  assert.deepEqual((await complete('none.at.all:')).proposals, [])
})

test('each proposal, put in its place, is a query', async () => {
  for (const query of ['', 'lev', 'level:', 'level:error ', 'http.route:', 'NOT od', '(level:e']) {
    const { start, end, proposals } = await complete(query)
    for (const { text, kind } of proposals) {
      const next = `${query.slice(0, start)}${text}${kind === 'field' ? '*' : ''}`
      const closed = `${next}${kind === 'operator' ? ' x' : ''}${query.startsWith('(') ? ')' : ''}`
      assert.equal(end, query.length)
      assert.ok((await explain(closed)).query.length > 0, closed)
    }
  }
  const odd = ['"', 'a:(', ')', '%', '/[', '\\', 'x'.repeat(5_000)]
  for (const query of odd) assert.ok(Array.isArray((await complete(query)).proposals), query)
})
