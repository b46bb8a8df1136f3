/**
 * Fills the columns of a Native block that are known only at commit: segment id, receipt time, and
 * the event time of rows without a producer time.
 */
import assert from 'node:assert/strict'
import type { EncodedBlock, StampedColumns } from '../model/batch/encoded-block.ts'
import { type SegmentId, segmentIdMs } from '../model/segment-id.ts'
import type { RowSegment } from '../model/stored-row.ts'

const VALUE_BYTES = 8
const NANOS_PER_MS = 1_000_000n

/** Writes into `block.bytes`. */
export function stampBlock(
  block: StampedColumns & Pick<EncodedBlock, 'bytes'>,
  segmentId: SegmentId,
): void {
  const { bytes, rows } = block
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const ms = BigInt(segmentIdMs(segmentId))
  fillInt64(buffer, block.segmentIdOffset, rows, segmentId)
  fillInt64(buffer, block.ingestedAtOffset, rows, ms)
  if (block.receiptTimeRows === 'all') {
    fillInt64(buffer, block.eventTimeOffset, rows, ms * NANOS_PER_MS)
  } else {
    for (const row of block.receiptTimeRows) {
      buffer.writeBigInt64LE(ms * NANOS_PER_MS, block.eventTimeOffset + row * VALUE_BYTES)
    }
  }
}

/** A block of several segments: each stamps its own rows. */
export function stampMembers(
  block: EncodedBlock,
  segments: readonly Pick<RowSegment, 'segmentId' | 'eventCount'>[],
): void {
  const { bytes, receiptTimeRows } = block
  let row = 0
  let next = 0
  for (const { segmentId, eventCount: rows } of segments) {
    const end = row + rows
    let timeless: 'all' | Uint32Array = 'all'
    if (receiptTimeRows !== 'all') {
      const from = next
      while (next < receiptTimeRows.length && receiptTimeRows[next]! < end) next++
      const first = row
      timeless = receiptTimeRows.slice(from, next).map((each) => each - first)
    }
    stampBlock(
      {
        bytes,
        rows,
        segmentIdOffset: block.segmentIdOffset + row * VALUE_BYTES,
        ingestedAtOffset: block.ingestedAtOffset + row * VALUE_BYTES,
        eventTimeOffset: block.eventTimeOffset + row * VALUE_BYTES,
        receiptTimeRows: timeless,
      },
      segmentId,
    )
    row = end
  }
  assert.equal(row, block.rows)
}

/** `count` times the same value, by doubling the bytes written so far: no loop over the rows. */
function fillInt64(buffer: Buffer, offset: number, count: number, value: bigint): void {
  const end = offset + count * VALUE_BYTES
  buffer.writeBigInt64LE(value, offset)
  for (let filled = VALUE_BYTES; offset + filled < end; filled *= 2) {
    buffer.copyWithin(offset + filled, offset, Math.min(offset + filled, end - filled))
  }
}
