/**
 * Goal: no request is refused for the size of its blocks: past REQUEST_BLOCK_BYTES_MAX they are
 * dropped, their memory is given back at once, and payloads stay.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeldBatches } from '../../../src/accept/batching/held-batches.ts'
import { BULK_REPLY_BYTES_MAX, REQUEST_BLOCK_BYTES_MAX } from '../../../src/limits.ts'
import type { EncodedBatch } from '../../../src/model/batch/encoded-batch.ts'
import type { PartResult } from '../../../src/model/batch/part-result.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { someBlock, someSegment } from '../../commit/some-segments.ts'

const RESULT: PartResult = {
  accepted: 1,
  rejected: 0,
  rejectedByCode: {},
  lines: 1,
  items: 1,
  repaired: 0,
  acceptedBytes: 8,
  rejects: [],
  fatal: undefined,
}

function batchOf(blockBytes: number, itemBytes = 0): EncodedBatch {
  const json = new Uint8Array(itemBytes)
  const bulkItems = { json, idPlaces: new Uint32Array(0), hasErrors: false }
  return {
    streamId: 1 as StreamId,
    segments: [someSegment(8, { ...someBlock(), bytes: new Uint8Array(blockBytes) })],
    parts: [{ ...RESULT, ...(itemBytes > 0 && { bulkItems }) }],
    transforms: {
      eventsExtracted: 0,
      eventsRedacted: 0,
      userAgentHits: 0,
      userAgentMisses: 0,
      userAgentsSkipped: 0,
    },
  }
}

function setUp() {
  const released: number[] = []
  const held = new HeldBatches({ releaseView: (view) => released.push(view.length) })
  return { held, released }
}

test('blocks up to REQUEST_BLOCK_BYTES_MAX are kept, one byte more drops all of them', () => {
  const { held, released } = setUp()
  const first = held.add(batchOf(REQUEST_BLOCK_BYTES_MAX - 1))
  const second = held.add(batchOf(1))
  assert.equal(held.bytes, REQUEST_BLOCK_BYTES_MAX)
  assert.ok(held.keepsBlocks)
  const third = held.add(batchOf(1))
  assert.deepEqual(released, [REQUEST_BLOCK_BYTES_MAX - 1, 1, 1])
  const fourth = held.add(batchOf(7))
  assert.deepEqual(released.slice(3), [7], 'those that come later go at once')
  for (const { segments } of [first, second, third, fourth]) {
    assert.equal(segments[0]?.block, undefined)
    assert.equal(segments[0]?.payload.length, 8)
  }
  assert.deepEqual([held.bytes, held.keepsBlocks], [0, false])
})

test("a bulk reply's items count, and are refused when they exceed the whole budget", () => {
  const { held } = setUp()
  held.add(batchOf(10, 1_000))
  assert.equal(held.bytes, 1_011)
  assert.equal(held.judge(1_001), undefined)
  assert.equal(held.judge(1_000)?.code, 'too_large', 'it could never be made')
  held.dropBlocks()
  assert.equal(held.bytes, 1_001)
  held.add(batchOf(1, BULK_REPLY_BYTES_MAX))
  assert.equal(held.judge(Number.MAX_SAFE_INTEGER)?.code, 'too_large')
})
