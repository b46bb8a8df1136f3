/**
 * Goal: labels that came with the protocol are found by the engine and by the evaluator alike, and
 * the fields of the event stay what they are beside them.
 * Method: records with structured bodies in a table of their own and in the shared one, and as a
 * stored segment; each query against the events by their numbers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { otlpRequestType } from '../../../../bench/otlp-request.ts'
import { parse } from '../../../../src/language/parse.ts'
import { MIXED_STREAM } from '../../../../src/model/mixed-runs.ts'
import { anyFields, learnedFields } from '../../../../src/store/projection/compile/branch-fields.ts'
import { compileQuery } from '../../../../src/store/projection/compile/compile-query.ts'
import { SqlParams } from '../../../../src/store/projection/compile/sql-params.ts'
import { projectionTable } from '../../../../src/store/projection/projection-store.ts'
import { Evaluator } from '../../../../workers/evaluate/evaluator.ts'
import { EventCursor } from '../../../../workers/evaluate/event-cursor.ts'
import { IngestPipeline } from '../../../../workers/ingest.ts'
import { PayloadDecoder } from '../../../../workers/segment/payload-decoder.ts'
import { JsonTape } from '../../../../workers/tape/json-tape.ts'
import { PathTrie } from '../../../../workers/tape/path-trie.ts'
import { ProjectionHarness } from '../../../block/projection-harness.ts'
import { batchOf } from '../../../workers/batch-of.ts'
import { learnedCatalog } from './test-catalog.ts'

const harness = new ProjectionHarness()
const TRACE = '5b8efff798038103d269b633813fc60c'
const UUID = '5B8EFFF7-9803-8103-D269-b633813fc60c'
const SPAN = 'eee19b7ec3c1b174'

const ofResource = (service: string | undefined, logRecords: readonly object[]) => ({
  resource: {
    attributes:
      service === undefined ? [] : [{ key: 'service.name', value: { stringValue: service } }],
  },
  scopeLogs: [{ logRecords }],
})
const body = (members: Readonly<Record<string, string>>) => ({
  kvlistValue: {
    values: Object.entries(members).map(([key, stringValue]) => ({ key, value: { stringValue } })),
  },
})
const bytes = (hex: string) => Buffer.from(hex, 'hex')

const REQUEST = otlpRequestType.fromObject({
  resourceLogs: [
    ofResource('checkout', [
      { body: body({ n: '0' }), severityNumber: 17, traceId: bytes(TRACE), spanId: bytes(SPAN) },
      { body: body({ service: 'cart', level: 'debug' }), severityNumber: 9 },
      { body: body({ service: 'checkout' }), traceId: bytes(TRACE) },
    ]),
    ofResource(undefined, [
      { body: body({ service: 'cart' }) },
      { body: body({ trace_id: TRACE, service: 'checkout' }) },
      { body: body({ traceId: UUID, span_id: '' }), spanId: bytes(SPAN) },
    ]),
    ofResource('checkout', [{ body: body({ n: '6' }) }]),
  ],
})

const CASES: readonly (readonly [query: string, found: readonly number[]])[] = [
  ['_level:error', [0]],
  ['_level:info', [1]],
  ['level:debug', [1]],
  ['_service:checkout', [0, 1, 2, 4, 6]],
  ['_service:cart', [3]],
  ['service:checkout', [2, 4]],
  ['service:cart', [1, 3]],
  ['NOT service:cart', [0, 2, 4, 5, 6]],
  ['service:*', [1, 2, 3, 4]],
  [`_trace_id:${TRACE}`, [0, 2, 4]],
  [`_trace_id:${TRACE.toUpperCase()}`, [0, 2, 4]],
  [`_trace_id:"${UUID}"`, [0, 2, 4, 5]],
  [`NOT _trace_id:${TRACE}`, [1, 3, 5, 6]],
  ['_trace_id:*', [0, 2, 4, 5]],
  ['_trace_id:5b8efff7*', [0, 2, 4]],
  ['_trace_id:/^5B8E/', [5]],
  ['_trace_id:00000000000000000000000000000000', []],
  [`_span_id:${SPAN}`, [0, 5]],
  ['_span_id:*', [0, 5]],
  ['NOT _span_id:*', [1, 2, 3, 4, 6]],
  ['_span_id:0000000000000000', []],
  [`_span_id:${SPAN} _trace_id:*`, [0, 5]],
]

test('labels of records are found, in each kind of table and in segments', async () => {
  const wire = Buffer.from(otlpRequestType.encode(REQUEST).finish())
  const batch = new IngestPipeline().run(batchOf(wire, 'otlp-protobuf'))
  const stream = harness.newStream()
  await harness.insert(stream, batch)
  await harness.insertSharedBatch(stream, batchOf(wire, 'otlp-protobuf'))
  const strings = { scalars: ['String'] as const }
  const names = ['n', 'service', 'level', 'trace_id', 'traceId', 'span_id']
  const types = Object.fromEntries(names.map((name) => [name, strings]))
  const catalog = learnedCatalog(stream, ['message'], types)
  const stored = new PayloadDecoder(new JsonTape(new PathTrie()))
  assert.equal(stored.decode(batch.segments[0]!.payload), undefined)
  for (const [text, expected] of CASES) {
    const query = parse(text)
    for (const fields of [learnedFields(catalog), anyFields(catalog)]) {
      for (const table of [stream, MIXED_STREAM]) {
        const params = new SqlParams()
        const where = compileQuery(query, fields, params)
        const rows = await harness.clickhouse.query<{ n: number }>(
          `SELECT ordinal AS n FROM ${projectionTable(harness.clickhouse.database, table)}
            WHERE ${where} ORDER BY n`,
          params.values,
        )
        assert.deepEqual(
          rows.map(({ n }) => n),
          expected,
          `${text} in ${table}: ${where}`,
        )
      }
    }
    const evaluator = new Evaluator(query, ['message'])
    const cursor = new EventCursor()
    cursor.begin(stored)
    cursor.origin = { segmentId: '1', ingestedAtMs: 0, firstEvent: 0 }
    evaluator.work.left = 1e9
    evaluator.begin(cursor)
    const found = Array.from({ length: 7 }, (_, event) => event).filter((event) => {
      cursor.moveTo(event)
      return evaluator.matches(cursor)
    })
    assert.deepEqual(found, expected, text)
  }
})
