/**
 * Goal: the memory that is reserved for a bulk reply's items is never less than they take, and not
 * many times as much.
 * Method: good, broken and hostile bodies, whose items are written by the worker's code.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  bulkItemsBytesMax,
  judgeBulkReply,
} from '../../../src/accept/admission/bulk-items-bytes.ts'
import { BATCH_PADDING } from '../../../src/bytes/batch-buffers.ts'
import {
  BULK_INDEX_BYTES_MAX,
  BULK_ITEM_BYTES_MAX,
  BULK_REASON_BYTES_MAX,
  BULK_REPLY_BYTES_MAX,
  SMALL_BODY_BYTES_MAX,
} from '../../../src/limits.ts'
import {
  type BulkPartOptions,
  COMPACT_ITEMS,
  everyOperation,
  ITEM_ALL,
  ITEM_ERROR_REASON,
  ITEM_STATUS,
} from '../../../src/model/batch/bulk-items.ts'
import { IngestPipeline } from '../../../workers/ingest.ts'
import { bulkBody } from '../../decode/bulk-bodies.ts'
import { decodePart } from '../../decode/decode-part.ts'
import { fuzzed, testSeed } from '../../support/fuzzing.ts'
import { batchOfPart } from '../framing/frame-body.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const pipeline = new IngestPipeline()

/** The items as a worker writes them. */
function itemsOf(body: string, options: BulkPartOptions = {}): Uint8Array {
  const whole = Buffer.from(`${body}\n`)
  const buffer = Buffer.concat([whole, Buffer.alloc(BATCH_PADDING)])
  const batch = batchOfPart(buffer, { framing: 'bulk', start: 0, end: whole.length })
  const parts = batch.parts.map((part) => ({ ...part, options }))
  return pipeline.run({ ...batch, parts }).parts[0]?.bulkItems?.json ?? new Uint8Array()
}

const fields = fc.oneof(
  fc.constant(COMPACT_ITEMS),
  fc.nat(ITEM_ALL).map(everyOperation),
  fc.record({
    index: fc.nat(ITEM_ALL),
    create: fc.nat(ITEM_ALL),
    update: fc.nat(ITEM_ALL),
    delete: fc.nat(ITEM_ALL),
  }),
)
const defaultIndex = fc.constantFrom(undefined, '', 'logs', '\u0000é"', 'i'.repeat(300))

test('no items are larger than the estimate for them', () => {
  const property = fc.property(
    bulkBody,
    fc.nat(1_000),
    fields,
    defaultIndex,
    (whole, end, itemFields, index) => {
      const options = { itemFields, defaultIndex: index }
      for (const body of [whole, whole.slice(0, end)]) {
        const { length } = itemsOf(body, options)
        assert(bulkItemsBytesMax(Buffer.from(body), options) >= length, body)
      }
    },
  )
  fc.assert(property, fuzzed(seed, 3_000, 2_000))
})

test('a usual item counts with its longest error at most', () => {
  const count = 100
  const body = '{"create":{}}\n{"a":1}\n'.repeat(count)
  const bytes = bulkItemsBytesMax(Buffer.from(body))
  assert(bytes / count <= 220, String(bytes / count))
  assert(bytes < 2.2 * itemsOf(body).length)
  // The last line may lack a line feed, and empty lines do not count.
  const last = bulkItemsBytesMax(Buffer.from('{"create":{}}\n{"a":1}'))
  assert.equal(last, bytes / count)
  assert.equal(bulkItemsBytesMax(Buffer.from(`\n${body}\r\n \n`)), bytes)
})

test('unwanted fields do not count; repeated names do', () => {
  const body = Buffer.from('{"create":{"_id":"abc"}}\n{"a":1}\n'.repeat(10))
  const bytesOf = (options: BulkPartOptions) => bulkItemsBytesMax(body, options)
  assert.equal(bytesOf({ itemFields: everyOperation(0) }), 0)
  const status = '{"create":{"status":201,}},'.length * 10
  assert.equal(bytesOf({ itemFields: everyOperation(ITEM_STATUS) }), status)
  assert.equal(bytesOf({ defaultIndex: 'logs' }) - bytesOf({}), 40)
  const only = { ...everyOperation(0), index: ITEM_ALL }
  assert(bytesOf({ itemFields: only }) < 20 * 10)
})

test('each of many tiny actions or deletes counts', () => {
  const bodies = [
    'x\n'.repeat(SMALL_BODY_BYTES_MAX / 2),
    '{"delete":{}}\n'.repeat(SMALL_BODY_BYTES_MAX / 14),
  ]
  for (const body of bodies) {
    const bytes = bulkItemsBytesMax(Buffer.from(body))
    const { length } = itemsOf(body)
    assert(bytes >= length && bytes < 1.5 * length, `${bytes} for ${length}`)
  }
})

test('BULK_REASON_BYTES_MAX and BULK_ITEM_BYTES_MAX: no reason and no item is longer', () => {
  const longest = 'i'.repeat(BULK_INDEX_BYTES_MAX)
  const all = { itemFields: everyOperation(ITEM_ALL), defaultIndex: longest }
  assert(bulkItemsBytesMax(Buffer.from('{"create":{}}\n{}\n'), all) <= BULK_ITEM_BYTES_MAX + 8)
  const far = ' '.repeat(SMALL_BODY_BYTES_MAX)
  for (const body of [
    'x',
    `{"create":{},${far}"a":"`,
    `{"create":{},${far}"a" 1}`,
    `{"create":{},${far}"a":1 1}`,
    '{"delete":{}}',
    '{"update":{}}\n{}',
    '{"update":{}}\n{"doc":1}',
    '{"index":{}}',
    '{"index":{"_index":[]}}',
    '{"index":{"_id":{}}}',
    `{"index":{}}\n{${far}"a":"`,
    `{"index":{}}\n${'['.repeat(300)}`,
  ]) {
    const items = itemsOf(body, { itemFields: everyOperation(ITEM_ERROR_REASON) })
    const [item] = JSON.parse(`[${Buffer.from(items).toString()}]`)
    const { reason } = (Object.values(item)[0] as { error: { reason: string } }).error
    assert(Buffer.byteLength(JSON.stringify(reason)) - 2 <= BULK_REASON_BYTES_MAX, reason)
  }
})

test('BULK_REPLY_BYTES_MAX: a worker writes little more, and the request is refused', () => {
  assert.equal(judgeBulkReply(BULK_REPLY_BYTES_MAX), undefined)
  const { result } = decodePart('bulk', 'x\n'.repeat((2 * BULK_REPLY_BYTES_MAX) / 170))
  const length = result.bulkItems?.json.length ?? 0
  assert(length > BULK_REPLY_BYTES_MAX && length < BULK_REPLY_BYTES_MAX + BULK_ITEM_BYTES_MAX)
  const error = judgeBulkReply(length)
  assert.equal(error?.code, 'too_large')
  assert.match(error?.message ?? '', /BULK_REPLY_BYTES_MAX/)
})
