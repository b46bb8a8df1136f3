/** A batcher whose pool and commits are answered by hand, with the worker's real results. */
import assert from 'node:assert/strict'
import { Batcher, type EncodeTask } from '../../../src/accept/batching/batcher.ts'
import type { WholePart } from '../../../src/accept/framing/body-format.ts'
import { BatchBuffers } from '../../../src/bytes/batch-buffers.ts'
import { BATCH_BYTES_TARGET } from '../../../src/limits.ts'
import type { AcceptedBatch, SegmentOutput } from '../../../src/model/batch/accepted-batch.ts'
import type { SegmentToCommit } from '../../../src/model/batch/committed-group.ts'
import type { EncodedBatch } from '../../../src/model/batch/encoded-batch.ts'
import { SCHEMA_CAPS_DEFAULT } from '../../../src/model/schema.ts'
import type { SegmentId } from '../../../src/model/segment-id.ts'
import type { Stream, StreamId } from '../../../src/model/stream.ts'
import { DECODERS } from '../../../workers/decode/all-decoders.ts'
import { IngestPipeline } from '../../../workers/ingest.ts'
import { decodeSegment } from '../../../workers/segment/segment.ts'

export interface Task {
  readonly batch: AcceptedBatch
  readonly output: SegmentOutput
  readonly resolve: (encoded: EncodedBatch) => void
  readonly reject: (error: unknown) => void
}

export class FakePool {
  hasIdleThread = true
  readonly tasks: Task[] = []
  readonly #pipeline = new IngestPipeline()

  encode(batch: AcceptedBatch, output: SegmentOutput): Promise<EncodedBatch> {
    return new Promise((resolve, reject) => this.tasks.push({ batch, output, resolve, reject }))
  }

  readonly turns: (() => void)[] = []

  encodeWhenIdle(makeTask: () => EncodeTask | undefined): Promise<EncodedBatch | undefined> {
    return new Promise((resolve, reject) => {
      const start = () => {
        try {
          const task = makeTask()
          if (task === undefined) resolve(undefined)
          else this.tasks.push({ ...task, resolve, reject })
        } catch (error) {
          reject(error)
        }
      }
      if (this.hasIdleThread) start()
      else this.turns.push(start)
    })
  }

  /** Does the oldest task's work. */
  work(): AcceptedBatch {
    const { batch, output, resolve } = this.tasks.shift()!
    resolve(this.#pipeline.run(batch, output))
    return batch
  }
}

/** Counts buffers in use, and fails when a buffer comes back that is not in use. */
export class CheckedBuffers extends BatchBuffers {
  readonly out = new Set<ArrayBufferLike>()
  /** How many more buffers may be taken before there is no memory. */
  takesLeft = Number.POSITIVE_INFINITY

  override take(bytesMin: number): Uint8Array {
    if (this.takesLeft-- <= 0) throw new RangeError('Array buffer allocation failed')
    const buffer = super.take(bytesMin)
    assert(!this.out.has(buffer.buffer), 'a buffer is given out twice')
    this.out.add(buffer.buffer)
    return buffer
  }

  override release(buffer: Uint8Array): void {
    assert(this.out.delete(buffer.buffer), 'a buffer comes back twice')
    super.release(buffer)
  }
}

/** `isPromoted`: which streams have a table of their own; all, if absent. */
export function setUp(isPromoted: (streamId: StreamId) => boolean = () => true) {
  const pool = new FakePool()
  const buffers = new CheckedBuffers(BATCH_BYTES_TARGET)
  const commits: { readonly texts: readonly string[]; readonly resolve: () => void }[] = []
  let commitError: unknown
  const commit = (_streamId: StreamId, segments: readonly SegmentToCommit[]) => {
    if (commitError !== undefined) return Promise.reject(commitError)
    const texts = segments.map(({ payload }) => decodeSegment(payload).text.toString())
    return new Promise<readonly SegmentId[]>((resolve) => {
      commits.push({
        texts,
        resolve: () => {
          const all = segments.flatMap<unknown>((segment) => segment.runs ?? [segment])
          resolve(all.map((_, i) => BigInt(i) as SegmentId))
        },
      })
    })
  }
  const batcher = new Batcher(pool, buffers, commit, () => 1_234)
  const promoted = (each: Stream) => ({ ...each, isPromoted: isPromoted(each.streamId) })
  const submitShared = batcher.submitShared.bind(batcher)
  batcher.submitShared = (each, ...rest) => submitShared(promoted(each), ...rest)
  const encodeOwn = batcher.encodeOwn.bind(batcher)
  batcher.encodeOwn = (each, ...rest) => encodeOwn(promoted(each), ...rest)
  const failCommits = (error: unknown) => {
    commitError = error
  }
  return { pool, buffers, commits, batcher, failCommits }
}

export const stream = (id: number): Stream => ({
  streamId: id as StreamId,
  name: 's',
  owner: 'o',
  retentionMs: 1,
  maxStoredBytes: null,
  rateBudget: null,
  byteBudget: null,
  schemaCaps: SCHEMA_CAPS_DEFAULT,
  createdAtMs: 0,
  isPromoted: true,
  parseUserAgents: id === 1,
  redactSensitive: false,
  redactFields: ['a.b'],
  textFields: [],
  otlpContext: 'drop',
})

/** A small body that a surface hands over as a whole. */
export function wholePart(framing: string, body: Uint8Array): WholePart {
  return { framing, input: DECODERS.get(framing)!.input, bytes: body }
}

export const turn = () => new Promise((resolve) => setImmediate(resolve))
export const bytes = (text: string) => Buffer.from(text)
