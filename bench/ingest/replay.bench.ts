import type { AcceptedBatch } from '../../src/model/batch/accepted-batch.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { ReplayPipeline } from '../../workers/replay.ts'
import { decodeSegment } from '../../workers/segment/segment.ts'
import type { BenchBatch, MicroBench } from '../bench.ts'
import { padBody } from '../decode/tape-batch.ts'

/** The payload of one segment with all events of the batch. */
export function storedSegment({ body }: BenchBatch, framing: 'ndjson' | 'text') {
  const task: AcceptedBatch = {
    streamId: 1 as StreamId,
    settings: { parseUserAgents: false, redactSensitive: false, redactFields: [] },
    receivedAtMs: Date.UTC(2025, 10, 21),
    bytes: padBody(body),
    parts: [{ framing, start: 0, end: body.length }],
  }
  const { segments } = new IngestPipeline().run(task)
  return segments[0]!.payload
}

function prepareReplay(kind: 'ndjson' | 'text'): MicroBench['prepare'] {
  return (batch) => {
    const payload = storedSegment(batch, kind)
    const pipeline = new ReplayPipeline()
    return () => {
      const { eventCount } = pipeline.run(payload, 1)
      if (eventCount !== batch.lines.length) throw new Error(`${eventCount} events came out`)
    }
  }
}

/** All that a worker does to build the block of a stored segment again. */
export const replayJson: MicroBench = {
  name: 'ingest/replay',
  title: "a stored segment's block again, JSON lines",
  kind: 'json',
  prepare: prepareReplay('ndjson'),
}

export const replayText: MicroBench = {
  name: 'ingest/replay-text',
  title: "a stored segment's block again, text lines",
  kind: 'text',
  prepare: prepareReplay('text'),
}

/** The part of it that brings the text back: decompression, and putting columns together. */
export const segmentText: MicroBench = {
  name: 'decode/segment',
  title: 'text of a stored segment',
  kind: 'json',
  prepare: (batch) => {
    const payload = storedSegment(batch, 'ndjson')
    return () => decodeSegment(payload).text.length
  },
}
