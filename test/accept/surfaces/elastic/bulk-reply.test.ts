/**
 * Goal: what forwarders send is accepted, and they find in a reply what they look for, byte by
 * byte.
 * Method: requests as the forwarders' own sources make them, through framer, worker code and reply.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CommittedPart } from '../../../../src/accept/dialect.ts'
import { COMPACT_REPLY } from '../../../../src/accept/surfaces/elastic/bulk-form.ts'
import { encodeBulkReply } from '../../../../src/accept/surfaces/elastic/bulk-reply.ts'
import { ReplyBuffers } from '../../../../src/bytes/reply-buffers.ts'
import {
  BULK_INDEX_BYTES_MAX,
  BULK_ITEM_BYTES_MAX,
  SEGMENT_EVENTS_MAX,
} from '../../../../src/limits.ts'
import { everyOperation, ITEM_ALL } from '../../../../src/model/batch/bulk-items.ts'
import type { SegmentId } from '../../../../src/model/segment-id.ts'
import { decodePart, decodeParts } from '../../../decode/decode-part.ts'
import { type BulkOptions, runBulk, SEGMENT_ID } from './bulk-body.ts'

const buffers = new ReplyBuffers()

function replyTo(body: string, options: BulkOptions = {}): string {
  return Buffer.from(runBulk([Buffer.from(body)], options).reply).toString()
}

const EVENT = '{"@timestamp":"2026-05-01T10:00:00.000Z","message":"started","log":{"level":"info"}}'

/** Action lines as sent, each followed by `EVENT` or the given document; and the items' names. */
const REQUESTS: readonly (readonly [
  client: string,
  body: string,
  operations: readonly string[],
])[] = [
  [
    'Logstash',
    `{"index":{"_id":null,"_index":"logs-2026.05.01","routing":null}}\n${EVENT}\n` +
      `{"create":{"_id":null,"_index":"logs-app-default","routing":null,"pipeline":null}}\n` +
      `${EVENT}\n` +
      '{"update":{"_id":"1","_index":"logs","routing":null,"retry_on_conflict":1}}\n' +
      `{"doc":${EVENT},"doc_as_upsert":true}\n`,
    ['index', 'create', 'update'],
  ],
  [
    'Beats',
    `{"create":{"_index":"filebeat-8.17.0"}}\n${EVENT}\n` +
      `{"index":{"_index":"filebeat-7.17.0-2026.05.01-000001","_type":"_doc","pipeline":"p"}}\n` +
      `${EVENT}\n`,
    ['create', 'index'],
  ],
  [
    'Fluent Bit',
    `{"create":{"_index":"fluent-bit","_type":"_doc"}}\n${EVENT}\n` +
      `{"index":{"_index":"fluent-bit","_id":"f3c2a1b0-0000-4000-8000-1234567890ab"}}\n${EVENT}\n` +
      `{"update":{"_index":"fluent-bit","_id":"1"}}\n{"doc_as_upsert":true,"doc":${EVENT}}\n`,
    ['create', 'index', 'update'],
  ],
  [
    'Fluentd',
    `{"index":{"_index":"fluentd","_type":"_doc"}}\n${EVENT}\n` +
      `{"create":{"_index":"fluentd-write","_alias":"a","_id":"x","routing":"r"}}\n${EVENT}\n` +
      `{"update":{"_index":"fluentd","_id":"x"}}\n{"doc":${EVENT},"upsert":{"a":1}}\n`,
    ['index', 'create', 'update'],
  ],
  [
    'Vector',
    `{"create":{"_index":"vector-2026.05.01","_type":""}}\n${EVENT}\n` +
      `{"index":{"_index":"vector","_id":"7","version":3,"version_type":"external"}}\n${EVENT}\n`,
    ['create', 'index'],
  ],
  [
    'winston',
    `{"create":{"_index":"logs-app-default","_type":null,"pipeline":null},"attempts":0}\n` +
      `${EVENT}\n` +
      `{"attempts":0,"index":{"_index":"logs-2026.05.01","_type":"_doc"}}\n${EVENT}\n`,
    ['create', 'index'],
  ],
  [
    'the OTel exporter',
    '{"create":{"_index":"logs-generic.otel-default","require_data_stream":true,' +
      `"dynamic_templates":{"metrics.a":"histogram","b":"c"}}}\n${EVENT}\n` +
      `{"create":{"_index":"logs","_id":"5","list_executed_pipelines":true,"_source":false}}\n` +
      EVENT,
    ['create', 'create'],
  ],
  [
    'Serilog and .NET',
    `{"index":{"op_type":"create","_index":"logs","_id":"0","if_seq_no":1}}\r\n${EVENT}\r\n` +
      `{"create":{"_index":"logs","if_primary_term":1,"require_alias":false}}\r\n${EVENT}\r\n`,
    ['create', 'create'],
  ],
]

for (const [client, body, operations] of REQUESTS) {
  test(`what ${client} sends is accepted, with one item per action`, () => {
    const { events, reply } = runBulk([Buffer.from(body)])
    assert.deepEqual(
      [...events.values()],
      operations.map(() => EVENT),
    )
    const text = Buffer.from(reply).toString()
    const { items } = JSON.parse(text) as { items: Record<string, { status: number }>[] }
    assert.deepEqual(
      items.flatMap((item) => Object.keys(item)),
      operations,
    )
    assert(items.every((item) => Object.values(item).every(({ status }) => status === 201)))
    assert(text.startsWith('{"took":3,"errors":false,"items":[{"'), text)
  })
}

test('the literals that clients search for are there', () => {
  const good = replyTo('{"create":{}}\n{"a":1}\n')
  assert(good.includes('"errors":false,"items":[')) // Fluent Bit.
  const bad = replyTo('{"create":{}}\n{"a":1}\n{"create":{}}\n{"a"\n')
  assert(bad.includes('"errors":true')) // Vector.
  assert(!bad.includes('es_rejected_execution_exception')) // Fluentd.
  assert.equal(replyTo('\n'), '{"took":3,"errors":false,"items":[]}')
  assert.equal(replyTo(''), '{"took":3,"errors":false,"items":[]}')
})

test('an item is what clients read and no more: about 100 bytes', () => {
  const body = `{"create":{"_index":"logs"}}\n${EVENT}\n`
  const id = `${SEGMENT_ID}-0`
  assert.equal(
    replyTo(body),
    '{"took":3,"errors":false,"items":[{"create":{"_index":"logs",' +
      `"_id":"${id}","_version":1,"result":"created","status":201}}]}`,
  )
  const count = 5_000
  assert(replyTo(body.repeat(count)).length / count < 110)
})

test('ids lead to events: across segments, after other parts and with fewer digits', () => {
  const count = SEGMENT_EVENTS_MAX + 3
  const body = Array.from({ length: count }, (_, i) => `{"create":{}}\n{"n":${i}}\n`).join('')
  for (const firstSegmentId of [SEGMENT_ID, 7n, 999_999_999_999_999_999n]) {
    const { events, reply } = runBulk([Buffer.from(body)], { firstSegmentId })
    const { items } = JSON.parse(Buffer.from(reply).toString()) as {
      items: { create: { _id: string } }[]
    }
    assert.equal(items.length, count)
    for (const [n, { create }] of items.entries()) {
      assert.equal(events.get(create._id), `{"n":${n}}`)
    }
  }
  const [before, bulk] = decodeParts([
    ['ndjson', '{}\n'.repeat(SEGMENT_EVENTS_MAX - 1)],
    ['bulk', '{"create":{}}\n{}\n{"create":{"_id":"own"}}\n{}\n{"create":{}}\n{}\n'],
  ])
  assert(before !== undefined && bulk !== undefined)
  const part: CommittedPart = {
    result: bulk.result,
    segmentIds: [SEGMENT_ID as SegmentId, 12n as SegmentId],
    firstEvent: before.events.length,
  }
  const ids = Buffer.from(encodeBulkReply([part], { buffers, filter: COMPACT_REPLY, tookMs: 0 }))
  assert.deepEqual(
    [...ids.toString().matchAll(/"_id":"(.*?)"/g)].map(([, id]) => id),
    [`${SEGMENT_ID}-${SEGMENT_EVENTS_MAX - 1}`, 'own', '12-1'],
  )
})

test('items of several parts are joined, empty ones leave no trace', () => {
  const parts = ['\n', '{"create":{}}\n{"a":1}\n', '', '{"delete":{}}\n'].map((body) => ({
    result: decodePart('bulk', body).result,
    segmentIds: [SEGMENT_ID as SegmentId],
    firstEvent: 0,
  }))
  const reply = Buffer.from(encodeBulkReply(parts, { buffers, filter: COMPACT_REPLY, tookMs: 12 }))
  const { took, errors, items } = JSON.parse(reply.toString()) as Record<string, unknown[]>
  assert.deepEqual(
    [took, errors, items?.map((item) => Object.keys(item as object)[0])],
    [12, true, ['create', 'delete']],
  )
})

test('an item has at most BULK_ITEM_BYTES_MAX bytes besides the names of its action', () => {
  const longest = 'i'.repeat(BULK_INDEX_BYTES_MAX)
  for (const body of [
    'x',
    '{"update":{}}\n{}',
    '{"delete":{}}',
    '{"create":{}}\n{"a":1}',
    '{"index":{}}',
  ]) {
    const item = (defaultIndex: string) => {
      const options = { defaultIndex, itemFields: everyOperation(ITEM_ALL) }
      const json = decodePart('bulk', body, options).result.bulkItems?.json
      return Buffer.from(json ?? []).toString()
    }
    assert(item(longest).includes(longest))
    assert(item(longest).length <= BULK_ITEM_BYTES_MAX)
    assert(item(`${longest}i`).includes('"_index":""'))
    assert(item('\u0000'.repeat(50)).includes('"_index":""'))
  }
})
