/**
 * Goal: every client of the protocol finds the tools and can call them, of its newest version and
 * of older ones; strangers, pages of other sites and what is no message are refused.
 * Method: a real service; the official clients of 2.x and 1.x, and plain HTTP for what they do not
 * send.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import * as oldHttp from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  LANE_WAIT_MS_MAX,
  MCP_BODY_BYTES_MAX,
  MCP_CALL_MS_MAX,
  QUERY_MS_MAX,
} from '../../../src/limits.ts'
import { Api, call } from '../../support/api.ts'
import { type SharedService, shareService } from '../../support/service.ts'
import { connectAgent, createToken, readAnswer } from './agent-client.ts'

const TOOLS = [
  'aggregate',
  'describe_stream',
  'explain_alert',
  'explain_change',
  'find_patterns',
  'get_event',
  'ingest_events',
  'list_alerts',
  'list_streams',
  'redact_preview',
  'search_events',
  'tail_sample',
]

let service: SharedService
let api: Api
let reader: string

before(async () => {
  service = await shareService()
  api = new Api(service)
  reader = await createToken(api, ['streams:read', 'events:read'])
})

after(async () => {
  await service?.close()
})

const MESSAGE = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }

function post(body: unknown, headers: Readonly<Record<string, string>> = {}) {
  return call(`${service.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${reader}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

for (const mode of ['auto', 'legacy'] as const) {
  test(`the client of 2.x finds the tools (${mode})`, async () => {
    const agent = await connectAgent(service, reader, mode)
    const { tools } = await agent.client.listTools()
    assert.deepEqual(
      tools.map(({ name }) => name),
      TOOLS,
    )
    for (const { name, description, inputSchema, annotations } of tools) {
      assert.ok((description ?? '').length > 40, name)
      assert.equal(inputSchema.type, 'object')
      assert.equal(annotations?.readOnlyHint, name !== 'ingest_events', name)
    }
    assert.match(agent.client.getInstructions() ?? '', /untrusted input/)
    const version = agent.client.getNegotiatedProtocolVersion()
    assert.equal(version, mode === 'auto' ? '2026-07-28' : '2025-11-25')
    assert.equal(agent.client.getServerVersion()?.name, 'sluice')
    await agent.json('list_streams')
    await agent.close()
  })
}

test('the client of 1.x finds the tools and calls one', async () => {
  const client = new OldClient({ name: 'old', version: '1' })
  const requestInit = { headers: { authorization: `Bearer ${reader}` } }
  const url = new URL(`${service.url}/mcp`)
  await client.connect(new oldHttp.StreamableHTTPClientTransport(url, { requestInit }) as never)
  const { tools } = await client.listTools()
  assert.deepEqual(
    tools.map(({ name }) => name),
    TOOLS,
  )
  const answer = readAnswer(await client.callTool({ name: 'list_streams', arguments: {} }))
  assert.equal(answer.isError, false, answer.text)
  await client.close()
})

for (const version of ['2025-03-26', '2025-06-18', '2025-11-25']) {
  test(`a client that speaks ${version} is answered in it`, async () => {
    const params = {
      protocolVersion: version,
      capabilities: {},
      clientInfo: { name: 'old', version: '1' },
    }
    const answer = await post({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
    assert.equal(answer.status, 200, answer.text)
    assert.match(answer.text, new RegExp(`"protocolVersion":"${version}"`))
  })
}

test('a request without a valid token is refused', async () => {
  const stream = await api.createStream()
  const [none, wrong, key] = await Promise.all([
    post(MESSAGE, { authorization: '' }),
    post(MESSAGE, { authorization: `Bearer ${reader.slice(0, -1)}_` }),
    post(MESSAGE, { authorization: `Bearer ${stream.key}` }),
  ])
  assert.equal(none.status, 401)
  assert.match(String(none.headers['www-authenticate']), /^Bearer/)
  assert.equal(wrong.status, 401)
  assert.equal(key.status, 403)
  assert.equal(JSON.parse(key.text).code, 'forbidden')
})

test('a page of another site is refused, loopback and the host itself are not', async () => {
  const evil = await post(MESSAGE, { origin: 'https://evil.example' })
  assert.equal(evil.status, 403, evil.text)
  assert.equal(JSON.parse(evil.text).code, 'forbidden')
  assert.equal((await post(MESSAGE, { origin: 'null' })).status, 403)
  for (const origin of ['http://localhost:3000', 'http://127.0.0.1', service.url]) {
    assert.equal((await post(MESSAGE, { origin })).status, 200, origin)
  }
  const named = { host: 'logs.example', origin: 'https://logs.example' }
  assert.equal((await post(MESSAGE, named)).status, 200)
  assert.equal((await post(MESSAGE, { ...named, host: 'other.example' })).status, 403)
})

test('other methods and what is no message are refused in words', async () => {
  for (const method of ['GET', 'DELETE']) {
    const answer = await call(`${service.url}/mcp`, { method })
    assert.equal(answer.status, 405, answer.text)
    assert.equal(JSON.parse(answer.text).code, 'method_not_allowed')
  }
  assert.equal((await post('{"jsonrpc"')).status, 400)
  assert.equal((await post([MESSAGE, MESSAGE])).status, 400)
  assert.equal((await post(MESSAGE, { 'content-type': 'text/plain' })).status, 415)
  const large = await post(`"${'x'.repeat(MCP_BODY_BYTES_MAX)}"`)
  assert.equal(large.status, 413)
  const unknown = await post({ ...MESSAGE, method: 'nothing/like-this' })
  assert.match(unknown.text, /-32601/)
})

test('a header that differs from the body is refused', async () => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const body = { ...MESSAGE, params: { _meta: meta } }
  const version = { 'mcp-protocol-version': '2026-07-28' }
  const right = await post(body, { ...version, 'mcp-method': 'tools/list' })
  assert.equal(right.status, 200, right.text)
  const wrong = await post(body, { ...version, 'mcp-method': 'tools/call' })
  assert.equal(wrong.status, 400, wrong.text)
})

test('an unknown tool, an unknown argument and a missing one are named', async () => {
  const agent = await connectAgent(service, reader)
  for (const [name, args, words] of [
    ['drop_all', {}, /no such tool; known are: aggregate/],
    ['list_streams', { page: 1 }, /unknown field "page"; known are: after/],
    ['search_events', {}, /"stream" is required/],
    ['search_events', { stream: '1', limit: 201 }, /"limit" must be an integer from 1 to 200/],
    ['search_events', { stream: 'nope' }, /no such stream; list_streams lists/],
  ] as const) {
    const { isError, text } = await agent.call(name, args)
    assert.ok(isError, name)
    assert.match(text, words)
  }
  await agent.close()
})

test('a token without the scope hears which it lacks', async () => {
  const token = await createToken(api, ['streams:read'])
  const agent = await connectAgent(service, token)
  await agent.json('list_streams')
  const { isError, text } = await agent.call('search_events', { stream: '1' })
  assert.ok(isError)
  assert.match(text, /forbidden: this needs a token with the scope events:read/)
  await agent.close()
})

test('a call has a time, which it does not outlast', async () => {
  // Queries end before: what is cut here is only what nobody thought of.
  assert.ok(MCP_CALL_MS_MAX > QUERY_MS_MAX + LANE_WAIT_MS_MAX)
})

test('a hundred calls at once are all answered', async () => {
  const agent = await connectAgent(service, reader)
  const calls = Array.from({ length: 100 }, () => agent.call('list_streams'))
  const answers = await Promise.all(calls)
  assert.ok(answers.every(({ isError }) => !isError))
  await agent.close()
})
