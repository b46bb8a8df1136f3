/**
 * Goal: user agent strings get their sibling where one belongs, and nothing else is touched; a
 * client that sends hostile ones spends its own stream's budget and nobody else's time.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BATCH_BYTES_TARGET, DEPTH_MAX, USER_AGENT_BYTES_MAX } from '../../../src/limits.ts'
import { heldBytes } from '../../../workers/kernel/arena-copy.ts'
import { TRIE_NODES_MAX } from '../../../workers/tape/path-trie.ts'
import { USER_AGENT_CACHE_MAX, UserAgents } from '../../../workers/transform/agents/user-agent.ts'
import {
  USER_AGENT_BUDGET_STREAMS_MAX,
  USER_AGENT_COST_MAX,
  USER_AGENT_COST_PER_SECOND,
  userAgentCost,
} from '../../../workers/transform/agents/user-agent-budget.ts'
import { USER_AGENTS_PER_EVENT_MAX } from '../../../workers/transform/agents/user-agent-fields.ts'
import { AGENTS, REDACT, transformed, Worker } from '../transform-harness.ts'

const FIREFOX = 'Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0'
const PARSED = { browser_family: 'Firefox', browser_version: '132.0', os_family: 'Ubuntu' }
const PHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_6_1 like Mac OS X) AppleWebKit/605.1.15 ' +
  '(KHTML, like Gecko) Version/17.6 Mobile/15E148 Safari/604.1'

function add(event: object): unknown {
  return JSON.parse(transformed(JSON.stringify(event), AGENTS))
}

test('every field name, at any depth, right behind its field', () => {
  const names = ['user_agent', 'userAgent', 'useragent', 'user-agent', 'User-Agent']
  for (const name of [
    ...names,
    'http_user_agent',
    'ua',
    'agent',
    'user_agent.original',
    'http.ua',
  ]) {
    const sibling = { [name]: FIREFOX, [`${name}_parsed`]: PARSED }
    assert.deepEqual(add({ a: 1, [name]: FIREFOX, z: 2 }), { a: 1, ...sibling, z: 2 })
    assert.deepEqual(add({ a: { b: [[{ [name]: FIREFOX }], 3] } }), { a: { b: [[sibling], 3] } })
  }
  const nested = { user_agent: { original: FIREFOX, original_parsed: PARSED } }
  assert.deepEqual(add({ user_agent: { original: FIREFOX } }), nested)
})

test('all of what can be known, under its own names', () => {
  assert.deepEqual(add({ ua: PHONE }), {
    ua: PHONE,
    ua_parsed: {
      browser_family: 'Mobile Safari',
      browser_version: '17.6',
      os_family: 'iOS',
      os_version: '17.6.1',
      device_family: 'iPhone',
      device_brand: 'Apple',
      device_type: 'mobile',
    },
  })
})

test('other values, other fields and strings that say nothing stay alone', () => {
  const events = [
    { agent: { name: FIREFOX } },
    { ua: [FIREFOX], agent: 7, user_agent: null },
    { my_user_agent: FIREFOX, original: FIREFOX, UserAgent: FIREFOX },
    { ua: 'something else', agent: '' },
  ]
  for (const event of events) assert.deepEqual(add(event), event)
})

test('an existing sibling is kept, whichever way it is spelled', () => {
  for (const sibling of [
    '"ua_parsed":1',
    '"ua_parsed":{}',
    '"ua_parsed":[{"a":1}]',
    '"ua\\u005fparsed":{"a":{}}',
    '"ua_parsed.x":1',
  ]) {
    for (const line of [
      `{"ua":"${FIREFOX}",${sibling}}`,
      `{"l":[{${sibling},"ua":"${FIREFOX}"}]}`,
    ]) {
      assert.equal(transformed(line, AGENTS), line)
    }
  }
  const others = [{ ua: FIREFOX }, { ua: FIREFOX, ua_parsed: null }, { x: { ua_parsed: 1 } }]
  const expected = [{ ua: FIREFOX, ua_parsed: PARSED }, others[1], others[2]]
  assert.deepEqual(add({ others, ua_parsed: 1 }), { others: expected, ua_parsed: 1 })
})

test('the same string again, at one path and at others, also when paths are forgotten', () => {
  const worker = new Worker()
  const line = (event: object) => JSON.stringify(event)
  const lines = [{ ua: FIREFOX }, { ua: FIREFOX }, { a: { ua: FIREFOX } }, { ua: FIREFOX }].map(
    line,
  )
  // Which batches see the paths forgotten is the trie's: twice as many keys as it holds are sent.
  for (let round = 0, keys = 0; keys < 2 * TRIE_NODES_MAX; round++) {
    const many = Array.from({ length: 3_000 }, () => [`k${keys++}`, round])
    const { texts } = worker.run([...lines, line(Object.fromEntries(many))], AGENTS)
    assert.deepEqual(
      texts.slice(0, 4),
      lines.map((text) => transformed(text, AGENTS)),
    )
  }
})

test('the same string in many fields of one event', () => {
  const worker = new Worker()
  const names = ['user_agent', 'userAgent', 'useragent', 'user-agent', 'http_user_agent', 'ua']
  const event = Object.fromEntries(names.map((name) => [name, FIREFOX]))
  const expected = Object.fromEntries(
    names.flatMap((name) => [
      [name, FIREFOX],
      [`${name}_parsed`, PARSED],
    ]),
  )
  const lines = Array.from({ length: 3 }, () => JSON.stringify({ ...event, inner: event }))
  const { texts } = worker.run(lines, AGENTS)
  for (const text of texts) assert.deepEqual(JSON.parse(text), { ...expected, inner: expected })
})

test('escapes, duplicate keys and white space', () => {
  const spelled = FIREFOX.replaceAll('/', '\\/')
  const json = JSON.stringify(PARSED)
  assert.equal(
    transformed(`{"u\\u0061":"${spelled}"}`, AGENTS),
    `{"u\\u0061":"${spelled}","ua_parsed":${json}}`,
  )
  const twice = `{"ua":"${FIREFOX}", "ua" : "${PHONE}" , "z":1}`
  const events = JSON.parse(transformed(twice, AGENTS))
  assert.deepEqual([events.ua, events.ua_parsed.device_brand, events.z], [PHONE, 'Apple', 1])
})

test('redacted before it is parsed', () => {
  const settings = { ...REDACT, parseUserAgents: true, redactFields: ['ua'] }
  assert.equal(transformed(`{"ua":"${FIREFOX}"}`, settings), '{"ua":"[REDACTED]"}')
})

test('USER_AGENT_BYTES_MAX: no more of a string is looked at', () => {
  const padded = `${' '.repeat(USER_AGENT_BYTES_MAX - FIREFOX.length)}${FIREFOX}`
  assert.deepEqual(add({ ua: padded }), { ua: padded, ua_parsed: PARSED })
  const tooLong = ` ${' '.repeat(USER_AGENT_BYTES_MAX)}${FIREFOX}`
  assert.deepEqual(add({ ua: tooLong }), { ua: tooLong })
})

test('USER_AGENTS_PER_EVENT_MAX: the first ones of an event', () => {
  const list = Array.from({ length: USER_AGENTS_PER_EVENT_MAX + 5 }, () => ({ ua: FIREFOX }))
  const { l } = add({ l: list }) as { l: { ua_parsed?: object }[] }
  assert.equal(
    l.filter(({ ua_parsed }) => ua_parsed !== undefined).length,
    USER_AGENTS_PER_EVENT_MAX,
  )
  assert.equal(l.at(-1)?.ua_parsed, undefined)
})

test('DEPTH_MAX: a sibling that would be too deep is not added', () => {
  const deep = (depth: number) =>
    `${'{"a":'.repeat(depth - 1)}{"ua":"${FIREFOX}"}${'}'.repeat(depth - 1)}`
  assert.equal(transformed(deep(DEPTH_MAX), AGENTS), deep(DEPTH_MAX))
  assert.notEqual(transformed(deep(DEPTH_MAX - 1), AGENTS), deep(DEPTH_MAX - 1))
})

test('USER_AGENT_CACHE_MAX: looked up once, forgotten when too many came since', () => {
  const agents = new UserAgents()
  agents.begin(1, 0)
  const lookUp = (text: string) => agents.lookUp(heldBytes(Buffer.from(text)), 0, text.length)
  lookUp('x0')
  lookUp('x0')
  assert.deepEqual([agents.hits, agents.misses], [1, 1])
  for (let i = 1; i <= USER_AGENT_CACHE_MAX; i++) {
    lookUp(`x${i}`)
    if (i % 1_000 === 0) agents.begin(1, i * 1_000)
  }
  agents.begin(1, 1e9)
  lookUp('x0')
  assert.deepEqual([agents.hits, agents.misses, agents.skipped], [0, 1, 0])
})

test('the batch says how many look-ups there were', () => {
  const worker = new Worker()
  const line = JSON.stringify({ ua: FIREFOX, list: [{ ua: PHONE }] })
  const first = worker.run([line, line], AGENTS).batch
  assert.deepEqual([first.userAgentHits, first.userAgentMisses], [2, 2])
  assert.equal(first.userAgentsSkipped, 0)
  assert.equal(worker.run([line], AGENTS).batch.userAgentMisses, 0)
})

/** Strings of nothing but the words that the slowest expressions look for; each is another one. */
function hostileLines(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, i) => {
    const ua = `Android ${from + i}; ${'droid '.repeat(100)}`.slice(0, USER_AGENT_BYTES_MAX)
    return JSON.stringify({ ua })
  })
}

test('USER_AGENT_COST_MAX: a batch of hostile strings has the first ones parsed', () => {
  const worker = new Worker()
  const affordable = USER_AGENT_COST_MAX / userAgentCost(USER_AGENT_BYTES_MAX)
  const lines = hostileLines(affordable + 100)
  const { texts, batch } = worker.run([...lines, `{"ua":"${FIREFOX}"}`], AGENTS)
  assert.deepEqual([batch.userAgentMisses, batch.userAgentsSkipped], [affordable, 101])
  const isParsed = texts.map((text) => text.includes('ua_parsed'))
  assert.deepEqual([isParsed[0], isParsed[affordable - 1]], [true, true])
  assert.deepEqual(texts.slice(affordable, -1), lines.slice(affordable), 'stored as sent')
  // What is remembered costs nothing, and another stream has its own budget.
  assert.equal(worker.run(lines.slice(0, 9), AGENTS).batch.userAgentHits, 9)
  const other = worker.run([`{"ua":"${FIREFOX}"}`], AGENTS, { streamId: 2 })
  assert.deepEqual(JSON.parse(other.texts[0]!), { ua: FIREFOX, ua_parsed: PARSED })
})

test('USER_AGENT_COST_PER_SECOND: comes back with time, not with a clock set back', () => {
  const worker = new Worker()
  worker.run(hostileLines(USER_AGENT_COST_MAX / 16), AGENTS, { receivedAtMs: 50_000 })
  const parsedAt = (receivedAtMs: number, from: number) =>
    worker.run(hostileLines(500, from), AGENTS, { receivedAtMs }).batch.userAgentMisses
  assert.equal(parsedAt(50_000, 1_000), 0)
  assert.equal(parsedAt(51_000, 2_000), USER_AGENT_COST_PER_SECOND / 16)
  assert.equal(parsedAt(20_000, 3_000), 0)
  assert.equal(parsedAt(90_000, 4_000), USER_AGENT_COST_MAX / 16, 'no more than a full bucket')
})

test('USER_AGENT_BUDGET_STREAMS_MAX: a forgotten stream starts anew', () => {
  const agents = new UserAgents()
  const lookUp = (text: string) => agents.lookUp(heldBytes(Buffer.from(text)), 0, text.length)
  agents.begin(1, 0)
  for (let i = 0; i <= USER_AGENT_COST_MAX; i++) lookUp(`x${i}`)
  assert.equal(agents.skipped, 1)
  for (let id = 2; id <= USER_AGENT_BUDGET_STREAMS_MAX + 1; id++) agents.begin(id, 0)
  agents.begin(1, 0)
  lookUp('new')
  assert.deepEqual([agents.misses, agents.skipped], [1, 0])
})

test('ordinary traffic stays within: a full batch of lines, each with a new usual string', () => {
  const lines: string[] = []
  for (let bytes = 0; bytes < BATCH_BYTES_TARGET; bytes += lines.at(-1)!.length + 1) {
    const i = lines.length
    const ua = FIREFOX.replaceAll('132.0', `${i % 200}.${i}`)
    const request = { remote_addr: `10.0.0.${i % 256}`, path: `/products/${i}`, status: 200 }
    lines.push(JSON.stringify({ time: '2026-01-02T03:04:05Z', ...request, user_agent: ua }))
  }
  const { batch } = new Worker().run(lines, AGENTS)
  assert.deepEqual([batch.userAgentMisses, batch.userAgentsSkipped], [lines.length, 0])
})
