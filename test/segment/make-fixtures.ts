/**
 * Makes the fixtures that do not exist yet, with the build that it is part of:
 *
 *   node dist/test/segment/make-fixtures.js
 *
 * A fixture says what an earlier build wrote, so one that exists is never written again, and this
 * refuses to. To have another one, give it a name of its own. Each is two files: the payload, and
 * beside it, a JSON text a line, the row that has the payload and the events that must come out.
 */
import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { joinLines, loadCorpus } from '../../bench/corpus.ts'
import { otlpProtobuf, otlpRequest, otlpRequestType } from '../../bench/otlp-request.ts'
import type { AcceptedBatch } from '../../src/model/batch/accepted-batch.ts'
import type { EncodedSegment } from '../../src/model/batch/encoded-batch.ts'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import { makeSegmentId, type SegmentId } from '../../src/model/segment-id.ts'
import { encodeMembers } from '../../src/model/stored-row.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { CompactPipeline } from '../../workers/compact.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { batchOf, batchOfParts } from '../workers/batch-of.ts'
import {
  dictionaryEvents,
  digitEvents,
  ODD_EVENTS,
  SECRET_EVENTS,
  smallEvents,
  TEXT_LINES,
  variedEvents,
  wideEvents,
} from './fixture-events.ts'
import { checksumOf, FIXTURES, fixtureFile, SUMS_FILE } from './fixture-files.ts'
import { readStored, type StoredRow } from './stored-rows.ts'

interface Made {
  readonly row: StoredRow
  readonly payload: Uint8Array
}

const MS = 1_767_323_045_678
const STREAM = 7 as StreamId
const OTLP_LINES = loadCorpus({ kind: 'json', count: 300 })

function idOf(index: number): SegmentId {
  return makeSegmentId({ ms: MS + 1_000 * index, node: 5, counter: index })
}

/** The row of a batch that makes one segment. */
function rowOf(batch: AcceptedBatch): Made {
  const [segment, ...more] = new IngestPipeline().run(batch).segments
  if (segment === undefined || more.length > 0) throw new Error('a fixture is one segment')
  const { eventCount, rawBytes, payload } = segment
  const sizes = { event_count: eventCount, raw_bytes: rawBytes }
  return { row: { stream_id: STREAM, segment_id: String(idOf(0)), ...sizes }, payload }
}

function ofLines(lines: readonly string[], framing: string = 'ndjson'): Made {
  return rowOf(batchOf(lines.join('\n'), framing))
}

/** A row of the runs of several streams. */
function mixed(): Made {
  const bodies = [smallEvents(3), ODD_EVENTS, ['{"only":"one"}'], smallEvents(9)]
  const batch = batchOfParts(bodies.map((lines) => ['ndjson', lines.join('\n')] as const))
  const owners = bodies.map((_, i) => ({ streamId: (100 * i + 1) as StreamId, parts: 1 }))
  const [segment] = new IngestPipeline().run({ ...batch, streamId: MIXED_STREAM, owners }).segments
  const { eventCount, rawBytes, payload, runs = [] } = segment as EncodedSegment
  const stored = runs.map((run, i) => ({ ...run, segmentId: idOf(i) }))
  return {
    row: {
      stream_id: MIXED_STREAM,
      segment_id: String(idOf(0)),
      last_segment_id: String(stored.at(-1)!.segmentId),
      members: Buffer.from(encodeMembers(MIXED_STREAM, stored)).toString('hex'),
      event_count: eventCount,
      raw_bytes: rawBytes,
    },
    payload,
  }
}

/** A row that was merged of rows of one segment each. */
function compacted(smalls: readonly Made[]): Made {
  const { payload, eventCount, rawBytes } = new CompactPipeline().run(
    smalls.map((small) => Uint8Array.from(small.payload)),
  )
  const members = smalls.map(({ row }, i) => {
    const streamId = STREAM as StreamId
    return { streamId, segmentId: idOf(i * 3), eventCount: row.event_count }
  })
  return {
    row: {
      stream_id: STREAM,
      segment_id: String(idOf(0)),
      last_segment_id: String(members.at(-1)!.segmentId),
      members: Buffer.from(encodeMembers(STREAM as StreamId, members)).toString('hex'),
      event_count: eventCount,
      raw_bytes: rawBytes,
    },
    payload,
  }
}

function otlp(count: number, body: 'kvlist' | 'text', isJson = false): Made {
  const lines = OTLP_LINES.slice(0, count)
  return isJson
    ? rowOf(batchOf(JSON.stringify(otlpRequest(lines, body)), 'otlp-json'))
    : rowOf(batchOf(otlpProtobuf(lines, body), 'otlp-protobuf'))
}

/** Structured bodies, and what their records say beside them. */
function labelled(count: number, hasTimes: boolean): Made {
  const resourceLogs = [0, 1].map((half) => ({
    resource: half === 0 ? {} : { attributes: [{ key: 'service.name', value: SERVICE }] },
    scopeLogs: [{ logRecords: OTLP_LINES.slice(0, count).map((line, i) => record(line, i)) }],
  }))
  function record(line: string, index: number): object {
    const [full] = (otlpRequest([line], 'kvlist') as OtlpRequest).resourceLogs
    const { timeUnixNano, severityNumber, severityText, ...rest } =
      full!.scopeLogs[0]!.logRecords[0]!
    const bytes = Buffer.from(String(index).padStart(16, '~'))
    return {
      ...rest,
      ...(hasTimes ? { timeUnixNano } : { observedTimeUnixNano: 0 }),
      ...(index % 3 > 0 && { severityNumber: (severityNumber + 4 * index) % 25, severityText: '' }),
      ...(index % 4 > 1 && { traceId: bytes }),
      ...(index % 5 > 1 && { spanId: bytes.subarray(8) }),
    }
  }
  const message = otlpRequestType.fromObject({ resourceLogs })
  return rowOf(batchOf(Buffer.from(otlpRequestType.encode(message).finish()), 'otlp-protobuf'))
}

const SERVICE = { stringValue: 'zahlung-\u00e9' }

interface OtlpRequest {
  readonly resourceLogs: readonly {
    readonly scopeLogs: readonly {
      readonly logRecords: readonly {
        timeUnixNano: string
        severityNumber: number
        severityText: string
      }[]
    }[]
  }[]
}

function transformed(): Made {
  const body = joinLines(SECRET_EVENTS.flatMap((event) => [event, event, event]))
  const settings = { parseUserAgents: true, redactSensitive: true, redactFields: ['note'] }
  return rowOf({ ...batchOf(body), settings })
}

const RECIPES: Readonly<Record<string, () => Made>> = {
  'plain-json': () => ofLines(ODD_EVENTS),
  'plain-empty-event': () => ofLines(['{}']),
  'plain-array': () => ofLines(['{"a":1} , {"b":', '2}'], 'array'),
  'plain-document': () => ofLines(['{', '"a":', '[1,', '2]}'], 'document'),
  'plain-bulk': () => ofLines(['{"index":{}}', '{"a":1}', '{"create":{}}', '{"b":"x"}'], 'bulk'),
  // More paths than a block takes.
  'plain-wide': () => ofLines(wideEvents(3, 1_060)),
  'plain-times': () => otlp(3, 'text'),
  'columns-json': () => ofLines(smallEvents(40)),
  'columns-odd': () => ofLines(Array.from({ length: 12 }, () => ODD_EVENTS).flat()),
  'columns-templates': () => ofLines(variedEvents()),
  'columns-text': () => ofLines(TEXT_LINES, 'text'),
  'columns-times': () => otlp(12, 'text'),
  'columns-wide': () => ofLines(wideEvents(16, 120)),
  'packed-digits': () => ofLines(digitEvents(80)),
  'packed-dictionaries': () => ofLines(dictionaryEvents(1_100)),
  'packed-corpus': () => ofLines(OTLP_LINES.slice(0, 100)),
  'packed-times-kvlist': () => otlp(80, 'kvlist'),
  'packed-times-wrapped': () => otlp(80, 'text', true),
  'labelled-plain': () => labelled(1, false),
  'labelled-columns': () => labelled(8, true),
  'labelled-packed': () => labelled(60, true),
  'mixed-runs': mixed,
  'compacted-members': () => {
    const many = [ODD_EVENTS, smallEvents(5), ['{}'], smallEvents(30), ODD_EVENTS.slice(3, 9)]
    return compacted(many.map((lines) => ofLines(lines)))
  },
  'compacted-times': () => {
    const some = [otlp(2, 'kvlist'), ofLines(smallEvents(4)), otlp(5, 'text', true)]
    return compacted([...some, ofLines(TEXT_LINES, 'text')])
  },
  transformed,
}

for (const [name, make] of Object.entries(RECIPES)) {
  const [payloadFile, eventsFile] = [fixtureFile(name, 'segment'), fixtureFile(name, 'ndjson')]
  if (existsSync(new URL(payloadFile, FIXTURES)) || existsSync(new URL(eventsFile, FIXTURES))) {
    console.log(`${name} exists and stays as it is`)
    continue
  }
  const { row, payload } = make()
  const lines = [row, ...readStored(row, payload)].map((each) => `${JSON.stringify(each)}\n`)
  // `wx` refuses to overwrite, whatever is above.
  writeFileSync(new URL(payloadFile, FIXTURES), payload, { flag: 'wx' })
  writeFileSync(new URL(eventsFile, FIXTURES), lines.join(''), { flag: 'wx' })
  const sums = [payloadFile, eventsFile].map((file) => `${checksumOf(file)}  ${file}\n`)
  appendFileSync(new URL(SUMS_FILE, FIXTURES), sums.join(''))
  console.log(`${name}: ${payload.length} bytes, flags ${payload[1]}, ${row.event_count} events`)
}
