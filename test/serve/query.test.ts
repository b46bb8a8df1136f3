/**
 * Goal: a query counts just the events it names, whatever the path, the type or the digits.
 * Method: the real engine holds one table that every test fills afresh; requests over HTTP.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { startEmbeddedClickHouse } from '../../src/embedded/clickhouse.ts'
import { isFieldPath, quoteFieldPath } from '../../src/model/field-path.ts'
import type { FieldValue } from '../../src/model/field-value.ts'
import { SCHEMA_CAPS_DEFAULT } from '../../src/model/schema.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { queryRoutes } from '../../src/serve/query.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { ensureClickHouse } from '../../src/store/migrations/run.ts'
import { QueryStore } from '../../src/store/projection/query-store.ts'
import { RestHarness, SILENT_LOG, startDatabase, withDataDir } from './rest-harness.ts'

const closers: (() => Promise<void>)[] = []
let clickhouse: ClickHouse
let store: QueryStore
let rest: RestHarness
let away: RestHarness
let streamId: string

before(async () => {
  const database = await startDatabase()
  closers.push(() => database.close())
  const { value: engine, remove } = await withDataDir((dataDir) =>
    startEmbeddedClickHouse({ dataDir, log: SILENT_LOG }),
  )
  closers.push(async () => {
    await engine.stop()
    await remove()
  })
  clickhouse = new ClickHouse({ url: engine.url })
  closers.push(() => clickhouse.close())
  await ensureClickHouse(clickhouse, 'sluice')
  store = new QueryStore(clickhouse, 'sluice')
  rest = await RestHarness.start(database.postgres, (harness) =>
    queryRoutes({ ...harness, streams: harness.control, counter: store }),
  )
  closers.push(() => rest.close())
  const nowhere = new ClickHouse({ url: 'http://127.0.0.1:1/' })
  closers.push(() => nowhere.close())
  away = await RestHarness.start(database.postgres, (harness) => {
    const counter = new QueryStore(nowhere, 'sluice')
    return queryRoutes({ ...harness, streams: harness.control, counter })
  })
  closers.push(() => away.close())
  const settings = { name: 'web', retentionMs: 1e9, maxStoredBytes: null, rateBudget: null }
  const others = {
    byteBudget: null,
    schemaCaps: SCHEMA_CAPS_DEFAULT,
    parseUserAgents: false,
    redactSensitive: false,
  }
  const stream = await rest.control.createStream('ann', {
    ...settings,
    ...others,
    redactFields: [],
    textFields: [],
  })
  streamId = String(stream.streamId)
})

after(async () => {
  // All of them, whatever fails: a store left running would keep the test process alive.
  const failures: unknown[] = []
  for (const close of closers.reverse()) {
    await close().catch((cause: unknown) => failures.push(cause))
  }
  assert.deepEqual(failures, [])
})

const table = () => `sluice.events_${streamId}`

/** Replaces what the table holds; each event is received and made at `atMs`. */
async function fill(events: readonly string[], atMs = Date.now()): Promise<void> {
  await clickhouse.command(`CREATE TABLE IF NOT EXISTS ${table()} (segment_id UInt64,
    ordinal UInt32, ingested_at DateTime64(3, 'UTC'), event_time DateTime64(9, 'UTC'),
    shape UInt64, payload JSON(max_dynamic_paths=1024)) ENGINE = MergeTree
    PARTITION BY toDate(ingested_at) ORDER BY (ingested_at, segment_id, ordinal)`)
  await clickhouse.command(`TRUNCATE TABLE ${table()}`)
  const seconds = atMs / 1_000
  const rows = events.map((payload, ordinal) =>
    [1, ordinal, seconds, seconds, 0, payload.replace(/[\\\t\n]/g, (c) => `\\${c}`)].join('\t'),
  )
  const bytes = Buffer.from(rows.map((row) => `${row}\n`).join(''))
  const types = { input_format_try_infer_dates: 0, input_format_try_infer_datetimes: 0 } as const
  await clickhouse.insertNative(`INSERT INTO ${table()} FORMAT TSV`, [bytes], { settings: types })
}

const ask = (body: unknown) => rest.call('POST', `/v1/streams/${streamId}/query`, { body })

async function countEqual(field: string, equals: FieldValue): Promise<number> {
  const toNs = BigInt(Date.now() + 60_000) * 1_000_000n
  const result = await store.count({
    streamId: Number(streamId) as StreamId,
    timeBasis: 'ingested_at',
    fromNs: 0n,
    toNs,
    filter: { field, equals },
    groupBy: undefined,
    limit: 1,
  })
  return result.total
}

test('a stream without a table has no events', async () => {
  const answer = await ask({ group_by: 'level' })
  assert.equal(answer.status, 200)
  assert.deepEqual({ ...answer.json, stats: undefined }, { rows: [], total: 0, stats: undefined })
  assert.equal(await store.readProjectionBytes(Number(streamId) as StreamId), 0)
})

test('counts in all, by group, and of groups past the limit', async () => {
  await fill(['{"level":"info"}', '{"level":"info"}', '{"level":"warn"}', '{"other":1}'])
  const all = await ask({})
  assert.deepEqual(all.json.rows, [{ count: 4 }])
  assert.equal(all.json.total, 4)
  assert.equal(all.json.stats.rows_read, 4)
  const groups = await ask({ aggregate: 'count', group_by: 'level' })
  assert.deepEqual(groups.json.rows, [
    { group: 'info', count: 2 },
    { group: null, count: 1 },
    { group: 'warn', count: 1 },
  ])
  const top = await ask({ group_by: 'level', limit: 1 })
  assert.deepEqual(top.json.rows, [{ group: 'info', count: 2 }])
  assert.equal(top.json.total, 4)
  const bytes = await store.readProjectionBytes(Number(streamId) as StreamId)
  assert.ok(bytes !== null && bytes > 0)
})

test('any type groups, and equal numbers are one group with all their digits', async () => {
  const values = ['1', '1.0', '"1"', 'true', 'false', 'null', '1.5', '-7', '[1,2]', '"é\\"\\n"']
  const big = ['9007199254740993', '18446744073709551615', '-9223372036854775808', '1e300']
  await fill([...values, ...big].map((value) => `{"v":${value}}`))
  const { text } = await ask({ group_by: 'v' })
  const groups = [...text.matchAll(/\{"group":(.*?),"count":(\d+)\}/g)]
  const counts = Object.fromEntries(groups.map(([, group, count]) => [group, Number(count)]))
  const ones = ['"1"', 'true', 'false', 'null', '1.5', '-7', '"[1,2]"', '"é\\"\\n"', ...big]
  const expected = { 1: 2, ...Object.fromEntries(ones.map((value) => [value, 1])) }
  assert.deepEqual(counts, expected)
})

test('a filter finds equal values of every number type, and no neighbours', async () => {
  const stored = ['1', '1.0', '"1"', 'true', 'null', '0.1', '1.5', '-7', '1e3', '1000']
  const big = ['9007199254740993', '9007199254740992', '18446744073709551615']
  await fill([...stored, ...big, '9223372036854775807'].map((value) => `{"v":${value}}`))
  const cases = [
    ['1', 2],
    ['1.0', 2],
    ['10e-1', 2],
    ['"1"', 1],
    ['true', 1],
    ['false', 0],
    ['null', 1],
    ['0.1', 1],
    ['0.10', 1],
    ['1.5', 1],
    ['-7', 1],
    ['1000', 2],
    ['1e3', 2],
    ['9007199254740993', 1],
    ['9007199254740992', 1],
    ['9007199254740994', 0],
    ['18446744073709551615', 1],
    ['18446744073709551616', 0],
    ['9223372036854775807', 1],
    ['9223372036854775806', 0],
    ['1e400', 0],
    ['1e999999999', 0],
    ['-0', 0],
  ] as const
  for (const [equals, count] of cases) {
    const answer = await ask(`{"filter":{"field":"v","equals":${equals}}}`)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.json.total, count, equals)
  }
})

test('a number equals its stored form, however it is spelled', async () => {
  const stored = ['1e23', '1.2345678901234568e29', '9007199254740993.0', '2.5e-3']
  await fill(stored.map((value) => `{"v":${value}}`))
  const cases = [
    ['1e23', 1],
    ['100000000000000000000000', 1],
    ['1.0E+23', 1],
    ['123456789012345678901234567890', 1],
    ['1.2345678901234568e29', 1],
    ['9007199254740993.0', 1],
    ['9007199254740993', 0],
    ['0.0025', 1],
  ] as const
  for (const [equals, count] of cases) {
    const answer = await ask(`{"filter":{"field":"v","equals":${equals}}}`)
    assert.equal(answer.json.total, count, equals)
  }
})

test('a value to compare with may be as long as the body', async () => {
  for (const length of [4_000, 15_000, 40_000]) {
    const value = "é'\\".repeat(length / 10).padEnd(length, 'x')
    await fill([JSON.stringify({ v: value }), '{"v":"x"}'])
    const answer = await ask({ filter: { field: 'v', equals: value }, group_by: 'v' })
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(answer.json.rows, [{ group: value, count: 1 }])
  }
})

test('rows that were read are told when none matched, too', async () => {
  await fill(Array.from({ length: 100 }, (_, n) => `{"v":${n}}`))
  for (const query of [{}, { group_by: 'v' }]) {
    const none = await ask({ ...query, filter: { field: 'v', equals: 'absent' } })
    assert.deepEqual([none.json.total, none.json.stats.rows_read], [0, 100])
  }
  const some = await ask({ filter: { field: 'v', equals: 7 } })
  assert.deepEqual([some.json.total, some.json.stats.rows_read], [1, 100])
})

test('a nested path and one with a literal dot are the same', async () => {
  await fill(['{"a":{"b":"x"}}', '{"a.b":"x"}', '{"a":{"c":"x"}}'])
  assert.equal(await countEqual('a.b', { kind: 'string', value: 'x' }), 2)
})

test('both time bases select half-open ranges', async () => {
  const atMs = Date.parse('2026-03-01T12:00:00.500Z')
  await fill(['{"n":1}'], atMs)
  const cases = [
    ['2026-03-01T12:00:00.500Z', '2026-03-01T12:00:00.501Z', 1],
    ['2026-03-01T12:00:00Z', '2026-03-01T12:00:00.500Z', 0],
    ['2026-03-01T12:00:00.500000001Z', '2026-03-01T13:00:00Z', 0],
    ['2026-03-01T14:00:00.5+02:00', '2026-03-01T14:00:01+02:00', 1],
    ['0001-01-01T00:00:00Z', '9999-01-01T00:00:00Z', 1],
  ] as const
  for (const basis of ['ingested_at', 'event_time']) {
    for (const [from, to, count] of cases) {
      const { json } = await ask({ from, to, time_basis: basis })
      assert.equal(json.total, count, `${basis} ${from} ${to}`)
    }
  }
  assert.equal((await ask({})).json.total, 0, 'by default the last hour')
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
const HOSTILE_PIECES = [...HOSTILE, ...MORE, 'a', 'size0', ':Int64', '`String`', '\u2028', '\x7f']

test('hostile paths read their own field and nothing else', async () => {
  const piece = fc.constantFrom(...HOSTILE_PIECES)
  const random = fc.array(piece, { minLength: 1, maxLength: 4 }).map((pieces) => pieces.join(''))
  // Whatever else ClickHouse may take for syntax before a backquote.
  const marked = [...'!"#$%&()*+,-/:;<=>?@[]^_{|}~'].map((mark) => `${mark}\`a\``)
  const all = [...HOSTILE_PIECES, ...marked, ...fc.sample(random, 150)]
  const paths = new Set(all.filter(isFieldPath))
  for (const path of paths) {
    await fill([JSON.stringify({ [path]: 'mine' }), JSON.stringify({ other: 'mine' })])
    const mine = { kind: 'string', value: 'mine' } as const
    assert.equal(await countEqual(path, mine), 1, JSON.stringify(path))
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

test('hostile values are values', async () => {
  for (const value of HOSTILE_PIECES) {
    await fill([JSON.stringify({ v: value }), JSON.stringify({ v: `${value}x` })])
    assert.equal(await countEqual('v', { kind: 'string', value }), 1, JSON.stringify(value))
  }
})

test('a query reads the columns it needs, not whole payloads', async () => {
  const filler = 'x'.repeat(2_000)
  await fill(Array.from({ length: 2_000 }, (_, i) => `{"level":"l${i % 3}","big":"${filler}${i}"}`))
  const sql = `EXPLAIN header = 1 SELECT count() FROM ${table()}
    WHERE payload.${quoteFieldPath('level')}.:String = 'l1'`
  const plan = (await clickhouse.query<{ explain: string }>(sql)).map((row) => row.explain)
  const output = plan.filter((line) => line.includes('payload')).join('\n')
  assert.match(output, /payload\.level/)
  assert.doesNotMatch(output, /payload JSON|payload\.big/)
})

test('too many distinct values, or too large ones, are refused and not computed', async () => {
  await fill([])
  const columns = `SELECT 1, number, now64(3), now64(9), 0`
  await clickhouse.command(`INSERT INTO ${table()}
    ${columns}, concat('{"id":', toString(number), '}') FROM numbers(1200000)`)
  const distinct = await ask({ group_by: 'id' })
  assert.equal(distinct.status, 400, distinct.text)
  assert.match(distinct.json.detail, /"group_by" has over 1000000 values/)
  await clickhouse.command(`INSERT INTO ${table()}
    ${columns}, concat('{"v":"', repeat('x', 1000000), toString(number), '"}') FROM numbers(20)`)
  const large = await ask({ group_by: 'v' })
  assert.equal(large.status, 400, large.text.slice(0, 200))
  assert.match(large.json.detail, /group values are over 16777216 bytes/)
})

test('bad queries are refused by name', async () => {
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [[], /the body must be a JSON object/],
    ['5', /the body must be a JSON object/],
    ['{', /not valid JSON/],
    [{ form: 'x' }, /unknown field "form"; known are: from, to/],
    [{ aggregate: 'sum' }, /"aggregate" must be "count"/],
    [{ time_basis: 'now' }, /"time_basis" must be/],
    [{ from: 'yesterday' }, /"from" must be an RFC 3339 time/],
    [{ to: 5 }, /"to" must be an RFC 3339 time/],
    [{ from: '2026-01-01T00:00:00Z', to: '2026-01-01T00:00:00Z' }, /"from" must be before "to"/],
    [{ filter: 1 }, /"filter" must be a JSON object/],
    [{ filter: { field: 'a' } }, /"filter.equals" must be a string, a number/],
    [{ filter: { field: 'a', equals: {} } }, /"filter.equals" must be/],
    [{ filter: { equals: 1 } }, /"filter.field" must be a dotted path/],
    [{ filter: { field: '', equals: 1 } }, /"filter.field" is not a path/],
    [{ filter: { field: 'a', eq: 1 } }, /unknown field "eq"/],
    [{ group_by: 'x'.repeat(1_025) }, /"group_by" is over 1024 bytes/],
    [{ group_by: '^`a`' }, /"group_by" is not a path/],
    [{ group_by: 'a.:`Int64`' }, /"group_by" is not a path/],
    [{ limit: 0 }, /"limit" must be an integer from 1 to 1000/],
    [{ limit: 1_001 }, /"limit" must be/],
    [{ limit: '5' }, /"limit" must be/],
  ]
  for (const [body, message] of cases) {
    const { status, json } = await ask(body)
    assert.equal(status, 400, JSON.stringify(body))
    assert.match(json.detail, message)
  }
  const large = JSON.stringify({ group_by: 'x'.repeat(70_000) })
  assert.equal((await ask(large)).status, 413)
})

test('queries need events:read and a stream that the token sees', async () => {
  const path = `/v1/streams/${streamId}/query`
  const cases = [
    [await rest.token('ann', ['events:read']), 200],
    [await rest.token('ann', ['streams:read']), 403],
    [await rest.token('bob', ['events:read']), 404],
    ['', 401],
  ] as const
  for (const [token, status] of cases) {
    assert.equal((await rest.call('POST', path, { token, body: {} })).status, status)
  }
})

test('while ClickHouse is away queries are unavailable and sizes unknown', async () => {
  const answer = await away.call('POST', `/v1/streams/${streamId}/query`, { body: {} })
  assert.equal(answer.status, 503)
  assert.equal(answer.json.code, 'unavailable')
  assert.ok(answer.headers.get('retry-after'))
  const nowhere = new ClickHouse({ url: 'http://127.0.0.1:1/' })
  const sizes = new QueryStore(nowhere, 'sluice')
  assert.equal(await sizes.readProjectionBytes(1 as StreamId), null)
  await nowhere.close()
})
