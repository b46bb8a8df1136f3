/** Listeners of syslog in this process: the pool is a pipeline here, commits are by hand. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Refusal } from '../../../../src/accept/admission/refusal-history.ts'
import { Batcher, type EncodeTask } from '../../../../src/accept/batching/batcher.ts'
import type { IngestDeps } from '../../../../src/accept/request/ingest.ts'
import { syslogSurface } from '../../../../src/accept/surfaces/syslog/syslog.ts'
import { BatchBuffers } from '../../../../src/bytes/batch-buffers.ts'
import type { IngestError } from '../../../../src/errors.ts'
import { InFlight } from '../../../../src/http/in-flight.ts'
import { BATCH_BYTES_TARGET, IN_FLIGHT_BYTES_MAX } from '../../../../src/limits.ts'
import type { AcceptedBatch, SegmentOutput } from '../../../../src/model/batch/accepted-batch.ts'
import type { SegmentToCommit } from '../../../../src/model/batch/committed-group.ts'
import type { SegmentId } from '../../../../src/model/segment-id.ts'
import type { Stream } from '../../../../src/model/stream.ts'
import { Metrics } from '../../../../src/telemetry/metrics.ts'
import { IngestPipeline } from '../../../../workers/ingest.ts'
import { decodeSegment } from '../../../../workers/segment/segment.ts'
import { stream } from '../../batching/batcher-harness.ts'

export interface Harness {
  readonly ports: number[]
  readonly batches: AcceptedBatch[]
  /** What was committed: texts without their priorities. */
  readonly messages: string[]
  readonly refusals: Refusal[]
  readonly logged: string[]
  /** Commits wait while it is set. */
  hold: Promise<void> | undefined
  /** Ingest refuses with it while it is set. */
  refusal: IngestError | undefined
  /** What the catalog says of the stream now. */
  stream: Stream | undefined
  metric(name: string): Promise<number>
  stop(): Promise<void>
}

const WAIT_MS_MAX = 20_000
const pipeline = new IngestPipeline()

export async function openListeners(
  urls: readonly string[],
  more: { readonly drainTimeoutMs?: number; readonly tls?: object } = {},
): Promise<Harness> {
  const metrics = new Metrics({ version: '0', engine: 'none' })
  const harness: Harness = {
    ports: [],
    batches: [],
    messages: [],
    refusals: [],
    logged: [],
    hold: undefined,
    refusal: undefined,
    stream: stream(1),
    metric: async (name) => {
      const line = (await metrics.scrape()).split('\n').find((each) => each.startsWith(`${name} `))
      return Number(line?.split(' ').at(-1))
    },
    stop: async () => void (await surface.stop?.()),
  }
  const deps = depsOf(harness)
  const say = (fields: { readonly port?: number }, text: string) => {
    if (fields.port !== undefined) harness.ports.push(fields.port)
    harness.logged.push(`${text} ${JSON.stringify(fields)}`)
  }
  const surface = await syslogSurface({
    deps,
    metrics,
    config: { syslog: urls, tls: more.tls, drainTimeoutMs: more.drainTimeoutMs ?? 5_000 },
    log: { info: say, warn: say, error: say },
    findStream: async (id: number) => (id === 1 ? harness.stream : undefined),
    findOrMakeStream: async () => stream(1),
  } as never)
  return harness
}

/** Ingest whose pool is a pipeline, and whose commits the harness keeps. */
function depsOf(harness: Harness): IngestDeps {
  let commits = 0
  const run = (batch: AcceptedBatch, output: SegmentOutput) => {
    harness.batches.push({ ...batch, bytes: Uint8Array.from(batch.bytes) })
    return pipeline.run(batch, output)
  }
  const pool = {
    hasIdleThread: true,
    encode: async (batch: AcceptedBatch, output: SegmentOutput) => run(batch, output),
    encodeWhenIdle: async (makeTask: () => EncodeTask | undefined) => {
      const task = makeTask()
      return task && run(task.batch, task.output)
    },
  }
  const commit = async (_streamId: unknown, segments: readonly SegmentToCommit[]) => {
    await harness.hold
    for (const { payload } of segments) {
      const lines = decodeSegment(payload).text.toString().trimEnd().split('\n')
      harness.messages.push(...lines.map((line) => textOf(JSON.parse(line).message)))
    }
    return segments.map(() => BigInt(commits++) as SegmentId)
  }
  const nothing = () => undefined
  return {
    batcher: new Batcher(pool, new BatchBuffers(BATCH_BYTES_TARGET), commit, Date.now),
    inFlight: new InFlight(IN_FLIGHT_BYTES_MAX),
    meter: {
      onReply: nothing,
      onAcknowledged: nothing,
      onJudged: nothing,
      onRefused: (refusal: Refusal) => void harness.refusals.push(refusal),
    },
    checkStorage: nothing,
    budgets: {
      check: () => {
        if (harness.refusal !== undefined) throw harness.refusal
      },
      charge: nothing,
    },
    isStopping: () => true, // What was read is stored all the same.
    onFault: (cause: unknown) => {
      throw cause
    },
  } as unknown as IngestDeps
}

function textOf(message: string): string {
  return message.replace(/^<\d+>/, '')
}

/** Over TCP, to the first listener. */
export async function openConnection(
  harness: Harness,
  localAddress = '127.0.0.1',
): Promise<Socket> {
  const socket = connect({ port: harness.ports[0]!, host: '127.0.0.1', localAddress })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + WAIT_MS_MAX
  while (!(await isSo())) {
    assert.ok(performance.now() < deadline, `never: ${isSo}`)
    await sleep(5)
  }
}

/** Of what was handed to workers. */
export interface Record {
  readonly flags: number
  readonly peer: string
  readonly message: string
}

export function recordsOf({ batches }: Harness): Record[] {
  return batches.flatMap(({ bytes, parts }) =>
    parts.flatMap(({ start, end }) => {
      const found: Record[] = []
      const view = Buffer.from(bytes)
      for (let at = start; at < end; ) {
        const next = at + 4 + view.readUInt32LE(at)
        const body = at + 6 + view[at + 5]!
        found.push({
          flags: view[at + 4]!,
          peer: view.toString('latin1', at + 6, body),
          message: view.toString('latin1', body, next),
        })
        at = next
      }
      return found
    }),
  )
}
