/**
 * Goal: what ingest finds for the queries of live tails is what the task that reads the stored
 * payload finds, to the byte of the records; and it is bounded.
 * Method: random events and queries, through several kinds of batches; the other task as oracle.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parse } from '../../src/language/parse.ts'
import { MATCH_EVENTS_MAX } from '../../src/limits.ts'
import type { AcceptedBatch } from '../../src/model/batch/accepted-batch.ts'
import type { SievedEvents, WatchedQueries } from '../../src/model/batch/sieved-events.ts'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import { makeSegmentId, segmentIdMs } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { stampOf, stampRecord } from '../../src/tail/stamp-record.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { MatchPipeline } from '../../workers/match.ts'
import {
  TAIL_SIEVE_BYTES_MAX,
  TAIL_SIEVE_EVENT_STEPS,
  TAIL_SIEVE_QUERY_STEPS,
  TAIL_SIEVE_SEGMENT_STEPS,
} from '../../workers/tail-matcher.ts'
import { eventText, TEXT_FIELDS } from '../language/random-event.ts'
import { queryText } from '../language/random-query.ts'
import { cpuNow } from '../support/cpu-time.ts'
import { forMilliseconds, testSeed } from '../support/fuzzing.ts'
import { batchOf, batchOfParts } from './batch-of.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const [ONE, TWO] = [1, 2] as StreamId[] as [StreamId, StreamId]
const SEGMENT = makeSegmentId({ ms: Date.UTC(2026, 10, 23), node: 3, counter: 7 })
const OF_COMMIT = /_id\b|_ingested_at|_event_time/
let sets = 0

function watch(streamId: StreamId, textFields: readonly string[], texts: readonly string[]) {
  return { streamId, setId: ++sets, json: JSON.stringify([textFields, ...texts]) }
}

/** Of each query the ordinals and the records, once the segment has an id. */
function readSieved({ found }: SievedEvents, queries: number): string[][] {
  assert.ok(found !== undefined)
  const { matches, ordinals, records, recordEnd } = found
  const stamp = stampOf(SEGMENT)
  const shown = [...ordinals].map((ordinal, place) => {
    const record = records.subarray(recordEnd[place - 1] ?? 0, recordEnd[place])
    return `${ordinal} ${Buffer.from(stampRecord(record, stamp))}`
  })
  let at = 0
  const all = Array.from({ length: queries }, () => {
    const places = matches.subarray(at + 1, at + 1 + matches[at]!)
    at += 1 + places.length
    return [...places].map((place) => shown[place]!)
  })
  assert.equal(at, matches.length)
  return all
}

function readStored(
  stored: MatchPipeline,
  payload: Uint8Array,
  { first, count }: { readonly first: number; readonly count: number },
  { json }: WatchedQueries,
): string[][] {
  const [textFields, ...texts] = JSON.parse(json) as [readonly string[], ...string[]]
  const ingestedAtMs = segmentIdMs(SEGMENT)
  const range = { fromOrdinal: 0, toOrdinal: count, firstEvent: first, newestFirst: false }
  const reads = [{ payload, segmentId: String(SEGMENT), ingestedAtMs, ...range }]
  return texts.map((text) => {
    const query = { text, textFields, eventTime: undefined, limit: MATCH_EVENTS_MAX }
    const { queries, events } = stored.run({ reads, queries: [query], withRecords: true })
    return [...queries[0]!.events].map((place) => {
      const record = events.json.subarray(events.jsonEnd[place - 1] ?? 0, events.jsonEnd[place])
      return `${events.ordinal[place]} ${Buffer.from(record)}`
    })
  })
}

const otlp = (lines: readonly string[]) => {
  const logRecords = lines.map((line, at) => {
    const time = at % 2 === 0 ? { timeUnixNano: `17637${at}0000000000123` } : {}
    return { body: { stringValue: line }, severityText: 'error', ...time }
  })
  return JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] })
}

function batchesOf(lines: readonly string[], more: readonly string[]): AcceptedBatch[] {
  const whole = batchOf(lines.join('\n'))
  const mixed = batchOfParts([
    ['ndjson', lines.join('\n')],
    ['ndjson', more.join('\n')],
  ])
  const owners = [ONE, TWO].map((streamId) => ({ streamId, parts: 1 }))
  const settings = { ...whole.settings, redactSensitive: true, redactFields: ['a', 'message'] }
  return [
    whole,
    { ...whole, settings },
    { ...mixed, streamId: MIXED_STREAM, owners },
    batchOf(otlp(lines), 'otlp-json'),
    batchOf(lines.map((line) => line.replaceAll('\n', ' ')).join('\n'), 'text'),
  ]
}

function parses(text: string): boolean {
  try {
    parse(text)
    return !OF_COMMIT.test(text)
  } catch {
    return false
  }
}

test('it finds what the task finds that reads what was stored', () => {
  const ingest = new IngestPipeline()
  const stored = new MatchPipeline()
  let round = 0
  let hits = 0
  forMilliseconds(4_000, () => {
    const options = { seed: seed + round++ }
    const lines = fc.sample(eventText, { ...options, numRuns: 40 })
    const texts = fc.sample(queryText, { ...options, numRuns: 40 }).filter(parses)
    // Clauses that several have, cheap ones and others.
    const pairs = texts.slice(0, 12).map((text, at) => `(${text}) ${texts[at % 4]}`)
    const asked = [...texts, ...pairs.filter(parses), 'level:error a:*', 'level:error b:*']
    const textFields = TEXT_FIELDS[round % TEXT_FIELDS.length]!
    for (const batch of batchesOf(lines, lines.toReversed().slice(0, 9))) {
      const watched = [watch(ONE, textFields, asked), watch(TWO, textFields, asked.slice(0, 9))]
      for (const segment of ingest.run(batch, undefined, watched).segments) {
        const { runs = [{ streamId: ONE, eventCount: segment.eventCount }] } = segment
        let first = 0
        for (const [index, { streamId, eventCount: count }] of runs.entries()) {
          const queries = watched.find((one) => one.streamId === streamId)!
          const sieved = segment.sieved![index]!
          assert.equal(sieved.setId, queries.setId)
          const expected = readStored(stored, segment.payload, { first, count }, queries)
          const found = readSieved(sieved, expected.length)
          assert.deepEqual(found, expected, `seed ${options.seed}`)
          hits += found.flat().length
          first += count
        }
      }
    }
  })
  assert.ok(hits > 100)
})

test('streams that nobody watches cost nothing, and nothing is told of them', () => {
  const batch = batchOf('{"a":1}\n{"a":2}')
  assert.equal(new IngestPipeline().run(batch).segments[0]!.sieved, undefined)
  const { segments } = new IngestPipeline().run(batch, undefined, [watch(TWO, [], [''])])
  assert.deepEqual(segments[0]!.sieved, [undefined])
})

function sieve(ingest: IngestPipeline, lines: readonly string[], texts: readonly string[]) {
  const watched = [watch(ONE, ['msg'], texts)]
  return ingest.run(batchOf(lines.join('\n')), undefined, watched).segments[0]!.sieved![0]!
}

test('past TAIL_SIEVE_EVENT_STEPS and TAIL_SIEVE_SEGMENT_STEPS it gives up', () => {
  const hostile = `*:/(?:a|b){0,300}a(?:a|b){300}c/`
  const bytes = Math.ceil(TAIL_SIEVE_QUERY_STEPS / 10)
  const long = Array.from({ length: 3 }, () => `{"msg":"${'ab'.repeat(bytes)}"}`)
  assert.ok(TAIL_SIEVE_SEGMENT_STEPS + 3 * TAIL_SIEVE_EVENT_STEPS < 10 * bytes)
  const ingest = new IngestPipeline()
  const startMs = cpuNow()
  assert.equal(sieve(ingest, long, [hostile]).found, undefined)
  assert.ok(cpuNow() - startMs < 5_000)
  assert.notEqual(sieve(ingest, long, ['other:*']).found, undefined, 'others go on')
})

test('a new query may cost TAIL_SIEVE_QUERY_STEPS once: its expression is compiled', () => {
  const texts = Array.from({ length: 64 }, (_, at) => `msg:/time(d)? out ${at}/`)
  assert.ok(TAIL_SIEVE_SEGMENT_STEPS + TAIL_SIEVE_EVENT_STEPS < 64 * 1_000_000)
  assert.ok(TAIL_SIEVE_QUERY_STEPS > 2_000_000)
  assert.notEqual(sieve(new IngestPipeline(), ['{"msg":"timed out 7"}'], texts).found, undefined)
})

test('records past TAIL_SIEVE_BYTES_MAX are not kept', () => {
  const line = `{"msg":"${'x'.repeat(TAIL_SIEVE_BYTES_MAX / 8)}"}`
  const ingest = new IngestPipeline()
  const small = sieve(ingest, Array<string>(7).fill(line), [''])
  assert.equal(small.found?.ordinals.length, 7)
  assert.equal(sieve(ingest, Array<string>(9).fill(line), ['']).found, undefined)
})

test('paths with more values than are kept, and more paths than have them', () => {
  const ingest = new IngestPipeline()
  const texts = [
    ...Array.from({ length: 80 }, (_, at) => `p${at}:v`),
    'n:>=250 p1:v',
    'n:>=250 p2:v',
    '-n:299',
    'n:7',
  ]
  // Twice: what was learned of values must hold for the next segment.
  for (const round of [0, 1]) {
    const lines = Array.from({ length: 600 }, (_, at) => {
      return JSON.stringify({ n: (at + round) % 300, [`p${at % 80}`]: at % 3 === 0 ? 'v' : 'w' })
    })
    const { found } = sieve(ingest, lines, texts)
    assert.ok(found !== undefined)
    const numberOf = (at: number) => (at + round) % 300
    const isV = (path: number) => (at: number) => at % 80 === path && at % 3 === 0
    const tests = [
      ...Array.from({ length: 80 }, (_, path) => isV(path)),
      (at: number) => numberOf(at) >= 250 && isV(1)(at),
      (at: number) => numberOf(at) >= 250 && isV(2)(at),
      (at: number) => numberOf(at) !== 299,
      (at: number) => numberOf(at) === 7,
    ]
    let place = 0
    for (const [query, matches] of tests.entries()) {
      const count = found.matches[place++]!
      const ordinals: number[] = [...found.matches.subarray(place, place + count)]
      place += count
      const expected = lines.flatMap((_, at) => (matches(at) ? [at] : []))
      assert.deepEqual(
        ordinals.map((index) => found.ordinals[index]),
        expected,
        texts[query],
      )
    }
  }
})
