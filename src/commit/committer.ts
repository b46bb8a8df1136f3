/**
 * Commit: makes encoded segments durable in the raw store. No client is acknowledged before this.
 *
 *   encode --EncodedSegment--> commit --CommittedGroup--> materialize, observe, tail
 *
 * Group commit: what arrives while one COPY runs shares the next, so an idle system commits at once
 * and a busy one pays for fewer, larger transactions. While every worker is at it, a small group
 * waits a moment for the next: a transaction costs as much as a thousand events. One transaction at
 * a time, and ids are given out here, so ids become visible in their order: a reader that follows
 * never misses one behind it.
 *
 * Subtle: a connection that breaks during COMMIT leaves the outcome unknown. It is looked up, never
 * guessed; while PostgreSQL cannot be asked, clients wait, and in the end their connections are
 * dropped without an answer, because either answer might be a lie.
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { IngestError, OutcomeUnknownError } from '../errors.ts'
import {
  CLOCK_LEAD_MS_MAX,
  COMMIT_GROUP_BYTES_MAX,
  COMMIT_QUEUE_BYTES_MAX,
  COMMIT_RESOLVE_MS_MAX,
  COMMIT_TRIES_MAX,
} from '../limits.ts'
import type {
  CommittedGroup,
  CommittedSegment,
  SegmentToCommit,
} from '../model/batch/committed-group.ts'
import type { SegmentId, SegmentIdGenerator } from '../model/segment-id.ts'
import type { StreamId } from '../model/stream.ts'
import type { SegmentRow } from '../store/raw/segment-store.ts'
import type { ClosingMark } from './closing-mark.ts'
import { type CommitRow, committedOf, rowOf } from './group-rows.ts'

/** A group smaller than this waits so long for what the busy pool is about to hand over. */
export const COMMIT_GATHER_BYTES = 128 * 1024
export const COMMIT_GATHER_MS_MAX = 25

/** An answer to remember under an Idempotency-Key, stored with the data it answers for. */
export interface Completion {
  readonly keySha256: Uint8Array
  readonly fingerprint: Uint8Array
  readonly status: number
  readonly body: string
}

/** An answer that names the segments it is about. */
export interface PendingCompletion extends Omit<Completion, 'body'> {
  readonly body: (segmentIds: readonly SegmentId[]) => string
}

export type WriteFailure =
  /** Nothing was stored and the same may work shortly. */
  | { readonly kind: 'retry'; readonly message: string }
  /** Nothing was stored, and trying again is for the client. */
  | { readonly kind: 'refused'; readonly error: IngestError }
  /** The ids are there already: an earlier try was committed after all. */
  | { readonly kind: 'exists'; readonly message: string }
  /** Nothing was stored, because an answer's Idempotency-Key is not ours any more. */
  | { readonly kind: 'answers' }
  /** Stored or not: `wasCommitted` tells. */
  | { readonly kind: 'unknown'; readonly message: string }

/** What commit needs of a raw store. */
export interface RawStoreWriter {
  /** All rows and answers in one transaction; undefined when they are durable. Never rejects. */
  write(
    rows: readonly SegmentRow[],
    answers: readonly (Completion & { readonly streamId: StreamId })[],
  ): Promise<WriteFailure | undefined>
  /** Whether an earlier `write` of `row` was committed. Rejects while the store is away. */
  wasCommitted(row: SegmentRow): Promise<boolean>
}

export interface CommitObserver {
  /** `segments` are rows; `runs` are segments that share mixed ones. */
  readonly onGroup: (group: {
    readonly segments: number
    readonly runs: number
    readonly bytes: number
    readonly seconds: number
  }) => void
  readonly onRetry: () => void
  readonly onUnknown: (outcome: 'committed' | 'absent' | 'dropped') => void
}

interface Pending {
  readonly streamId: StreamId
  readonly segments: readonly SegmentToCommit[]
  readonly completion: PendingCompletion | undefined
  readonly bytes: number
  readonly resolve: (ids: readonly SegmentId[]) => void
  readonly reject: (error: unknown) => void
}

/** `rows` are those of the group's segments; their payloads are lent for the call. */
export type Forward = (group: CommittedGroup, rows: readonly CommitRow[]) => void

class AnswersLostError extends Error {}

const RETRY_DELAY_MS = 100
const RESOLVE_DELAY_MS = 200
const SETTLE_DELAY_MS = 1_000
/** Clocks are compared as often. */
const CLOCK_RETRY_SECONDS = 5

export class Committer {
  readonly #store: RawStoreWriter
  readonly #ids: SegmentIdGenerator
  readonly #forward: Forward
  readonly #observer: CommitObserver
  readonly #mustCatchUp: () => void
  readonly #release: (payload: Uint8Array) => void
  readonly #isMoreComing: () => boolean
  readonly #resolveMsMax: number
  readonly #closing: Pick<ClosingMark, 'open' | 'settle' | 'isSettled'> | undefined
  #queue: Pending[] = []
  #queueBytes = 0
  #flushing: Promise<void> | undefined
  /** Ends the wait for more to commit. */
  #endWait: () => void = () => undefined
  #stopped = false

  constructor(options: {
    readonly store: RawStoreWriter
    readonly ids: SegmentIdGenerator
    /** Told of each group after it is durable, in id order. Must not throw. */
    readonly forward: Forward
    readonly observer: CommitObserver
    /** Something may be durable that `forward` was not told of. */
    readonly mustCatchUp?: () => void
    /** Takes back payloads that are durable; not called for those of a failed commit. */
    readonly release?: (payload: Uint8Array) => void
    /** True when every worker is busy and events are among it: they are worth a short wait. */
    readonly isMoreComing?: () => boolean
    readonly resolveMsMax?: number
    /** Is told which ids may still become visible. */
    readonly closing?: Pick<ClosingMark, 'open' | 'settle' | 'isSettled'>
  }) {
    this.#store = options.store
    this.#ids = options.ids
    this.#forward = options.forward
    this.#observer = options.observer
    this.#mustCatchUp = options.mustCatchUp ?? (() => undefined)
    this.#release = options.release ?? (() => undefined)
    this.#isMoreComing = options.isMoreComing ?? (() => false)
    this.#resolveMsMax = options.resolveMsMax ?? COMMIT_RESOLVE_MS_MAX
    this.#closing = options.closing
  }

  get queueBytes(): number {
    return this.#queueBytes
  }

  /** Nothing is committed any more, and of all that was the outcome is known. */
  get isOver(): boolean {
    return this.#stopped && this.#flushing === undefined && this.#closing?.isSettled === true
  }

  /**
   * Resolves with the segments' ids once all of them are durable, together; of a mixed segment
   * with those of its runs, in their order. `streamId` is whose they are, or `MIXED_STREAM` when
   * all are mixed ones of several streams. Rejects with an
   * `IngestError` when nothing was stored, and with an `OutcomeUnknownError` when that is unknown.
   * Refuses, never waits, when the queue is full.
   */
  submit(
    streamId: StreamId,
    segments: readonly SegmentToCommit[],
    completion?: PendingCompletion,
  ): Promise<readonly SegmentId[]> {
    assert(segments.length > 0)
    let bytes = 0
    for (const segment of segments) bytes += segment.payload.length
    if (this.#stopped) {
      return Promise.reject(new IngestError('unavailable', 'the service is stopping'))
    }
    if (this.#queueBytes + bytes > COMMIT_QUEUE_BYTES_MAX) {
      const text = `over ${COMMIT_QUEUE_BYTES_MAX} bytes wait for commit (COMMIT_QUEUE_BYTES_MAX)`
      return Promise.reject(new IngestError('overloaded', text))
    }
    this.#queueBytes += bytes
    return new Promise((resolve, reject) => {
      this.#queue.push({ streamId, segments, completion, bytes, resolve, reject })
      this.#endWait()
      this.#flushing ??= this.#flush()
    })
  }

  /** Commits what is queued, refuses what comes later. Safe to call twice. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#endWait()
    await this.#flushing
  }

  async #flush(): Promise<void> {
    try {
      while (this.#queue.length > 0) {
        if (this.#isWorthWaiting()) await this.#gather()
        await this.#commitGroup(this.#takeGroup())
      }
    } finally {
      this.#flushing = undefined
    }
  }

  #isWorthWaiting(): boolean {
    return this.#queueBytes < COMMIT_GATHER_BYTES && !this.#stopped && this.#isMoreComing()
  }

  /** Waits for more, COMMIT_GATHER_MS_MAX at most. */
  async #gather(): Promise<void> {
    const deadline = performance.now() + COMMIT_GATHER_MS_MAX
    while (this.#isWorthWaiting()) {
      const leftMs = deadline - performance.now()
      if (leftMs <= 0) return
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs)
        this.#endWait = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }

  #takeGroup(): Pending[] {
    let count = 0
    let bytes = 0
    for (const pending of this.#queue) {
      if (count > 0 && bytes + pending.bytes > COMMIT_GROUP_BYTES_MAX) break
      bytes += pending.bytes
      count++
    }
    this.#queueBytes -= bytes
    return this.#queue.splice(0, count)
  }

  async #commitGroup(group: readonly Pending[]): Promise<void> {
    if (this.#ids.isAhead) return this.#failGroup(group, clockAhead())
    const startedAt = performance.now()
    const committed: CommittedSegment[] = []
    const rows: CommitRow[] = []
    const ids: SegmentId[][] = []
    for (const { streamId, segments } of group) {
      const own: SegmentId[] = []
      for (const segment of segments) {
        const segmentIds = (segment.runs ?? [segment]).map(() => this.#ids.next())
        own.push(...segmentIds)
        rows.push(rowOf(streamId, segment, segmentIds))
        committed.push(committedOf(streamId, segment, segmentIds))
      }
      ids.push(own)
    }
    const first = rows[0]!
    this.#closing?.open(first.segmentId)
    try {
      await this.#write(rows, answersOf(group, ids))
    } catch (error) {
      if (error instanceof OutcomeUnknownError) void this.#settleLater(first)
      else this.#closing?.settle(first.segmentId)
      return this.#failGroup(group, error)
    }
    this.#closing?.settle(first.segmentId)
    let bytes = 0
    let runs = 0
    for (const row of rows) {
      bytes += row.payload.length
      runs += row.runs?.length ?? 0
    }
    const seconds = (performance.now() - startedAt) / 1000
    this.#observer.onGroup({ segments: rows.length, runs, bytes, seconds })
    for (const [i, pending] of group.entries()) pending.resolve(ids[i]!)
    this.#forward({ segments: committed }, rows)
    for (const row of rows) this.#release(row.payload)
  }

  async #failGroup(group: readonly Pending[], error: unknown): Promise<void> {
    if (error instanceof AnswersLostError) {
      // Who lost their Idempotency-Key must not take their neighbours down with them.
      const text = 'another request has taken this Idempotency-Key over'
      const others = group.filter((pending) => pending.completion === undefined)
      for (const pending of group) {
        if (pending.completion !== undefined) pending.reject(new IngestError('conflict', text))
      }
      return others.length === 0 ? undefined : this.#commitGroup(others)
    }
    // It may be in the raw store all the same, and nobody further on was told of it.
    if (error instanceof OutcomeUnknownError) this.#mustCatchUp()
    for (const pending of group) pending.reject(error)
  }

  /** Resolves when the rows are durable; throws what their clients are to be told. */
  async #write(
    rows: readonly SegmentRow[],
    answers: readonly (Completion & { readonly streamId: StreamId })[],
  ): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const failure = await this.#store.write(rows, answers)
      if (failure === undefined) return
      if (failure.kind === 'refused') throw failure.error
      if (failure.kind === 'answers') throw new AnswersLostError()
      const mayBeThere = failure.kind === 'unknown' || failure.kind === 'exists'
      if (mayBeThere && (await this.#resolve(rows[0]!))) return
      if (attempt === COMMIT_TRIES_MAX) {
        throw new IngestError('unavailable', 'the raw store is not available')
      }
      this.#observer.onRetry()
      await sleep(RETRY_DELAY_MS * 2 ** attempt * (0.5 + Math.random()))
    }
  }

  /** Its clients have given up; whether more can become visible is found out all the same. */
  async #settleLater(row: SegmentRow): Promise<void> {
    while (!this.#stopped) {
      try {
        await this.#store.wasCommitted(row)
        this.#closing?.settle(row.segmentId)
        return
      } catch {
        await sleep(SETTLE_DELAY_MS, undefined, { ref: false })
      }
    }
  }

  /** Finds out whether `row`'s transaction was committed. */
  async #resolve(row: SegmentRow): Promise<boolean> {
    const deadline = performance.now() + this.#resolveMsMax
    for (;;) {
      try {
        const isCommitted = await this.#store.wasCommitted(row)
        this.#observer.onUnknown(isCommitted ? 'committed' : 'absent')
        return isCommitted
      } catch (cause) {
        if (performance.now() > deadline) {
          this.#observer.onUnknown('dropped')
          throw new OutcomeUnknownError('the outcome of a COMMIT is unknown', { cause })
        }
      }
      await sleep(RESOLVE_DELAY_MS)
    }
  }
}

/** Nothing was stored: ids would hold a receipt time in the future. */
function clockAhead(): IngestError {
  const bound = `${CLOCK_LEAD_MS_MAX / 1000} seconds`
  const text = `this machine's clock is over ${bound} ahead of PostgreSQL's`
  const options = { retryAfterSeconds: CLOCK_RETRY_SECONDS }
  return new IngestError('unavailable', `${text} (CLOCK_LEAD_MS_MAX)`, options)
}

function answersOf(
  group: readonly Pending[],
  ids: readonly (readonly SegmentId[])[],
): (Completion & { readonly streamId: StreamId })[] {
  const answers: (Completion & { readonly streamId: StreamId })[] = []
  for (const [i, { streamId, completion }] of group.entries()) {
    if (completion === undefined) continue
    answers.push({ ...completion, body: completion.body(ids[i]!), streamId })
  }
  return answers
}
