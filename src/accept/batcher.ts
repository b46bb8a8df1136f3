/**
 * Batcher: turns accepted bytes into tasks for the pool.
 *
 *   accept --parts--> batcher --AcceptedBatch--> pool --EncodedBatch--> accept, then commit
 *
 * A large request gets batches of its own, worked on while the rest of it still arrives. Small
 * requests of one stream share a batch: an idle pool takes it at the end of the event loop's turn,
 * a busy one when a thread is free, so the busier it is the more requests share one segment. Shared
 * batches stand in line with large ones, one place for all of them: neither starves the other.
 *
 * A shared batch is committed here as a whole; parts that failed have left nothing in it.
 */

import { BATCH_PADDING, type BatchBuffers, padBatch } from '../bytes/batch-buffers.ts'
import { copyBytes } from '../bytes/copy-bytes.ts'
import { BATCH_BYTES_TARGET, BATCH_PARTS_MAX } from '../limits.ts'
import {
  type AcceptedBatch,
  BATCH_KINDS,
  type EncodedBatch,
  type EncodedSegment,
  type Framing,
  type Part,
  type SegmentOutput,
} from '../model/batch.ts'
import type { SegmentId } from '../model/segment-id.ts'
import type { Stream, StreamId } from '../model/stream.ts'
import type { FramedPart } from './body-framer.ts'
import type { PartOptions, PlacedPart } from './dialect.ts'

/** What the batcher needs of the pool. */
export interface BatchPool {
  readonly hasIdleThread: boolean
  /** Judges and encodes; rejects with an `IngestError`. */
  encode(batch: AcceptedBatch, output: SegmentOutput): Promise<EncodedBatch>
  /** The same in line with what was given before; `supply` is asked when a thread is there. */
  encodeInTurn(supply: () => EncodeTask | undefined): Promise<EncodedBatch | undefined>
}

export interface EncodeTask {
  readonly batch: AcceptedBatch
  readonly output: SegmentOutput
}

/** Makes segments of one stream durable, together; see `commit/`. */
export type CommitSegments = (
  streamId: StreamId,
  segments: readonly EncodedSegment[],
) => Promise<readonly SegmentId[]>

/** Names and types of a block's columns, beside what grows with the events. */
const BLOCK_HEAD_BYTES = 2_048

/** Guesses an output's size from its input's: a little above the largest ratio seen lately. */
class OutputRatio {
  #ratio = 1

  bytesFor(inputBytes: number): number {
    return BLOCK_HEAD_BYTES + Math.ceil(inputBytes * this.#ratio)
  }

  saw(inputBytes: number, outputBytes: number): void {
    const ratio = (1.05 * Math.max(0, outputBytes - BLOCK_HEAD_BYTES)) / inputBytes
    this.#ratio = Math.min(2, Math.max(ratio, 0.9 * this.#ratio))
  }
}

interface Waiter {
  readonly resolve: (placed: PlacedPart) => void
  readonly reject: (error: unknown) => void
}

interface OpenBatch {
  readonly stream: Stream
  buffer: Uint8Array
  length: number
  eventBytes: number
  readonly parts: Part[]
  readonly waiters: Waiter[]
}

export class Batcher {
  readonly buffers: BatchBuffers
  readonly #pool: BatchPool
  readonly #commit: CommitSegments
  readonly #nowMs: () => number
  /** Shared batches being filled, by stream and kind, oldest first. */
  readonly #open = new Map<string, OpenBatch>()
  readonly #blockRatio = new OutputRatio()
  readonly #payloadRatio = new OutputRatio()
  #isScheduled = false
  /** A place in the pool's line is ours, for the oldest shared batch there is then. */
  #isInLine = false

  constructor(pool: BatchPool, buffers: BatchBuffers, commit: CommitSegments, nowMs: () => number) {
    this.#pool = pool
    this.buffers = buffers
    this.#commit = commit
    this.#nowMs = nowMs
  }

  /** Sends one part of a large request to the pool; the part's buffer is given back to us. */
  async encodeOwn(stream: Stream, part: FramedPart, options?: PartOptions): Promise<EncodedBatch> {
    const { buffer, linesBefore, ...range } = part
    padBatch(buffer, part.end)
    return this.#encode(stream, buffer, part.end, [{ ...range, ...options }])
  }

  /**
   * Adds a small, complete request to its stream's shared batch; `bytes` are copied. Resolves when
   * what was accepted of it is durable. At most BATCH_BYTES_TARGET bytes. `eventBytes` is what its
   * events will have, where that is more.
   */
  submitShared(
    stream: Stream,
    framing: Framing,
    bytes: Uint8Array,
    options?: PartOptions,
    eventBytes = bytes.length,
  ): Promise<PlacedPart> {
    const key = `${BATCH_KINDS[framing]} ${stream.streamId}`
    let batch = this.#open.get(key)
    if (batch !== undefined && !hasRoom(batch, bytes.length, eventBytes)) {
      this.#open.delete(key)
      this.#dispatch(batch)
      batch = undefined
    }
    if (batch === undefined) {
      const buffer = this.buffers.take(bytes.length + 1)
      batch = { stream, buffer, length: 0, eventBytes: 0, parts: [], waiters: [] }
      this.#open.set(key, batch)
    }
    this.#append(batch, bytes, { framing, ...options })
    batch.eventBytes += eventBytes + 1
    const { waiters } = batch
    const placed = new Promise<PlacedPart>((resolve, reject) => waiters.push({ resolve, reject }))
    this.#schedule()
    return placed
  }

  #append(batch: OpenBatch, bytes: Uint8Array, part: Omit<Part, 'start' | 'end'>): void {
    const start = batch.length
    const end = start + bytes.length
    if (end + 1 + BATCH_PADDING > batch.buffer.length) {
      batch.buffer = this.buffers.grow(batch.buffer, start, Math.max(end + 1, start * 2))
    }
    copyBytes(batch.buffer, bytes, start)
    batch.buffer[end] = 0x0a // Ends an unterminated last line, and keeps parts apart.
    batch.length = end + 1
    batch.parts.push({ ...part, start, end })
  }

  /** To be told whenever a thread is free again, also after work that is not ours. */
  threadIdle(): void {
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled || this.#open.size === 0) return
    this.#isScheduled = true
    // After this turn's network events: whatever else has arrived in it shares the batch.
    setImmediate(() => {
      this.#isScheduled = false
      this.#dispatchOpen()
    })
  }

  #dispatchOpen(): void {
    for (const [key, batch] of this.#open) {
      if (!this.#pool.hasIdleThread) return this.#standInLine()
      this.#open.delete(key)
      this.#dispatch(batch)
    }
  }

  #standInLine(): void {
    if (this.#isInLine) return
    this.#isInLine = true
    this.#encodeInTurn().catch(() => {
      // Nothing was taken: the pool is full. `threadIdle` calls again.
      this.#isInLine = false
    })
  }

  async #encodeInTurn(): Promise<void> {
    let taken: { readonly batch: OpenBatch; readonly task: EncodeTask } | undefined
    const supply = () => {
      this.#isInLine = false
      const [oldest] = this.#open
      if (oldest === undefined) return undefined
      const [key, batch] = oldest
      this.#open.delete(key)
      padBatch(batch.buffer, batch.length)
      const { stream, buffer, length, parts } = batch
      taken = { batch, task: this.#createTask(stream, buffer, length, parts) }
      this.#schedule() // The next one stands in line for its own turn.
      return taken.task
    }
    try {
      const encoded = await this.#pool.encodeInTurn(supply)
      if (taken === undefined || encoded === undefined) return
      const { batch, task } = taken
      this.buffers.release(batch.buffer)
      await this.#settle(this.#withOutput(encoded, task.output, batch.length), batch.waiters)
    } catch (error) {
      if (taken === undefined) throw error
      for (const waiter of taken.batch.waiters) waiter.reject(error)
    } finally {
      this.#schedule()
    }
  }

  #dispatch(batch: OpenBatch): void {
    const { stream, buffer, length, parts, waiters } = batch
    padBatch(buffer, length)
    this.#encode(stream, buffer, length, parts)
      .then((encoded) => this.#settle(encoded, waiters))
      .catch((error: unknown) => {
        for (const waiter of waiters) waiter.reject(error)
      })
  }

  async #settle(encoded: EncodedBatch, waiters: readonly Waiter[]): Promise<void> {
    // Who has nothing in the batch need not wait for its commit.
    for (const [i, result] of encoded.parts.entries()) {
      if (result.accepted === 0) waiters[i]!.resolve({ result, segmentIds: [], firstEvent: 0 })
    }
    if (encoded.segments.length === 0) return
    const segmentIds = await this.#commit(encoded.streamId, encoded.segments)
    let firstEvent = 0
    for (const [i, result] of encoded.parts.entries()) {
      waiters[i]!.resolve({ result, segmentIds, firstEvent })
      firstEvent += result.accepted
    }
  }

  async #encode(
    stream: Stream,
    buffer: Uint8Array,
    length: number,
    parts: readonly Part[],
  ): Promise<EncodedBatch> {
    const { batch, output } = this.#createTask(stream, buffer, length, parts)
    try {
      const encoded = await this.#pool.encode(batch, output)
      // Only now: after a failure a worker that is being ended may still be at work on them.
      this.buffers.release(buffer)
      return this.#withOutput(encoded, output, length)
    } finally {
      this.#schedule()
    }
  }

  #createTask(
    stream: Stream,
    buffer: Uint8Array,
    length: number,
    parts: readonly Part[],
  ): EncodeTask {
    const output = {
      block: this.buffers.take(this.#blockRatio.bytesFor(length)),
      payload: this.buffers.take(this.#payloadRatio.bytesFor(length)),
    }
    const batch = {
      streamId: stream.streamId,
      settings: {
        parseUserAgents: stream.parseUserAgents,
        redactSensitive: stream.redactSensitive,
        redactFields: stream.redactFields,
      },
      receivedAtMs: this.#nowMs(),
      bytes: buffer.subarray(0, length + BATCH_PADDING),
      parts,
    }
    return { batch, output }
  }

  /**
   * Releases what the worker did not use of `output`. What comes back over the border is another
   * SharedArrayBuffer object for the same memory: the one we gave takes its place.
   */
  #withOutput(encoded: EncodedBatch, output: SegmentOutput, inputBytes: number): EncodedBatch {
    const [segment] = encoded.segments
    const isBlockUsed = segment?.block.bytes.buffer instanceof SharedArrayBuffer
    const isPayloadUsed = segment?.payload.buffer instanceof SharedArrayBuffer
    if (!isBlockUsed) this.buffers.release(output.block)
    if (!isPayloadUsed) this.buffers.release(output.payload)
    if (segment === undefined) return encoded
    const { block, payload } = segment
    this.#blockRatio.saw(inputBytes, block.bytes.length)
    this.#payloadRatio.saw(inputBytes, payload.length)
    const bytes = isBlockUsed ? output.block.subarray(0, block.bytes.length) : block.bytes
    const ownPayload = isPayloadUsed ? output.payload.subarray(0, payload.length) : payload
    const own = { ...segment, payload: ownPayload, block: { ...block, bytes } }
    return { ...encoded, segments: [own, ...encoded.segments.slice(1)] }
  }
}

function hasRoom(batch: OpenBatch, bytes: number, eventBytes: number): boolean {
  const fits = batch.length + bytes + 1 <= BATCH_BYTES_TARGET
  const eventsFit = batch.eventBytes + eventBytes + 1 <= BATCH_BYTES_TARGET
  return fits && eventsFit && batch.parts.length < BATCH_PARTS_MAX
}
