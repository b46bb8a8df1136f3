/**
 * One ingest request from its head to its reply, whatever surface it came by:
 *
 *   credential → budgets → media type and encoding → size → bytes in flight → body → reply
 *
 * A refusal comes before anything of the request is accepted and covers the whole request. It is
 * counted on the stream when the key was valid.
 */
import { IngestError, OutcomeUnknownError } from '../../errors.ts'
import type { BodyConsumer, Exchange, Handler, Reply } from '../../http/exchange.ts'
import type { InFlightRequest } from '../../http/in-flight.ts'
import { BODY_BYTES_MAX, REPLY_DIRECT_BYTES_MAX } from '../../limits.ts'
import type { Stream, StreamId } from '../../model/stream.ts'
import {
  type CredentialCache,
  type ResolvedKey,
  unauthenticated,
} from '../admission/authenticate.ts'
import type { Budgets } from '../admission/budgets.ts'
import {
  assertIdempotencyKey,
  claimIdempotencyKey,
  type IdempotencyStore,
  type PresentedKey,
  RequestFingerprint,
  readIdempotencyKey,
} from '../admission/idempotency.ts'
import type { BodyPlan, Dialect, IngestSurface } from '../dialect.ts'
import { parseContentEncoding } from '../framing/decompress.ts'
import type { IngestReport } from '../ingest-report.ts'
import { bodyTooLarge, IngestRequest, releaseClaim } from './ingest-request.ts'
import type { IngestServices, Outcome } from './ingest-services.ts'

/** Learns how requests end, for metrics and the streams' counts. Must not throw. */
export interface IngestMeter {
  readonly onReply: (surface: IngestSurface, status: number) => void
  readonly onAcknowledged: (surface: IngestSurface, seconds: number) => void
  /** A body was judged. Called with the result even when none of its events was stored. */
  readonly onJudged: (streamId: StreamId, report: IngestReport, isStored: boolean) => void
  /** `streamId` is undefined when no valid key came with it. */
  readonly onRefused: (streamId: StreamId | undefined, reason: string) => void
}

export interface IngestDeps extends IngestServices {
  readonly credentials: Pick<
    CredentialCache,
    'tryResolveKey' | 'resolveKey' | 'isCurrent' | 'confirm'
  >
  readonly idempotency: IdempotencyStore
  readonly meter: IngestMeter
  /** Throws `storage_cap_reached`. */
  readonly checkStorage: (stream: Stream) => void
  readonly budgets: Pick<Budgets, 'check' | 'charge'>
  readonly isStopping: () => boolean
  /** Called with unexpected errors; the client gets only `internal`. Must not throw. */
  readonly onFault: (cause: unknown) => void
}

/** A handler for requests of one surface. */
export function ingestHandler(
  deps: IngestDeps,
  createDialect: (exchange: Exchange) => Dialect,
): Handler {
  return (exchange) => new IngestHandler(deps, exchange, createDialect(exchange)).start()
}

/** What is read of a request's head before the handler's first call returns. */
interface Head {
  readonly contentEncoding: string
  /** NaN when absent. */
  readonly contentLength: number
  readonly idempotencyKey: PresentedKey | undefined
}

class IngestHandler {
  readonly #deps: IngestDeps
  readonly #exchange: Exchange
  readonly #dialect: Dialect
  readonly #startedAt = performance.now()
  #streamId: StreamId | undefined

  constructor(deps: IngestDeps, exchange: Exchange, dialect: Dialect) {
    this.#deps = deps
    this.#exchange = exchange
    this.#dialect = dialect
  }

  start(): void {
    const exchange = this.#exchange
    const length = exchange.header('content-length')
    const head = {
      contentEncoding: exchange.header('content-encoding'),
      contentLength: length === '' ? Number.NaN : Number(length),
      idempotencyKey: readIdempotencyKey(exchange),
    }
    const { apiKey } = this.#dialect
    try {
      if (this.#deps.isStopping()) throw new IngestError('unavailable', 'the service is stopping')
      const resolved = this.#deps.credentials.tryResolveKey(apiKey)
      if (resolved === undefined) throw unauthenticated()
      if (resolved !== 'lookup') return exchange.readBody(this.#accept(resolved, head))
    } catch (cause) {
      return this.#refuse(IngestError.from(cause, 'internal'))
    }
    this.#lookUp(apiKey, head)
  }

  /** The credential is not cached: holds the body back while it is looked up. */
  #lookUp(key: string, head: Head): void {
    const { inFlight, credentials } = this.#deps
    let room: InFlightRequest
    try {
      room = inFlight.enter(0) // Its declared size counts once its key is known to be valid.
    } catch (cause) {
      // Refused whatever the key is. The look-up serves to count it on the stream of a valid key.
      credentials
        .resolveKey(key)
        .then(({ stream }) => {
          this.#streamId = stream.streamId
          throw cause
        })
        .catch((error: unknown) => this.#refuse(IngestError.from(error, 'internal')))
      return
    }
    const held = new HeldBody(this.#exchange, room)
    this.#exchange.readBody(held)
    credentials
      .resolveKey(key)
      .finally(() => room.leave())
      .then((resolved) => {
        this.#streamId = resolved.stream.streamId
        if (held.error !== undefined) throw held.error
        held.release(this.#accept(resolved, head))
      })
      .catch((cause: unknown) => this.#refuse(IngestError.from(cause, 'internal')))
  }

  /** Judges the head; throws the error that the request is refused with. */
  #accept(key: ResolvedKey, head: Head): IngestRequest {
    const { stream } = key
    this.#streamId = stream.streamId
    this.#deps.checkStorage(stream)
    this.#deps.budgets.check(stream)
    const plan = this.#dialect.plan()
    const encoding = parseContentEncoding(head.contentEncoding)
    if (head.contentLength > BODY_BYTES_MAX) throw bodyTooLarge()
    const { idempotencyKey } = head
    if (idempotencyKey !== undefined) assertIdempotencyKey(idempotencyKey)
    const idempotency = idempotencyKey && this.#claim(stream, plan, idempotencyKey.value)
    try {
      return new IngestRequest(this.#deps, this.#exchange, {
        key,
        plan,
        dialect: this.#dialect,
        encoding,
        declaredBytes: head.contentLength || 0,
        idempotency,
        done: (outcome) => this.#end(stream, outcome),
      })
    } catch (cause) {
      void idempotency?.claim.then(releaseClaim, () => undefined)
      throw cause
    }
  }

  /** Claims the Idempotency-Key while the body arrives. */
  #claim({ streamId }: Stream, plan: BodyPlan, key: string) {
    const { idempotency } = this.#deps
    const claim = claimIdempotencyKey(idempotency, streamId, key, this.#dialect.answerForm)
    claim.catch(() => undefined) // Awaited when the body has ended.
    return { claim, fingerprint: new RequestFingerprint(key, plan) }
  }

  /** Never throws: no caller would send an answer. */
  #end(stream: Stream, outcome: Outcome): void {
    try {
      this.#tell(stream, outcome)
    } catch (cause) {
      this.#fail(cause)
    }
  }

  /** Our own bug, before or after the reply: answers `internal` if nothing was sent yet. */
  #fail(cause: unknown): void {
    this.#deps.onFault(cause)
    try {
      const error = IngestError.from(cause, 'internal')
      this.#exchange.reply(this.#dialect.refusedReply(error, undefined))
    } catch {
      this.#exchange.drop() // The reply has begun, or cannot be made; the first cause is logged.
    }
  }

  #tell(stream: Stream, outcome: Outcome): void {
    const { meter } = this.#deps
    const { streamId } = stream
    if (outcome instanceof OutcomeUnknownError) return this.#exchange.drop()
    if (outcome instanceof IngestError) return this.#refuse(outcome)
    if (outcome.report !== undefined) this.#charge(stream, outcome.report)
    if (outcome.kind === 'refused') {
      meter.onJudged(streamId, outcome.report, false)
      return this.#refuse(outcome.error, outcome.report)
    }
    const { report } = outcome
    const reply = this.#dialect.acceptedReply(outcome.answer)
    this.#exchange.reply(this.#withRoom(reply))
    if (report !== undefined) meter.onJudged(streamId, report, true)
    meter.onReply(this.#dialect.surface, reply.status)
    meter.onAcknowledged(this.#dialect.surface, (performance.now() - this.#startedAt) / 1000)
  }

  /** Counts a large answer as in flight until it is read. It is sent even when there is no room. */
  #withRoom(reply: Reply): Reply {
    if ((reply.body?.length ?? 0) <= REPLY_DIRECT_BYTES_MAX) return reply
    const { inFlight } = this.#deps
    return { ...reply, room: (bytes, cut) => inFlight.enterReply(bytes, cut) }
  }

  /** Rejected events cost as much work as others, so they count. */
  #charge(stream: Stream, report: IngestReport): void {
    const { accepted, rejected, acceptedBytes } = report
    this.#deps.budgets.charge(stream, { events: accepted + rejected, bytes: acceptedBytes })
  }

  #refuse(error: IngestError, report?: IngestReport): void {
    const dialect = this.#dialect
    if (error.code === 'internal') this.#deps.onFault(error)
    const reply = dialect.refusedReply(error, report)
    this.#exchange.reply(reply)
    this.#deps.meter.onReply(dialect.surface, reply.status)
    this.#deps.meter.onRefused(this.#streamId, dialect.refusalReason ?? error.code)
  }
}

/** Holds a body's first chunk while its credential is looked up, and reads no further. */
class HeldBody implements BodyConsumer {
  readonly #exchange: Exchange
  readonly #room: InFlightRequest
  readonly #chunks: { readonly bytes: Uint8Array; readonly isLast: boolean }[] = []
  #next: BodyConsumer | undefined
  #isAborted = false
  #error: IngestError | undefined

  constructor(exchange: Exchange, room: InFlightRequest) {
    this.#exchange = exchange
    this.#room = room
  }

  chunk(bytes: Uint8Array, isLast: boolean): void {
    if (this.#next !== undefined) return this.#next.chunk(bytes, isLast)
    if (this.#error !== undefined) return
    try {
      this.#room.hold(this.#room.bytes + bytes.length)
    } catch (cause) {
      this.#error = IngestError.from(cause, 'internal')
      this.#chunks.length = 0
      return
    }
    this.#chunks.push({ bytes: Uint8Array.from(bytes), isLast })
    if (!isLast) this.#exchange.pause()
  }

  aborted(): void {
    this.#isAborted = true
    this.#next?.aborted()
  }

  /** Set when there was no room for what arrived: the request must be refused. */
  get error(): IngestError | undefined {
    return this.#error
  }

  /** Passes on what was held, and everything that follows. */
  release(next: BodyConsumer): void {
    this.#next = next
    if (this.#isAborted) return next.aborted()
    const isComplete = this.#chunks.at(-1)?.isLast === true
    for (const { bytes, isLast } of this.#chunks.splice(0)) next.chunk(bytes, isLast)
    if (!isComplete) this.#exchange.resume()
  }
}
