import type { AcceptedBatch } from '../../src/model/batch/accepted-batch.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import type { BenchBatch, MicroBench } from '../bench.ts'
import { padBody } from '../decode/tape-batch.ts'
import { hecEnvelopes } from '../hec-request.ts'
import { otlpProtobuf } from '../otlp-request.ts'

function createTask(batch: BenchBatch, framing: string): AcceptedBatch {
  const body = bodyOf(batch, framing)
  return {
    streamId: 1 as StreamId,
    settings: { parseUserAgents: false, redactSensitive: false, redactFields: [] },
    receivedAtMs: Date.UTC(2025, 10, 21),
    bytes: padBody(body),
    parts: [{ framing, start: 0, end: body.length }],
  }
}

function bodyOf({ lines, body }: BenchBatch, framing: string): Buffer {
  if (framing === 'otlp-protobuf') return otlpProtobuf(lines, 'kvlist')
  return framing === 'hec' ? hecEnvelopes(lines) : body
}

function runTask(framing: string): MicroBench['prepare'] {
  return (batch) => {
    const task = createTask(batch, framing)
    const pipeline = new IngestPipeline()
    return () => {
      const { segments } = pipeline.run(task)
      const events = segments.reduce((sum, { eventCount }) => sum + eventCount, 0)
      if (events !== batch.lines.length) throw new Error(`${events} events came out`)
    }
  }
}

/** All that a worker does with a batch: decode, transform, encode. */
export const workerTaskJson: MicroBench = {
  name: 'ingest/worker-task',
  title: 'whole worker task, JSON lines',
  kind: 'json',
  prepare: runTask('ndjson'),
}

export const workerTaskText: MicroBench = {
  name: 'ingest/worker-task-text',
  title: 'whole worker task, text lines of 230 B',
  kind: 'text',
  prepare: runTask('text'),
}

export const workerTaskOtlp: MicroBench = {
  name: 'ingest/worker-task-otlp',
  title: 'whole worker task, OTLP protobuf, kvlist bodies',
  kind: 'json',
  prepare: runTask('otlp-protobuf'),
}

export const workerTaskHec: MicroBench = {
  name: 'ingest/worker-task-hec',
  title: 'whole worker task, Splunk HEC envelopes',
  kind: 'json',
  prepare: runTask('hec'),
}
