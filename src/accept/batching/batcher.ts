/**
 * Batcher: turns accepted bytes into tasks for the pool.
 *
 *   accept --parts--> batcher --AcceptedBatch--> pool --EncodedBatch--> accept, then commit
 *
 * A large request gets batches of its own, which are worked on while the rest of it still arrives.
 * Small requests of one stream share a batch. An idle pool takes it at the end of the event loop's
 * turn, a busy one when a thread is free, so the busier the pool, the more requests share a
 * segment. Small batches of several streams then go as one task (`shared-batch.ts`). Shared batches
 * and those of large requests take turns, and so do the streams of large requests
 * (`pool/turns.ts`), so none starves.
 *
 * Only the batcher hands batches to commit (`commit-parts.ts`): those of a large request all at
 * once, when the request asks for it; a shared batch when it is encoded. Parts of a shared batch
 * that failed have left nothing in it. Requests that are over when the batch's turn comes are left
 * out.
 */

import type { BatchBuffers } from '../../bytes/batch-buffers.ts'
import { IngestError } from '../../errors.ts'
import type { AcceptedBatch, SegmentOutput } from '../../model/batch/accepted-batch.ts'
import type { EncodedBatch } from '../../model/batch/encoded-batch.ts'
import type { Stream, StreamId } from '../../model/stream.ts'
import type { BodyPlan, CommittedPart } from '../dialect.ts'
import type { WholePart } from '../framing/body-format.ts'
import type { FramedPart } from '../framing/body-framer.ts'
import {
  type BatchToCommit,
  type CommitSegments,
  commitParts,
  type RememberedAnswer,
} from './commit-parts.ts'
import { failureOf } from './failure.ts'
import { HeldBatches } from './held-batches.ts'
import { SegmentOutputs } from './segment-outputs.ts'
import {
  acceptedBatch,
  append,
  areAdmitted,
  type BatchGroup,
  batchKey,
  type Client,
  findRefused,
  type GroupedBatch,
  hasRoom,
  hasSameSettings,
  joinGroup,
  leaveOut,
  leaveOutOver,
  mixKeyOf,
  type OpenBatch,
  ownersOf,
  takeOldest,
} from './shared-batch.ts'

/** What the batcher needs of the pool. */
export interface BatchPool {
  readonly hasIdleThread: boolean
  /** Judges and encodes; rejects with an `IngestError`. */
  encode(batch: AcceptedBatch, output: SegmentOutput): Promise<EncodedBatch>
  /**
   * As `encode`, but queued: `makeTask` is called when a thread is idle. `streamId`: the stream
   * that the batch belongs to; without one, several streams share it.
   */
  encodeWhenIdle(
    makeTask: () => EncodeTask | undefined,
    streamId?: StreamId,
  ): Promise<EncodedBatch | undefined>
}

export interface EncodeTask {
  readonly batch: AcceptedBatch
  readonly output: SegmentOutput
}

/** What the parts of a request have in common. */
type PartsPlan = Pick<BodyPlan, 'partOptions' | 'hasItems'>

/** For work that no client waits for. */
const NEVER_OVER: Client = { isOver: false }

interface SharedTask {
  readonly group: BatchGroup
  readonly buffer: Uint8Array
  readonly length: number
  readonly task: EncodeTask
}

export class Batcher {
  readonly buffers: BatchBuffers
  readonly #pool: BatchPool
  readonly #commit: CommitSegments
  readonly #nowMs: () => number
  /** Shared batches being filled, by stream and kind, oldest first. */
  readonly #open = new Map<string, OpenBatch>()
  readonly #outputs: SegmentOutputs
  #isScheduled = false
  /** We are in the pool's queue, for whichever shared batch is oldest when our turn comes. */
  #isInLine = false

  constructor(pool: BatchPool, buffers: BatchBuffers, commit: CommitSegments, nowMs: () => number) {
    this.#pool = pool
    this.buffers = buffers
    this.#outputs = new SegmentOutputs(buffers)
    this.#commit = commit
    this.#nowMs = nowMs
  }

  /**
   * Sends one part of a large request to the pool, and takes ownership of its buffer. Undefined,
   * with nothing done, when `client` was over before a thread was free.
   */
  async encodeOwn(
    stream: Stream,
    part: FramedPart,
    plan: PartsPlan = {},
    client: Client = NEVER_OVER,
  ): Promise<EncodedBatch | undefined> {
    const { buffer, framing, start, end: length, options = plan.partOptions } = part
    const { streamId } = stream
    const owners = stream.isPromoted ? undefined : [{ streamId, parts: 1 }]
    const data = { buffer, length, parts: [{ framing, start, end: length, options }] }
    const batch = acceptedBatch(stream, data, this.#nowMs(), owners)
    let output: SegmentOutput | undefined
    const makeTask = () => {
      if (client.isOver) return undefined
      output = this.#outputs.take(length, plan.hasItems)
      return { batch, output }
    }
    try {
      const encoded = await this.#pool.encodeWhenIdle(makeTask, streamId)
      // Only now: after a failure, a worker that is being terminated may still use the buffer.
      this.buffers.release(buffer)
      return encoded && this.#outputs.claim(encoded, output!, length)
    } catch (cause) {
      if (output === undefined) this.buffers.release(buffer) // No worker has seen it.
      throw failureOf(cause)
    } finally {
      this.#schedule()
    }
  }

  /**
   * Adds a small, complete request of at most BATCH_BYTES_TARGET bytes to its stream's shared
   * batch; its bytes are copied. Resolves when its accepted events are durable. The request is left
   * out, and rejected, when `client` is over by the time its batch has its turn.
   */
  submitShared(
    stream: Stream,
    { bytes, framing, input, eventBytes = bytes.length }: WholePart,
    { partOptions: options }: PartsPlan = {},
    client: Client = NEVER_OVER,
  ): Promise<CommittedPart> {
    const key = batchKey(input, stream)
    let batch = this.#open.get(key)
    const fits =
      batch !== undefined &&
      hasSameSettings(batch.stream, stream) &&
      hasRoom(batch, bytes.length, eventBytes)
    if (batch !== undefined && !fits) {
      this.#open.delete(key)
      this.#dispatch(this.#alone(batch))
      batch = undefined
    }
    if (batch === undefined) {
      const buffer = this.buffers.take(bytes.length + 1)
      const mixKey = mixKeyOf(input, stream)
      batch = { stream, mixKey, buffer, length: 0, eventBytes: 0, parts: [], waiters: [] }
      this.#open.set(key, batch)
    }
    append(this.buffers, batch, bytes, { framing, options })
    batch.eventBytes += eventBytes + 1
    const { waiters } = batch
    const placed = new Promise<CommittedPart>((resolve, reject) => {
      waiters.push({ resolve, reject, client })
    })
    this.#schedule()
    return placed
  }

  /** Makes the batches of one large request durable together; see `commitParts`. */
  commitOwn(
    { streamId }: Stream,
    batches: readonly BatchToCommit[],
    answer?: RememberedAnswer,
  ): Promise<readonly CommittedPart[]> {
    return commitParts(this.#commit, streamId, batches, answer)
  }

  /** Call whenever a thread is free again, also after work that is not ours. */
  threadIdle(): void {
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled || this.#open.size === 0) return
    this.#isScheduled = true
    // After this turn's network events: requests that arrive in the same turn share the batch.
    setImmediate(() => {
      this.#isScheduled = false
      this.#dispatchOpen()
    })
  }

  #dispatchOpen(): void {
    for (;;) {
      if (this.#open.size > 0 && !this.#pool.hasIdleThread) return this.#enqueue()
      const group = this.#takeOldest()
      if (group === undefined) return
      this.#dispatch(group)
    }
  }

  #enqueue(): void {
    if (this.#isInLine) return
    this.#isInLine = true
    this.#encodeWhenIdle().catch(() => {
      // Nothing was taken: the pool is full. `threadIdle` calls again.
      this.#isInLine = false
    })
  }

  async #encodeWhenIdle(): Promise<void> {
    let taken: SharedTask | undefined
    const makeTask = () => {
      this.#isInLine = false
      const group = this.#takeOldest()
      if (group === undefined) return undefined
      taken = this.#tryCreateTask(group)
      this.#schedule() // The next one queues for its own turn.
      return taken?.task
    }
    let encoded: EncodedBatch | undefined
    try {
      encoded = await this.#pool.encodeWhenIdle(makeTask)
    } catch (error) {
      if (taken === undefined) throw error
      return this.#failed(taken.group, error)
    } finally {
      this.#schedule()
    }
    if (taken !== undefined && encoded !== undefined) await this.#settle(taken, encoded)
  }

  /** The oldest group that a client still waits for. */
  #takeOldest(): BatchGroup | undefined {
    for (;;) {
      const group = takeOldest(this.#open)
      if (group === undefined) return undefined
      const batches = group.batches.filter((batch) => this.#leaveOutOver(batch))
      if (batches.length > 0) return { ...group, batches }
    }
  }

  /** False when no client of the batch waits any more. */
  #leaveOutOver(batch: OpenBatch): boolean {
    leaveOutOver(batch)
    if (batch.waiters.length > 0) return true
    this.buffers.release(batch.buffer)
    return false
  }

  #alone(batch: OpenBatch): BatchGroup {
    return { batches: [batch], isMixed: !batch.stream.isPromoted }
  }

  #dispatch(group: BatchGroup): void {
    const shared = this.#tryCreateTask(group)
    if (shared === undefined) return
    this.#pool
      .encode(shared.task.batch, shared.task.output)
      .finally(() => this.#schedule())
      .then(
        (encoded) => this.#settle(shared, encoded),
        (error: unknown) => this.#failed(group, error),
      )
  }

  /** Undefined when there is no memory for it; its requests were then rejected. */
  #tryCreateTask(group: BatchGroup): SharedTask | undefined {
    let joined: GroupedBatch | undefined
    try {
      joined = joinGroup(this.buffers, group, this.#nowMs())
      const { batch, buffer, length } = joined
      return { group, buffer, length, task: { batch, output: this.#outputs.take(length) } }
    } catch (cause) {
      // No worker has seen any of it yet.
      const { batches } = group
      if (joined !== undefined && batches.length > 1) this.buffers.release(joined.buffer)
      for (const batch of batches) this.buffers.release(batch.buffer)
      rejectAll(batches, failureOf(cause))
      return undefined
    }
  }

  /** Settles each request, once its accepted events are durable. Never rejects. */
  async #settle(shared: SharedTask, done: EncodedBatch): Promise<void> {
    try {
      await this.#commitShared(shared, done)
    } catch (error) {
      rejectAll(shared.group.batches, error)
    }
  }

  async #commitShared(
    { group, buffer, length, task }: SharedTask,
    done: EncodedBatch,
  ): Promise<void> {
    const encoded = this.#outputs.claim(done, task.output, length)
    const { batches } = group
    if (!areAdmitted(batches)) {
      const refused = await findRefused(batches)
      if (refused.size > 0) return this.#dispatchWithout(refused, { group, buffer, encoded })
    }
    // Only now: after a failure, a worker that is being terminated may still use the buffer.
    this.buffers.release(buffer)
    if (batches.length > 1) for (const batch of batches) this.buffers.release(batch.buffer)
    const waiters = batches.flatMap((batch) => batch.waiters)
    // Requests with nothing in the batch need not wait for its commit.
    for (const [i, result] of encoded.parts.entries()) {
      if (result.accepted === 0) waiters[i]!.resolve({ result, segmentIds: [], firstEvent: 0 })
    }
    const made = { ...encoded, owners: ownersOf(batches) }
    const placed = await commitParts(this.#commit, encoded.streamId, [made])
    for (const [i, part] of placed.entries()) waiters[i]!.resolve(part)
  }

  /** Requests whose keys were revoked are left out; their neighbours are encoded once more. */
  #dispatchWithout(
    refused: ReadonlyMap<Client, unknown>,
    { group, buffer, encoded }: Pick<SharedTask, 'group' | 'buffer'> & { encoded: EncodedBatch },
  ): void {
    const made = new HeldBatches(this.buffers)
    made.add(encoded)
    made.discard()
    if (group.batches.length > 1) this.buffers.release(buffer)
    const batches = group.batches.filter((batch) => {
      leaveOut(batch, (client) => refused.get(client))
      if (batch.waiters.length === 0) this.buffers.release(batch.buffer)
      return batch.waiters.length > 0
    })
    if (batches.length > 0) this.#dispatch({ ...group, batches })
  }

  /** A fault in one batch must not fail the others of its group: each is tried alone. */
  #failed({ batches }: BatchGroup, error: unknown): void {
    const isFault = error instanceof IngestError && error.code === 'internal'
    if (isFault && batches.length > 1) {
      for (const batch of batches) this.#dispatch(this.#alone(batch))
      return
    }
    rejectAll(batches, error)
  }
}

/** Has no effect on requests that were answered before. */
function rejectAll(batches: readonly OpenBatch[], error: unknown): void {
  for (const batch of batches) for (const waiter of batch.waiters) waiter.reject(error)
}
