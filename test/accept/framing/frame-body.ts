/** Runs a body through framer and worker code like a request, without pool, network or commit. */

import { JSON_BODY, NDJSON_BODY, TEXT_BODY } from '../../../src/accept/framing/body-format.ts'
import { IngestReport } from '../../../src/accept/ingest-report.ts'
import { BULK_BODY } from '../../../src/accept/surfaces/elastic/bulk-format.ts'
import { HEC_BODY, HEC_RAW_BODY } from '../../../src/accept/surfaces/hec/hec-formats.ts'
import { OTLP_JSON_BODY } from '../../../src/accept/surfaces/otlp/otlp-formats.ts'
import { BATCH_PADDING, BatchBuffers, padBatch } from '../../../src/bytes/batch-buffers.ts'
import { BATCH_BYTES_TARGET } from '../../../src/limits.ts'
import type { AcceptedBatch } from '../../../src/model/batch/accepted-batch.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { IngestPipeline } from '../../../workers/ingest.ts'
import { decodeSegment } from '../../../workers/segment/segment.ts'

export interface Outcome {
  /** The stored events' JSON; none when the request is refused. */
  readonly events: readonly string[]
  readonly accepted: number
  readonly rejected: number
  /** Described rejects as `index line code`, in order. */
  readonly errors: readonly string[]
  readonly fatal: string | undefined
  readonly parts: number
}

export interface FrameOptions {
  /** Stands for the Content-Length; small ones make small batches. */
  readonly declaredBytes?: number
}

/** Formats of bodies by their names. */
export const FORMATS = {
  json: JSON_BODY,
  ndjson: NDJSON_BODY,
  text: TEXT_BODY,
  bulk: BULK_BODY,
  'otlp-json': OTLP_JSON_BODY,
  hec: HEC_BODY,
  'hec-raw': HEC_RAW_BODY,
}
export type FormatName = keyof typeof FORMATS

const pipeline = new IngestPipeline()

/** The first bytes of a batch's buffer, as the batcher hands them to the pool. */
export function batchOfPart(
  buffer: Uint8Array,
  part: { readonly framing: string; readonly start: number; readonly end: number },
): AcceptedBatch {
  padBatch(buffer, part.end)
  return {
    streamId: 1 as StreamId,
    settings: { parseUserAgents: false, redactSensitive: false, redactFields: [] },
    receivedAtMs: 0,
    bytes: buffer.subarray(0, part.end + BATCH_PADDING),
    parts: [{ framing: part.framing, start: part.start, end: part.end }],
  }
}

/** Judges a body that arrives in `chunks`. */
export function frameBody(
  kind: FormatName,
  chunks: readonly Uint8Array[],
  options: FrameOptions = {},
): Outcome {
  const report = new IngestReport()
  const events: string[] = []
  let failure: string | undefined
  let parts = 0
  const framer = FORMATS[kind].createFramer(
    options.declaredBytes ?? 0,
    new BatchBuffers(BATCH_BYTES_TARGET),
    {
      part: ({ buffer, framing, start, end, linesBefore }) => {
        parts++
        const encoded = pipeline.run(batchOfPart(buffer, { framing, start, end }))
        report.skipLines(linesBefore)
        report.add(encoded.parts[0]!)
        for (const { payload } of encoded.segments) {
          events.push(...decodeSegment(payload).text.toString().split('\n').slice(0, -1))
        }
      },
      fail: (error) => {
        failure = error.message
      },
    },
  )
  for (const chunk of chunks) framer.push(chunk)
  framer.end()
  const { fatal } = report
  const isRefused = fatal !== undefined || failure !== undefined
  return {
    events: isRefused ? [] : events,
    accepted: isRefused ? 0 : report.accepted,
    rejected: isRefused ? 0 : report.rejected,
    errors: isRefused
      ? []
      : report.errors.map(({ index, line, code }) => `${index} ${line} ${code}`),
    fatal: fatal === undefined ? failure : `${fatal.line} ${fatal.code}`,
    parts,
  }
}

/** `bytes` cut at `offsets`, which may repeat. */
export function cutAt(bytes: Uint8Array, offsets: readonly number[]): Uint8Array[] {
  const sorted = offsets.map((at) => at % (bytes.length + 1)).sort((a, b) => a - b)
  const edges = [0, ...sorted, bytes.length]
  return edges.slice(1).map((end, i) => bytes.subarray(edges[i], end))
}
