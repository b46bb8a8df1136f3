/**
 * Goal: an array that events are grouped by is shown as the JSON that it is, everywhere: digits,
 * quotes, nulls and arrays in arrays included. A string that looks like one stays a string.
 * Method: real events in a real service; the text of answers is compared, so that digits count.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { readElementTexts, readMemberTexts } from '../../../src/api/json-text.ts'
import { FACET_VALUE_CHARS_MAX } from '../../../src/limits.ts'
import { Api, call, type Stream } from '../../support/api.ts'
import { type SharedService, shareService } from '../../support/service.ts'
import { type Agent, connectAgent, createToken } from '../agents/agent-client.ts'

let service: SharedService
let api: Api
let stream: Stream
let agent: Agent

/** What is sent, and what is shown. */
const SAME = [
  '["a","b"]',
  '["say \\"hi\\"","back\\\\slash","l\\nf","it\'s","a/b","é\\u0001"]',
  '[9007199254740993,-9223372036854775808,1]',
  '[18446744073709551615,9223372036854775808]',
  '[1.5,2,-0.25]',
  '[true,null,false]',
  '["x",null]',
  '[]',
  '[[1,2],[9007199254740993]]',
  '[["a","b\\"c"],[]]',
  '[null,[null,"x"]]',
  '[{"a":1,"b":"c\\"d/e"},{"a":9007199254740993}]',
  '[{"a":[1,2]}]',
  '"[\\"a\\",\\"b\\"]"',
  '"[1,2]"',
] as const
const CHANGED = [
  ['[1e400]', '["inf"]'],
  ['[1.0,2.0]', '[1,2]'],
  // Mixed arrays are texts in the projection.
  ['["a",1,true,[2]]', '["a","1","true",[2]]'],
] as const
const ALL = [...SAME.map((text) => [text, text] as const), ...CHANGED]

before(async () => {
  service = await shareService()
  api = new Api(service)
  stream = await api.createStream({ name: 'arrays' })
  const lines = ALL.map(([sent], n) => `{"n":${n},"v":${sent}}`)
  assert.equal((await api.ingest(stream.key, lines.join('\n'))).status, 200)
  await api.untilCounted(stream.id, lines.length)
  agent = await connectAgent(service, await createToken(api, ['streams:read', 'events:read']))
})

after(async () => {
  await agent?.close()
  await service?.close()
})

const path = () => `/v1/streams/${stream.id}`
const shown = ALL.map(([, text]) => text).sort()
const valuesOf = (rows: string | undefined, name: string) =>
  readElementTexts(rows ?? '[]').map((row) => readMemberTexts(row).get(name) ?? '')

test('groups of a query are JSON arrays', async () => {
  const text = await api.rest(`${path()}/query`, 'POST', { group_by: ['v'], limit: 100 })
  assert.deepEqual(valuesOf(readMemberTexts(text).get('rows'), 'v').sort(), shown)
  const both = await api.rest(`${path()}/query`, 'POST', { group_by: ['n', 'v'], limit: 100 })
  assert.deepEqual(valuesOf(readMemberTexts(both).get('rows'), 'v').sort(), shown)
})

test('so are facets, statistics and the rows that an agent gets', async () => {
  const facets = await api.rest(`${path()}/facets`, 'POST', { fields: ['v'], limit: 50 })
  const [facet = ''] = readElementTexts(readMemberTexts(facets).get('facets') ?? '[]')
  assert.deepEqual(valuesOf(readMemberTexts(facet).get('values'), 'value').sort(), shown)
  const stats = await api.rest(`${path()}/fields/v/stats?limit=100`)
  assert.deepEqual(valuesOf(readMemberTexts(stats).get('top'), 'value').sort(), shown)
  const { text } = await agent.call('aggregate', { stream: stream.id, group_by: ['v'] })
  const rows = valuesOf(readMemberTexts(text).get('rows'), 'v').map((value) => JSON.parse(value))
  assert.deepEqual(rows.length, shown.length)
  assert.ok(rows.some((value) => JSON.stringify(value) === '["a","b"]'))
})

test('an array is shown with the same text in exports', async () => {
  const headers = { authorization: `Bearer ${api.token}`, accept: 'text/csv' }
  const { text } = await call(`${service.url}${path()}/search?fields=v&query=n:0`, { headers })
  assert.match(text, /,"\[""a"",""b""\]"\r\n/)
})

test('a long array is cut in facets and statistics, and says so by being a string', async () => {
  const long = await api.createStream()
  const value = JSON.stringify(Array.from({ length: 600 }, (_, n) => `element ${n}`))
  assert.equal((await api.ingest(long.key, `{"v":${value}}`)).status, 200)
  await api.untilCounted(long.id, 1)
  const at = `/v1/streams/${long.id}`
  const whole = await api.rest(`${at}/query`, 'POST', { group_by: ['v'] })
  assert.deepEqual(valuesOf(readMemberTexts(whole).get('rows'), 'v'), [value])
  for (const [text, chars] of [
    [await api.rest(`${at}/facets`, 'POST', { fields: ['v'] }), FACET_VALUE_CHARS_MAX],
    [await api.rest(`${at}/fields/v/stats`), 1_024],
  ] as const) {
    const cut = /"value":("(?:[^"\\]|\\.)*")/.exec(text)?.[1] ?? '""'
    assert.equal(JSON.parse(cut), value.slice(0, chars))
  }
})
