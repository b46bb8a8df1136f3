/**
 * Goal: patterns of events tell what kinds of messages there are, with exact counts, each with a
 * query for exactly its events, whichever way events came in and whether or not they are projected.
 * Method: a real service, events by each surface, and the same counted by queries.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { MCP_PATTERNS_CHARS_MAX, PATTERNS_MAX } from '../../src/limits.ts'
import { tryReadTemplate } from '../../src/model/patterns/pattern-template.ts'
import { CommandLine } from '../cli/run-cli.ts'
import { Api, call, NDJSON_TYPE, type Stream } from '../support/api.ts'
import { type SharedService, shareService } from '../support/service.ts'
import { connectAgent, createToken } from './agents/agent-client.ts'

let service: SharedService
let api: Api
let stream: Stream
let other: Stream

interface Row {
  readonly template: string | null
  readonly count: number
  readonly share: number
  readonly first_seen: string
  readonly last_seen: string
  readonly levels: Readonly<Record<string, number>>
  readonly sparkline: readonly number[]
  readonly pattern_ids: readonly string[]
  readonly query: string
  readonly examples: readonly { readonly stream: string; readonly id: string }[]
  readonly is_new?: boolean
  readonly baseline_count?: number
}

interface Patterns {
  readonly patterns: readonly Row[]
  readonly events: number
  readonly without_pattern: number
  readonly others: { readonly patterns: number; readonly events: number }
  readonly distinct: number
}

const SHIPPED = tryReadTemplate('order 1 shipped')!.id
const HOSTS = ['alpha', 'beta', 'gamma', 'delta', 'omega']
const KNOWN: readonly (readonly [
  count: number,
  template: string,
  message: (n: number) => string,
])[] = [
  [30, 'user <number> logged in from <address>', (n) => `user ${n} logged in from 10.0.0.${n}`],
  [20, 'payment <value> failed after <duration>', (n) => `payment p${n}x failed after ${n}ms`],
  [10, 'host <value> is down', (n) => `host ${HOSTS[n % HOSTS.length]} is down`],
]

/** No two have a pattern in common, nor words enough to be told as one. */
const SENTENCES = Array.from({ length: 120 }, (_, n) => {
  const word = (salt: number) => {
    return Array.from(
      { length: 6 },
      (_, i) => 'abcdefghij'[(n * 7 + i * i * salt + (n >> i)) % 10],
    ).join('')
  }
  return `${word(3)} ${word(5)} ${word(7)} ${word(11)} ${word(13)}`
})

before(async () => {
  service = await shareService()
  api = new Api(service)
  stream = await api.createStream()
  other = await api.createStream({ text_fields: ['+summary'] })
  const lines = KNOWN.flatMap(([count, , message]) => {
    return Array.from({ length: count }, (_, n) => {
      return JSON.stringify({ level: n % 2 === 0 ? 'error' : 'info', message: message(n) })
    })
  })
  const type = { 'content-type': NDJSON_TYPE }
  const more = ['{"n":1}', '{"n":2,"message":" "}']
  assert.equal((await api.ingest(stream.key, [...lines, ...more].join('\n'), type)).status, 200)
  await sendByEachSurface()
  // What comes last: a search finds it before it is in the projection.
  const found = await search(stream, `_pattern:${SHIPPED}`)
  assert.equal(found, 6)
  const summaries = ['of our own 7', ...SENTENCES].map((summary) => JSON.stringify({ summary }))
  assert.equal((await api.ingest(other.key, summaries.join('\n'), type)).status, 200)
  await api.untilCounted(stream.id, 68)
  await api.untilCounted(other.id, 1 + SENTENCES.length)
})

after(() => service?.close())

/** The same message by each way in, with other fields around it. */
async function sendByEachSurface(): Promise<void> {
  const { key } = stream
  const post = async (path: string, body: string, type = 'application/json') => {
    const headers = { 'x-api-key': key, authorization: `ApiKey ${key}`, 'content-type': type }
    const answer = await call(`${api.url}${path}`, { method: 'POST', headers, body })
    assert.ok(answer.status < 300, `${path}: ${answer.status} ${answer.text}`)
  }
  const record = { body: { stringValue: 'order 3 shipped' } }
  const values = [[`${Date.now()}000000`, 'order 4 shipped']]
  await api.ingest(key, '{"msg":"order  1 shipped\\n"}')
  await api.ingestText(key, 'order 2 shipped\n')
  await post(
    '/v1/logs',
    JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] }),
  )
  await post('/loki/api/v1/push', JSON.stringify({ streams: [{ stream: { app: 'a' }, values }] }))
  await api.ingestHec(key, '{"event":"order 5 shipped"}')
  await post('/_bulk', '{"create":{}}\n{"message":"order 6 \\u0073hipped"}\n', NDJSON_TYPE)
}

async function search({ id }: Stream, query: string): Promise<number> {
  const body = { query, from: '-1h', limit: 100 }
  return JSON.parse(await api.rest(`/v1/streams/${id}/search`, 'POST', body)).events.length
}

async function find(body: object = {}, path = `/v1/streams/${stream.id}/patterns`) {
  return JSON.parse(await api.rest(path, 'POST', { from: '-1h', ...body })) as Patterns
}

test('rows say what there is, and each selects exactly its events', async () => {
  const answer = await find()
  const told = answer.patterns.map(({ template, count }) => [count, template])
  const order = [6, 'order <number> shipped'] as const
  assert.deepEqual(told, [...KNOWN.map(([count, template]) => [count, template]), order])
  assert.deepEqual([answer.events, answer.without_pattern, answer.distinct], [68, 2, 8])
  assert.deepEqual(answer.others, { patterns: 0, events: 0 })
  for (const {
    query,
    count,
    examples,
    sparkline,
    first_seen,
    last_seen,
    levels,
  } of answer.patterns) {
    assert.equal((await api.count(stream.id, { query })).total, count, query)
    assert.equal(await search(stream, query), count, query)
    assert.equal(await search(stream, `(${query}) _id:${examples[0]!.id}`), 1, query)
    assert.equal(
      sparkline.reduce((a, b) => a + b),
      count,
    )
    assert.ok(first_seen <= last_seen)
    assert.ok((levels.error ?? 0) + (levels.info ?? 0) <= count)
  }
  assert.deepEqual(answer.patterns[0]!.levels, { info: 15, error: 15 })
  const hosts = answer.patterns[2]!
  assert.equal(hosts.pattern_ids.length, HOSTS.length)
  const grouped = await api.count(stream.id, { group_by: '_pattern', query: '_pattern:*' })
  assert.equal(grouped.total, 66)
  assert.equal(await search(stream, 'NOT _pattern:*'), 2)
})

test('a part of them, by its query and its limit; what is in no row is told', async () => {
  const { patterns, events, others } = await find({ query: 'level:error', limit: 1 })
  assert.deepEqual([events, patterns.length, patterns[0]!.count], [30, 1, 15])
  assert.deepEqual(others, { patterns: 6, events: 15 })
})

test('what is new, and what is not, against another range', async () => {
  const whole = { from: '-2h', to: 'now' }
  const [first] = (await find({ sort: 'new' })).patterns
  assert.deepEqual([first!.is_new, first!.baseline_count, first!.count], [true, 0, 30])
  const same = await find({ sort: 'growth', baseline: whole })
  for (const { is_new, baseline_count, count } of same.patterns) {
    assert.deepEqual([is_new, baseline_count], [false, count])
  }
})

test('several streams are told together, each by its own text fields', async () => {
  const body = { streams: [stream.id, other.id], query: '_pattern:*', limit: PATTERNS_MAX }
  const { patterns, events } = await find(body, '/v1/patterns')
  assert.equal(events, 67 + SENTENCES.length)
  const own = patterns.find(({ template }) => template === 'of our own <number>')
  assert.deepEqual([own?.count, own?.examples[0]?.stream], [1, other.id])
  const url = `/v1/patterns?from=-1h&limit=2&sort=new&baseline=-2d..-1d&streams=${stream.id}`
  assert.equal(JSON.parse(await api.rest(url)).patterns.length, 2)
})

test('the command line shows them as a table', async () => {
  const cli = new CommandLine(service)
  const { code, out, err } = await cli.run(['patterns', stream.id, '--sort', 'new', '--receipt'])
  assert.equal(code, 0, err)
  assert.match(out, /^count +change +level +pattern +template\n30 +new +error +[0-9a-f]{16} +user/)
  assert.match(out, /10 +new +error +[0-9a-f]{16} \+4 +host <value> is down/)
  assert.match(err, /2 events without a pattern/)
  const none = await cli.run(['patterns', stream.id, 'nothing-of-this', '--receipt'])
  assert.equal(none.code, 1)
})

test('an agent gets them in few characters', async () => {
  const agent = await connectAgent(service, await createToken(api, ['events:read']))
  try {
    const whole = await agent.json('find_patterns', { stream: stream.id, sort: 'new' })
    const [first] = whole.patterns as { n: number; change: string; id: string }[]
    assert.deepEqual([first!.n, first!.change, whole.events], [30, 'new', 68])
    assert.equal(await search(stream, `_pattern:${first!.id}`), 30)
    const text = JSON.stringify(await agent.json('find_patterns', { stream: other.id, limit: 200 }))
    assert.ok(text.length <= MCP_PATTERNS_CHARS_MAX, `${text.length}`)
    assert.match(text, /"truncated":true,"hint":"[0-9]+ more rows/)
  } finally {
    await agent.close()
  }
})
