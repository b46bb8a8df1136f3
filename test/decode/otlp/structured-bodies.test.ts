/**
 * Goal: what an OTLP record says beside a structured body becomes its event's labels, whatever
 * happens to the segment, and with `otlp_context: "keep"` members of the event.
 * Method: records through ingest; then the segment read, compacted, split, replayed and matched.
 */
import '../../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { otlpRequestType } from '../../../bench/otlp-request.ts'
import { LEVELS } from '../../../src/model/event-labels.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { CompactPipeline } from '../../../workers/compact.ts'
import { IngestPipeline } from '../../../workers/ingest.ts'
import { SegmentReader } from '../../../workers/read-segment.ts'
import { ReplayPipeline } from '../../../workers/replay.ts'
import { decodeSegment } from '../../../workers/segment/segment.ts'
import { SplitPipeline } from '../../../workers/split.ts'
import { readFixedColumns } from '../../segment/fixed-columns.ts'
import { batchOf } from '../../workers/batch-of.ts'

const TRACE = '5b8efff798038103d269b633813fc60c'
const SPAN = 'eee19b7ec3c1b174'

interface Given {
  readonly body?: Readonly<Record<string, string>>
  readonly severityNumber?: number
  readonly severityText?: string
  readonly traceId?: string
  readonly spanId?: string
  readonly attributes?: Readonly<Record<string, string>>
}

const keyValues = (members: Readonly<Record<string, string>>) =>
  Object.entries(members).map(([key, stringValue]) => ({ key, value: { stringValue } }))

/** In protobuf, all of one resource. */
function requestOf(records: readonly Given[], resource: Readonly<Record<string, string>>): Buffer {
  const logRecords = records.map(({ body = {}, attributes = {}, traceId, spanId, ...rest }) => ({
    ...rest,
    body: { kvlistValue: { values: keyValues(body) } },
    attributes: keyValues(attributes),
    traceId: Buffer.from(traceId ?? '', 'hex'),
    spanId: Buffer.from(spanId ?? '', 'hex'),
  }))
  const resourceLogs = [
    { resource: { attributes: keyValues(resource) }, scopeLogs: [{ logRecords }] },
  ]
  return Buffer.from(otlpRequestType.encode(otlpRequestType.fromObject({ resourceLogs })).finish())
}

type Keeps = 'drop' | 'keep'

function ingest(records: readonly Given[], resource = {}, otlpContext: Keeps = 'drop') {
  const batch = batchOf(requestOf(records, resource), 'otlp-protobuf')
  const settings = { ...batch.settings, otlpContext }
  const { segments, parts } = new IngestPipeline().run({ ...batch, settings })
  assert.equal(parts[0]!.rejected, 0)
  assert.equal(segments.length, 1)
  return segments[0]!
}

interface Row {
  readonly payload: unknown
  readonly level?: string
  readonly service?: string
  readonly trace_id?: string
  readonly span_id?: string
}

/** Records as the API has them; of all events, or of some. */
function read(payload: Uint8Array, ordinals?: Uint32Array, events = 1_000): Row[] {
  const reader = new SegmentReader()
  const read = { payload, segmentId: '1', ingestedAtMs: 0, fromOrdinal: 0, toOrdinal: events }
  const json = reader.run([{ ...read, newestFirst: false, ...(ordinals && { ordinals }) }])
  assert.deepEqual(reader.damaged, [])
  const rows = JSON.parse(`[${Buffer.from(json).toString()}]`) as (Row & { id?: string })[]
  return rows.map(({ payload, level, service, trace_id, span_id }) => {
    const given = { level, service, trace_id, span_id }
    const some = Object.entries(given).filter(([, value]) => value !== undefined)
    return { payload, ...Object.fromEntries(some) }
  })
}

const RESOURCE = { 'service.name': 'checkout', 'host.name': 'web-1' }
const RECORDS: readonly Given[] = [
  { body: { a: '1' }, severityNumber: 17, traceId: TRACE, spanId: SPAN },
  { body: { level: 'debug', service: 'own' }, severityText: ' [Warning]' },
  { body: { level: 'debug', service: 'own' } },
  { body: {}, severityNumber: 9, severityText: 'custom', traceId: TRACE },
  { body: { b: '2' }, spanId: SPAN },
]
const EXPECTED: readonly Row[] = [
  { payload: { a: '1' }, level: 'error', service: 'checkout', trace_id: TRACE, span_id: SPAN },
  { payload: { level: 'debug', service: 'own' }, level: 'warn', service: 'checkout' },
  { payload: { level: 'debug', service: 'own' }, level: 'debug', service: 'checkout' },
  { payload: {}, level: 'info', service: 'checkout', trace_id: TRACE },
  { payload: { b: '2' }, service: 'checkout', span_id: SPAN },
]

test('level, service and ids of the record are labels of its event, which stays the body', () => {
  const { payload } = ingest(RECORDS, RESOURCE)
  assert.deepEqual(read(payload), EXPECTED)
  assert.deepEqual(read(payload, Uint32Array.of(1, 3)), [EXPECTED[1], EXPECTED[3]])
})

test('a record that says nothing, and events of other surfaces, cost nothing', () => {
  const { payload } = ingest([{ body: { a: '1' } }])
  assert.equal(payload[0], 2, 'the format without labels')
  assert.deepEqual(read(payload), [{ payload: { a: '1' } }])
})

test('what a segment says of its events stays when it is compacted and split', () => {
  const first = ingest(RECORDS, RESOURCE).payload
  const plain = ingest([{ body: { x: 'y' } }, { body: { x: 'z' } }]).payload
  const other = ingest(RECORDS.slice(0, 2), { 'service.name': 'other' }).payload
  const { payload } = new CompactPipeline().run([plain, first, other])
  const others = EXPECTED.slice(0, 2).map((row) => ({ ...row, service: 'other' }))
  const all = [{ payload: { x: 'y' } }, { payload: { x: 'z' } }, ...EXPECTED, ...others]
  assert.deepEqual(read(payload), all)

  const pieces = Uint32Array.from([0, 1, 3, 0, 6, 3])
  const split = new SplitPipeline().run({
    payloads: [payload],
    pieces,
    pieceCounts: Uint32Array.of(1, 1),
  })
  const [end] = split.ends
  assert.deepEqual(read(split.bytes.slice(0, end)), all.slice(1, 4))
  assert.deepEqual(read(split.bytes.slice(end)), all.slice(6, 9))
})

test('the block has them, at ingest and when it is made again', () => {
  const segment = ingest(RECORDS, RESOURCE)
  const replayed = new ReplayPipeline().run(segment.payload, 1)
  for (const { block } of [segment, replayed]) {
    const { columns } = readFixedColumns(Buffer.from(block.bytes))
    assert.deepEqual(columns.level, ['error', 'warn', 'debug', 'info', ''])
    assert.deepEqual(new Set(columns.service), new Set(['checkout']))
    const ids = [TRACE + SPAN, '', '', `${TRACE}${'0'.repeat(16)}`, `${'0'.repeat(32)}${SPAN}`]
    const own = ['', 'own', 'own', '', '']
    const contexts = ids.map((id, i) => id.padEnd(48, '0') + Buffer.from(own[i]!).toString('hex'))
    assert.deepEqual(columns.context, contexts)
  }
})

test('a service that the body says as well needs no context', () => {
  const { block } = ingest([{ body: { service: 'checkout' }, severityNumber: 9 }], RESOURCE)
  const { columns } = readFixedColumns(Buffer.from(block.bytes))
  assert.deepEqual([columns.service, columns.context], [['checkout'], ['']])
})

test('with keep, members are added that the body has not', () => {
  const records: Given[] = [
    {
      body: { a: '1' },
      severityNumber: 17,
      traceId: TRACE,
      spanId: SPAN,
      attributes: { 'http.route': '/pay' },
    },
    {
      body: { severity: 'x', resource: 'mine', trace_id: 't' },
      severityText: 'WARN',
      traceId: TRACE,
    },
    { body: {}, spanId: SPAN },
    { body: { a: '1' } },
  ]
  const rows = read(ingest(records, RESOURCE, 'keep').payload)
  assert.deepEqual(
    rows.map(({ payload }) => JSON.stringify(payload)),
    [
      `{"a":"1","attributes":{"http.route":"/pay"},"resource":${JSON.stringify(RESOURCE)},` +
        `"severity":"ERROR","trace_id":"${TRACE}","span_id":"${SPAN}"}`,
      '{"severity":"x","resource":"mine","trace_id":"t"}',
      `{"resource":${JSON.stringify(RESOURCE)},"span_id":"${SPAN}"}`,
      `{"a":"1","resource":${JSON.stringify(RESOURCE)}}`,
    ],
  )
  assert.deepEqual(rows[1]?.level, 'warn')
  assert.deepEqual(rows[1]?.trace_id, TRACE)
})

test('numbers of severities are levels, others are none', () => {
  const numbers = [-1, 0, 1, 4, 5, 24, 25]
  const rows = read(ingest(numbers.map((severityNumber) => ({ severityNumber }))).payload)
  const levels = rows.map(({ level }) => level)
  const [trace, debug, , , , fatal] = LEVELS
  assert.deepEqual(levels, [undefined, undefined, trace, trace, debug, fatal, undefined])
})

test('names of services that are too long, empty or no text are none; others are repaired', () => {
  const long = ingest([{ severityNumber: 9 }], { 'service.name': 'x'.repeat(257) })
  assert.deepEqual(read(long.payload), [{ payload: {}, level: 'info' }])
  const empty = ingest([{ severityNumber: 9 }], { 'service.name': '' })
  assert.deepEqual(read(empty.payload), [{ payload: {}, level: 'info' }])
})

test('labels that no writer makes are refused, and none is read past', () => {
  const { payload } = ingest(RECORDS, RESOURCE)
  assert.equal(payload[0], 3)
  const at = 6 + 4
  const size = Buffer.from(payload).readUInt32LE(6)
  for (let i = at; i < at + size; i++) {
    for (const value of [0, 1, 0x7f, 0x80, 0xff]) {
      const damaged = Buffer.from(payload)
      damaged[i] = value
      try {
        decodeSegment(damaged)
      } catch (cause) {
        assert.match(String(cause), /segment /)
      }
    }
  }
  const stream = 1 as StreamId
  assert.throws(() => new ReplayPipeline().run(payload.subarray(0, 20), stream))
})
