/** Batches as accept hands them to the workers. */

import { BATCH_PADDING } from '../../src/bytes/batch-buffers.ts'
import type { AcceptedBatch, Part } from '../../src/model/batch/accepted-batch.ts'
import type { StreamId } from '../../src/model/stream.ts'

/** A batch of one part. */
export function batchOf(body: string | Uint8Array, framing: string = 'ndjson'): AcceptedBatch {
  return batchOfParts([[framing, body]])
}

/** A shared batch: parts one after another, each ended by a line feed. */
export function batchOfParts(
  bodies: readonly (readonly [string, string | Uint8Array])[],
): AcceptedBatch {
  const pieces: Uint8Array[] = []
  const parts: Part[] = []
  let length = 0
  for (const [framing, body] of bodies) {
    const bytes = Buffer.from(body)
    parts.push({ framing, start: length, end: length + bytes.length })
    pieces.push(bytes, Buffer.from('\n'))
    length += bytes.length + 1
  }
  return {
    streamId: 1 as StreamId,
    settings: { parseUserAgents: false, redactSensitive: false, redactFields: [] },
    receivedAtMs: 0,
    bytes: Buffer.concat([...pieces, Buffer.from('\n'), Buffer.alloc(BATCH_PADDING)]),
    parts,
  }
}
