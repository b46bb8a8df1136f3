/**
 * Fills the columns of a Native block that are known only at commit: segment id, receipt time, and
 * the event time of rows without a producer time.
 */
import type { EncodedBlock } from '../model/batch.ts'
import { type SegmentId, segmentIdMs } from '../model/segment-id.ts'

const VALUE_BYTES = 8
const NANOS_PER_MS = 1_000_000n

/** Writes into `block.bytes`. */
export function stampBlock(block: EncodedBlock, segmentId: SegmentId): void {
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

/** `count` times the same value, by doubling what is there: no loop over the rows. */
function fillInt64(buffer: Buffer, offset: number, count: number, value: bigint): void {
  const end = offset + count * VALUE_BYTES
  buffer.writeBigInt64LE(value, offset)
  for (let filled = VALUE_BYTES; offset + filled < end; filled *= 2) {
    buffer.copyWithin(offset + filled, offset, Math.min(offset + filled, end - filled))
  }
}
