/**
 * Goal: the API's description tells the truth about every answer in JSON: types, what may be null,
 * and all members.
 * Method: each operation is asked where it has least to say and where it has most, and its answers
 * are compared with the document; an operation that was never asked is a failure.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Api, call } from '../../support/api.ts'
import { DescribedAnswers, startRecorder } from '../../support/described-answers.ts'
import { type SharedService, shareService } from '../../support/service.ts'

let service: SharedService
let answers: DescribedAnswers
let recorder: Awaited<ReturnType<typeof startRecorder>>
let api: Api

/** Answers of others' protocols, and those that are compared where they are tested. */
const ELSEWHERE = /^(?:compatible|ingestOtlp|elastic|getOpenApi|signIn|mcp|callTool|tail)/

before(async () => {
  service = await shareService()
  const document = JSON.parse(await new Api(service).rest('/v1/openapi.json'))
  answers = new DescribedAnswers(document)
  recorder = await startRecorder(service.url, answers)
  api = new Api({ url: recorder.url, token: service.token })
})

after(async () => {
  recorder?.close()
  await service?.close()
})

const EVENTS = [
  { level: 'error', message: 'a 1', n: 1, tags: ['a', null], user: { email: 'ann@example.com' } },
  { level: null, message: 2, n: 1.5, tags: [[1], {}], list: [{ a: 1 }], '': 'x', 'a.b': null },
  { n: '7', password: 'hunter2hunter2', deep: { a: { b: { c: [true, 'x', 1e300] } } } },
]
const NUMBER_OF_READS = 2

async function readStream(path: string, eventIds: readonly string[]): Promise<void> {
  const get = async (query: string) => {
    const answer = await api.tryRest(`${path}${query}`)
    assert.ok(answer.status < 300, `${query}: ${answer.status} ${answer.text}`)
    return answer.text
  }
  const post = async (query: string, body: unknown) => {
    const answer = await api.tryRest(`${path}${query}`, 'POST', body)
    assert.ok(answer.status < 300, `${query}: ${answer.status} ${answer.text}`)
    return answer.text
  }
  await get('')
  await get('/usage')
  await get('/usage/keys')
  await get('/refusals')
  await get('/keys')
  await get('/fields')
  await get('/fields?limit=1')
  await get('/shapes')
  await get('/shapes?limit=1')
  await get('/events')
  await get('/events?limit=1')
  for (const id of eventIds) await get(`/events/${id}`)
  for (const field of ['n', 'tags', 'nothing']) await get(`/fields/${field}/stats`)
  for (const query of ['', 'n:1', 'level:error AND (n:1 OR tags:a) -list[]:{a:1}']) {
    await get(`/explain?query=${encodeURIComponent(query)}`)
    await get(`/complete?query=${encodeURIComponent(query)}`)
    await post('/search', { query })
    await post('/search', { query, fields: ['n', 'tags'], limit: 1 })
    await post('/query', { query })
    await post('/query', {
      query,
      group_by: ['n', 'tags', { bucket: '1h' }],
      others: true,
      limit: 1,
    })
    await post('/query', {
      query,
      aggregates: [
        { fn: 'avg', field: 'n' },
        { fn: 'min', field: 'x' },
      ],
    })
    await post('/query', { query, group_by: { bucket: 'auto' } })
    await post('/histogram', { query })
    await post('/facets', { query, fields: ['n', 'tags', 'level', '_level', 'nothing'] })
    await post('/patterns', { query, sort: 'growth' })
  }
  await post('/compare', { baseline: { query: 'level:error' } })
  await post('/redact/preview', { sample: EVENTS[0] })
  await post('/redact/preview', { sample: 'password=hunter2hunter2' })
  await post('/redact/review', {})
  await post('/redact/review', { redact_fields: ['message'] })
}

test('what reads and management answer', async () => {
  const made = [JSON.parse(await api.rest('/v1/streams', 'POST', { name: 'empty' })).id as string]
  const full = {
    name: 'full',
    retention_days: 7,
    max_stored_bytes: 10 ** 9,
    rate_budget: 10_000,
    byte_budget: 10 ** 7,
    redact_sensitive: true,
    redact_fields: ['secretish'],
  }
  const created = await api.tryRest('/v1/streams', 'POST', full)
  made.push(created.status < 300 ? JSON.parse(created.text).id : (await api.createStream()).id)
  const { key, id: keyId } = await api.createKey(made[1]!)
  const lines = `${EVENTS.map((event) => JSON.stringify(event)).join('\n')}\n{"broken\n`
  const sent = await api.ingest(key, lines, { 'content-type': 'application/x-ndjson' })
  assert.equal(sent.status, 200, sent.text)
  assert.equal((await api.ingestText(key, 'a line of text')).status, 200)
  await api.untilCounted(made[1]!, EVENTS.length + 1)
  const ids = (await api.events(made[1]!)).map(({ id }) => id)
  for (const [index, id] of made.slice(0, NUMBER_OF_READS).entries()) {
    await readStream(`/v1/streams/${id}`, index === 0 ? [] : ids)
  }
  await manage(made[1]!, keyId)
})

async function manageAlerts(id: string): Promise<void> {
  const rule = { condition: { op: '>', value: 1e9 }, window: '10s', streams: [id] }
  await api.rest('/v1/alerts/rules/described', 'PUT', rule)
  await api.rest('/v1/alerts/rules/described', 'PUT', { ...rule, group_by: ['n'] })
  for (const path of ['', '/described', '/described/groups', '/described/transitions']) {
    await api.rest(`/v1/alerts/rules${path}`)
  }
  await api.rest('/v1/alerts/rules/described/windows')
  await api.rest('/api/v1/rules')
  await api.rest('/api/v1/alerts')
  await api.rest('/v1/alerts/backtest', 'POST', { rule, from: '-1m' })
  await api.rest('/v1/alerts/rules/described', 'DELETE')
  const silences = '/v1/alerts/silences'
  const silence = { matchers: [{ name: 'a', value: 'b' }], to: '2999-01-01T00:00:00Z' }
  const made = JSON.parse(await api.rest(silences, 'POST', silence)) as { id: string }
  await api.rest(silences)
  await api.rest(`${silences}/${made.id}`)
  await api.rest(`${silences}/${made.id}`, 'DELETE')
  const channel = '/v1/alerts/channels/described'
  const template = { text: '{{title}}' }
  await api.rest(channel, 'PUT', { url: 'http://127.0.0.1:1/' })
  await api.rest(`${channel}/test`, 'POST')
  await api.rest(channel, 'PUT', { kind: 'slack', url: 'https://hooks.test/', template })
  await api.rest('/v1/alerts/channels')
  await api.rest('/v1/alerts/channels/preview', 'POST', { kind: 'template', template })
  await api.rest('/v1/alerts/channels/preview', 'POST', { kind: 'webhook' })
  await api.rest('/v1/alerts/messages')
  await api.rest('/v1/alerts/channels/described', 'DELETE')
}

/** Views, settings and credentials, and reads over all streams. */
async function manage(id: string, keyId: string): Promise<void> {
  const views = `/v1/streams/${id}/views`
  const chart = { aggregates: [{ fn: 'count' }], group_by: ['n'], bucket: '5m', type: 'lines' }
  for (const view of [
    { name: 'plain' },
    {
      name: 'whole',
      range: { last: '15m' },
      chart,
      columns: [{ path: 'n', width: 9 }],
      tags: ['x'],
    },
  ]) {
    const saved = JSON.parse(await api.rest(views, 'POST', view)) as { readonly id: string }
    await api.rest(`${views}/${saved.id}`)
    await api.rest(`${views}/${saved.id}`, 'PATCH', { description: 'changed' })
    await api.rest(`${views}/${saved.id}/query`, 'POST', {})
    await api.rest(`${views}/${saved.id}/search`, 'POST', {})
  }
  await api.rest(views)
  for (const [method, path, body] of [
    ['GET', '/v1/streams', undefined],
    ['GET', '/v1/streams?limit=1', undefined],
    ['GET', '/v1/usage', undefined],
    ['GET', '/v1/refusals', undefined],
    ['PATCH', `/v1/streams/${id}`, { name: 'renamed' }],
    ['POST', '/v1/search', {}],
    ['GET', '/v1/search?query=n:1', undefined],
    ['GET', `/v1/streams/${id}/search`, undefined],
    ['POST', '/v1/query', { group_by: '_stream' }],
    ['GET', '/v1/query?group_by=n', undefined],
    ['GET', `/v1/streams/${id}/query?aggregates=count,p99:n`, undefined],
    ['POST', '/v1/histogram', {}],
    ['GET', '/v1/histogram', undefined],
    ['GET', `/v1/streams/${id}/histogram`, undefined],
    ['POST', '/v1/facets', {}],
    ['GET', '/v1/facets?fields=n', undefined],
    ['GET', `/v1/streams/${id}/facets`, undefined],
    ['POST', '/v1/compare', {}],
    ['GET', '/v1/compare?window=-1h..now&baseline=query:n:1', undefined],
    ['GET', `/v1/streams/${id}/compare?baseline=yesterday`, undefined],
    ['POST', '/v1/patterns', { sort: 'new', baseline: { from: '-2d', to: '-1d' } }],
    ['GET', '/v1/patterns', undefined],
    ['GET', `/v1/streams/${id}/patterns?baseline=-2d..-1d`, undefined],
    ['GET', `/v1/fields?streams=${id}`, undefined],
    ['GET', `/v1/fields?streams=${id}&contains=mesage`, undefined],
    ['GET', '/v1/complete?query=mess', undefined],
    ['GET', '/v1/complete?query=n:', undefined],
    ['POST', '/v1/tokens', { name: 'one', scopes: ['events:read'] }],
    [
      'POST',
      '/v1/tokens',
      { name: 'two', scopes: ['events:read'], expires_at: '2100-01-01T00:00:00Z' },
    ],
    ['POST', '/v1/tokens', { scopes: ['events:read'], streams: [id] }],
    ['GET', '/v1/tokens', undefined],
    ['GET', '/v1/me', undefined],
    ['POST', '/v1/session', undefined],
    ['DELETE', '/v1/session?everywhere=true', undefined],
    ['POST', `/v1/streams/${id}/fields/n/resolve`, undefined],
    ['POST', `/v1/streams/${id}/projection/retry`, undefined],
    ['DELETE', `/v1/streams/${id}/keys/${keyId}`, undefined],
  ] as const) {
    await api.rest(path, method, body)
  }
  await manageAlerts(id)
  for (const path of ['/healthz', '/readyz', '/ready', '/']) await call(`${recorder.url}${path}`)
}

test('what is refused', async () => {
  await api.tryRest('/v1/streams/999999')
  await api.tryRest('/v1/query', 'POST', { query: 'a:(' })
  await api.tryRest('/v1/query', 'POST', { limit: 'x' })
  await call(`${recorder.url}/v1/streams`)
  const headers = { 'content-type': 'application/json', 'x-api-key': 'lax_nobody' }
  await call(`${recorder.url}/v1/ingest`, { method: 'POST', headers, body: '{}' })
})

test('all of it is as the description says, and no operation was forgotten', () => {
  assert.deepEqual(answers.faults, [])
  const forgotten = answers.operations.filter((operation) => {
    return !answers.compared.has(operation) && !ELSEWHERE.test(operation)
  })
  assert.deepEqual(forgotten, [])
})
