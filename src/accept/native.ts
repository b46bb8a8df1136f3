/**
 * Native ingest: `POST /v1/ingest` (JSON, NDJSON) and `POST /v1/ingest/text` (a line an event).
 *
 *   credential → media type and encoding → size → bytes in flight → body
 *
 * Every refusal comes before anything of the request is accepted, is for the whole request, and is
 * counted on the stream when its key was valid.
 */
import { IngestError, OutcomeUnknownError } from '../errors.ts'
import { mediaTypeOf } from '../http/body.ts'
import type { BodyConsumer, Exchange, Route } from '../http/exchange.ts'
import { problemReply } from '../http/problem.ts'
import { BODY_BYTES_MAX } from '../limits.ts'
import type { Stream, StreamId } from '../model/stream.ts'
import { type CredentialCache, unauthenticated } from './authenticate.ts'
import type { BodyKind } from './body-framer.ts'
import { parseContentEncoding } from './decompress.ts'
import { claimIdempotencyKey, type IdempotencyStore } from './idempotency.ts'
import type { IngestReport } from './ingest-report.ts'
import { bodyTooLarge, IngestRequest, type IngestServices, releaseClaim } from './ingest-request.ts'

export type NativeSurface = 'native' | 'text'

/** Hears how requests end, for metrics and the streams' refusal counts. Must not throw. */
export interface IngestMeter {
  readonly onReply: (surface: NativeSurface, status: number) => void
  readonly onAcknowledged: (surface: NativeSurface, seconds: number, report: IngestReport) => void
  readonly onRejected: (report: IngestReport) => void
  /** `streamId` is undefined when no valid key came with it. */
  readonly onRefused: (streamId: StreamId | undefined, reason: string) => void
}

export interface NativeDeps extends IngestServices {
  readonly credentials: CredentialCache
  readonly idempotency: IdempotencyStore
  readonly meter: IngestMeter
  readonly isStopping: () => boolean
}

const NDJSON_TYPES = ['application/x-ndjson', 'application/jsonl', 'application/stream+json']

export function nativeIngestRoutes(deps: NativeDeps): Route[] {
  return [
    {
      method: 'POST',
      pattern: '/v1/ingest',
      handler: (exchange) => new NativeHandler(deps, exchange, 'native').start(),
    },
    {
      method: 'POST',
      pattern: '/v1/ingest/text',
      handler: (exchange) => new NativeHandler(deps, exchange, 'text').start(),
    },
  ]
}

/** What is read of a request's head before the handler's first call returns. */
interface Head {
  readonly contentType: string
  readonly contentEncoding: string
  /** NaN when absent. */
  readonly contentLength: number
  readonly idempotencyKey: string
}

class NativeHandler {
  readonly #deps: NativeDeps
  readonly #exchange: Exchange
  readonly #surface: NativeSurface
  readonly #startedAt = performance.now()
  #streamId: StreamId | undefined
  /** Where the error's code does not say enough. */
  #refusalReason: string | undefined

  constructor(deps: NativeDeps, exchange: Exchange, surface: NativeSurface) {
    this.#deps = deps
    this.#exchange = exchange
    this.#surface = surface
  }

  start(): void {
    const exchange = this.#exchange
    const length = exchange.header('content-length')
    const head = {
      contentType: exchange.header('content-type'),
      contentEncoding: exchange.header('content-encoding'),
      contentLength: length === '' ? Number.NaN : Number(length),
      idempotencyKey: exchange.header('idempotency-key'),
    }
    const key = exchange.header('x-api-key')
    try {
      if (this.#deps.isStopping()) throw new IngestError('unavailable', 'the service is stopping')
      const resolved = this.#deps.credentials.tryResolveKey(key)
      if (resolved === undefined) throw unauthenticated()
      if (resolved !== 'lookup') return exchange.readBody(this.#accept(resolved.stream, head))
    } catch (cause) {
      return this.#end(IngestError.from(cause, 'internal'))
    }
    this.#lookUp(key, head)
  }

  /** The credential is not cached: holds the body back while it is looked up. */
  #lookUp(key: string, head: Head): void {
    const { inFlight, credentials } = this.#deps
    const bytes = head.contentLength || 0
    try {
      inFlight.enter(bytes)
    } catch (cause) {
      // Refused whatever the key says; but if it is valid, its stream is to know.
      credentials
        .resolveKey(key)
        .then(({ stream }) => {
          this.#streamId = stream.streamId
          throw cause
        })
        .catch((error: unknown) => this.#end(IngestError.from(error, 'internal')))
      return
    }
    const held = new HeldBody(this.#exchange)
    this.#exchange.readBody(held)
    credentials
      .resolveKey(key)
      .finally(() => inFlight.leave(bytes))
      .then(({ stream }) => held.release(this.#accept(stream, head)))
      .catch((cause: unknown) => this.#end(IngestError.from(cause, 'internal')))
  }

  /** Judges the head; throws what refuses the request. */
  #accept(stream: Stream, head: Head): IngestRequest {
    this.#streamId = stream.streamId
    const kind = this.#bodyKind(mediaTypeOf(head.contentType))
    const encoding = parseContentEncoding(head.contentEncoding)
    if (head.contentLength > BODY_BYTES_MAX) throw bodyTooLarge()
    const { idempotency } = this.#deps
    const claim =
      head.idempotencyKey === ''
        ? undefined
        : claimIdempotencyKey(idempotency, stream.streamId, head.idempotencyKey)
    claim?.catch(() => undefined) // Awaited when the body has ended.
    try {
      return new IngestRequest(this.#deps, this.#exchange, {
        stream,
        kind,
        encoding,
        declaredBytes: head.contentLength || 0,
        claim,
        done: (outcome) => this.#end(outcome),
      })
    } catch (cause) {
      void claim?.then(releaseClaim, () => undefined)
      throw cause
    }
  }

  #bodyKind(mediaType: string): BodyKind {
    if (this.#surface === 'text') {
      if (mediaType === 'text/plain') return 'text'
      throw new IngestError('unsupported_media_type', 'send text as text/plain')
    }
    if (mediaType === 'application/json') return 'json'
    if (NDJSON_TYPES.includes(mediaType)) return 'ndjson'
    // Text sent where JSON is due has a reason of its own (spec, Errors 1).
    this.#refusalReason = 'plain_text_not_accepted'
    const text = `send application/json or ${NDJSON_TYPES.join(', ')}; text goes to /v1/ingest/text`
    throw new IngestError('unsupported_media_type', text)
  }

  #end(outcome: IngestReport | IngestError | OutcomeUnknownError): void {
    const exchange = this.#exchange
    const { meter } = this.#deps
    if (outcome instanceof OutcomeUnknownError) return exchange.drop()
    if (outcome instanceof IngestError) return this.#refuse(outcome)
    if (outcome.isRefused) {
      meter.onRejected(outcome)
      return this.#refuse(nothingAcceptable(outcome), {
        accepted: 0,
        rejected: outcome.rejected,
        errors: outcome.fatal === undefined ? outcome.errors : [outcome.fatal],
      })
    }
    exchange.reply({ status: 200, contentType: 'application/json', body: outcome.body })
    meter.onReply(this.#surface, 200)
    meter.onAcknowledged(this.#surface, (performance.now() - this.#startedAt) / 1000, outcome)
  }

  #refuse(error: IngestError, extra?: Readonly<Record<string, unknown>>): void {
    const isMalformed = error.code === 'malformed'
    const nothing = isMalformed ? { accepted: 0, rejected: 0, errors: [] } : undefined
    const reply = problemReply(error, extra ?? nothing)
    this.#exchange.reply(reply)
    this.#deps.meter.onReply(this.#surface, reply.status)
    this.#deps.meter.onRefused(this.#streamId, this.#refusalReason ?? error.code)
  }
}

function nothingAcceptable(report: IngestReport): IngestError {
  const first = report.fatal ?? report.errors[0]
  if (first === undefined) return new IngestError('malformed', 'the body holds no event')
  const where = `event ${first.index}, line ${first.line}: ${first.message}`
  return new IngestError('malformed', `nothing was stored; ${where}`)
}

/** Holds back a body while its credential is looked up. */
class HeldBody implements BodyConsumer {
  readonly #exchange: Exchange
  readonly #chunks: { readonly bytes: Uint8Array; readonly isLast: boolean }[] = []
  #next: BodyConsumer | undefined
  #isAborted = false

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  chunk(bytes: Uint8Array, isLast: boolean): void {
    if (this.#next !== undefined) return this.#next.chunk(bytes, isLast)
    this.#chunks.push({ bytes: Uint8Array.from(bytes), isLast })
    if (!isLast) this.#exchange.pause()
  }

  aborted(): void {
    this.#isAborted = true
    this.#next?.aborted()
  }

  /** Passes on what was held, and from now on everything. */
  release(next: BodyConsumer): void {
    this.#next = next
    if (this.#isAborted) return next.aborted()
    const isComplete = this.#chunks.at(-1)?.isLast === true
    for (const { bytes, isLast } of this.#chunks.splice(0)) next.chunk(bytes, isLast)
    if (!isComplete) this.#exchange.resume()
  }
}
