/**
 * Goal: a field is found wherever it is named as the query language writes it; CSV is safe for a
 * spreadsheet when that is asked for; a fault in a query names the member that has it.
 * Method: fields with odd names and odd values in a real service; each is named in every place.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CATALOG_CACHE_MS } from '../../../src/store/catalog/field-catalog-store.ts'
import { eventually } from '../../store/temporary.ts'
import { Api, call, type Stream } from '../../support/api.ts'
import { type SharedService, shareService } from '../../support/service.ts'
import { connectAgent, createToken } from '../agents/agent-client.ts'

let service: SharedService
let api: Api
let stream: Stream
let path = ''

/** A name, and how a query writes it. */
const NAMES = [
  ['user name', '`user name`'],
  ['a,b', '`a,b`'],
  ['http.status code', 'http.`status code`'],
  ['tick`y', '`tick\\`y`'],
  ['_level', '`_level`'],
  ['list[]', '`list[]`'],
  ['plain', '`plain`'],
] as const
const CELLS = ['=1+1', '@x', '+x', '-x', '\tx', '\rx', '-5', '+1.5e3', 'a=1', '', '"=1"']

before(async () => {
  service = await shareService()
  api = new Api(service)
  stream = await api.createStream({ name: 'names' })
  path = `/v1/streams/${stream.id}`
  const named = Object.fromEntries(NAMES.map(([name], n) => [name, `value ${n}`]))
  const cells = CELLS.map((cell) => JSON.stringify({ cell, 'user name': 'x' }))
  const lines = [JSON.stringify(named), ...cells, '{"cell":-7}', '{"cell":["=1"]}']
  assert.equal((await api.ingest(stream.key, lines.join('\n'))).status, 200)
  await api.untilCounted(stream.id, lines.length)
})

after(async () => {
  await service?.close()
})

// biome-ignore lint/suspicious/noExplicitAny: whatever the answer holds is judged by the test.
const read = async (what: string, body?: object): Promise<any> =>
  JSON.parse(await api.rest(`${path}/${what}`, body === undefined ? 'GET' : 'POST', body))

test('search, groups, facets and statistics find a name as a query writes it', async () => {
  for (const [at, [name, written]] of NAMES.entries()) {
    const value = `value ${at}`
    const query = `${written}:="${value}"`
    const inUrl = encodeURIComponent(written)
    const { events } = await read('search', { query, fields: [written] })
    assert.deepEqual(events[0]?.fields, { [name]: value }, written)
    const byUrl = await read(`search?fields=plain,${inUrl === '%60plain%60' ? 'cell' : inUrl}`)
    assert.ok(Array.isArray(byUrl.events))
    const aggregates = [{ fn: 'uniq', field: written, as: 'values' }]
    const grouped = await read('query', { query, group_by: [written], aggregates })
    assert.deepEqual(grouped.rows, [{ [written]: value, values: 1 }])
    const text = `query?group_by=${inUrl},bucket:1d&aggregates=uniq:${inUrl}&limit=5`
    assert.ok((await read(text)).total > 0)
    const ordered = await read('query', { group_by: [written], order_by: { by: name } })
    assert.ok(ordered.rows.length > 0)
    const { facets } = await read('facets', { query, fields: [written] })
    assert.deepEqual(facets[0], {
      field: written,
      events: 1,
      distinct: 1,
      estimated: false,
      values: [{ value, count: 1 }],
    })
    const stats = await read(`fields/${inUrl}/stats?query=${encodeURIComponent(query)}`)
    assert.deepEqual([stats.path, stats.top], [name, [{ value, count: 1 }]])
  }
  const twice = await api.tryRest(`${path}/search`, 'POST', { fields: ['plain', '`plain`'] })
  assert.match(twice.text, /names a path twice/)
})

async function csv(query: string): Promise<string[]> {
  const headers = { authorization: `Bearer ${api.token}`, accept: 'text/csv' }
  const answer = await call(`${service.url}${path}/search?${query}`, { headers })
  assert.equal(answer.status, 200, answer.text)
  return answer.text.split('\r\n').map((line) => line.split(',').slice(3).join(','))
}

test('cells of CSV that a spreadsheet would run are made text when asked for', async () => {
  const plain = await csv('fields=cell&query=cell:*')
  assert.deepEqual(plain.slice(1, 5), ['=1+1', '@x', '+x', '-x'])
  const safe = await csv('fields=cell&query=cell:*&csv_safe=true')
  assert.deepEqual(safe.slice(0, -1), [
    'cell',
    "'=1+1",
    "'@x",
    "'+x",
    "'-x",
    "'\tx",
    '"\'\rx"',
    '-5',
    '+1.5e3',
    'a=1',
    '""',
    '"""=1"""',
    '-7',
    '"[""=1""]"',
  ])
  const heading = encodeURIComponent('=cmd,-5')
  assert.deepEqual((await csv(`fields=${heading}&query=plain:*&csv_safe=true`))[0], "'=cmd,-5")
  assert.deepEqual((await csv(`fields=${heading}&query=plain:*`))[0], '=cmd,-5')
})

test('a fault in the query of an aggregate names that aggregate', async () => {
  const bad = `n:${'('.repeat(200)}`
  const regex = `n:/${'(a|b){900}'.repeat(40)}/`
  const good = { fn: 'count', query: 'plain:*', as: 'good' }
  const agent = await connectAgent(service, await createToken(api, ['streams:read', 'events:read']))
  for (const query of [bad, regex, 'n:[1 TO x', 'NOT']) {
    const body = { aggregates: [good, { fn: 'count', query, as: 'bad' }] }
    const answer = await api.tryRest(`${path}/query`, 'POST', body)
    assert.equal(answer.status, 400, `${query.slice(0, 20)}: ${answer.text}`)
    const { field, detail } = JSON.parse(answer.text)
    assert.equal(field, 'aggregates[1].query', answer.text)
    assert.match(detail, /^"aggregates\[1\]\.query"/)
    const chart = { aggregates: body.aggregates, group_by: [], type: 'lines' }
    const view = await api.tryRest(`${path}/views`, 'POST', { name: 'v', chart })
    assert.equal(JSON.parse(view.text).field, 'chart.aggregates[1].query', view.text)
    const told = await agent.call('aggregate', { stream: stream.id, ...body })
    assert.match(told.text, /aggregates\[1\]\.query/)
    const own = await api.tryRest(`${path}/query`, 'POST', { query, aggregates: [good] })
    assert.equal(JSON.parse(own.text).field, 'query', own.text)
  }
  await agent.close()
})

test('so does one that shows only when the fields of the stream are known', async () => {
  const wide = await api.createStream()
  const event = Object.fromEntries(Array.from({ length: 70 }, (_, n) => [`field${n}`, 'x']))
  assert.equal((await api.ingest(wide.key, JSON.stringify(event))).status, 200)
  await api.untilCounted(wide.id, 1)
  await eventually('its fields are known', async () => {
    const { fields } = JSON.parse(await api.rest(`/v1/streams/${wide.id}/fields?limit=100`))
    return fields.length >= 70
  })
  // A query may know a stream's fields as they were so long ago.
  await sleep(CATALOG_CACHE_MS)
  const query = `*:(${Array.from({ length: 60 }, (_, n) => `value${n}`).join(' OR ')})`
  const ask = async (body: object) => {
    const answer = await api.tryRest(`/v1/streams/${wide.id}/query`, 'POST', body)
    assert.equal(answer.status, 400, answer.text)
    return JSON.parse(answer.text)
  }
  const good = { fn: 'count', query: 'field1:x', as: 'good' }
  const told = await ask({ aggregates: [good, { fn: 'count', query, as: 'bad' }] })
  assert.equal(told.field, 'aggregates[1].query')
  assert.match(told.detail, /^"aggregates\[1\]\.query": column \d+: this stands for 70 fields/)
  assert.equal((await ask({ query, aggregates: [good] })).field, 'query')
})
