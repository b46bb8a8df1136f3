/**
 * Goal: what forwarders ask a cluster before they send is answered so that each carries on.
 * Method: the requests of each, byte for byte where bytes matter, against one running service; the
 * answers are judged by what the forwarder reads of them.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Answer, Api, call, JSON_TYPE, NDJSON_TYPE, type Stream } from '../../support/api.ts'
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
    ['PUT', '/_search', 405],
    ['POST', '/_search', 403],
    ['POST', '/i/_msearch', 403],
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

test('a token reads by each credential and never writes, a key never reads', async () => {
  const api = new Api(service)
  const other = await api.createStream()
  const created = await api.rest('/v1/tokens', 'POST', {
    name: 'grafana',
    scopes: ['events:read', 'streams:read'],
    streams: [stream.id],
  })
  const { token } = JSON.parse(created) as { token: string }
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  for (const authorization of [
    basic(token, 'anybody'),
    `ApiKey ${token}`,
    `ApiKey ${base64(`id:${token}`)}`,
    `Bearer ${token}`,
  ]) {
    for (const path of ['/_cat/indices?format=json', '/elastic/_cat/indices?format=json']) {
      const answer = await probe('GET', path, { authorization })
      assert.deepEqual(
        json(answer).map(({ uuid }: { uuid: string }) => uuid),
        [stream.id],
        path,
      )
    }
  }
  const authorization = basic(token)
  const type = { 'content-type': JSON_TYPE }
  const search = (index: string) =>
    probe('POST', `/${index}/_search`, { authorization, ...type }, '{}')
  assert.equal((await search(stream.id)).status, 200)
  const hidden = json(await search(other.id))
  assert.deepEqual([hidden.status, hidden.error.type], [404, 'index_not_found_exception'])
  assert.equal((await probe('GET', '/elastic/', { authorization })).status, 200)
  assert.equal((await probe('GET', '/_license', { authorization })).status, 200)
  for (const [method, path] of [
    ['POST', '/_bulk'],
    ['POST', `/${stream.id}/_doc`],
    ['PUT', '/_index_template/x'],
  ] as const) {
    const answer = await probe(method, path, { authorization, ...type }, '{"index":{}}\n{"a":1}\n')
    assert.equal(answer.status, 403, `${path}: ${answer.text}`)
  }
  for (const path of ['/_search', '/_msearch', '/_count', `/${stream.id}/_search`]) {
    assert.equal((await probe('POST', path, type, '{}\n{}\n')).status, 403, path)
  }
  for (const path of ['/_mapping', '/_field_caps', '/_cat/indices', '/_aliases']) {
    assert.equal((await probe('GET', path)).text, '{}', path)
  }
})

test('logs of Grafana, and their context without duplicates or gaps', async () => {
  const api = new Api(service)
  const logs = await api.createStream()
  const atMs = Date.parse('2026-03-01T12:00:00Z')
  // Five events of each second.
  const lines = Array.from({ length: 40 }, (_, n) => {
    const timestamp = new Date(atMs + Math.floor(n / 5) * 1_000).toISOString()
    return JSON.stringify({
      timestamp,
      n,
      level: n % 2 ? 'error' : 'info',
      message: `step ${n} done`,
    })
  })
  await api.ingest(logs.key, lines.join('\n'), { 'content-type': NDJSON_TYPE })
  const authorization = basic(service.token)
  const ask = async (order: 'asc' | 'desc', more: object) => {
    const filter = [
      { range: { '@timestamp': { gte: atMs, lte: atMs + 60_000, format: 'epoch_millis' } } },
      { query_string: { analyze_wildcard: true, query: 'done' } },
    ]
    const sort = { _doc: { order }, '@timestamp': { order, unmapped_type: 'boolean' } }
    const fields = [{ field: '@timestamp', format: 'strict_date_optional_time_nanos' }]
    const tags = { pre_tags: ['@HIGHLIGHT@'], post_tags: ['@/HIGHLIGHT@'] }
    const highlight = { fields: { '*': {} }, ...tags, fragment_size: 2_147_483_647 }
    const search = { size: 100, query: { bool: { filter } }, sort, fields, highlight, ...more }
    const header = { ignore_unavailable: true, index: logs.id, search_type: 'query_then_fetch' }
    const body = `${JSON.stringify(header)}\n${JSON.stringify(search)}\n`
    const answer = await probe(
      'POST',
      '/_msearch',
      { authorization, 'content-type': NDJSON_TYPE },
      body,
    )
    assert.equal(answer.status, 200, answer.text)
    return json(answer).responses[0]
  }
  const { hits, timed_out: timedOut } = await ask('desc', {})
  assert.deepEqual([timedOut, hits.total], [false, { value: 40, relation: 'eq' }])
  const numbers = (some: { _source: { n: number } }[]) => some.map(({ _source }) => _source.n)
  const all = numbers(hits.hits)
  assert.deepEqual(
    all.toSorted((a, b) => a - b),
    lines.map((_, n) => n),
  )
  const [first] = hits.hits
  assert.deepEqual(first.fields, { '@timestamp': ['2026-03-01T12:00:07.000Z'] })
  assert.deepEqual(first.highlight, {
    message: [`step ${first._source.n} @HIGHLIGHT@done@/HIGHLIGHT@`],
  })
  assert.equal(first._source['@timestamp'], '2026-03-01T12:00:07.000Z')
  assert.equal(first.sort[0], atMs + 7_000)
  for (const at of [0, 3, 17, 39]) {
    const search_after = hits.hits[at].sort
    const older = await ask('desc', { search_after, size: 12 })
    const newer = await ask('asc', { search_after, size: 12 })
    const around = [...numbers(newer.hits.hits).reverse(), all[at]!, ...numbers(older.hits.hits)]
    assert.deepEqual(around, all.slice(Math.max(0, at - 12), at + 13))
  }
})
