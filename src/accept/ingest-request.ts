/**
 * One native ingest request, from its first byte to its reply.
 *
 * Guarantee: a request is atomic. Nothing of it is committed before its whole body was received and
 * judged, and all of it is committed in one transaction. It is acknowledged after that, only.
 *
 * A body that arrives whole and small shares a batch with its neighbours; any other is cut into
 * batches of its own while it arrives.
 */
import { IngestError, OutcomeUnknownError } from '../errors.ts'
import type { BodyConsumer, Exchange } from '../http/exchange.ts'
import { BODY_BYTES_MAX, SMALL_BODY_BYTES_MAX } from '../limits.ts'
import type { EncodedBatch, EncodedSegment, PartResult } from '../model/batch.ts'
import type { Stream, StreamId } from '../model/stream.ts'
import type { Batcher } from './batcher.ts'
import { BodyFramer, type BodyKind } from './body-framer.ts'
import { Decompressor, type Encoding } from './decompress.ts'
import type { IdempotencyClaim } from './idempotency.ts'
import type { InFlight } from './in-flight.ts'
import { IngestReport } from './ingest-report.ts'

/** What every request shares. */
export interface IngestServices {
  readonly batcher: Batcher
  readonly inFlight: InFlight
  /** Makes the segments durable together, and the idempotent answer with them. */
  readonly commit: (
    streamId: StreamId,
    segments: readonly EncodedSegment[],
    completion?: { readonly keySha256: Uint8Array; readonly status: number; readonly body: string },
  ) => Promise<unknown>
}

export interface IngestRequestOptions {
  readonly stream: Stream
  readonly kind: BodyKind
  readonly encoding: Encoding | undefined
  /** Content-Length, 0 when unknown. */
  readonly declaredBytes: number
  /** Set when the client sent an Idempotency-Key. */
  readonly claim: Promise<IdempotencyClaim> | undefined
  /** Sends the outcome and counts it; called once, never after an abort. */
  readonly done: (outcome: IngestReport | IngestError | OutcomeUnknownError) => void
}

export class IngestRequest implements BodyConsumer {
  readonly #services: IngestServices
  readonly #exchange: Exchange
  readonly #options: IngestRequestOptions
  #countedBytes: number
  #receivedBytes = 0
  #decompressedBytes = 0
  #encodedBytes = 0
  #framer: BodyFramer | undefined
  #decompressor: Decompressor | undefined
  /** Encoded parts of a large request, in body order. */
  readonly #encoded: { readonly batch: Promise<EncodedBatch>; readonly linesBefore: number }[] = []
  #isOver = false
  /** From the commit on, the Idempotency-Key is the commit's to keep or to give back. */
  #keepsClaim = false

  /** Throws `overloaded` when the service has too much in flight. */
  constructor(services: IngestServices, exchange: Exchange, options: IngestRequestOptions) {
    this.#services = services
    this.#exchange = exchange
    this.#options = options
    services.inFlight.enter(options.declaredBytes)
    this.#countedBytes = options.declaredBytes
  }

  chunk(bytes: Uint8Array, isLast: boolean): void {
    if (this.#isOver) return
    try {
      this.#count(bytes.length)
      const isSmall = isLast && this.#receivedBytes === bytes.length
      const { encoding, claim } = this.#options
      if (isSmall && bytes.length <= SMALL_BODY_BYTES_MAX && !encoding && !claim) {
        this.#submitSmall(bytes)
      } else if (encoding !== undefined) {
        this.#decompressor ??= this.#createDecompressor(encoding)
        this.#decompressor.push(bytes)
        if (isLast) this.#decompressor.end()
      } else {
        this.#push(bytes)
        if (isLast) this.#bodyEnded()
      }
    } catch (cause) {
      this.#finish(IngestError.from(cause, 'internal'))
    }
  }

  aborted(): void {
    this.#release()
  }

  #count(bytes: number): void {
    this.#receivedBytes += bytes
    if (this.#receivedBytes > BODY_BYTES_MAX) throw bodyTooLarge()
    this.#hold(this.#receivedBytes)
  }

  /** Makes sure that at least `bytes` are counted as in flight. Throws `overloaded`. */
  #hold(bytes: number): void {
    if (bytes <= this.#countedBytes) return
    this.#services.inFlight.grow(bytes - this.#countedBytes)
    this.#countedBytes = bytes
  }

  #createDecompressor(encoding: Encoding): Decompressor {
    return new Decompressor(encoding, {
      onBytes: (bytes) => {
        try {
          this.#decompressedBytes += bytes.length
          this.#hold(this.#decompressedBytes)
          this.#push(bytes)
        } catch (cause) {
          this.#finish(IngestError.from(cause, 'internal'))
        }
      },
      onEnd: () => this.#bodyEnded(),
      onError: (error) => this.#finish(error),
      onPressure: (isHigh) => (isHigh ? this.#exchange.pause() : this.#exchange.resume()),
    })
  }

  #push(bytes: Uint8Array): void {
    const { kind, encoding, declaredBytes } = this.#options
    this.#framer ??= new BodyFramer(
      kind,
      encoding ? 0 : declaredBytes,
      this.#services.batcher.buffers,
      {
        part: (part) => {
          const batch = this.#services.batcher.encodeOwn(this.#options.stream, part)
          // It is awaited when the body has ended; a failure before that is not unhandled.
          batch.then(
            (encoded) => this.#holdEncoded(encoded),
            () => undefined,
          )
          this.#encoded.push({ batch, linesBefore: part.linesBefore })
        },
        fail: (message) => this.#finish(new IngestError('malformed', message)),
      },
    )
    this.#framer.push(bytes)
  }

  /** Blocks wait in memory until the whole request was judged: they count as well. */
  #holdEncoded(encoded: EncodedBatch): void {
    if (this.#isOver) return
    for (const { block } of encoded.segments) this.#encodedBytes += block.bytes.length
    try {
      this.#hold(this.#encodedBytes)
    } catch (cause) {
      this.#finish(IngestError.from(cause, 'internal'))
    }
  }

  /** A whole small body: no framer, no batch of its own. */
  #submitSmall(bytes: Uint8Array): void {
    const { stream, kind } = this.#options
    const report = new IngestReport()
    const part = kind === 'json' ? BodyFramer.detectWhole(bytes) : { framing: kind, bytes }
    if (part instanceof IngestError) return this.#finish(part)
    if (part.bytes.length === 0) return this.#finish(report)
    report.skipLines(part.linesBefore ?? 0)
    this.#services.batcher.submitShared(stream, part.framing, part.bytes).then(
      (result) => {
        report.add(result)
        this.#finish(report)
      },
      (cause: unknown) => this.#finishFailed(cause),
    )
  }

  #bodyEnded(): void {
    if (this.#isOver) return
    this.#framer?.end()
    if (this.#isOver) return
    this.#complete().catch((cause: unknown) => this.#finishFailed(cause))
  }

  /** Judges the whole request, then makes all of it durable at once. */
  async #complete(): Promise<void> {
    const report = new IngestReport()
    const segments: EncodedSegment[] = []
    for (const { batch, linesBefore } of this.#encoded) {
      const encoded = await batch
      const [result] = encoded.parts as readonly [PartResult]
      report.skipLines(linesBefore)
      report.add(result)
      segments.push(...encoded.segments)
    }
    const claim = await this.#options.claim
    if (this.#isOver) return
    if (claim?.kind === 'done') return this.#finish(IngestReport.remembered(claim))
    if (report.isRefused) return this.#finish(report)
    const { streamId } = this.#options.stream
    const completion = claim && { keySha256: claim.keySha256, status: 200, body: report.body }
    this.#keepsClaim = true
    try {
      await this.#services.commit(streamId, segments, completion)
    } catch (cause) {
      await claim?.release() // Keeps the key where the answer was stored after all.
      throw cause
    }
    this.#finish(report)
  }

  #finishFailed(cause: unknown): void {
    const isUnknown = cause instanceof OutcomeUnknownError
    this.#finish(isUnknown ? cause : IngestError.from(cause, 'internal'))
  }

  #finish(outcome: IngestReport | IngestError | OutcomeUnknownError): void {
    if (this.#isOver) return
    this.#release()
    this.#options.done(outcome)
  }

  /** Gives back what the request holds. Batches under way end by themselves, uncommitted. */
  #release(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#services.inFlight.leave(this.#countedBytes)
    this.#framer?.discard()
    this.#decompressor?.destroy()
    if (!this.#keepsClaim) void this.#options.claim?.then(releaseClaim, () => undefined)
  }
}

/** Gives a claimed Idempotency-Key back: its request stored nothing. */
export function releaseClaim(claim: IdempotencyClaim): void {
  if (claim.kind === 'claimed') void claim.release()
}

/** The one answer to bodies over the limit, declared or found. */
export function bodyTooLarge(): IngestError {
  return new IngestError('too_large', `body is over ${BODY_BYTES_MAX} bytes (BODY_BYTES_MAX)`)
}
