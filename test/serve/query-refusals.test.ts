/**
 * Goal: paths that SQL could misread are paths, what asks for too much is refused, and so is what
 * is not as the API says, by its name.
 * Method: the real engine holds one table that every test fills afresh; requests over HTTP.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  COMPARE_FIELDS_MAX,
  COMPARE_FINDINGS_DEFAULT,
  COMPARE_FINDINGS_MAX,
  FACET_FIELDS_MAX,
  FACET_VALUES_MAX,
  PATTERNS_DEFAULT,
  PATTERNS_MAX,
  QUERY_AGGREGATES_MAX,
  QUERY_GROUP_KEYS_MAX,
  READ_BODY_BYTES_MAX,
} from '../../src/limits.ts'
import { isFieldPath, quoteFieldPath } from '../../src/model/field-path.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { PATTERNS_PROPERTIES } from '../../src/read/patterns/patterns-request.ts'
import { queryRoutes } from '../../src/serve/query-routes.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { ProjectionTables } from '../../src/store/projection/compile/projection-tables.ts'
import { projectionBytesReader } from '../../src/store/projection/reads/projection-bytes.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'
import { useQueryHarness } from './query-harness.ts'

const harness = useQueryHarness()
const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const quoted = (text: string) => `\`${text.replaceAll(/[`\\]/g, (c) => `\\${c}`)}\``

async function countMine(path: string): Promise<number> {
  const answer = await harness().ask({ query: `${quoted(path)}="mine"` })
  assert.equal(answer.status, 200, `${JSON.stringify(path)} ${answer.text}`)
  return answer.json.total
}

test('a nested path and one with a literal dot are the same', async () => {
  await harness().fill(['{"a":{"b":"mine"}}', '{"a.b":"mine"}', '{"a":{"c":"mine"}}'])
  assert.equal(await countMine('a.b'), 2)
})

/** Names that SQL, ClickHouse's identifiers, its parameters or its JSON type could misread. */
const HOSTILE = [
  '`',
  '``',
  '\\',
  "'",
  '"',
  '\0',
  '\n',
  '\t',
  '.',
  ' ',
  '--',
  '/*',
  ';',
  ')',
  '{p:String}',
]
const MORE = [
  'ü',
  '日本',
  '😀',
  ':',
  '^',
  '[]',
  '[',
  '%',
  '\\x60',
  '\\`',
  '*',
  '@',
  '$',
  '#',
  'null',
]
/** Hostile paths of events that lie in the table at the same time. */
const PATHS = 40
const HOSTILE_PIECES = [...HOSTILE, ...MORE, 'a', 'size0', ':Int64', '`String`', '\u2028', '\x7f']

test('hostile paths read their own field and nothing else', async () => {
  const piece = fc.constantFrom(...HOSTILE_PIECES)
  const random = fc.array(piece, { minLength: 1, maxLength: 4 }).map((pieces) => pieces.join(''))
  // Whatever else ClickHouse may take for syntax before a backquote.
  const marked = [...'!"#$%&()*+,-/:;<=>?@[]^_{|}~'].map((mark) => `${mark}\`a\``)
  const { numRuns } = fuzzed(seed, 150, 0)
  const all = [...HOSTILE_PIECES, ...marked, ...fc.sample(random, { seed, numRuns })]
  const paths = [...new Set(all.filter(isFieldPath))]
  for (let at = 0; at < paths.length; at += PATHS) {
    // Beside the others, each of which has a value of its own.
    const some = paths.slice(at, at + PATHS)
    await harness().fill(some.map((path, n) => JSON.stringify({ [path]: `mine ${n}` })))
    for (const [n, path] of some.entries()) {
      const name = `\`${path.replace(/[\\`]/g, '\\$&')}\``
      const group = await harness().ask({ group_by: name })
      const values = group.json.rows?.map((row: Record<string, unknown>) => row[name])
      const others = some.length > 1 ? [null] : []
      assert.deepEqual(values?.sort(), [`mine ${n}`, ...others], JSON.stringify(path))
    }
  }
})

test('a quoted path holds no backquote but its own, and only whole escapes', () => {
  const paths = fc.string({ unit: fc.constantFrom(...HOSTILE_PIECES), maxLength: 20 })
  fc.assert(
    fc.property(fc.oneof(paths, fc.string({ unit: 'binary' })), (path) => {
      assert.match(quoteFieldPath(path), /^`(?:[A-Za-z0-9_.]|\\x[0-9a-f]{2})*`$/)
    }),
  )
})

test('a query reads the columns it needs, not whole payloads', async () => {
  const filler = 'x'.repeat(2_000)
  await harness().fill(
    Array.from({ length: 2_000 }, (_, i) => `{"level":"l${i % 3}","big":"${filler}${i}"}`),
  )
  const sql = `EXPLAIN header = 1 SELECT count() FROM ${harness().table}
    WHERE payload.${quoteFieldPath('level')}.:String = 'l1'`
  const plan = (await harness().clickhouse.query<{ explain: string }>(sql)).map(
    (row) => row.explain,
  )
  const output = plan.filter((line) => line.includes('payload')).join('\n')
  assert.match(output, /payload\.level/)
  assert.doesNotMatch(output, /payload JSON|payload\.big/)
})

test('an answer of large values is refused', async () => {
  await harness().fill([])
  const columns = `(segment_id, ordinal, ingested_at, event_time, shape, payload)
    SELECT 1, number, now64(3), now64(9), 0`
  await harness().clickhouse.command(`INSERT INTO ${harness().table}
    ${columns}, concat('{"v":"', repeat('x', 1000000), toString(number), '"}') FROM numbers(20)`)
  const large = await harness().ask({ group_by: 'v' })
  assert.equal(large.status, 400, large.text.slice(0, 200))
  assert.match(large.json.detail, /over QUERY_RESULT_BYTES_MAX \(16777216 bytes\)/)
})

test('bad queries are refused by name', async () => {
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [[], /the body must be a JSON object/],
    ['5', /the body must be a JSON object/],
    ['{', /not valid JSON/],
    [{ form: 'x' }, /unknown field "form"; known are: query, from, to/],
    [{ filter: {} }, /unknown field "filter"/],
    [{ query: 'a:' }, /"query": column 3: /],
    [{ time_basis: 'now' }, /"time_basis" must be/],
    [{ from: 'yesterday' }, /"from" must be an RFC 3339 time/],
    [{ to: 5 }, /"to" must be an RFC 3339 time.*write "1970-01-01T00:00:05.000Z"/],
    [{ from: '2026-01-01T00:00:00Z', to: '2026-01-01T00:00:00Z' }, /"from" must be before "to"/],
    [{ aggregates: [] }, /"aggregates" must be a list of one or more/],
    [{ aggregates: [{}] }, /"aggregates"\[0\].fn is required/],
    [{ aggregates: [{ fn: 'median' }] }, /"aggregates"\[0\].fn must be one of count/],
    [{ aggregates: [{ fn: 'numbers', field: 'a' }] }, /"aggregates"\[0\].fn must be one of count/],
    [{ aggregates: [{ fn: 'sum' }] }, /"aggregates\[0\].field" is required/],
    [
      { aggregates: [{ fn: 'sum', field: '_level' }] },
      /"aggregates\[0\].field": "sum" is of numbers/,
    ],
    [{ aggregates: [{ fn: 'count', query: '(' }] }, /"aggregates\[0\].query": column/],
    [{ aggregates: [{ fn: 'count', as: '_x' }] }, /"aggregates"\[0\].as must be a name/],
    [{ aggregates: [{ fn: 'count' }, { fn: 'count' }] }, /two members of a row are called "count"/],
    [{ aggregates: Array(QUERY_AGGREGATES_MAX + 1).fill({ fn: 'count' }) }, /21 elements, over 20/],
    [{ group_by: '' }, /"group_by\[0\]" must be a dotted path/],
    [{ group_by: 'x'.repeat(1_025) }, /"group_by\[0\]" is over 1024 bytes/],
    [{ group_by: '^`a`' }, /"group_by\[0\]" must be a dotted path/],
    [{ group_by: ['a.:`Int64`'] }, /"group_by\[0\]" must be a dotted path/],
    [{ group_by: 'a[].b' }, /values in arrays/],
    [{ group_by: '_id' }, /"group_by\[0\]" cannot be "_id"/],
    [{ group_by: Array(QUERY_GROUP_KEYS_MAX + 1).fill('a') }, /7 elements, over 6/],
    [{ group_by: [{ bucket: '5m' }, { bucket: '1m' }] }, /two buckets/],
    [{ group_by: { bucket: '5' } }, /"group_by\[0\].bucket" must be "auto" or a step/],
    [{ group_by: { bucket: '1s' } }, /3601 buckets, over 1000.*; write "auto", or "1m"/],
    [{ group_by: ['a', { bucket: '5s' }], limit: 500 }, /lower "limit" or take a longer bucket/],
    [{ order_by: 'x' }, /"order_by" must be one of count/],
    [{ limit: 0 }, /"limit" must be an integer from 1 to 1000/],
    [{ limit: 1_001 }, /"limit" must be/],
    [{ limit: '5' }, /"limit" must be/],
    [{ others: 1 }, /"others" must be true or false/],
    [{ timeout_ms: 0 }, /"timeout_ms" must be/],
  ]
  for (const [body, message] of cases) {
    const { status, json } = await harness().ask(body)
    assert.equal(status, 400, JSON.stringify(body))
    assert.match(json.detail, message)
  }
  const names = ['query', 'aggregates', 'group_by', 'order_by', 'limit', 'others', 'from', 'to']
  for (const name of [...names, 'time_basis', 'timeout_ms']) {
    for (const value of [null, 1.5, [[]], [1], { a: 1 }, [null], true]) {
      if (name === 'others' && value === true) continue
      const { status, json } = await harness().ask({ [name]: value })
      assert.equal(status, 400, `${name} ${JSON.stringify(value)}`)
      assert.ok(json.detail.includes(`"${name}`), `${name} ${json.detail}`)
    }
  }
  const large = JSON.stringify({ group_by: 'x'.repeat(READ_BODY_BYTES_MAX) })
  assert.equal((await harness().ask(large)).status, 413)
})

test('facets are of so many fields and values', async () => {
  const facets = (body: object) =>
    harness().rest.call('POST', `/v1/streams/${harness().streamId}/facets`, { body })
  const fields = (count: number) => Array.from({ length: count }, (_, at) => `f${at}`)
  assert.equal((await facets({ fields: fields(FACET_FIELDS_MAX) })).status, 200)
  const cases = [
    [{ fields: fields(FACET_FIELDS_MAX + 1) }, /"fields" has 13 elements, over 12/],
    [{ fields: [] }, /"fields" must be a list of one or more/],
    [{ fields: ['_id'] }, /"fields\[0\]" cannot be "_id"/],
    [{ fields: [1] }, /"fields"\[0\] must be a string/],
    [{ limit: FACET_VALUES_MAX + 1 }, /"limit" must be an integer from 1 to 100/],
  ] as const
  for (const [body, message] of cases) {
    const { status, json } = await facets(body)
    assert.equal(status, 400, JSON.stringify(body))
    assert.match(json.detail, message)
  }
})

test('comparisons are of so many fields and findings, of ranges and queries', async () => {
  await harness().fill(Array.from({ length: 40 }, (_, n) => `{"n":${n % 3}}`))
  const compare = (body: object) =>
    harness().rest.call('POST', `/v1/streams/${harness().streamId}/compare`, { body })
  const fields = (count: number) => Array.from({ length: count }, (_, at) => `f${at}`)
  const most = { fields: fields(COMPARE_FIELDS_MAX), limit: COMPARE_FINDINGS_MAX }
  const whole = await compare({ ...most, baseline: { query: 'n:1' } })
  assert.equal(whole.status, 200, whole.text)
  assert.equal(whole.json.looked_at.fields.length, COMPARE_FIELDS_MAX)
  const route = queryRoutes({ lanes: {} } as never).find(({ pattern }) => pattern === '/v1/compare')
  assert.match(
    JSON.stringify(route?.description),
    new RegExp(`"default":${COMPARE_FINDINGS_DEFAULT}`),
  )
  const range = { from: '-1h', to: '-2h' }
  for (const [body, message] of [
    [{ fields: fields(COMPARE_FIELDS_MAX + 1) }, /"fields" has 41 elements, over 40/],
    [{ limit: COMPARE_FINDINGS_MAX + 1 }, /"limit" must be an integer from 1 to 30/],
    [{ fields: ['_id'] }, /"fields\[0\]" cannot be "_id"/],
    [{ window: range }, /"window.from" must be before "window.to"/],
    [{ window: { from: 'noon' } }, /"window.*from" must be an RFC 3339 time/],
    [{ baseline: range }, /"baseline.from" must be before "baseline.to"/],
    [{ baseline: {} }, /"baseline" needs "from" and "to", or "query"/],
    [{ baseline: 'later' }, /"baseline" must be "before" or "yesterday"/],
    [{ baseline: { query: 'a:(' } }, /"baseline.query": /],
    [{ window: { from: '0000-01-01T00:00:00Z', to: 'now' } }, /"baseline" would begin before/],
  ] as const) {
    const { status, json } = await compare(body)
    assert.equal(status, 400, JSON.stringify(body))
    assert.match(json.detail, message)
  }
})

test('queries need events:read and a stream that the token sees', async () => {
  const path = `/v1/streams/${harness().streamId}/query`
  const cases = [
    [await harness().rest.token('ann', ['events:read']), 200],
    [await harness().rest.token('ann', ['streams:read']), 403],
    [await harness().rest.token('bob', ['events:read']), 404],
    ['', 401],
  ] as const
  for (const [token, status] of cases) {
    assert.equal((await harness().rest.call('POST', path, { token, body: {} })).status, status)
  }
})

test('while ClickHouse is away queries are unavailable and sizes unknown', async () => {
  const answer = await harness().away.call('POST', `/v1/streams/${harness().streamId}/query`, {
    body: {},
  })
  assert.equal(answer.status, 503)
  assert.equal(answer.json.code, 'unavailable')
  assert.ok(answer.headers.get('retry-after'))
  const nowhere = new ClickHouse({ url: 'http://127.0.0.1:1/' })
  const readBytes = projectionBytesReader(nowhere, new ProjectionTables(nowhere))
  assert.equal(await readBytes(1 as StreamId), null)
  await nowhere.close()
})

test('patterns are of so many rows, against a range that there is', async () => {
  const patterns = (body: object) =>
    harness().rest.call('POST', `/v1/streams/${harness().streamId}/patterns`, { body })
  assert.equal((await patterns({ limit: PATTERNS_MAX })).status, 200)
  const { limit } = PATTERNS_PROPERTIES
  assert.deepEqual([limit.default, limit.maximum], [PATTERNS_DEFAULT, PATTERNS_MAX])
  const cases = [
    [{ limit: PATTERNS_MAX + 1 }, /"limit" must be an integer from 1 to 200/],
    [{ sort: 'size' }, /"sort" must be /],
    [{ baseline: { from: '-1d' } }, /baseline/],
    [{ baseline: { from: '-1d', to: '-2d' } }, /"baseline.from" must be before "baseline.to"/],
    [{ from: '0000-01-01T00:00:00Z', sort: 'new' }, /"sort": "new" needs "baseline"/],
    [{ query: '_pattern:12' }, /16 hex digits/],
  ] as const
  for (const [body, message] of cases) {
    const { status, json } = await patterns(body)
    assert.equal(status, 400, JSON.stringify(body))
    assert.match(json.detail, message)
  }
})
