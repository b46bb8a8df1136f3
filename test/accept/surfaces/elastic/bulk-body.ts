/** Runs a bulk body through framer, worker code and reply like a request, without the network. */

import type { CommittedPart } from '../../../../src/accept/dialect.ts'
import { IngestReport } from '../../../../src/accept/ingest-report.ts'
import { COMPACT_REPLY } from '../../../../src/accept/surfaces/elastic/bulk-form.ts'
import { BULK_BODY } from '../../../../src/accept/surfaces/elastic/bulk-format.ts'
import { encodeBulkReply } from '../../../../src/accept/surfaces/elastic/bulk-reply.ts'
import type { BulkFilter } from '../../../../src/accept/surfaces/elastic/filter-path.ts'
import { BatchBuffers } from '../../../../src/bytes/batch-buffers.ts'
import { ReplyBuffers } from '../../../../src/bytes/reply-buffers.ts'
import { BATCH_BYTES_TARGET, SEGMENT_EVENTS_MAX } from '../../../../src/limits.ts'
import type { SegmentId } from '../../../../src/model/segment-id.ts'
import { IngestPipeline } from '../../../../workers/ingest.ts'
import { decodeSegment } from '../../../../workers/segment/segment.ts'
import { batchOfPart } from '../../framing/frame-body.ts'

export interface BulkOutcome {
  /** The stored events' JSON by event id. */
  readonly events: ReadonlyMap<string, string>
  readonly reply: Uint8Array
  /** Rejects as `index line code`, in order. */
  readonly errors: readonly string[]
  readonly parts: number
}

export interface BulkOptions {
  /** Stands for the Content-Length; small ones make small batches. */
  readonly declaredBytes?: number
  readonly defaultIndex?: string
  readonly filter?: BulkFilter
  /** The id of the first segment; each gets the next. */
  readonly firstSegmentId?: bigint
}

const pipeline = new IngestPipeline()

export const SEGMENT_ID = 3_700_000_000_000_000_000n

/** Runs a body that arrives in `chunks`. */
export function runBulk(chunks: readonly Uint8Array[], options: BulkOptions = {}): BulkOutcome {
  const { filter = COMPACT_REPLY, defaultIndex, declaredBytes = 0 } = options
  const report = new IngestReport()
  const placed: CommittedPart[] = []
  const events = new Map<string, string>()
  let nextId = options.firstSegmentId ?? SEGMENT_ID
  const buffers = new BatchBuffers(BATCH_BYTES_TARGET)
  const framer = BULK_BODY.createFramer(declaredBytes, buffers, {
    part: ({ buffer, framing, start, end, linesBefore }) => {
      const batch = batchOfPart(buffer, { framing, start, end })
      const parts = batch.parts.map((part) => {
        return { ...part, options: { defaultIndex, itemFields: filter.items } }
      })
      const encoded = pipeline.run({ ...batch, parts })
      const [result] = encoded.parts
      if (result === undefined) throw new Error('no result')
      report.skipLines(linesBefore)
      report.add(result)
      const segmentIds = encoded.segments.map(() => nextId++ as SegmentId)
      placed.push({ result, segmentIds, firstEvent: 0 })
      for (const [i, { payload }] of encoded.segments.entries()) {
        const lines = decodeSegment(payload).text.toString().split('\n').slice(0, -1)
        for (const [ordinal, text] of lines.entries()) {
          events.set(`${segmentIds[i]}-${ordinal % SEGMENT_EVENTS_MAX}`, text)
        }
      }
    },
    fail: (error) => {
      throw error
    },
  })
  for (const chunk of chunks) framer.push(chunk)
  framer.end()
  return {
    events,
    reply: encodeBulkReply(placed, { buffers: new ReplyBuffers(), filter, tookMs: 3 }),
    errors: report.errors.map(({ index, line, code }) => `${index} ${line} ${code}`),
    parts: placed.length,
  }
}
