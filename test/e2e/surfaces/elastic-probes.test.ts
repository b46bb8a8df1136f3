/**
 * Goal: what forwarders ask a cluster before they send is answered so that each carries on.
 * Method: the requests of each, byte for byte where bytes matter, against one running service; the
 * answers are judged by what the forwarder reads of them.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Answer, Api, call, type Stream } from '../../support/api.ts'
import { type SharedService, shareService } from '../../support/service.ts'

let service: SharedService
let stream: Stream

before(async () => {
  service = await shareService()
  stream = await new Api(service).createStream()
})

after(async () => {
  await service?.close()
})

const basic = (key: string, user = 'elastic') =>
  `Basic ${Buffer.from(`${user}:${key}`).toString('base64')}`

function probe(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string,
): Promise<Answer> {
  const authorization = basic(stream.key)
  return call(`${service.url}${path}`, { method, headers: { authorization, ...headers }, body })
}

// biome-ignore lint/suspicious/noExplicitAny: whatever the answer holds is judged by the test.
const json = (answer: Answer): any => JSON.parse(answer.text)

test('a probe without a credential is answered, with the version of its client', async () => {
  const head = await call(`${service.url}/`, { method: 'HEAD' })
  assert.deepEqual([head.status, head.text], [200, ''])
  assert.equal(head.headers['x-elastic-product'], 'Elasticsearch')
  const agents = [
    ['Elastic-filebeat/8.12.1 (linux; amd64; x; 2024-01-01; 1)', '8.12.1'],
    ['elasticsearch-js/9.0.2 (linux 6.1-x64; Node.js 20.20.0; Transport 9.0.1)', '9.0.2'],
    ['elasticsearch-py/7.17.9 (Python/3.11)', '7.17.9'],
    ['Logstash/8.11.0 (OS=Linux) logstash-output-elasticsearch/11.22.2', '8.11.0'],
    ['Vector/0.40.0', '8.17.0'],
    ['', '8.17.0'],
  ] as const
  for (const [userAgent, version] of agents) {
    const answer = await call(`${service.url}/`, { headers: { 'user-agent': userAgent } })
    assert.equal(answer.status, 200)
    const greeting = json(answer)
    assert.equal(greeting.version.number, version, userAgent)
    assert.equal(greeting.version.build_flavor, 'default')
    assert.equal(greeting.version.distribution, undefined)
    assert.equal(greeting.tagline, 'You Know, for Search')
    assert.equal(greeting.cluster_uuid.length, 22)
  }
})

test('Logstash and Beats: license, templates, policies, data streams', async () => {
  const license = json(await probe('GET', '/_license?human=false'))
  assert.deepEqual([license.license.status, license.license.type], ['active', 'basic'])
  assert.equal(json(await probe('GET', '/_xpack')).license.status, 'active')
  for (const path of ['/_index_template/logs', '/_template/logs', '/_component_template/logs']) {
    assert.equal((await probe('HEAD', path)).status, 200, path)
    assert.equal((await probe('GET', path)).status, 200, path)
  }
  const puts = [
    '/_index_template/filebeat-8.12.1',
    '/_template/filebeat',
    '/_component_template/x',
    '/_ilm/policy/filebeat',
    '/_ingest/pipeline/p',
    '/_data_stream/filebeat-8.12.1',
  ]
  for (const path of puts) {
    const type = { 'content-type': 'application/json' }
    assert.deepEqual(json(await probe('PUT', path, type, '{"a":{}}')), { acknowledged: true }, path)
  }
  const streams = json(await probe('GET', '/_data_stream/filebeat-8.12.1'))
  assert.deepEqual(streams, { data_streams: [{ name: 'filebeat-8.12.1' }] })
  assert.equal((await probe('GET', '/_ilm/policy/filebeat')).status, 200)
  assert.equal((await probe('HEAD', '/_ingest/pipeline/p')).status, 200)
})

test('indexes are there, or made', async () => {
  const head = await probe('HEAD', '/logs-2026.11.21')
  assert.deepEqual([head.status, head.text], [200, ''])
  assert.deepEqual(json(await probe('PUT', '/logs-%C3%A4')), {
    acknowledged: true,
    shards_acknowledged: true,
    index: 'logs-ä',
  })
})

test('sniffers find one node: the address they have used', async () => {
  for (const path of ['/_nodes/http', '/_nodes/_all/http', '/_nodes/http,settings']) {
    const { nodes } = json(await probe('GET', path))
    const [node] = Object.values(nodes) as { http: { publish_address: string } }[]
    assert.equal(`http://${node?.http.publish_address}`, service.url, path)
  }
})

test('health, refresh, and what we have not heard of', async () => {
  assert.equal(json(await probe('GET', '/_cluster/health')).status, 'green')
  const cat = await probe('GET', '/_cat/health')
  assert.equal(cat.status, 200)
  assert.match(cat.text, /green/)
  assert.equal(json(await probe('POST', '/_refresh'))._shards.failed, 0)
  assert.equal(json(await probe('POST', '/logs/_refresh'))._shards.successful, 1)
  for (const path of ['/_cluster/settings', '/_some/thing', '/logs/_mapping', '/logs']) {
    const answer = await probe('GET', path)
    assert.deepEqual([answer.status, answer.text], [200, '{}'], path)
    assert.equal(answer.headers['x-elastic-product'], 'Elasticsearch')
  }
  const post = await probe('POST', '/_some/thing', {}, '{}')
  assert.equal(post.status, 404)
  assert.equal(json(post).status, 404)
  // Our own paths are judged as ours.
  const own = await probe('GET', '/v1/nothing')
  assert.equal(own.headers['content-type'], 'application/problem+json')
  assert.equal(own.status, 404)
})

test("what no route takes is refused in Elasticsearch's form, on our paths in ours", async () => {
  for (const [method, path, status] of [
    ['DELETE', '/_bulk', 405],
    ['HEAD', '/_bulk', 405],
    ['PATCH', '/i/_bulk', 405],
    ['DELETE', '/i', 405],
    ['HEAD', '/i/_doc', 405],
    ['DELETE', '/', 405],
    ['DELETE', '/_license', 405],
    ['POST', '/_search', 405],
    ['POST', '/i/_search/x', 404],
    ['POST', '/%FF/_bulk', 400],
    ['GET', '/_template/%C3', 400],
  ] as const) {
    const answer = await probe(method, path)
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`)
    assert.equal(answer.headers['content-type'], 'application/json', `${method} ${path}`)
    assert.equal(answer.headers['x-elastic-product'], 'Elasticsearch')
    assert.equal(answer.headers.allow !== undefined, status === 405)
    if (method !== 'HEAD') assert.equal(json(answer).status, status)
  }
  for (const [method, path, status] of [
    ['DELETE', '/v1/streams', 405],
    ['POST', '/healthz', 405],
    ['DELETE', '/readyz', 405],
    ['PUT', '/metrics', 405],
    ['GET', '/v1/nothing', 404],
    ['GET', '/v1/streams/%FF', 400],
    ['PATCH', '/v1/ingest', 405],
  ] as const) {
    const answer = await probe(method, path)
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`)
    assert.equal(answer.headers['content-type'], 'application/problem+json', path)
    assert.equal(answer.headers['x-elastic-product'], undefined)
  }
})

test('the vendor media type is echoed', async () => {
  const accept = 'application/vnd.elasticsearch+json; compatible-with=8'
  const answer = await probe('GET', '/_cluster/health', { accept })
  assert.equal(
    answer.headers['content-type'],
    'application/vnd.elasticsearch+json;compatible-with=8',
  )
})

test('every other probe needs a valid key, and any user name will do', async () => {
  for (const authorization of ['', basic('lax_aaaaaaaa_nope'), basic(stream.key, ''), 'Basic x']) {
    for (const path of ['/_license', '/_cluster/health', '/_unknown']) {
      const answer = await probe('GET', path, { authorization })
      assert.equal(answer.status, 401, path)
      assert.match(String(answer.headers['www-authenticate']), /^Basic /)
      assert.equal(json(answer).status, 401)
      assert.equal(json(answer).error.type, 'security_exception')
    }
  }
  const apiKey = `ApiKey ${Buffer.from(`id:${stream.key}`).toString('base64')}`
  for (const authorization of [basic(stream.key, 'x'), apiKey, `ApiKey ${stream.key}`]) {
    assert.equal((await probe('GET', '/_license', { authorization })).status, 200)
  }
})
