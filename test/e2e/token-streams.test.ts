/**
 * Goal: a token that is limited to streams is never told anything of another stream.
 * Method: every operation of the API's own description, and every tool of agents, by tokens with
 * scopes and streams at random. What is answered about a stream outside the limit must be, to the
 * letter, what is answered about one that does not exist; a stream within it must be found. All
 * operations are in a table here.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { SCOPES, type Scope } from '../../src/model/stream.ts'
import { Api, call, JSON_TYPE, type Stream } from '../support/api.ts'
import { createRandom } from '../support/random.ts'
import { type SharedService, shareService } from '../support/service.ts'
import { connectAgent } from './agents/agent-client.ts'

const TOKENS = 5
/** No stream has it. */
const NOBODY = '2147483646'
const NO_STREAM = /there is no (?:such )?stream/
const LIMITED = 'this needs a token that is not limited to streams'
/** Of the name of what is there: nothing of it may be in an answer. */
const SECRET = 'outsider'

interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
}

interface Made extends Stream {
  readonly name: string
  readonly params: Readonly<Record<string, string>>
}

const random = createRandom()
const streams: Made[] = []
let service: SharedService
let api: Api
let operations: readonly Operation[]

/** Bodies of those operations with a stream in their path that take one. */
const BODIES: Readonly<Record<string, object>> = {
  changeStream: {},
  createKey: {},
  createView: { name: 'another view' },
  updateView: {},
  query: {},
  ...{ histogram: {}, patterns: {} },
  facets: { fields: ['n'] },
  compare: {},
  search: {},
  queryView: {},
  searchView: {},
  previewRedaction: { sample: 'x' },
  reviewRedaction: {},
}

/** Not for a token with a limit, whatever the stream. */
const REFUSED: Readonly<Record<string, string>> = {
  deleteStream: LIMITED,
  retryProjection: 'this needs a token with the scope admin',
}

/** Those over several streams, and what else of the API a token can call. */
const OVER_SEVERAL = ['query', 'histogram', 'facets', 'patterns', 'compare', 'search'].flatMap(
  (name) => [`${name}Streams`, `${name}StreamsByUrl`],
)
const OTHERS = [
  ...OVER_SEVERAL,
  ...['listStreams', 'createStream', 'mcp', 'getOwnToken', 'beginSession', 'endSession'],
  ...['listTokens', 'createToken', 'revokeToken', 'getStrangersRefusals'],
  ...['listUsage', 'findFields', 'completeStreams', 'forgetAlertAcknowledgement'],
  ...['listAlertRules', 'putAlertRule', 'getAlertRule', 'deleteAlertRule'],
  ...['listAlertGroups', 'listAlertTransitions', 'listAlertWindows', 'backtestAlertRule'],
  ...['listAlertChannels', 'putAlertChannel', 'deleteAlertChannel'],
  ...['listAlertMessages', 'sendAlertMessage', 'testAlertChannel', 'previewAlertChannel'],
  ...['listPrometheusRules', 'listPrometheusAlerts', 'acknowledgeAlertGroup'],
  ...['createAlertSilence', 'listAlertSilences', 'getAlertSilence', 'endAlertSilence'],
]

/** How operations begin that are in Elasticsearch's form. */
const ELASTIC = /^read_(?:get|post|head)_/

before(async () => {
  service = await shareService()
  api = new Api(service)
  const document = JSON.parse(await api.rest('/v1/openapi.json'))
  operations = Object.entries<Record<string, Described>>(document.paths).flatMap(([path, of]) =>
    Object.entries(of)
      .filter(([, { security = [] }]) => security.some((one) => one.token !== undefined))
      .map(([method, { operationId: id }]) => ({ id, method: method.toUpperCase(), path })),
  )
  for (let at = 0; at < 3; at++) streams.push(await makeStream(`${SECRET}-${process.pid}-${at}`))
})

after(() => service?.close())

interface Described {
  readonly operationId: string
  readonly security?: readonly { readonly token?: unknown }[]
}

async function makeStream(name: string): Promise<Made> {
  const stream = await api.createStream({ name })
  const path = `/v1/streams/${stream.id}`
  const view = JSON.parse(await api.rest(`${path}/views`, 'POST', { name: SECRET }))
  await api.ingest(stream.key, JSON.stringify({ n: 1, message: name }))
  await api.untilCounted(stream.id, 1)
  const [event] = await api.events(stream.id)
  const params = { id: stream.id, view: view.id, event: event!.id, key: stream.keyId }
  return { ...stream, name, params: { ...params, path: 'n' } }
}

async function makeToken(scopes: readonly Scope[], within: readonly Made[]) {
  const body = { name: 'limited', scopes, streams: within.map(({ id }) => id) }
  const { token } = JSON.parse(await api.rest('/v1/tokens', 'POST', body))
  return token as string
}

/** What `token` is answered, without what differs between two streams that do not exist. */
async function ask(token: string, { id, method, path }: Operation, stream: Made['params']) {
  const at = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = stream[name] ?? stream[name.replace(/_.*/, '')]
    assert.ok(value !== undefined, `${id}: what is its parameter ${name}?`)
    return encodeURIComponent(value)
  })
  // A live tail has no end: it is looked at with a query that is wrong.
  const query = id === 'tailEvents' ? '?query=%28' : id === 'facetsByUrl' ? '?fields=n' : ''
  return await send(token, method, at + query, BODIES[id])
}

async function send(token: string, method: string, path: string, body?: object) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': JSON_TYPE }
  const text = body === undefined ? undefined : JSON.stringify(body)
  return await call(`${service.url}${path}`, { method, headers, body: text })
}

const ofStream = () => operations.filter(({ path }) => path.startsWith('/v1/streams/{'))
const some = <T>(all: readonly T[]): readonly T[] => {
  const chosen = all.filter(() => random.next() < 0.5)
  return chosen.length > 0 ? chosen : [all[Math.floor(random.next() * all.length)]!]
}

test('every operation that takes a token is asked here', () => {
  assert.ok(ofStream().length > 25, `${ofStream().length} operations found`)
  const known = new Set([...OTHERS, ...ofStream().map(({ id }) => id)])
  assert.deepEqual(
    operations.map(({ id }) => id).filter((id) => !known.has(id) && !ELASTIC.test(id)),
    [],
  )
})

test(`a stream outside the limit is as if it were not there (seed ${random.seed})`, async () => {
  const scopesOfAll = SCOPES.filter((scope) => scope !== 'admin')
  for (let at = 0; at < TOKENS; at++) {
    // The last one has every scope, so that each operation is reached.
    const scopes = at === TOKENS - 1 ? scopesOfAll : some(scopesOfAll)
    const within = some(streams.slice(1))
    const outside = streams.filter((one) => !within.includes(one))
    const token = await makeToken(scopes, within)
    for (const operation of ofStream()) {
      const missing = await ask(token, operation, { ...streams[0]!.params, id: NOBODY })
      for (const { params } of outside) {
        const answer = await ask(token, operation, params)
        const about = `${operation.id} with ${scopes} of ${within.map(({ id }) => id)}`
        assert.ok(answer.status === 404 || answer.status === 403, `${about}: ${answer.text}`)
        assert.deepEqual([answer.status, answer.text], [missing.status, missing.text], about)
      }
    }
  }
  for (const { id, name } of streams) {
    assert.equal(JSON.parse(await api.rest(`/v1/streams/${id}`)).name, name)
  }
})

test('a stream within the limit is found by every operation, and is not deleted', async () => {
  const stream = await makeStream(`${SECRET}-${process.pid}-inside`)
  const token = await makeToken(['streams:read', 'streams:write', 'events:read'], [stream])
  const methods = ['GET', 'POST', 'PATCH', 'DELETE'] // What others need goes last.
  const order = ({ method }: Operation) => methods.indexOf(method)
  for (const operation of ofStream().toSorted((a, b) => order(a) - order(b))) {
    const { status, text } = await ask(token, operation, stream.params)
    if (operation.id in REFUSED) {
      assert.deepEqual([status, JSON.parse(text).detail], [403, REFUSED[operation.id]])
      continue
    }
    assert.doesNotMatch(text, NO_STREAM, operation.id)
    const isWrong = operation.id === 'tailEvents'
    assert.ok(isWrong ? status === 400 : status < 300, `${operation.id}: ${status} ${text}`)
  }
})

test('what is of another stream is not found by way of one within the limit', async () => {
  const [outside, inside] = streams
  const scopes = ['streams:read', 'streams:write', 'events:read'] as const
  const token = await makeToken(scopes, [inside!])
  const ofParts = ofStream().filter(({ path }) => /\{(?:view|event|key)/.test(path))
  assert.ok(ofParts.length > 5)
  for (const operation of ofParts) {
    const { status, text } = await ask(token, operation, { ...outside!.params, id: inside!.id })
    assert.equal(status, 404, `${operation.id}: ${text}`)
  }
  const search = async (of: string, body: object) => {
    return (await send(of, 'POST', '/v1/search', { from: '-1h', ...body })).text
  }
  const event = outside!.params.event
  assert.match(await search(service.token, { query: `_id:${event}` }), /"n":1/)
  assert.deepEqual(JSON.parse(await search(token, { query: `_id:${event}` })).events, [])
  // A place in a list that has more in it.
  const { next } = JSON.parse(await search(service.token, { limit: 1 }))
  const rest = await search(token, { limit: 100, before: next })
  assert.equal(JSON.parse(rest).events.length, 1, rest)
  assert.ok(rest.includes(inside!.name) && !rest.includes(outside!.name), rest)
})

test('a session is limited as its token is, and ends', async () => {
  const [outside, inside] = streams
  const token = await makeToken(['streams:read'], [inside!])
  const begun = await send(token, 'POST', '/v1/session')
  const [cookie = ''] = begun.headers['set-cookie']?.[0]?.split(';') ?? []
  const headers = { cookie, 'x-sluice-session': '1' }
  const asked = (path: string, method = 'GET') => call(service.url + path, { method, headers })
  const { streams: listed } = JSON.parse((await asked('/v1/streams')).text)
  assert.deepEqual(
    listed.map(({ id }: { id: string }) => id),
    [inside!.id],
  )
  assert.equal((await asked(`/v1/streams/${outside!.id}`)).status, 404)
  assert.equal((await asked('/v1/tokens')).status, 403)
  assert.equal((await asked('/v1/session', 'DELETE')).status, 204)
  assert.equal((await asked('/v1/streams')).status, 401)
})

test('all streams means those of the limit, and no other can be named', async () => {
  const [outside, ...within] = streams
  const token = await makeToken(['streams:read', 'events:read'], within)
  const ids = within.map(({ id }) => id).sort()
  const grouped = { group_by: '_stream', from: '-1h' }
  const counted = JSON.parse((await send(token, 'POST', '/v1/query', grouped)).text)
  assert.equal(counted.total, within.length)
  assert.deepEqual(counted.rows.map((row: { _stream: string }) => row._stream).sort(), ids)
  const headers = { authorization: `Bearer ${token}`, accept: 'application/x-ndjson' }
  const exported = await call(`${service.url}/v1/search?from=-1h`, { headers })
  assert.equal(exported.status, 200)
  for (const { name } of within) assert.ok(exported.text.includes(name))
  assert.ok(!exported.text.includes(outside!.name))
  for (const id of OVER_SEVERAL) {
    const { method, path } = operations.find((one) => one.id === id)!
    const isUrl = method === 'GET'
    const named = async (streamId: string) => {
      const asked = [within[0]!.id, streamId]
      const fields = id.startsWith('facets')
      const query = isUrl ? `?streams=${asked}${fields ? '&fields=n' : ''}` : ''
      const body = { streams: asked, ...(fields && { fields: ['n'] }) }
      const answer = await send(token, method, path + query, isUrl ? undefined : body)
      return [answer.status, answer.text.replaceAll(streamId, 'ID')]
    }
    const refused = await named(outside!.id)
    assert.deepEqual(refused, await named(NOBODY), id)
    assert.equal(refused[0], 404, id)
    assert.equal((await named(within[1]!.id))[0], 200, id)
  }
})

test('lists leave others out, on each page; what is about more is refused', async () => {
  const [, ...within] = streams
  const token = await makeToken(['streams:read', 'streams:write'], within)
  const listed: string[] = []
  for (let next: string | null = '0', pages = 0; next !== null && pages < 9; pages++) {
    const after = next === '0' ? '' : `&after=${next}`
    const page = JSON.parse((await send(token, 'GET', `/v1/streams?limit=1${after}`)).text)
    listed.push(...page.streams.map(({ id }: { id: string }) => id))
    next = page.next
  }
  assert.deepEqual(
    listed,
    within.map(({ id }) => id),
  )
  const made = await send(token, 'POST', '/v1/streams', { name: 'more' })
  assert.deepEqual([made.status, JSON.parse(made.text).detail], [403, LIMITED])
  assert.equal((await send(token, 'GET', '/v1/tokens')).status, 403)
  assert.equal((await send(token, 'POST', '/v1/tokens', { scopes: ['events:read'] })).status, 403)
  assert.equal((await send(token, 'DELETE', '/v1/tokens/1')).status, 403)
})

test('usage, fields and proposals are of streams within the limit', async () => {
  const [outside, ...within] = streams
  const token = await makeToken(['streams:read', 'events:read'], within)
  const { usage: listed } = JSON.parse((await send(token, 'GET', '/v1/usage')).text)
  assert.deepEqual(
    listed.map(({ stream_id: id }: { stream_id: string }) => id).sort(),
    within.map(({ id }) => id).sort(),
  )
  assert.equal((await send(token, 'GET', '/v1/refusals')).status, 403)
  for (const path of ['/v1/fields?contains=mess', '/v1/complete?query=message%3A']) {
    const all = await send(token, 'GET', path)
    assert.ok(all.status === 200 && !all.text.includes(outside!.name), all.text)
    const named = await send(token, 'GET', `${path}&streams=${outside!.id}`)
    const missing = await send(token, 'GET', `${path}&streams=${NOBODY}`)
    assert.equal(named.status, 404, named.text)
    assert.equal(named.text.replaceAll(outside!.id, NOBODY), missing.text)
  }
})

test('rules of alerts are about streams within the limit, and of tokens with one', async () => {
  const [outside, inside] = streams
  const scopes = ['streams:read', 'events:read', 'alerts:read', 'alerts:write'] as const
  const token = await makeToken(scopes, [inside!])
  const condition = { op: '>', value: 1e9 }
  const of = (id: string) => ({ streams: [id], window: '1m', condition })
  const rules = '/v1/alerts/rules'
  await api.rest(`${rules}/${SECRET}`, 'PUT', of(outside!.id))
  const made = await send(token, 'PUT', `${rules}/inside`, of(inside!.id))
  assert.equal(made.status, 201, made.text)
  const listed = await send(token, 'GET', rules)
  const names = JSON.parse(listed.text).rules.map(({ name }: { name: string }) => name)
  assert.deepEqual(names, ['inside'])
  for (const [method, path] of [
    ['GET', ''],
    ['GET', '/groups'],
    ['GET', '/transitions'],
    ['GET', '/windows'],
    ['DELETE', ''],
    ['DELETE', '/groups/f/acknowledge'],
  ] as const) {
    const answer = await send(token, method, `${rules}/${SECRET}${path}`)
    const missing = await send(token, method, `${rules}/nobody${path}`)
    assert.deepEqual([answer.status, answer.text], [404, missing.text], method + path)
  }
  const known = await send(token, 'POST', `${rules}/${SECRET}/groups/f/acknowledge`, {})
  assert.equal(known.status, 404)
  const ask = async (id: string) => {
    const put = await send(token, 'PUT', `${rules}/other`, of(id))
    const tried = await send(token, 'POST', '/v1/alerts/backtest', { rule: of(id), from: '-5m' })
    return [put.status, tried.status, (put.text + tried.text).replaceAll(id, 'ID')]
  }
  assert.deepEqual(await ask(outside!.id), await ask(NOBODY))
  const reads = ['GET messages', 'GET silences', 'GET silences/1']
  for (const one of [...reads, 'POST messages/1/send', 'POST silences', 'DELETE silences/1']) {
    const [method = '', path] = one.split(' ')
    const { status, text } = await send(token, method, `/v1/alerts/${path}`)
    assert.deepEqual([status, JSON.parse(text).detail], [403, LIMITED])
  }
  for (const name of [SECRET, 'inside']) await api.rest(`${rules}/${name}`, 'DELETE')
})

test('clients of Elasticsearch read streams within the limit', async () => {
  const [outside, inside] = streams
  const token = await makeToken(['streams:read', 'streams:write', 'events:read'], [inside!])
  const reads = operations.filter(({ id }) => ELASTIC.test(id))
  assert.ok(reads.length > 40, `${reads.length} operations found`)
  for (const { id, method, path } of reads) {
    const asked = async (name: string) => {
      const at = path.replaceAll(/\{\w+\}/g, name)
      const isMany = path.endsWith('_msearch')
      const body = isMany ? `{"index":"${name}"}\n{}\n` : '{}'
      const answer = await call(service.url + at, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': JSON_TYPE },
        ...(method === 'POST' && { body }),
      })
      const text = answer.text.replaceAll(name, 'NAME').replaceAll(/"took":\d+/g, '"took":0')
      return [answer.status, text]
    }
    assert.deepEqual(await asked(outside!.name), await asked('nobody-at-all'), id)
  }
  const found = await send(token, 'POST', '/_search', {})
  assert.ok(found.text.includes(inside!.name) && !found.text.includes(outside!.name), found.text)
})

test('no tool of agents tells of a stream outside the limit', async () => {
  const [outside, ...within] = streams
  const scopes = ['streams:read', 'events:read', 'events:write'] as const
  const agent = await connectAgent(service, await makeToken(scopes, within))
  const { tools } = await agent.client.listTools()
  const listed = await agent.json('list_streams')
  const ids = (listed.streams as readonly { readonly id: string }[]).map(({ id }) => id)
  assert.deepEqual(
    ids,
    within.map(({ id }) => id),
  )
  const more: Readonly<Record<string, object>> = {
    get_event: { id: outside!.params.event },
    ingest_events: { events: [{ n: 2 }] },
    redact_preview: { sample: 'x' },
  }
  for (const { name } of tools.filter((tool) => !/^list_|_alert/.test(tool.name))) {
    for (const stream of [outside!.id, outside!.name]) {
      const { isError, text } = await agent.call(name, { stream, ...more[name] })
      assert.ok(isError, `${name}: ${text}`)
      assert.match(text, /^not_found: there is no such stream/, name)
      assert.ok(!text.includes(outside!.name), `${name}: ${text}`)
    }
    const args = { stream: within[0]!.id, ...more[name], ...(name === 'tail_sample' && SHORT) }
    assert.doesNotMatch((await agent.call(name, args)).text, NO_STREAM, name)
  }
  await agent.close()
})

const SHORT = { seconds: 1 }
