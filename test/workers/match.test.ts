/**
 * Goal: of stored segments each query gets just the events that it matches, in the order of the
 * reads; records are those of the task that reads; what was not looked at is told.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MATCH_COST_MAX, MATCH_EVENTS_MAX, MATCH_RECORDS_BYTES_MAX } from '../../src/limits.ts'
import type { RecordFormat, SegmentRead } from '../../src/model/batch/segment-read.ts'
import type { MatchQuery, MatchTask } from '../../src/pool/messages.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { MatchPipeline } from '../../workers/match.ts'
import { SegmentReader } from '../../workers/read-segment.ts'
import { cpuNow } from '../support/cpu-time.ts'
import { batchOf } from './batch-of.ts'

const INGESTED_AT_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const NS_PER_MS = 1_000_000n

function read(lines: readonly string[], fields: Partial<SegmentRead> = {}): SegmentRead {
  const [segment] = new IngestPipeline().run(batchOf(lines.join('\n'))).segments
  return {
    payload: segment!.payload,
    segmentId: '77',
    ingestedAtMs: INGESTED_AT_MS,
    fromOrdinal: 0,
    toOrdinal: lines.length,
    newestFirst: false,
    ...fields,
  }
}

function query(text: string, fields: Partial<MatchQuery> = {}): MatchQuery {
  return { text, textFields: ['msg'], eventTime: undefined, limit: MATCH_EVENTS_MAX, ...fields }
}

const pipeline = new MatchPipeline()

function run(task: Partial<MatchTask>) {
  const result = pipeline.run({ reads: [], queries: [], withRecords: false, ...task })
  const { read: reads, ordinal, count } = result.events
  const ids = Array.from({ length: count }, (_, at) => `${reads[at]}-${ordinal[at]}`)
  const matches = result.queries.map(({ events }) => [...events].map((place) => ids[place]))
  return { ...result, ids, matches, stops: result.queries.map(({ stopped }) => stopped) }
}

const LEVELS = ['info', 'warn', 'error', 'info', 'error']
const LINES = LEVELS.map((level, at) => `{"level":"${level}","n":${at},"msg":"Line ${at}"}`)

test('several queries over several segments, each event once', () => {
  const reads = [read(LINES), read(LINES, { newestFirst: true, fromOrdinal: 1, toOrdinal: 4 })]
  const { ids, matches, stops } = run({
    reads,
    queries: [query('level:error'), query('n:>=3'), query('line'), query('nothing')],
  })
  assert.deepEqual(matches[0], ['0-2', '0-4', '1-2'])
  assert.deepEqual(matches[1], ['0-3', '0-4', '1-3'])
  assert.deepEqual(matches[2], ['0-0', '0-1', '0-2', '0-3', '0-4', '1-3', '1-2', '1-1'])
  assert.deepEqual(matches[3], [])
  assert.deepEqual(ids, matches[2])
  assert.deepEqual(stops, [undefined, undefined, undefined, undefined])
})

test('queries together find what each finds by itself, in either order', () => {
  const lines = Array.from({ length: 200 }, (_, n) => {
    return `{"level":"${LEVELS[n % 5]}","n":${n % 17},"msg":"Line ${n % 31}"}`
  })
  const whole = read(lines)
  const reads = [
    { ...whole, fromOrdinal: 20, toOrdinal: 180 },
    { ...whole, newestFirst: true, firstEvent: 10, fromOrdinal: 3, toOrdinal: 190 },
  ]
  const texts = ['level:error', 'level:warn', 'line']
  const queries = texts.flatMap((text) => [
    query(text),
    ...Array.from({ length: 8 }, (_, n) => query(`${text} n:${n}`)),
  ])
  const alone = queries.map((one) => run({ reads, queries: [one] }).matches[0])
  assert.deepEqual(run({ reads, queries }).matches, alone)
  assert.ok(alone.every((found) => found!.length > 0))
})

test('segments that share a payload, and system fields', () => {
  const whole = read(LINES)
  const parts = [
    { ...whole, segmentId: '5', firstEvent: 1, toOrdinal: 2 },
    { ...whole, segmentId: '6', firstEvent: 3, toOrdinal: 99, newestFirst: true },
  ]
  const { matches } = run({
    reads: parts,
    queries: [
      query('_id:6-1'),
      query('_level:>=warn'),
      query('_ingested_at:<2026-01-01T00:00:00Z'),
    ],
  })
  assert.deepEqual(matches, [['1-1'], ['0-0', '0-1', '1-1'], []])
})

const FORMATS: readonly (RecordFormat | undefined)[] = [
  undefined,
  { kind: 'list', fields: ['n', 'msg'] },
  { kind: 'lines', fields: ['level'] },
  { kind: 'csv', fields: ['n', 'msg'] },
]

test('records are those that the task which reads renders', () => {
  for (const format of FORMATS) {
    assertRecords([read(LINES), read(LINES, { segmentId: '78', newestFirst: true })], format)
    assertRecords([read(LINES, { streamId: '9' })], format)
  }
})

function assertRecords(reads: readonly SegmentRead[], format: RecordFormat | undefined): void {
  const task = { reads, withRecords: true, format }
  const { events } = run({ ...task, queries: [query('error')] })
  assert.equal(events.count, 0)
  const found = run({ ...task, queries: [query('level:error'), query('n:2')] })
  const ends = [...found.events.jsonEnd]
  const json = Buffer.from(found.events.json)
  const records = ends.map((end, at) => json.subarray(ends[at - 1] ?? 0, end).toString())
  const expected = found.ids.map((id) => {
    const [index, ordinal] = id.split('-').map(Number)
    const one = { ...reads[index!]!, fromOrdinal: ordinal!, toOrdinal: ordinal! + 1 }
    const text = Buffer.from(new SegmentReader().run([one], format)).toString()
    return format?.kind === 'lines' ? text.trimEnd() : text
  })
  assert.deepEqual(records, expected)
  assert.equal(json.length, ends.at(-1))
  assert.equal(run({ reads, queries: [query('')] }).events.json.length, 0)
}

test('a query ends at its limit and tells where', () => {
  const reads = [read(LINES), read(LINES, { newestFirst: true })]
  const { matches, stops } = run({
    reads,
    queries: [query('level:error', { limit: 3 }), query('level:error', { limit: 1 }), query('')],
  })
  assert.deepEqual(matches[0], ['0-2', '0-4', '1-4'])
  assert.deepEqual(stops[0], { reason: 'limit', read: 1, ordinal: 3 })
  assert.deepEqual(matches[1], ['0-2'])
  assert.deepEqual(stops[1], { reason: 'limit', read: 0, ordinal: 3 })
  assert.equal(stops[2], undefined)
  const many = read(Array.from({ length: 6_000 }, () => '{}'))
  const capped = run({ reads: [many, many], queries: [query('', { limit: 99_999 })] })
  assert.equal(capped.matches[0]!.length, MATCH_EVENTS_MAX)
})

test('only events of the times asked for, to the nanosecond', () => {
  const lines = ['00:00:00Z', '00:00:00.000000001Z', '00:00:01Z'].map(
    (time) => `{"ts":"2026-01-01T${time}"}`,
  )
  const fromNs = BigInt(Date.UTC(2026, 0, 1)) * NS_PER_MS + 1n
  const eventTime = { fromNs, toNs: fromNs + 999_999_999n }
  const reads = [read([...lines, '{}'])]
  const { ids, events } = run({ reads, queries: [query('', { eventTime })] })
  assert.deepEqual(ids, ['0-1'])
  assert.deepEqual([...events.timeNs], [fromNs])
  const ingested = BigInt(INGESTED_AT_MS) * NS_PER_MS
  const received = { fromNs: ingested, toNs: ingested + 1n }
  assert.deepEqual(run({ reads, queries: [query('', { eventTime: received })] }).ids, ['0-3'])
})

test('a damaged segment is told and costs the others nothing', () => {
  const reads = [read(LINES), { ...read(LINES), payload: Buffer.from('junk') }, read(LINES)]
  const { matches, damaged } = run({ reads, queries: [query('n:2')] })
  assert.deepEqual(matches[0], ['0-2', '2-2'])
  assert.deepEqual(
    damaged.map(({ index }) => index),
    [1],
  )
})

test('a query that costs too much ends, and the others do not', () => {
  const text = `{"msg":"${'ab'.repeat(200_000)}"}`
  const hostile = `*:/(?:a|b){0,400}a(?:a|b){400}c/ OR msg:/(?:a|b){0,300}a(?:a|b){400}c/`
  const lines = Array.from({ length: 20 }, () => text.replace('ab', 'xc'))
  assert.ok(lines.length * text.length * 5 < MATCH_COST_MAX, 'reading it is cheap')
  const startMs = cpuNow()
  const { matches, stops } = run({
    reads: [read(lines)],
    queries: [query(hostile), query('msg:*')],
  })
  assert.ok(cpuNow() - startMs < 10_000)
  assert.equal(stops[0]?.reason, 'cost')
  assert.equal(matches[1]!.length, lines.length)
})

test('an event that costs too much alone is passed over, so that going on comes to an end', () => {
  const text = `{"msg":"c${'ab'.repeat(300_000)}"}`
  const reads = [read([text, text]), read([text, '{"msg":"x"}'])]
  const queries = [query(`msg:/(?:a|b){0,400}a(?:a|b){400}c/ OR msg:x`)]
  const { stops, queries: told, matches } = run({ reads, queries })
  assert.equal(told[0]?.undecided, 1)
  assert.deepEqual(stops[0], { reason: 'cost', read: 0, ordinal: 1 })
  assert.deepEqual(matches[0], [])
  const rest = run({ reads: [{ ...reads[0]!, fromOrdinal: 1 }, ...reads.slice(1)], queries })
  assert.equal(rest.queries[0]?.undecided, 1)
  assert.deepEqual(rest.stops[0], { reason: 'cost', read: 1, ordinal: 0 })
  const last = run({ reads: [{ ...reads[1]!, fromOrdinal: 1 }], queries })
  assert.deepEqual([last.matches[0], last.stops[0]], [['0-1'], undefined])
})

test('records end before they are too large', () => {
  const event = `{"msg":"${'x'.repeat(1_000_000)}","n":0}`
  const count = Math.ceil(MATCH_RECORDS_BYTES_MAX / event.length) + 3
  const reads = Array.from({ length: count }, () => read([event]))
  const { events, matches, stops } = run({
    reads,
    queries: [query('n:0'), query('n:1'), query('n:0', { limit: 2 })],
    withRecords: true,
  })
  const kept = Math.ceil(MATCH_RECORDS_BYTES_MAX / (event.length + 200))
  assert.equal(events.count, kept)
  assert.equal(matches[0]!.length, kept)
  const stop = { reason: 'bytes', read: kept, ordinal: 0 }
  assert.deepEqual(stops, [stop, stop, { reason: 'limit', read: 2, ordinal: 0 }])
})
