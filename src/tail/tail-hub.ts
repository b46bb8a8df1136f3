/**
 * All live tails of this node.
 *
 *   commits (commit-source) ─▶ by stream ─▶ match, in a worker: one pass for all ─▶ tails
 *
 * Matching runs one task at a time and has a share of time. When it cannot keep up, it sheds work:
 * segments that have waited for too long become gaps. So commits never wait for tails.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { IngestError } from '../errors.ts'
import {
  TAIL_BEHIND_MS_MAX,
  TAIL_MATCH_EVENTS_MAX,
  TAIL_RIGHTS_MS,
  TAIL_WAITING_BYTES_MAX,
  TAIL_WAITING_SEGMENTS_MAX,
  TAILS_MAX,
  TAILS_PER_TOKEN_MAX,
} from '../limits.ts'
import type { AcceptedBatch } from '../model/batch/accepted-batch.ts'
import type { CommittedGroup } from '../model/batch/committed-group.ts'
import type { WatchedQueries } from '../model/batch/sieved-events.ts'
import type { Stream, StreamId } from '../model/stream.ts'
import { type CatchUpParts, catchUp, type TailStart } from './catch-up.ts'
import {
  CommitSource,
  type CommittedReads,
  type CommittedRow,
  type TailSegment,
} from './commit-source.ts'
import { type MatchSegments, readWanted } from './stored-reads.ts'
import { dispatch, dispatchSieved, StreamTails } from './stream-tails.ts'
import { Tail, type TailObserver, type TailWriter } from './tail.ts'
import type { QueueItem } from './tail-queue.ts'

export interface TailHubOptions extends Omit<CatchUpParts, 'store'> {
  readonly ownNode: number
  readonly store: CommittedReads & CatchUpParts['store']
  /** Like `match`, for segments that were just committed. */
  readonly matchNow: MatchSegments
  /** Those of the streams that are live. */
  readonly findStreams: (streamIds: readonly StreamId[]) => Promise<readonly Stream[]>
  /** How long matching has to rest now, in ms. */
  readonly cooldownMs: () => number
  readonly observer: TailObserver
  /**
   * Something failed in the background; the tails concerned continue, with gaps. Must not throw.
   */
  readonly onError: (cause: unknown) => void
}

export interface TailRequest {
  readonly stream: Stream
  /** It parses. */
  readonly query: string
  readonly start: TailStart
  readonly limitPerS: number | undefined
  readonly tokenId: number
  /** Throws an `IngestError`, other than `unavailable`, when the token is not valid any more. */
  readonly renew: () => Promise<unknown>
}

interface OpenTail {
  readonly request: TailRequest
  readonly tail: Tail
}

const PREPARED_MS = 5_000
const STOP_MS_MAX = 500
const STOP_POLL_MS = 10

export class TailHub {
  readonly #options: TailHubOptions
  readonly #source: CommitSource
  readonly #streams = new Map<StreamId, StreamTails>()
  readonly #open = new Set<OpenTail>()
  /** Includes tails that are just beginning. */
  readonly #byToken = new Map<number, number>()
  #count = 0
  #isMatching = false
  /** Segments that ingest has looked at are about to be handed on. */
  #passing: NodeJS.Immediate | undefined
  #isStopped = false
  #rights: NodeJS.Timeout | undefined

  constructor(options: TailHubOptions) {
    this.#options = options
    this.#source = new CommitSource({
      ownNode: options.ownNode,
      store: options.store,
      isWatched: (streamId) => this.#streams.has(streamId),
      findSieved: (streamId, sieved) => this.#streams.get(streamId)?.findSieved(sieved),
      onSegment: (segment) => this.#onCommitted(segment),
      onError: options.onError,
    })
  }

  get count(): number {
    return this.#count
  }

  /** Told of each group after it is durable, in id order, with its rows. Never waits. */
  add(group: CommittedGroup, rows: readonly CommittedRow[]): void {
    this.#source.add(group, rows)
  }

  /** What tails ask of a batch's events: then `add` is told what they match, if that is cheap. */
  readonly tailQueriesFor = (batch: AcceptedBatch): readonly WatchedQueries[] | undefined => {
    if (this.#streams.size === 0) return undefined
    const { owners = [batch] } = batch
    const nowMs = performance.now()
    const streamIds = new Set(owners.map(({ streamId }) => streamId))
    const watched = [...streamIds].flatMap((id) => this.#streams.get(id)?.watched(nowMs) ?? [])
    return watched.length === 0 ? undefined : watched
  }

  /** Something may have been committed that `add` was not told of. */
  mustCatchUp(): void {
    this.#source.mustCatchUp()
  }

  /** Throws `overloaded` when there are too many tails, `unavailable` when it is stopping. */
  assertRoom(tokenId: number): void {
    if (this.#isStopped) throw new IngestError('unavailable', 'the service is stopping')
    if (this.#count >= TAILS_MAX) throw tooMany(`${TAILS_MAX} live tails are open (TAILS_MAX)`)
    if ((this.#byToken.get(tokenId) ?? 0) < TAILS_PER_TOKEN_MAX) return
    const limit = `${TAILS_PER_TOKEN_MAX} live tails (TAILS_PER_TOKEN_MAX)`
    throw tooMany(`this token has ${limit} open`)
  }

  /** Makes sure that a tail can begin now. Throws as `assertRoom` does, and `StoreError`. */
  async prepare(tokenId: number): Promise<void> {
    this.assertRoom(tokenId)
    const idle = () => this.#count === 0 && this.#idle()
    setTimeout(idle, PREPARED_MS).unref() // When none does.
    await this.#source.start()
  }

  /** Runs a tail from its start to its end. Throws as `assertRoom` does, and `StoreError`. */
  run(request: TailRequest, writer: TailWriter, signal: AbortSignal): Promise<void> {
    return this.#use(request, signal, (open) => this.#runTail(open, writer))
  }

  /** Hands over what comes from now on until `signal`. Throws as `run` does. */
  sample(
    request: Omit<TailRequest, 'start'>,
    onItem: (item: QueueItem) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const now = { ...request, start: { kind: 'now' } } as const
    return this.#use(now, signal, ({ tail }) => tail.forEach(onItem))
  }

  async #use(
    request: TailRequest,
    signal: AbortSignal,
    use: (open: OpenTail) => Promise<void>,
  ): Promise<void> {
    const { tokenId } = request
    this.assertRoom(tokenId)
    this.#count++
    this.#byToken.set(tokenId, (this.#byToken.get(tokenId) ?? 0) + 1)
    let open: OpenTail | undefined
    const onGone = () => open?.tail.end('reader_gone')
    signal.addEventListener('abort', onGone)
    try {
      open = await this.#begin(request)
      if (this.#isStopped) open.tail.end('stopping')
      if (signal.aborted) onGone()
      await use(open)
    } finally {
      signal.removeEventListener('abort', onGone)
      if (open !== undefined) this.#remove(open)
      this.#count--
      const left = (this.#byToken.get(tokenId) ?? 1) - 1
      if (left === 0) this.#byToken.delete(tokenId)
      else this.#byToken.set(tokenId, left)
      if (this.#count === 0) this.#idle()
    }
  }

  /** Ends all tails, shortly after all earlier commits were sent; each tells its reader. */
  async stop(): Promise<void> {
    this.#isStopped = true
    const deadline = performance.now() + STOP_MS_MAX
    while ((this.#isMatching || this.#passing) && performance.now() < deadline)
      await sleep(STOP_POLL_MS)
    for (const { tail } of this.#open) tail.end('stopping')
  }

  async #begin(request: TailRequest): Promise<OpenTail> {
    const { stream, query, limitPerS } = request
    const { streamId } = stream
    await this.#source.start()
    // No await from here to the end: whatever is heard of next belongs to the tail.
    const heard = new Map(this.#source.places)
    const { observer } = this.#options
    const tail = new Tail({ streamId, query, limitPerS, heard, observer })
    const open = { request, tail }
    const of = this.#streams.get(streamId) ?? new StreamTails(stream)
    this.#streams.set(streamId, of)
    of.addTail(tail)
    of.textFields = stream.textFields
    this.#open.add(open)
    this.#rights ??= setTimeout(() => void this.#checkRights(), TAIL_RIGHTS_MS)
    return open
  }

  async #runTail({ request, tail }: OpenTail, writer: TailWriter): Promise<void> {
    const { start, query } = request
    const { streamId, textFields } = request.stream
    const { store, events, match, nowMs, nextTurn } = this.#options
    const heard = tail.startPlaces
    const missed =
      start.kind === 'now'
        ? undefined
        : (send: Parameters<typeof catchUp>[2]) => {
            const parts = { store, events, match, nowMs, nextTurn }
            const what = { streamId, query, textFields, start, heard }
            return catchUp(parts, what, send, () => writer.isOver || tail.isEnded)
          }
    const heardNow = () => this.#streams.get(streamId)?.places(this.#source.places) ?? heard
    await tail.run(writer, missed, heardNow)
  }

  #remove(open: OpenTail): void {
    const { tail } = open
    this.#open.delete(open)
    const of = this.#streams.get(tail.streamId)
    of?.removeTail(tail)
    if (of?.tails.size === 0) this.#streams.delete(tail.streamId)
  }

  #idle(): void {
    clearTimeout(this.#rights)
    this.#rights = undefined
    this.#source.stop()
  }

  #onCommitted(segment: TailSegment): void {
    const of = this.#streams.get(segment.streamId)
    if (of === undefined) return
    of.add(segment, this.#source.places)
    if (segment.sieved !== undefined) this.#passSievedSoon()
    else if (!this.#isMatching) void this.#matchAll()
  }

  /** Commits of this turn of the event loop together, after their senders have their answers. */
  #passSievedSoon(): void {
    this.#passing ??= setImmediate(() => {
      this.#passing = undefined
      for (const tails of this.#streams.values()) this.#passSieved(tails)
    })
  }

  #passSieved(of: StreamTails): void {
    const segments = of.takeSieved()
    if (segments.length === 0) return
    for (const segment of segments) dispatchSieved(of, segment)
    of.finish(segments, this.#source.places)
  }

  async #matchAll(): Promise<void> {
    this.#isMatching = true
    // Commits of this turn of the event loop are matched together.
    await new Promise((resolve) => setImmediate(resolve))
    for (;;) {
      this.#shed()
      const next = this.#nextStream()
      if (next === undefined) break
      await this.#match(next)
      const cooldownMs = this.#options.cooldownMs()
      if (cooldownMs > 0) await sleep(cooldownMs)
    }
    this.#isMatching = false
  }

  /** In turns. */
  #nextStream(): StreamTails | undefined {
    for (const [streamId, of] of this.#streams) {
      if (!of.isWaiting) continue
      this.#streams.delete(streamId)
      this.#streams.set(streamId, of)
      return of
    }
    return undefined
  }

  async #match(of: StreamTails): Promise<void> {
    this.#passSieved(of)
    const taken = of.take(TAIL_MATCH_EVENTS_MAX)
    const tails = [...of.tails].filter((tail) => taken.some((one) => tail.wants(one)))
    try {
      if (tails.length > 0) await this.#matchBatch(of, { taken, tails })
    } catch (cause) {
      this.#options.onError(cause)
      skipAll(taken, tails)
    }
    of.finish(taken, this.#source.places)
    this.#passSieved(of)
  }

  async #matchBatch(
    of: StreamTails,
    { taken, tails }: { readonly taken: readonly TailSegment[]; readonly tails: readonly Tail[] },
  ): Promise<void> {
    const { events, matchNow } = this.#options
    const wanted = taken.map((segment) => {
      return { ...segment, fromOrdinal: 0, toOrdinal: segment.eventCount }
    })
    const found = await readWanted(events, wanted)
    const segments = taken.filter((_, index) => found[index] !== undefined)
    const reads = found.filter((read) => read !== undefined)
    if (reads.length === 0) return
    const texts = [...new Set(tails.map(({ query }) => query))]
    const { textFields } = of
    const limit = segments.reduce((sum, { eventCount }) => sum + eventCount, 0)
    const result = await matchNow({
      reads,
      queries: texts.map((text) => ({ text, textFields, eventTime: undefined, limit })),
    })
    dispatch({ of, segments, tails, texts, result })
  }

  /** Segments that have waited for too long, or are too many, are not matched. */
  #shed(): void {
    const now = performance.now()
    let bytes = 0
    let count = 0
    for (const streamTails of this.#streams.values()) {
      bytes += streamTails.waitingBytes
      count += streamTails.waiting
    }
    const isFull = bytes > TAIL_WAITING_BYTES_MAX || count > TAIL_WAITING_SEGMENTS_MAX
    for (const streamTails of this.#streams.values()) {
      if (!streamTails.isWaiting) continue
      if (!isFull && now - streamTails.oldestAtMs <= TAIL_BEHIND_MS_MAX) continue
      // Half of it: what comes next is then looked at while it is fresh.
      const taken = streamTails.take(Math.max(1, streamTails.waitingEvents / 2))
      skipAll(taken, streamTails.tails)
      streamTails.finish(taken, this.#source.places)
    }
  }

  /** Tokens that are not valid any more, streams that are deleted, other text fields. */
  async #checkRights(): Promise<void> {
    try {
      const streams = await this.#options.findStreams([...this.#streams.keys()])
      const live = new Set(streams.map(({ streamId }) => streamId))
      for (const { request, tail } of [...this.#open]) {
        if (!live.has(request.stream.streamId)) tail.end('stream_deleted')
      }
      for (const { streamId, textFields } of streams) {
        const of = this.#streams.get(streamId)
        if (of !== undefined) of.textFields = textFields
      }
      await Promise.all([...this.#open].map((open) => this.#checkToken(open)))
    } catch (cause) {
      this.#options.onError(cause) // The store is away: it is not known.
    }
    if (this.#count === 0) this.#rights = undefined
    else this.#rights = setTimeout(() => void this.#checkRights(), TAIL_RIGHTS_MS)
  }

  async #checkToken({ request, tail }: OpenTail): Promise<void> {
    try {
      await request.renew()
    } catch (cause) {
      const isKnown = cause instanceof IngestError && cause.code !== 'unavailable'
      if (isKnown && cause.code !== 'overloaded') tail.end('token_not_valid')
    }
  }
}

function skipAll(segments: readonly TailSegment[], tails: Iterable<Tail>): void {
  for (const tail of tails) {
    const own = segments.filter((segment) => tail.wants(segment))
    const events = own.reduce((sum, { eventCount }) => sum + eventCount, 0)
    if (own.length > 0) tail.skip(own, 'busy', events)
  }
}

function tooMany(text: string): IngestError {
  return new IngestError('overloaded', text, { retryAfterSeconds: 10 })
}
