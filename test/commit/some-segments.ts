/** Encoded segments for tests that care for ids and bytes, not for what is in them. */
import type { EncodedSegment } from '../../src/model/batch/encoded-batch.ts'
import type { EncodedBlock } from '../../src/model/batch/encoded-block.ts'

/** A block of `rows` rows with room for what is stamped into it. */
export function someBlock(rows = 1, extraBytes = 0): EncodedBlock {
  return {
    bytes: new Uint8Array(rows * 24 + extraBytes),
    rows,
    segmentIdOffset: 0,
    ingestedAtOffset: rows * 8,
    eventTimeOffset: rows * 16,
    receiptTimeRows: 'all',
    isWhole: false,
  }
}

export function someSegment(payloadBytes = 8, block = someBlock()): EncodedSegment {
  return {
    eventCount: block.rows,
    rawBytes: 100,
    sentBytes: 120,
    payload: new Uint8Array(payloadBytes),
    block,
    delta: { shapes: [], shapesSkipped: 0, largePaths: [] },
    pathsSkipped: 0,
  }
}
