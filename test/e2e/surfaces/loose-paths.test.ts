/**
 * Goal: a base URL that ends in a slash loses no data: every ingest path, the probes of
 * Elasticsearch's clients and those of orchestrators take slashes too many; management routes do
 * not.
 * Method: each path in several spellings against one service, then the count of what was stored.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Api, call, type Stream } from '../../support/api.ts'
import { type SharedService, shareService } from '../../support/service.ts'

let service: SharedService
let api: Api
let stream: Stream

before(async () => {
  service = await shareService()
  api = new Api(service)
  stream = await api.createStream()
})

after(async () => {
  await service?.close()
})

const JSON_TYPE = 'application/json'
const BULK = '{"index":{}}\n{"n":1}\n'
const OTLP = JSON.stringify({
  resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: 'hello' } }] }] }],
})
const LOKI = '{"streams":[{"stream":{},"values":[["1","hello"]]}]}'

/** Method, path, media type and body: each stores one event. */
const WRITES: readonly (readonly [string, string, string, string])[] = [
  ['POST', '/v1/ingest', JSON_TYPE, '{"n":1}'],
  ['POST', '/v1/ingest/text', 'text/plain', 'a line'],
  ['POST', '/v1/otlp/v1/logs', JSON_TYPE, OTLP],
  ['POST', '/v1/logs', JSON_TYPE, OTLP],
  ['POST', '/loki/api/v1/push', JSON_TYPE, LOKI],
  ['POST', '/_bulk', JSON_TYPE, BULK],
  ['PUT', '/_bulk', JSON_TYPE, BULK],
  ['POST', '/some%2Findex/_bulk', JSON_TYPE, BULK],
  ['POST', '/logs/_doc', JSON_TYPE, '{"n":1}'],
  ['POST', '/services/collector', JSON_TYPE, '{"event":"x"}'],
  ['POST', '/services/collector/event', JSON_TYPE, '{"event":"x"}'],
  ['POST', '/services/collector/event/1.0', JSON_TYPE, '{"event":"x"}'],
  ['POST', '/services/collector/raw', 'text/plain', 'a line'],
  ['POST', '/services/collector/raw/1.0', 'text/plain', 'a line'],
  ['PUT', '/logs/_doc/7', JSON_TYPE, '{"n":1}'],
  ['POST', '/logs/_create/7', JSON_TYPE, '{"n":1}'],
]

const spellings = (path: string) => [
  `/${path}`,
  `${path}/`,
  `${path.replace(/\/(?=[^/]*$)/, '//')}`,
  `//${path.replaceAll('/', '//')}//`,
]

test('every ingest path takes slashes too many', async () => {
  let stored = 0
  for (const [method, path, type, body] of WRITES) {
    for (const spelling of spellings(path)) {
      const headers = { 'x-api-key': stream.key, authorization: `ApiKey ${stream.key}` }
      const more = { 'content-type': type, ...headers }
      const answer = await call(`${service.url}${spelling}`, { method, headers: more, body })
      assert.ok(answer.status < 300, `${method} ${spelling}: ${answer.status} ${answer.text}`)
      assert.doesNotMatch(answer.text, /"errors":true|not_found/, spelling)
      if (path === '/some%2Findex/_bulk') assert.match(answer.text, /"_index":"some\/index"/)
      stored++
    }
  }
  assert.equal((await api.events(stream.id)).length, stored)
})

test('other signals are refused as such, and probes are answered', async () => {
  const headers = { authorization: `ApiKey ${stream.key}`, 'x-api-key': stream.key }
  const traces = await call(`${service.url}//v1/otlp/v1/traces/`, { method: 'POST', headers })
  assert.equal(traces.status, 501)
  for (const path of ['//healthz', '/readyz/', '//services//collector/health/']) {
    assert.equal((await call(`${service.url}${path}`)).status, 200, path)
  }
  const greeting = await call(`${service.url}//`, { headers })
  assert.match(greeting.text, /You Know, for Search/)
  const license = await call(`${service.url}//_license/`, { headers })
  assert.match(license.text, /"status":"active"/)
  const nodes = await call(`${service.url}/_nodes//http`, { headers })
  assert.match(nodes.text, /publish_address/)
  const template = await call(`${service.url}//_index_template/x/`, { method: 'PUT', headers })
  assert.equal(template.text, '{"acknowledged":true}')
})

test('management and reading routes keep their paths', async () => {
  for (const path of [
    '//v1/streams',
    '/v1/streams/',
    '/v1//streams',
    `/v1/streams/${stream.id}/`,
  ]) {
    const answer = await api.tryRest(path)
    assert.notEqual(answer.text.includes('retention_days'), true, path)
  }
  assert.equal((await api.tryRest('/v1/streams/')).status, 404)
  assert.equal((await call(`${service.url}/v1/ingest/`)).status, 405)
})
