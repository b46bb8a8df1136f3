/**
 * Goal: client libraries of Elasticsearch and OpenSearch read from us as from a cluster.
 * Method: the real clients, of JavaScript and, where there is a Python, of Python, against one
 * running service; what they find is compared with what was sent.
 *
 * Python's clients are installed for the run by pip, one directory each.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { Client as Client8 } from '@elastic/elasticsearch'
import { Client as OpenSearchClient } from '@opensearch-project/opensearch'
import { Client as Client7 } from 'elasticsearch-7'
import { Client as Client9 } from 'elasticsearch-9'
import { ELASTIC_HITS_BYTES_MAX } from '../../../src/limits.ts'
import { panelLines } from '../../elastic/grafana-panel.ts'
import { Api, call, NDJSON_TYPE, type Stream } from '../../support/api.ts'
import { type SharedService, shareService } from '../../support/service.ts'

const run = promisify(execFile)
const COUNT = 300
const START_MS = Date.parse('2026-03-01T12:00:00Z')

let service: SharedService
let api: Api
let stream: Stream
let name: string

before(async () => {
  service = await shareService()
  api = new Api(service)
  name = `read-${process.pid}`
  stream = await api.createStream({ name })
  // Three events of each second: equal times.
  const lines = Array.from({ length: COUNT }, (_, n) => {
    const timestamp = new Date(START_MS + Math.floor(n / 3) * 1_000).toISOString()
    const level = ['info', 'warn', 'error'][n % 3]
    return JSON.stringify({
      timestamp,
      n,
      level,
      message: `event ${n} timeout`,
      http: { status: 200 + (n % 2) },
    })
  })
  await api.ingest(stream.key, lines.join('\n'), { 'content-type': 'application/x-ndjson' })
  await api.untilProjected(stream.id)
})

after(async () => {
  await service?.close()
})

/** As each of them is asked, in its own words. */
const QUERY = {
  bool: {
    filter: [
      {
        range: {
          '@timestamp': { gte: START_MS, lte: START_MS + 3_600_000, format: 'epoch_millis' },
        },
      },
      { query_string: { query: 'timeout' } },
    ],
    must_not: [{ terms: { level: ['warn'] } }],
  },
} as const
const SORT = [{ '@timestamp': { order: 'desc' } }, { _doc: { order: 'desc' } }] as const
const AGGS = {
  levels: {
    terms: { field: 'level', order: { _key: 'asc' } },
    aggs: {
      mean: { avg: { field: 'n' } },
      minutes: { date_histogram: { field: '@timestamp', fixed_interval: '1m' } },
    },
  },
} as const
const WANTED = Array.from({ length: COUNT }, (_, n) => n).filter((n) => n % 3 !== 1)

// biome-ignore lint/suspicious/noExplicitAny: answers as each client types them.
type Any = any

function assertLevels(aggregations: Any): void {
  const { buckets } = aggregations.levels
  assert.deepEqual(
    buckets.map(({ key, doc_count: count }: Any) => [key, count]),
    [
      ['error', 100],
      ['info', 100],
    ],
  )
  assert.equal(buckets[0].mean.value, 150.5)
  assert.deepEqual(
    buckets[1].minutes.buckets.map(({ doc_count: count }: Any) => count),
    [60, 40],
  )
}

/** Pages of a few until there are no more: each event once. */
async function readPages(page: (after: Any) => Promise<Any[]>): Promise<number[]> {
  const found: number[] = []
  for (let after: Any; ; ) {
    const hits = await page(after)
    found.push(...hits.map(({ _source }) => _source.n))
    if (hits.length === 0) return found
    after = hits.at(-1).sort
  }
}

const auth = () => ({ username: 'grafana', password: service.token })

for (const [title, Client] of [
  ['@elastic/elasticsearch 8', Client8],
  ['@elastic/elasticsearch 9', Client9 as unknown as typeof Client8],
] as const) {
  test(`${title}: search, pages, aggregations, count, fields, msearch`, async () => {
    const client = new Client({ node: service.url, auth: auth() })
    const page = async (after: Any) => {
      const { hits } = await client.search({
        index: name,
        query: QUERY as Any,
        sort: SORT as Any,
        size: 7,
        ...(after && { search_after: after }),
      })
      return hits.hits
    }
    const found = await readPages(page)
    assert.deepEqual(
      found.toSorted((a, b) => a - b),
      WANTED,
    )
    const { aggregations } = await client.search({
      index: name,
      size: 0,
      query: QUERY as Any,
      aggs: AGGS as Any,
    })
    assertLevels(aggregations)
    assert.equal((await client.count({ index: name, query: QUERY as Any })).count, WANTED.length)
    const { fields } = await client.fieldCaps({ index: name, fields: '*' })
    assert.deepEqual(Object.keys(fields['http.status'] ?? {}), ['long'])
    const mapping = await client.indices.getMapping({ index: name })
    assert.equal((mapping[name] as Any).mappings.properties.http.properties.status.type, 'long')
    const indices = await client.cat.indices({ format: 'json' })
    assert.ok(indices.some(({ index }) => index === name))
    assert.equal(await client.indices.exists({ index: name }), true)
    assert.equal(await client.indices.exists({ index: 'no-such-stream' }), false)
    const { responses } = await client.msearch({
      searches: [
        { index: name },
        { size: 1, query: QUERY as Any },
        { index: 'no-such-stream' },
        {},
      ],
    })
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 404],
    )
    await client.close()
  })
}

test('@elastic/elasticsearch 7: search, pages, aggregations, count', async () => {
  const client = new Client7({ node: service.url, auth: auth() })
  const page = async (after: Any) => {
    const body = { query: QUERY, sort: SORT, size: 11, ...(after && { search_after: after }) }
    return ((await client.search({ index: name, body })) as Any).body.hits.hits
  }
  assert.deepEqual(
    (await readPages(page)).toSorted((a, b) => a - b),
    WANTED,
  )
  const { body } = await client.search({ index: name, body: { size: 0, query: QUERY, aggs: AGGS } })
  assertLevels(body.aggregations)
  assert.equal(
    (await client.count({ index: name, body: { query: QUERY } })).body.count,
    WANTED.length,
  )
})

test('@opensearch-project/opensearch: search, pages, aggregations', async () => {
  const client = new OpenSearchClient({ node: service.url, auth: auth() })
  const page = async (after: Any) => {
    const body = { query: QUERY, sort: SORT, size: 50, ...(after && { search_after: after }) }
    return ((await client.search({ index: name, body: body as Any })) as Any).body.hits.hits
  }
  assert.deepEqual(
    (await readPages(page)).toSorted((a, b) => a - b),
    WANTED,
  )
  const answer = await client.search({
    index: name,
    body: { size: 0, query: QUERY, aggs: AGGS } as Any,
  })
  assertLevels(answer.body.aggregations)
})

test('each panel of the dashboard of events is answered, in one request', async () => {
  // Tests run from `dist/`.
  const url = new URL('../../../../deploy/grafana/stream.json', import.meta.url)
  const { panels } = JSON.parse(readFileSync(url, 'utf8'))
  const range = { fromMs: START_MS, toMs: START_MS + 600_000, interval: '10s' }
  const targets = panels.flatMap((panel: Any) => panel.targets)
  const lines = targets.map((target: Any) => {
    const query = target.query.replaceAll('$query', 'timeout')
    return panelLines({ ...target, query }, range, name)
  })
  const authorization = `Basic ${Buffer.from(`grafana:${service.token}`).toString('base64')}`
  const headers = { authorization, 'content-type': NDJSON_TYPE }
  const body = lines.join('')
  const answer = await call(`${service.url}/elastic/_msearch`, { method: 'POST', headers, body })
  const { responses } = JSON.parse(answer.text)
  assert.equal(responses.length, targets.length)
  for (const [at, one] of responses.entries()) {
    assert.equal(one.status, 200, `${panels[at].title}: ${JSON.stringify(one)}`)
    const [first] = Object.values<Any>(one.aggregations)
    assert.ok(first.buckets.length > 0 && one.timed_out === false, panels[at].title)
  }
  assert.equal(responses.at(-1).hits.hits.length, 200)
})

const PYTHON = `
import json, sys
url, token, index, kind = sys.argv[1:5]
query, sort, aggs = json.loads(sys.argv[5])
if kind == 'opensearch':
    from opensearchpy import OpenSearch as Client
    client = Client(url, http_auth=('grafana', token))
elif kind == '7':
    from elasticsearch import Elasticsearch as Client
    client = Client(url, http_auth=('grafana', token))
else:
    from elasticsearch import Elasticsearch as Client
    client = Client(url, basic_auth=('grafana', token))
def search(**members):
    if kind in ('opensearch', '7'):
        return client.search(index=index, body=members)
    return client.search(index=index, **members)
found, after = [], {}
while True:
    hits = search(query=query, sort=sort, size=40, **after)['hits']['hits']
    if not hits:
        break
    found += [hit['_source']['n'] for hit in hits]
    after = {'search_after': hits[-1]['sort']}
answer = search(query=query, size=0, aggs=aggs, track_total_hits=True)
told = {'aggregations': answer['aggregations'], 'total': answer['hits']['total']}
print(json.dumps({'found': sorted(found), **told}))
`

const hasPython = await run('python3', ['-m', 'pip', '--version']).then(
  () => true,
  () => false,
)

for (const [kind, requirement] of [
  ['7', 'elasticsearch==7.17.12'],
  ['8', 'elasticsearch==8.17.1'],
  ['9', 'elasticsearch==9.0.2'],
  ['opensearch', 'opensearch-py==3.0.0'],
] as const) {
  const skip = !hasPython && 'there is no Python with pip on this machine'
  test(`Python, ${requirement}: search, pages, aggregations`, { skip }, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'sluice-python-'))
    t.after(() => rmSync(directory, { recursive: true, force: true }))
    const packages = join(directory, 'packages')
    const install = ['-m', 'pip', 'install', '--quiet', '--target', packages, requirement]
    const failure = await run('python3', install, { timeout: 180_000 }).then(
      () => undefined,
      (cause: unknown) => String(cause).slice(0, 300),
    )
    if (failure !== undefined) return t.skip(`pip cannot install it here: ${failure}`)
    const script = join(directory, 'read.py')
    writeFileSync(script, PYTHON)
    const asked = JSON.stringify([QUERY, SORT, AGGS])
    const args = [script, service.url, service.token, name, kind, asked]
    const { stdout } = await run('python3', args, { env: { ...process.env, PYTHONPATH: packages } })
    const { found, aggregations, total } = JSON.parse(stdout)
    assert.deepEqual(found, WANTED)
    assertLevels(aggregations)
    assert.deepEqual(total, { value: WANTED.length, relation: 'eq' })
  })
}

test('hits of more bytes than an answer may have are refused, with what to do', async () => {
  const large = await api.createStream()
  const event = JSON.stringify({ message: 'x'.repeat(900_000) })
  const count = Math.ceil(ELASTIC_HITS_BYTES_MAX / event.length) + 1
  for (let n = 0; n < count; n++) {
    assert.equal((await api.ingest(large.key, event)).status, 200)
  }
  const headers = { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' }
  const ask = (size: number) => {
    const body = JSON.stringify({ size, sort: [{ _ingested_at: 'desc' }] })
    return call(`${service.url}/${large.id}/_search`, { method: 'POST', headers, body })
  }
  const refused = await ask(count)
  assert.equal(refused.status, 400, refused.text.slice(0, 300))
  assert.match(refused.text, /ELASTIC_HITS_BYTES_MAX.*lower .*size/)
  assert.equal((await ask(2)).status, 200)
})
