/**
 * Goal: what clients of Elasticsearch send means what they mean by it, and what has no meaning here
 * is refused with a reason that names the place.
 * Method: literal queries, and the text of ours that each becomes; literal requests and reasons.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readQuery } from '../../src/elastic/read-query.ts'
import { membersOfUrl, readSearch } from '../../src/elastic/read-search.ts'
import { IngestError } from '../../src/errors.ts'
import {
  ELASTIC_AGGS_MAX,
  ELASTIC_BUCKETS_MAX,
  ELASTIC_HITS_MAX,
  ELASTIC_LEVELS_MAX,
  ELASTIC_WINDOW_MAX,
  QUERY_CLAUSES_MAX,
} from '../../src/limits.ts'

const NOW = Date.parse('2026-03-01T12:34:56.789Z')
const textOf = (query: unknown) => readQuery(query, NOW).text

test('queries become ours', () => {
  const lucene = (query: string) => ({ query_string: { analyze_wildcard: true, query } })
  for (const [query, text] of [
    [undefined, ''],
    [{ match_all: {} }, ''],
    [{ bool: {} }, ''],
    [{ bool: { filter: [{ match_all: {} }, {}] } }, ''],
    [{ match_none: {} }, 'NOT *'],
    [lucene('*'), ''],
    [lucene('level:error AND timeout'), 'level:error AND timeout'],
    // Grafana quotes the values of its ad hoc filters, numbers too.
    [lucene('status:"200" AND -host:"a b"'), 'status:200 AND NOT host:"a b"'],
    [lucene('ok:"true"'), 'ok:true'],
    [lucene('@timestamp:>2026-01-01T00:00:00Z'), '_event_time>2026-01-01T00:00:00Z'],
    [{ term: { level: 'error' } }, 'level="error"'],
    [{ term: { level: { value: 'error', boost: 1 } } }, 'level="error"'],
    [{ term: { 'http.status': 500 } }, 'http.status=500'],
    [{ terms: { a: [1, 'x', true] } }, 'a:(=1 OR ="x" OR =true)'],
    [{ terms: { a: [] } }, 'NOT *'],
    [{ match_phrase: { message: 'two words' } }, 'message:"two words"'],
    [{ match_phrase: { message: { query: 'two words' } } }, 'message:"two words"'],
    [{ match: { message: 'two words' } }, 'message:("two" OR "words")'],
    [
      { match: { message: { query: 'two words', operator: 'and' } } },
      'message:("two" AND "words")',
    ],
    [{ exists: { field: 'a.b' } }, 'a.b:*'],
    [{ exists: { field: '@timestamp' } }, ''],
    [{ prefix: { path: '/api' } }, 'path=\\/api*'],
    [{ wildcard: { path: { value: 'a*b?' } } }, 'path=a*b?'],
    [{ wildcard: { path: 'a\\*' } }, 'path="a*"'],
    [{ regexp: { path: { value: 'a.*', case_insensitive: true } } }, 'path:/^(?:a.*)$/i'],
    [{ ids: { values: ['1-2'] } }, '_id="1-2"'],
    [{ range: { n: { gte: 5, lt: '10' } } }, 'n:[5 TO 10}'],
    [{ range: { n: { from: 1, to: 2, include_upper: false } } }, 'n:[1 TO 2}'],
    [{ range: { s: { gte: 'a' } } }, 's>="a"'],
    [
      { bool: { must_not: { term: { a: 'b' } }, should: [{ term: { c: 1 } }] } },
      'NOT a="b" AND c=1',
    ],
    [
      { bool: { filter: { term: { a: 1 } }, should: [{ term: { b: 1 } }, { term: { c: 1 } }] } },
      'a=1',
    ],
    [
      {
        bool: { should: [{ term: { b: 1 } }, { term: { c: 1 } }], minimum_should_match: 1 },
      },
      'b=1 OR c=1',
    ],
    [{ constant_score: { filter: { term: { a: 1 } } } }, 'a=1'],
  ] as const) {
    assert.equal(textOf(query), text, JSON.stringify(query))
  }
})

test('the range around a query is of one clock; both ends are in it, in milliseconds', () => {
  const rangeOf = (query: unknown) => readQuery(query, NOW).range
  const filter = [{ range: { '@timestamp': { gte: 1_000, lte: 2_000, format: 'epoch_millis' } } }]
  const expected = { clock: 'event_time', fromMs: 1_000, untilMs: 2_001 }
  assert.deepEqual(rangeOf({ bool: { filter } }), expected)
  assert.deepEqual(rangeOf({ bool: { filter: filter[0] } }), expected)
  const older = { range: { '@timestamp': { from: '1000', to: '2000', format: 'epoch_millis' } } }
  const should = { bool: { should: [older], minimum_should_match: 1 } }
  assert.deepEqual(rangeOf({ bool: { filter: [should] } }), expected, 'of an annotation')
  const two = { bool: { filter: [...filter, { range: { '@timestamp': { gt: 1_500 } } }] } }
  assert.deepEqual(rangeOf(two), { ...expected, fromMs: 1_501 })
  for (const [value, fromMs] of [
    ['now', NOW],
    ['now-1h', NOW - 3_600_000],
    ['now-1d/d', Date.parse('2026-02-28')],
    ['2026-01-31', Date.parse('2026-01-31')],
    ['2026-01-31T10:00:00', Date.parse('2026-01-31T10:00:00Z')],
    ['2026-01-31T10:00:00.5+02:00', Date.parse('2026-01-31T08:00:00.5Z')],
    ['2026-01-31||+1M', Date.parse('2026-02-28')],
    ['2026-01-31||+1M/M', Date.parse('2026-02-01')],
    ['2024-02-29||-1y', Date.parse('2023-02-28')],
    ['2024-02-29 10', Date.parse('2024-02-29T10:00:00Z')],
  ] as const) {
    assert.equal(rangeOf({ range: { _ingested_at: { gte: value } } })?.fromMs, fromMs, value)
  }
  for (const value of ['2026-02-31', '2026-13', '2026-01-01T24', '0026-01-01']) {
    assert.throws(
      () => rangeOf({ range: { _ingested_at: { gte: value } } }),
      /_ingested_at\S* must be a time/,
      value,
    )
  }
  const day = rangeOf({ range: { _ingested_at: { lte: '2026-01-31' } } })
  assert.equal(day?.untilMs, Date.parse('2026-02-01'), 'the whole day')
  const inside = { bool: { must_not: filter } }
  assert.equal(rangeOf(inside), undefined)
  assert.equal(
    textOf(inside),
    'NOT _event_time:["1970-01-01T00:00:01.000Z" TO "1970-01-01T00:00:02.001Z"}',
  )
})

test('what is not understood is refused, with the place and the reason', () => {
  const deep = (levels: number): unknown => {
    return levels === 0 ? { match_all: {} } : { bool: { must: deep(levels - 1) } }
  }
  for (const [body, reason] of [
    [{ query: { script: { script: '1' } } }, /^query: "script" is not supported$/],
    [{ query: { bool: { filter: [{ geo_shape: {} }] } } }, /query\.bool\.filter: "geo_shape"/],
    [{ query: { query_string: { query: 'a:(b' } } }, /query_string\.query: column 5/],
    [{ query: { query_string: { query: 'a b', default_operator: 'OR' } } }, /write OR between/],
    [{ query: { query_string: { query: '_index:web' } } }, /name the streams as the index/],
    [{ query: { term: { a: 2 ** 60 } } }, /send it as a string/],
    [{ query: { terms: { a: new Array(QUERY_CLAUSES_MAX + 1).fill(1) } } }, /QUERY_CLAUSES_MAX/],
    [{ query: { range: { '@timestamp': { gte: 'soon' } } } }, /must be a time/],
    [{ query: { range: { '@timestamp': { gte: 5, lte: 3 } } } }, /ends before it begins/],
    [{ query: deep(200) }, /QUERY_LEVELS_MAX/],
    [{ sort: ['message'] }, /sorted by @timestamp or by _ingested_at/],
    [{ sort: ['_ingested_at'], query: TIME }, /must be of one clock/],
    [{ search_after: [1, 'x'] }, /search_after must be the sort of a hit/],
    [
      { size: ELASTIC_HITS_MAX + 1 },
      /size must be an integer from 0 to 10000 \(ELASTIC_HITS_MAX\)/,
    ],
    [{ size: ELASTIC_HITS_MAX, from: 1 }, /use search_after/],
    [{ collapse: { field: 'a' } }, /collapse is not supported: use a terms aggregation/],
    [{ script_fields: { a: {} } }, /scripts are not run/],
    [{ pit: { id: 'x' } }, /pages exactly/],
    [{ nonsense: 1 }, /^search: "nonsense" is not supported$/],
  ] as const) {
    assertRefused(body, reason)
  }
})

test('aggregations that are not understood, or too many, are refused', () => {
  const aggs = (agg: unknown) => ({ size: 0, query: TIME, aggs: { a: agg } })
  const levels = (count: number): unknown => ({
    terms: { field: 'x' },
    ...(count > 0 && { aggs: { b: levels(count - 1) } }),
  })
  const many = (count: number) => {
    const all = Array.from({ length: count }, (_, n) => [`a${n}`, { avg: { field: 'n' } }])
    return Object.fromEntries(all)
  }
  readSearch({ size: ELASTIC_HITS_MAX, aggs: many(ELASTIC_AGGS_MAX) }, NOW)
  readSearch(aggs(levels(ELASTIC_LEVELS_MAX - 1)), NOW)
  for (const [body, reason] of [
    [aggs({ geotile_grid: {} }), /not supported/],
    [aggs({ avg: { field: 'n', script: '_value * 2' } }), /scripts are not run/],
    [aggs({ avg: { field: '_level' } }), /avg is of numbers/],
    [aggs({ terms: { field: '@timestamp' } }), /not counted or measured/],
    [aggs({ terms: { field: 'x', size: ELASTIC_BUCKETS_MAX + 1 } }), /ELASTIC_BUCKETS_MAX/],
    [aggs({ terms: { field: 'x', order: { q: 'asc' } } }), /there is no metric "q" below/],
    [aggs({ terms: { field: 'x', include: 'a.*' } }), /"include" is not supported/],
    [aggs(levels(ELASTIC_LEVELS_MAX + 1)), /over 5 levels \(ELASTIC_LEVELS_MAX\)/],
    [{ size: 0, aggs: many(ELASTIC_AGGS_MAX + 1) }, /over 100 aggregations \(ELASTIC_AGGS_MAX\)/],
    [
      aggs({
        terms: { field: 'x' },
        aggs: { s: { serial_diff: { buckets_path: '_count', lag: ELASTIC_WINDOW_MAX + 1 } } },
      }),
      /lag must be an integer from 1 to 10000/,
    ],
    [
      aggs({ date_histogram: { field: '@timestamp', fixed_interval: '1ms' } }),
      /ELASTIC_BUCKETS_MAX/,
    ],
    [aggs({ date_histogram: { field: '_ingested_at', fixed_interval: '1m' } }), /needs a range/],
    [aggs({ histogram: { field: 'n', interval: 0 } }), /must be over 0/],
    [aggs({ derivative: { buckets_path: '1' } }), /is within buckets/],
    [
      aggs({ terms: { field: 'x' }, aggs: { d: { cumulative_sum: { buckets_path: 'd' } } } }),
      /there is no "d" beside it/,
    ],
    [
      aggs({
        terms: { field: 'x' },
        aggs: { s: { bucket_script: { buckets_path: {}, script: 'System.exit(1)' } } },
      }),
      /token 1 is none of these/,
    ],
    [
      aggs({
        terms: { field: 'x' },
        aggs: { s: { bucket_script: { buckets_path: {}, script: '('.repeat(900) } } },
      }),
      /over 32 levels/,
    ],
    [
      aggs({
        terms: { field: 'x' },
        aggs: { s: { moving_fn: { buckets_path: '_count', script: 'for(;;){}' } } },
      }),
      /must be MovingFunctions/,
    ],
  ] as const) {
    assertRefused(body, reason)
  }
})

function assertRefused(body: unknown, reason: RegExp): void {
  assert.throws(
    () => readSearch(JSON.parse(JSON.stringify(body)), NOW),
    (cause) => cause instanceof IngestError && reason.test(cause.message),
    `${JSON.stringify(body).slice(0, 200)}: ${reason}`,
  )
}

const TIME = { range: { '@timestamp': { gte: 'now-1h', lte: 'now' } } }

test('a URL says the same as a body', () => {
  const params = new URLSearchParams('q=level:error&size=3&sort=@timestamp:desc&_source=false')
  const body = readSearch(membersOfUrl(params), NOW)
  const { text, size, clock, isDescending, hasSource } = body
  assert.deepEqual(
    [text, size, clock, isDescending, hasSource],
    ['level:error', 3, 'event_time', true, false],
  )
})

test('keys of a sort come in any order', () => {
  for (const sort of [
    [{ '@timestamp': { order: 'desc', unmapped_type: 'boolean' } }, { _doc: { order: 'desc' } }],
    { _doc: { order: 'desc' }, '@timestamp': { order: 'desc' } },
    ['@timestamp:desc', '_doc'],
  ]) {
    const { clock, isDescending } = readSearch({ sort }, NOW)
    assert.deepEqual([clock, isDescending], ['event_time', true])
  }
})
