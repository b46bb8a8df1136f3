/** Goal: what is known only at commit is written into a block's rows, and nothing beside them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { stampBlock } from '../../src/materialize/stamp.ts'
import type { EncodedBlock } from '../../src/model/batch/encoded-block.ts'
import { makeSegmentId } from '../../src/model/segment-id.ts'

const ROOM = 16
const FILL = 0xa5

test('ids, receipt times and missing event times are filled, row by row', () => {
  const rows = fc.integer({ min: 1, max: 300 })
  const ms = fc.integer({ min: 0, max: 2 ** 42 - 1 })
  const missing = fc.oneof(fc.constant('all' as const), fc.array(fc.nat(299), { maxLength: 20 }))
  fc.assert(
    fc.property(rows, ms, missing, fc.boolean(), (count, time, receipt, isShared) => {
      const length = ROOM + 3 * (count * 8 + ROOM)
      const memory = isShared ? new SharedArrayBuffer(length + 8) : new ArrayBuffer(length + 8)
      const bytes = new Uint8Array(memory, 8).fill(FILL)
      const at = [0, 1, 2].map((column) => ROOM + column * (count * 8 + ROOM))
      const without = receipt === 'all' ? receipt : receipt.filter((row) => row < count)
      const block: EncodedBlock = {
        bytes,
        rows: count,
        segmentIdOffset: at[0]!,
        ingestedAtOffset: at[1]!,
        eventTimeOffset: at[2]!,
        receiptTimeRows: without === 'all' ? 'all' : Uint32Array.from(without),
        isWhole: true,
      }
      const id = makeSegmentId({ ms: time, node: 511, counter: 4095 })
      stampBlock(block, id)
      const expected = Buffer.alloc(length, FILL)
      for (let row = 0; row < count; row++) {
        expected.writeBigInt64LE(id, at[0]! + row * 8)
        expected.writeBigInt64LE(BigInt(time), at[1]! + row * 8)
        if (without !== 'all' && !without.includes(row)) continue
        expected.writeBigInt64LE(BigInt(time) * 1_000_000n, at[2]! + row * 8)
      }
      assert.equal(Buffer.from(bytes).toString('hex'), expected.toString('hex'))
    }),
    { numRuns: 200 },
  )
})
