import type { AcceptedBatch } from '../../src/model/batch/accepted-batch.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import type { BenchBatch, MicroBench } from '../bench.ts'
import { padBody } from '../decode/tape-batch.ts'
import { hecAsJsonLines, hecEnvelopes, hecWithMetadata } from '../hec-request.ts'
import { lokiJson, lokiProtobuf, sameAsJsonLines } from '../loki-request.ts'
import { otlpProtobuf } from '../otlp-request.ts'
import { rfc3164Records, rfc5424Records, sameAsRfc3164, sameAsRfc5424 } from '../syslog-records.ts'

type EncodeBody = (batch: BenchBatch) => Buffer

function createTask(batch: BenchBatch, framing: string, encode: EncodeBody): AcceptedBatch {
  const body = encode(batch)
  return {
    streamId: 1 as StreamId,
    settings: { parseUserAgents: false, redactSensitive: false, redactFields: [] },
    receivedAtMs: Date.UTC(2025, 10, 21),
    bytes: padBody(body),
    parts: [{ framing, start: 0, end: body.length }],
  }
}

function runTask(framing: string, encode: EncodeBody = ({ body }) => body): MicroBench['prepare'] {
  return (batch) => {
    const task = createTask(batch, framing, encode)
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
  prepare: runTask('otlp-protobuf', ({ lines }) => otlpProtobuf(lines, 'kvlist')),
}

/** Loki's entries, and the same content as JSON lines. */
export const workerTasksLoki: readonly MicroBench[] = [
  {
    name: 'ingest/worker-task-as-loki',
    title: 'whole worker task, JSON lines of what is pushed to Loki',
    kind: 'text',
    prepare: runTask('ndjson', ({ lines }) => sameAsJsonLines(lines)),
  },
  {
    name: 'ingest/worker-task-loki-json',
    title: 'whole worker task, Loki JSON',
    kind: 'text',
    prepare: runTask('loki-json', ({ lines }) => lokiJson(lines)),
  },
  {
    name: 'ingest/worker-task-loki-protobuf',
    title: 'whole worker task, Loki protobuf in snappy',
    kind: 'text',
    prepare: runTask('loki-protobuf', ({ lines }) => lokiProtobuf(lines)),
  },
]

/** The first beside `worker-task`, which has the same content; the second beside the third. */
export const workerTasksHec: readonly MicroBench[] = [
  {
    name: 'ingest/worker-task-hec',
    title: 'whole worker task, Splunk HEC envelopes with a time',
    kind: 'json',
    prepare: runTask('hec', ({ lines }) => hecEnvelopes(lines)),
  },
  {
    name: 'ingest/worker-task-hec-metadata',
    title: 'whole worker task, Splunk HEC envelopes with a time and four more members',
    kind: 'json',
    prepare: runTask('hec', ({ lines }) => hecWithMetadata(lines)),
  },
  {
    name: 'ingest/worker-task-as-hec',
    title: 'whole worker task, JSON lines of the same content',
    kind: 'json',
    prepare: runTask('ndjson', ({ lines }) => hecAsJsonLines(lines)),
  },
]

/** Messages of syslog, and the same content as JSON lines. */
export const workerTasksSyslog: readonly MicroBench[] = [
  {
    name: 'ingest/worker-task-as-rfc3164',
    title: 'whole worker task, JSON lines of what RFC 3164 says',
    kind: 'text',
    prepare: runTask('ndjson', ({ lines }) => sameAsRfc3164(lines)),
  },
  {
    name: 'ingest/worker-task-rfc3164',
    title: 'whole worker task, syslog by RFC 3164',
    kind: 'text',
    prepare: runTask('syslog', ({ lines }) => rfc3164Records(lines)),
  },
  {
    name: 'ingest/worker-task-as-rfc5424',
    title: 'whole worker task, JSON lines of what RFC 5424 says',
    kind: 'text',
    prepare: runTask('ndjson', ({ lines }) => sameAsRfc5424(lines)),
  },
  {
    name: 'ingest/worker-task-rfc5424',
    title: 'whole worker task, syslog by RFC 5424 with structured data',
    kind: 'text',
    prepare: runTask('syslog', ({ lines }) => rfc5424Records(lines)),
  },
]
