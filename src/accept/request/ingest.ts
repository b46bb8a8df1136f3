/**
 * One ingest request from its head to its answer, whatever way it came:
 *
 *   credential → budgets → media type and encoding → size → bytes in flight → body → answer
 *
 * A refusal comes before anything of the request is accepted and covers the whole request. It is
 * counted on the stream when the key was valid.
 */
import { IngestError, OutcomeUnknownError } from '../../errors.ts'
import type { BodyConsumer } from '../../http/exchange.ts'
import type { InFlightRequest } from '../../http/in-flight.ts'
import { BODY_BYTES_MAX } from '../../limits.ts'
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
  RequestFingerprint,
} from '../admission/idempotency.ts'
import type { Refusal } from '../admission/refusal-history.ts'
import type { Arrival, BodyPlan, BodySource, Sender } from '../dialect.ts'
import { parseContentEncoding } from '../framing/decompress.ts'
import type { IngestReport } from '../ingest-report.ts'
import type { Cors } from './cors.ts'
import { bodyTooLarge, IngestRequest, releaseClaim } from './ingest-request.ts'
import type { IngestServices, Outcome } from './ingest-services.ts'

/** Learns how requests end, for metrics and the streams' counts. Must not throw. */
export interface IngestMeter {
  readonly onReply: (surface: string, status: number) => void
  readonly onAcknowledged: (surface: string, seconds: number) => void
  /** A body was judged. Called with the result even when none of its events was stored. */
  readonly onJudged: (sender: Sender, report: IngestReport, isStored: boolean) => void
  readonly onRefused: (refusal: Refusal) => void
}

export interface IngestDeps extends IngestServices {
  readonly credentials: Pick<
    CredentialCache,
    'tryResolveKey' | 'resolveKey' | 'resolveToken' | 'isCurrent' | 'confirm'
  >
  readonly idempotency: IdempotencyStore
  readonly meter: IngestMeter
  /** Throws `storage_cap_reached`. */
  readonly checkStorage: (stream: Stream) => void
  readonly budgets: Pick<Budgets, 'check' | 'charge'>
  readonly isStopping: () => boolean
  /** Undefined: pages of other origins may not send. */
  readonly cors?: Cors | undefined
  /** Called with unexpected errors; the client gets only `internal`. Must not throw. */
  readonly onFault: (cause: unknown) => void
}

/** Takes one request; the arrival's responder answers it, now or later. Never throws. */
export function ingest(deps: IngestDeps, arrival: Arrival): void {
  new Ingest(deps, arrival).start()
}

class Ingest {
  readonly #deps: IngestDeps
  readonly #arrival: Arrival
  readonly #startedAt = performance.now()
  #streamId: StreamId | undefined
  #keyId: number | undefined
  #receivedBytes = 0

  constructor(deps: IngestDeps, arrival: Arrival) {
    this.#deps = deps
    this.#arrival = arrival
  }

  start(): void {
    const { sender, body } = this.#arrival
    try {
      if (this.#deps.isStopping()) throw new IngestError('unavailable', 'the service is stopping')
      if (typeof sender !== 'string') return body.readBody(this.#accept(sender))
      const resolved = this.#deps.credentials.tryResolveKey(sender)
      if (resolved === undefined) throw unauthenticated()
      if (resolved !== 'lookup') return body.readBody(this.#accept(this.#senderOf(resolved)))
    } catch (cause) {
      return this.#refuse(IngestError.from(cause, 'internal'))
    }
    this.#lookUp(sender)
  }

  #senderOf(key: ResolvedKey): Sender {
    const { credentials } = this.#deps
    return {
      stream: key.stream,
      keyId: key.keyId,
      isCurrent: () => credentials.isCurrent(key),
      confirm: () => credentials.confirm(key),
    }
  }

  /** The credential is not cached: holds the body back while it is looked up. */
  #lookUp(key: string): void {
    const { inFlight, credentials } = this.#deps
    let room: InFlightRequest
    try {
      room = inFlight.enter(0) // Its declared size counts once its key is known to be valid.
    } catch (cause) {
      // Refused whatever the key is. The look-up serves to count it on the stream of a valid key.
      credentials
        .resolveKey(key)
        .then(({ stream, keyId }) => {
          this.#streamId = stream.streamId
          this.#keyId = keyId
          throw cause
        })
        .catch((error: unknown) => this.#refuse(IngestError.from(error, 'internal')))
      return
    }
    const { body } = this.#arrival
    const held = new HeldBody(body, room)
    body.readBody(held)
    credentials
      .resolveKey(key)
      .finally(() => room.leave())
      .then((resolved) => {
        this.#streamId = resolved.stream.streamId
        this.#keyId = resolved.keyId
        if (held.error !== undefined) throw held.error
        held.release(this.#accept(this.#senderOf(resolved)))
      })
      .catch((cause: unknown) => this.#refuse(IngestError.from(cause, 'internal')))
  }

  /** Judges the head; throws the error that the request is refused with. */
  #accept(sender: Sender): IngestRequest {
    const { stream } = sender
    const { dialect, body, contentEncoding, contentLength, idempotencyKey } = this.#arrival
    this.#streamId = stream.streamId
    this.#keyId = sender.keyId
    this.#deps.checkStorage(stream)
    this.#deps.budgets.check(stream)
    const plan = dialect.plan()
    const isOwn = contentEncoding !== '' && contentEncoding === plan.ownEncoding
    const encoding = isOwn ? undefined : parseContentEncoding(contentEncoding)
    if (contentLength > BODY_BYTES_MAX) throw bodyTooLarge()
    if (idempotencyKey !== undefined) assertIdempotencyKey(idempotencyKey)
    const idempotency = idempotencyKey && this.#claim(stream, plan, idempotencyKey.value)
    try {
      return new IngestRequest(this.#deps, body, {
        sender,
        plan,
        dialect,
        encoding,
        declaredBytes: contentLength || 0,
        idempotency,
        done: (outcome, receivedBytes) => {
          this.#receivedBytes = receivedBytes
          this.#end(sender, outcome)
        },
      })
    } catch (cause) {
      void idempotency?.claim.then(releaseClaim, () => undefined)
      throw cause
    }
  }

  /** Claims the Idempotency-Key while the body arrives. */
  #claim({ streamId }: Stream, plan: BodyPlan, key: string) {
    const { idempotency } = this.#deps
    const claim = claimIdempotencyKey(idempotency, streamId, key, this.#arrival.dialect.replyFormat)
    claim.catch(() => undefined) // Awaited when the body has ended.
    return { claim, fingerprint: new RequestFingerprint(key, plan) }
  }

  /** Never throws: no caller would send an answer. */
  #end(sender: Sender, outcome: Outcome): void {
    try {
      this.#reply(sender, outcome)
    } catch (cause) {
      this.#fail(cause)
    }
  }

  /** Our own bug, before or after the reply: answers `internal` if nothing was sent yet. */
  #fail(cause: unknown): void {
    this.#deps.onFault(cause)
    try {
      const error = IngestError.from(cause, 'internal')
      this.#arrival.responder.refuse(error, undefined)
    } catch {
      // The answer has begun, or cannot be made; the first cause is logged.
      this.#arrival.responder.drop()
    }
  }

  #reply(sender: Sender, outcome: Outcome): void {
    const { meter } = this.#deps
    const { dialect, responder } = this.#arrival
    if (outcome instanceof OutcomeUnknownError) return responder.drop()
    if (outcome instanceof IngestError) return this.#refuse(outcome)
    if (outcome.report !== undefined) this.#charge(sender.stream, outcome.report)
    if (outcome.kind === 'refused') {
      meter.onJudged(sender, outcome.report, false)
      return this.#refuse(outcome.error, outcome.report)
    }
    const { report } = outcome
    const status = responder.accept(outcome.answer)
    if (report !== undefined) meter.onJudged(sender, report, true)
    meter.onReply(dialect.surface, status)
    meter.onAcknowledged(dialect.surface, (performance.now() - this.#startedAt) / 1000)
  }

  /** Rejected events cost as much work as others, so they count. */
  #charge(stream: Stream, report: IngestReport): void {
    const { accepted, rejected, acceptedBytes } = report
    this.#deps.budgets.charge(stream, { events: accepted + rejected, bytes: acceptedBytes })
  }

  #refuse(error: IngestError, report?: IngestReport): void {
    const { dialect, responder } = this.#arrival
    if (error.code === 'internal') this.#deps.onFault(error)
    const status = responder.refuse(error, report)
    this.#deps.meter.onReply(dialect.surface, status)
    const { sender, contentLength, events } = this.#arrival
    this.#deps.meter.onRefused({
      streamId: this.#streamId,
      keyId: this.#keyId,
      presented: typeof sender === 'string' ? sender : '',
      error,
      reason: dialect.refusalReason ?? error.code,
      events: report === undefined ? events : report.accepted + report.rejected,
      bytes: contentLength || this.#receivedBytes,
    })
  }
}

/** Holds a body's first chunk while its credential is looked up, and reads no further. */
class HeldBody implements BodyConsumer {
  readonly #source: BodySource
  readonly #room: InFlightRequest
  readonly #chunks: { readonly bytes: Uint8Array; readonly isLast: boolean }[] = []
  #next: BodyConsumer | undefined
  #isAborted = false
  #error: IngestError | undefined

  constructor(source: BodySource, room: InFlightRequest) {
    this.#source = source
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
    if (!isLast) this.#source.pause()
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
    if (!isComplete) this.#source.resume()
  }
}
