/**
 * Goal: aggregations in Elasticsearch's form are what they would be over the events themselves.
 * Method: random requests about random events, against a naive evaluation; the seed is printed.
 * `aggregations.long.test.ts` does the same for thousands of them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ELASTIC_BODY_BYTES_MAX, ELASTIC_FIELDS_MAX } from '../../src/limits.ts'
import { createRandom } from '../support/random.ts'
import { compareRandom, health, learned, scans, useElasticHarness } from './elastic-harness.ts'
import { RandomAggs } from './random-aggs.ts'

const harness = useElasticHarness()

test('random aggregations are as a naive evaluation has them', async (t) => {
  const { seed, next } = createRandom()
  t.diagnostic(`TEST_SEED=${seed}`)
  await compareRandom(harness(), new RandomAggs(next), { count: 4, events: 100 })
})

test('a number in place of what is missing is one of the texts beside it', async () => {
  const { rest } = harness()
  const nowMs = Date.now()
  await harness().fill(['{"word":"a"}', '{"word":"7"}', '{"other":1}'], [nowMs, nowMs, nowMs])
  const aggs = { g: { terms: { field: 'word', missing: 7, order: { _key: 'asc' } } } }
  const body = JSON.stringify({ size: 0, aggs })
  const { status, json, text } = await rest.call('POST', '/web/_search', { body })
  assert.equal(status, 200, text)
  const counts = json.aggregations.g.buckets.map((one: Record<string, unknown>) => [
    one.key,
    typeof one.key,
  ])
  assert.deepEqual(counts, [
    ['7', 'string'],
    ['a', 'string'],
  ])
})

test('searches of one request that ask for the same groups are one scan', async () => {
  const before = scans.count
  const asked = (aggs: unknown) => `{}\n${JSON.stringify({ size: 0, aggs })}\n`
  const metrics = ['avg', 'max', 'sum', 'min'].map((fn) => {
    return asked({ g: { terms: { field: 'svc' }, aggs: { m: { [fn]: { field: 'n' } } } } })
  })
  const { json } = await harness().rest.call('POST', '/_msearch', { body: metrics.join('') })
  assert.equal(json.responses.length, 4)
  assert.deepEqual(
    json.responses.map(({ status }: { status: number }) => status),
    [200, 200, 200, 200],
  )
  assert.equal(scans.count - before, 1)
})

test('bodies and fields have bounds, which are named', async (t) => {
  const { rest } = harness()
  const large = `{"size":0}${' '.repeat(ELASTIC_BODY_BYTES_MAX)}`
  const { status, text } = await rest.call('POST', '/_search', { body: large })
  assert.equal(status, 413, text)
  t.after(() => {
    learned.fields = undefined
  })
  learned.fields = ELASTIC_FIELDS_MAX + 1
  const refused = await rest.call('GET', '/web/_field_caps?fields=*')
  assert.equal(refused.status, 400, refused.text)
  assert.match(refused.text, /20000 \(ELASTIC_FIELDS_MAX\) fields/)
  learned.fields = 600
  const mapped = await rest.call('GET', '/web/_field_caps?fields=f*')
  assert.equal(Object.keys(mapped.json.fields).length, 600)
})

test('the health of the cluster is that of reads', async (t) => {
  t.after(() => {
    health.reads = 'yes'
  })
  for (const [reads, status, color] of [
    ['yes', 200, 'green'],
    ['partly', 200, 'yellow'],
    ['no', 503, 'red'],
  ] as const) {
    health.reads = reads
    const path = '/elastic/_cluster/health?wait_for_status=yellow'
    const answer = await harness().rest.call('GET', path)
    assert.deepEqual([answer.status, answer.json.status], [status, color])
  }
})
