/**
 * Goal: a query counts just the events it names, and answers in the words of the request.
 * Method: the real engine holds one table that every test fills afresh; requests over HTTP.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FACET_EVENTS_MAX, FACET_FIELDS_MAX } from '../../src/limits.ts'
import { useQueryHarness } from './query-harness.ts'

const harness = useQueryHarness()

test('a stream without a table has no events', async () => {
  const { status, json } = await harness().ask({ group_by: 'level' })
  assert.equal(status, 200)
  const { rows, others, total, complete, reason, covered, sampled, estimated } = json
  assert.deepEqual([rows, others, total, complete], [[], [], 0, true])
  assert.deepEqual([reason, covered, sampled, estimated], [null, null, false, false])
  assert.equal(json.lag_ms <= 1_000, true, json.as_of)
  assert.deepEqual((await harness().ask({})).json.rows, [{ count: 0 }])
  const none = await harness().ask({
    aggregates: [
      { fn: 'sum', field: 'a' },
      { fn: 'uniq', field: 'a' },
    ],
  })
  assert.deepEqual(none.json.rows, [{ 'sum(a)': null, 'uniq(a)': 0 }])
})

test('counts in all, by group, of groups past the limit, and of all others', async () => {
  await harness().fill(['{"level":"info"}', '{"level":"info"}', '{"level":"warn"}', '{"other":1}'])
  const all = await harness().ask({})
  assert.deepEqual([all.json.rows, all.json.total], [[{ count: 4 }], 4])
  const groups = await harness().ask({ aggregates: [{ fn: 'count' }], group_by: 'level' })
  assert.deepEqual(groups.json.rows, [
    { level: 'info', count: 2 },
    { level: null, count: 1 },
    { level: 'warn', count: 1 },
  ])
  const top = await harness().ask({ group_by: ['level'], limit: 1 })
  assert.deepEqual([top.json.rows, top.json.others], [[{ level: 'info', count: 2 }], []])
  assert.deepEqual([top.json.total, top.json.groups], [4, 3])
  const others = await harness().ask({ group_by: 'level', limit: 1, others: true })
  assert.deepEqual(others.json.rows, [{ level: 'info', count: 2 }])
  assert.deepEqual(others.json.others, [{ count: 2 }])
  assert.deepEqual([others.json.total, others.json.groups], [4, 3])
})

test('order by another aggregate, by the group, and upwards; ties by the value', async () => {
  await harness().fill([1, 2, 2, 3, 3, 10].map((n, at) => `{"n":${n},"ms":${at}}`))
  const order = async (by: unknown) => {
    const aggregates = [{ fn: 'count' }, { fn: 'max', field: 'ms', as: 'slowest' }]
    const { json } = await harness().ask({ group_by: 'n', aggregates, order_by: by })
    return json.rows.map(({ n }: { n: number }) => n)
  }
  assert.deepEqual(await order(undefined), [2, 3, 1, 10])
  assert.deepEqual(await order({ by: 'count', order: 'asc' }), [1, 10, 2, 3])
  assert.deepEqual(await order('slowest'), [10, 3, 2, 1])
  assert.deepEqual(await order('n'), [1, 2, 3, 10])
  assert.deepEqual(await order({ by: 'n', order: 'desc' }), [10, 3, 2, 1])
})

test('any type groups, and equal numbers are one group with all their digits', async () => {
  const values = ['1', '1.0', '"1"', 'true', 'false', 'null', '1.5', '-7', '[1,2]', '"é\\"\\n"']
  const big = ['9007199254740993', '18446744073709551615', '-9223372036854775808', '1e300']
  await harness().fill([...values, ...big].map((value) => `{"v":${value}}`))
  const { text } = await harness().ask({ group_by: 'v' })
  const groups = [...text.matchAll(/\{"v":(.*?),"count":(\d+)\}/g)]
  const counts = Object.fromEntries(groups.map(([, group, count]) => [group, Number(count)]))
  const ones = ['"1"', 'true', 'false', 'null', '1.5', '-7', '[1,2]', '"é\\"\\n"', ...big]
  const expected = { 1: 2, ...Object.fromEntries(ones.map((value) => [value, 1])) }
  assert.deepEqual(counts, expected)
})

test('a value to compare with may be nearly as long as a query', async () => {
  for (const length of [100, 4_000, 7_900]) {
    const value = "é'\\".repeat(length / 10).padEnd(length / 2, 'x')
    await harness().fill([JSON.stringify({ v: value }), '{"v":"x"}'])
    const escaped = value.replaceAll('\\', '\\\\')
    const answer = await harness().ask({ query: `v="${escaped}"`, group_by: 'v' })
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(answer.json.rows, [{ v: value, count: 1 }])
  }
})

test('buckets have no holes, are told by their start, and rates are by their seconds', async () => {
  const atMs = Date.parse('2026-03-01T12:07:00Z')
  await harness().fill(['{"level":"a"}', '{"level":"a"}', '{"level":"b"}'], atMs)
  const range = { from: '2026-03-01T12:03:00Z', to: '2026-03-01T12:16:00Z' }
  const aggregates = [{ fn: 'count' }, { fn: 'rate', query: 'level=a', as: 'a a second' }]
  const { json } = await harness().ask({ ...range, aggregates, group_by: { bucket: '5m' } })
  const rows = [
    ['2026-03-01T12:00:00.000Z', 0, 0],
    ['2026-03-01T12:05:00.000Z', 3, 2 / 300],
    ['2026-03-01T12:10:00.000Z', 0, 0],
    ['2026-03-01T12:15:00.000Z', 0, 0],
  ].map(([_bucket, count, rate]) => ({ _bucket, count, 'a a second': rate }))
  assert.deepEqual([json.rows, json.bucket, json.total], [rows, '5m', 3])
  const series = await harness().ask({
    ...range,
    group_by: ['level', { bucket: '5m' }],
    limit: 1,
    others: true,
  })
  const counts = (list: { count: number }[]) => list.map(({ count }) => count)
  assert.deepEqual(counts(series.json.rows), [0, 2, 0, 0])
  assert.equal(series.json.rows[0].level, 'a')
  assert.deepEqual(counts(series.json.others), [0, 1, 0, 0])
  assert.deepEqual([series.json.groups, series.json.total], [2, 3])
  const auto = await harness().ask({ ...range, group_by: [{ bucket: 'auto' }] })
  assert.deepEqual([auto.json.bucket, auto.json.rows.length], ['10s', 78])
})

test('days are those of the clocks of a time zone, in queries and histograms', async () => {
  // Half past midnight in Berlin, on the day after which clocks are put forward.
  await harness().fill(['{"level":"a"}', '{"level":"b"}'], Date.parse('2026-03-28T23:30:00Z'))
  const range = { from: '2026-03-28T12:00:00Z', to: '2026-03-30T12:00:00Z' }
  const asked = { ...range, time_zone: 'europe/berlin' }
  const { json } = await harness().ask({ ...asked, group_by: { bucket: '1d' } })
  const days = [
    ['2026-03-28T00:00:00.000+01:00', 0],
    ['2026-03-29T00:00:00.000+01:00', 2],
    ['2026-03-30T00:00:00.000+02:00', 0],
  ].map(([_bucket, count]) => ({ _bucket, count }))
  assert.deepEqual([json.rows, json.time_zone, json.bucket_ms], [days, 'Europe/Berlin', null])
  const path = `/v1/streams/${harness().streamId}/histogram`
  const histogram = await harness().rest.call('POST', path, { body: { ...asked, bucket: '12h' } })
  const { buckets, bucket, total, time_zone: zone } = histogram.json
  assert.deepEqual([bucket, total, zone], ['12h', 2, 'Europe/Berlin'])
  assert.deepEqual(buckets[1], {
    _bucket: '2026-03-29T00:00:00.000+01:00',
    count: 2,
    levels: { none: 2 },
  })
  const url = `${path}?from=${range.from}&to=${range.to}&bucket=1w&time_zone=America/New_York`
  const weeks = await harness().rest.call('GET', url)
  assert.deepEqual(
    weeks.json.buckets.map(({ _bucket }: { _bucket: string }) => _bucket),
    ['2026-03-23T00:00:00.000-04:00', '2026-03-30T00:00:00.000-04:00'],
  )
  const wrong = await harness().ask({ ...range, time_zone: 'Mars', group_by: { bucket: '1d' } })
  assert.deepEqual(
    [wrong.status, wrong.json.detail.startsWith('"time_zone" must be a time zone')],
    [400, true],
  )
})

test('a histogram is by level, and facets are values of several fields', async () => {
  await harness().fill(['{"a":1,"b":"x"}', '{"a":1}', '{"a":1.5}', '{"b":"x"}', '{"a":[1]}'])
  const path = `/v1/streams/${harness().streamId}`
  const histogram = await harness().rest.call('POST', `${path}/histogram`, {
    body: { from: '-2m' },
  })
  assert.equal(histogram.status, 200, histogram.text)
  const { buckets, total, complete } = histogram.json
  assert.deepEqual([total, complete, buckets.length], [5, true, 61])
  assert.deepEqual(buckets.at(-1).levels, { none: buckets.at(-1).count })
  const facets = await harness().rest.call('GET', `${path}/facets?fields=a,b,none&limit=1`)
  assert.equal(facets.status, 200, facets.text)
  assert.deepEqual(facets.json.facets, [
    { field: 'a', events: 4, distinct: 3, estimated: false, values: [{ value: 1, count: 2 }] },
    { field: 'b', events: 2, distinct: 1, estimated: false, values: [{ value: 'x', count: 2 }] },
    { field: 'none', events: 0, distinct: 0, estimated: false, values: [] },
  ])
  assert.deepEqual([facets.json.events, facets.json.sampled], [5, false])
})

test('facets of more events than a sample has are exact as well', async () => {
  await harness().fill([])
  const rows = FACET_EVENTS_MAX + 20_000
  await harness().clickhouse.command(`INSERT INTO ${harness().table}
    (segment_id, ordinal, ingested_at, event_time, shape, level, payload)
    SELECT 1, number, now64(3) - toIntervalMillisecond(number), now64(9), 0,
      if(number % 4 = 0, 'error', ''),
      if(number % 3 = 0, '{}', concat('{"old":', toString(number >= ${FACET_EVENTS_MAX}), '}'))
    FROM numbers(${rows})`)
  const ask = () =>
    harness().rest.call('POST', `/v1/streams/${harness().streamId}/facets`, {
      body: { fields: ['old', '_level', 'none'] },
    })
  // On a busy machine a second may not be enough.
  let { json } = await ask()
  for (let tries = 0; json.sampled && tries < 20; tries++) json = (await ask()).json
  assert.deepEqual([json.events, json.sampled, json.covered], [rows, false, null])
  const newer = FACET_EVENTS_MAX - Math.ceil(FACET_EVENTS_MAX / 3)
  assert.deepEqual(json.facets, [
    {
      ...{ field: 'old', events: (rows * 2) / 3, distinct: 2, estimated: false },
      values: [
        { value: 0, count: newer },
        { value: 1, count: (rows * 2) / 3 - newer },
      ],
    },
    {
      ...{ field: '_level', events: rows / 4, distinct: 1, estimated: false },
      values: [{ value: 'error', count: rows / 4 }],
    },
    { field: 'none', events: 0, distinct: 0, estimated: false, values: [] },
  ])
})

test('facets of as many fields as there may be, of values that are all different', async () => {
  await harness().fill([])
  const names = Array.from({ length: FACET_FIELDS_MAX }, (_, n) => `f${n}`)
  const values = names.map((name, n) => `'"${name}":', toString(number * 100 + ${n})`)
  await harness().clickhouse.command(`INSERT INTO ${harness().table}
    (segment_id, ordinal, ingested_at, event_time, shape, payload)
    SELECT 1, number, now64(3), now64(9), 0, concat('{', ${values.join(", ',', ")}, '}')
    FROM numbers(${FACET_EVENTS_MAX})`)
  const path = `/v1/streams/${harness().streamId}/facets`
  const { status, json, text } = await harness().rest.call('POST', path, {
    body: { fields: names },
  })
  assert.equal(status, 200, text)
  for (const { distinct } of json.facets) assert.equal(distinct, FACET_EVENTS_MAX)
})

test('a URL asks the same as a body', async () => {
  await harness().fill(['{"level":"a","ms":3}', '{"level":"a","ms":5}', '{"level":"b","ms":7}'])
  const path = `/v1/streams/${harness().streamId}/query`
  const body = {
    query: 'ms:>=3',
    aggregates: [{ fn: 'count' }, { fn: 'max', field: 'ms' }],
    group_by: ['level', { bucket: '1d' }],
    order_by: { by: 'level', order: 'desc' },
    limit: 5,
    from: '-1h',
  }
  const url =
    `${path}?query=ms:%3E%3D3&aggregates=count,max:ms&group_by=level,bucket:1d` +
    '&order_by=level:desc&limit=5&from=-1h'
  const [posted, got] = [await harness().ask(body), await harness().rest.call('GET', url)]
  assert.equal(got.status, 200, got.text)
  assert.deepEqual(got.json.rows, posted.json.rows)
  assert.equal(got.json.rows[0].level, 'b')
})

test('several streams are one, or told apart', async () => {
  await harness().fill(['{"a":1}', '{"a":2}'])
  const token = await harness().rest.token('ann', ['events:read'])
  const post = (body: object) => harness().rest.call('POST', '/v1/query', { token, body })
  assert.equal((await post({})).json.total, 2)
  const told = await post({ streams: [harness().streamId], group_by: '_stream' })
  assert.deepEqual(told.json.rows, [{ _stream: harness().streamId, count: 2 }])
  const foreign = await harness().rest.token('bob', ['events:read'])
  const refused = await harness().rest.call('POST', '/v1/query', {
    token: foreign,
    body: { streams: [harness().streamId] },
  })
  assert.equal(refused.status, 404)
  const nothing = await harness().rest.call('GET', '/v1/query?streams=*', { token: foreign })
  assert.deepEqual([nothing.status, nothing.json.total], [200, 0])
  assert.equal(
    (await harness().rest.call('GET', `/v1/facets?streams=${harness().streamId}`, { token }))
      .status,
    200,
  )
  assert.equal((await harness().rest.call('GET', '/v1/histogram', { token })).json.total, 2)
})

test('both time bases select half-open ranges', async () => {
  const atMs = Date.parse('2026-03-01T12:00:00.500Z')
  await harness().fill(['{"n":1}'], atMs)
  const cases = [
    ['2026-03-01T12:00:00.500Z', '2026-03-01T12:00:00.501Z', 1],
    ['2026-03-01T12:00:00Z', '2026-03-01T12:00:00.500Z', 0],
    ['2026-03-01T12:00:00.500000001Z', '2026-03-01T13:00:00Z', 0],
    ['2026-03-01T14:00:00.5+02:00', '2026-03-01T14:00:01+02:00', 1],
    ['0001-01-01T00:00:00Z', '9999-01-01T00:00:00Z', 1],
  ] as const
  for (const basis of ['ingested_at', 'event_time']) {
    for (const [from, to, count] of cases) {
      const { json } = await harness().ask({ from, to, time_basis: basis })
      assert.equal(json.total, count, `${basis} ${from} ${to}`)
    }
  }
  assert.equal((await harness().ask({})).json.total, 0, 'by default the last hour')
})
