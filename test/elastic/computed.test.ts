/**
 * Goal: what is computed along buckets, of buckets, and which buckets of time there are, is as
 * Elasticsearch has it.
 * Method: literal series and requests; the values were worked out by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answers, SeriesBucket } from '../../src/elastic/aggregations/agg-tree.ts'
import { readScript } from '../../src/elastic/aggregations/bucket-script.ts'
import { readDateHistogram } from '../../src/elastic/aggregations/date-histogram.ts'
import { fillTimes } from '../../src/elastic/aggregations/fill-buckets.ts'
import { METRICS } from '../../src/elastic/aggregations/metrics.ts'
import { PIPELINES } from '../../src/elastic/aggregations/pipelines.ts'
import { highlights } from '../../src/elastic/highlight.ts'
import { bucketStartMs } from '../../src/read/aggregate/buckets.ts'
import type { AggregateRow } from '../../src/store/projection/reads/aggregate-store.ts'

/** The member `p` of each bucket, whose metric `m` has these values. */
function along(kind: string, body: object, values: readonly (number | null)[]): unknown[] {
  const series = values.map((value, index): SeriesBucket & { readonly answers: Answers } => {
    const docCount = value === null ? 0 : 1
    return { key: index * 1_000, docCount, answers: { m: { value } } }
  })
  PIPELINES[kind]!('p', { buckets_path: 'm', ...body }, 'p').run(series, {})
  return series.map(({ answers }) => (answers.p as { readonly value: unknown } | undefined)?.value)
}

test('values along buckets; a bucket without a value is a gap', () => {
  const none = undefined
  const { NaN: gap } = Number
  assert.deepEqual(along('derivative', {}, [1, 3, null, 4]), [none, 2, gap, gap])
  assert.deepEqual(along('derivative', { gap_policy: 'insert_zeros' }, [1, 3, null]), [none, 2, -3])
  assert.deepEqual(along('cumulative_sum', {}, [1, null, 2]), [1, 1, 3])
  assert.deepEqual(along('serial_diff', { lag: '2' }, [1, 2, 5, 9]), [none, none, 4, 7])
  const moving = (script: string, more = {}) => {
    return along(
      'moving_fn',
      { window: 2, script: `MovingFunctions.${script}`, ...more },
      [1, 2, 4, 8],
    )
  }
  assert.deepEqual(moving('max(values)'), [gap, 1, 2, 4])
  assert.deepEqual(moving('sum(values)', { shift: 1 }), [1, 3, 6, 12])
  assert.deepEqual(moving('unweightedAvg(values)'), [gap, 1, 1.5, 3])
  assert.deepEqual(moving('linearWeightedAvg(values)'), [gap, 1 / 2, 5 / 4, 10 / 4])
  assert.deepEqual(moving('ewma(values, 0.5)'), [gap, 1, 1.5, 3])
  assert.deepEqual(moving('stdDev(values, MovingFunctions.unweightedAvg(values))'), [
    gap,
    0,
    0.5,
    1,
  ])
  assert.deepEqual(along('moving_avg', { window: 2 }, [1, 2, 4, 8]), [none, 1, 1.5, 3])
})

test('a rate is by its unit, whatever the bucket', () => {
  const place = { bucketMs: 60_000, docCount: 120 }
  const rate = (body: object, text: string) => METRICS.rate!('r', body, 'r').finish([text], place)
  assert.deepEqual(rate({ unit: 'second' }, '120'), { value: 2 })
  assert.deepEqual(rate({ unit: 'hour', field: 'bytes', mode: 'sum' }, '5'), { value: 300 })
  assert.deepEqual(rate({ unit: 'minute', field: 'bytes' }, 'null'), { value: 0 })
})

test('of buckets beside', () => {
  const list = [3, 1, 2].map((value, index) => {
    return { key: index, key_as_string: `k${index}`, doc_count: 1, m: { value } }
  })
  const of = (kind: string) => {
    const siblings: Answers = { h: { buckets: list } }
    PIPELINES[kind]!('p', { buckets_path: 'h>m' }, 'p').run([], siblings)
    return siblings.p
  }
  assert.deepEqual(of('sum_bucket'), { value: 6 })
  assert.deepEqual(of('avg_bucket'), { value: 2 })
  assert.deepEqual(of('max_bucket'), { value: 3, keys: ['k0'] })
  assert.deepEqual(of('min_bucket'), { value: 1, keys: ['k1'] })
  assert.deepEqual(of('stats_bucket'), { count: 3, min: 1, max: 3, avg: 2, sum: 6 })
})

test('words are marked where they are, whatever the names of an event are', () => {
  const payload = '{"__proto__":"a Timeout","constructor":["timeout","b"],"n":1,"o":{"m":"none"}}'
  const marked = highlights(payload, ['timeout', '(x|y'], { before: '<', after: '>' })
  const expected = [
    ['__proto__', ['a <Timeout>']],
    ['constructor', ['<timeout>']],
  ]
  assert.deepEqual(Object.entries(marked ?? {}), expected)
  assert.equal(highlights(payload, ['nothing'], { before: '<', after: '>' }), undefined)
})

test('what is no model or script is refused, whatever objects have by nature', () => {
  const of = (kind: string, body: object) => () => along(kind, body, [1])
  assert.throws(of('moving_avg', { model: 'constructor' }), /must be simple, linear or ewma/)
  assert.throws(of('moving_fn', { script: 'MovingFunctions.constructor(values)' }), /must be/)
  assert.throws(of('derivative', { unit: 'constructor' }), /must be such as 1s/)
})

test('arithmetic of a script', () => {
  const of = (text: string) =>
    readScript(text, 'script', ['a', 'b'])(
      new Map([
        ['a', 6],
        ['b', 4],
      ]),
    )
  for (const [text, expected] of [
    ['params.a / params.b', 1.5],
    ['a - b - 1', 1],
    ['2 + 3 * 4', 14],
    ['-(a + b) % 4', -2],
    ['params.a > params.b ? 1 : 0', 1],
    ['a == b ? 1 : a != b ? 2 : 3', 2],
    ['Math.max(a, b, 10) + Math.abs(-1.5e1)', 25],
    ['return params.a * 100.0;', 600],
  ] as const) {
    assert.equal(of(text), expected, text)
  }
  for (const text of [
    '',
    'a b',
    'c',
    'a +',
    'Math.exit(1)',
    'a.b',
    "'x'",
    'a = 1',
    '{}',
    'a ? 1',
  ]) {
    assert.throws(() => of(text), /script/, text)
  }
})

test('buckets of time: calendars, zones, offsets, and empty ones up to the bounds', () => {
  const from = Date.parse('2026-03-28T12:00:00Z')
  const about = {
    nowMs: from,
    range: { clock: 'event_time', fromMs: from, untilMs: Date.parse('2026-03-31') },
  } as const
  const starts = (body: object) => {
    const named = { field: '@timestamp', ...body }
    const { buckets } = readDateHistogram(named, 'h', about)
    return Array.from({ length: buckets.count }, (_, index) => {
      return new Date(bucketStartMs(buckets, index)).toISOString()
    })
  }
  assert.deepEqual(starts({ calendar_interval: 'day', time_zone: 'Europe/Berlin' }), [
    '2026-03-27T23:00:00.000Z',
    '2026-03-28T23:00:00.000Z',
    // Clocks were put forward.
    '2026-03-29T22:00:00.000Z',
    '2026-03-30T22:00:00.000Z',
  ])
  assert.deepEqual(starts({ calendar_interval: '1q' }), ['2026-01-01T00:00:00.000Z'])
  assert.deepEqual(starts({ fixed_interval: '1d', offset: '+6h' })[0], '2026-03-28T06:00:00.000Z')
  assert.deepEqual(starts({ interval: '2d', time_zone: '+02:00' })[0], '2026-03-27T22:00:00.000Z')
  const bounds = { min: from - 2 * 86_400_000, max: from }
  const agg = readDateHistogram(
    { field: '@timestamp', fixed_interval: '1d', extended_bounds: bounds, format: 'epoch_millis' },
    'h',
    about,
  )
  assert.equal(agg.keyText(5), '5')
  const row = (index: number) => [index, {} as AggregateRow] as const
  const named = { ...agg, name: 'h', children: { metrics: [], buckets: [], pipelines: [] } }
  assert.deepEqual(fillTimes(named, new Map([row(4)])), [0, 1, 2, 3, 4])
  assert.deepEqual(
    fillTimes({ ...named, bounds: { min: undefined, max: undefined } }, new Map()),
    [],
  )
})
