/**
 * One ingest request's body, from its first byte to its outcome.
 *
 * Guarantee: a request is atomic. Nothing of it is committed before its whole body has been
 * received and judged, and all of it is committed in one transaction. Only then is it acknowledged.
 *
 * A body that arrives whole and small shares a batch with its neighbours; any other is cut into
 * batches of its own while it arrives.
 */
import { IngestError, OutcomeUnknownError } from '../../errors.ts'
import type { BodyConsumer } from '../../http/exchange.ts'
import type { InFlightRequest } from '../../http/in-flight.ts'
import { BODY_AHEAD_BYTES, BODY_BYTES_MAX, SMALL_BODY_BYTES_MAX } from '../../limits.ts'
import type { EncodedBatch } from '../../model/batch/encoded-batch.ts'
import {
  assertKeepable,
  assertSameRequest,
  type IdempotencyClaim,
  type RequestFingerprint,
  rememberedAnswer,
} from '../admission/idempotency.ts'
import { placeParts } from '../batching/commit-parts.ts'
import { failureOf } from '../batching/failure.ts'
import { type HeldBatch, HeldBatches } from '../batching/held-batches.ts'
import type { Client } from '../batching/shared-batch.ts'
import type { Answer, BodyPlan, BodySource, CommittedPart, Dialect, Sender } from '../dialect.ts'
import type { FramedPart, Framer } from '../framing/body-framer.ts'
import { Decompressor, type Encoding, tryDecompressSmall } from '../framing/decompress.ts'
import { IngestReport } from '../ingest-report.ts'
import type { IngestServices, Outcome } from './ingest-services.ts'

export interface IngestRequestOptions {
  readonly sender: Sender
  readonly plan: BodyPlan
  readonly dialect: Pick<Dialect, 'judge' | 'answer' | 'replyFormat'>
  readonly encoding: Encoding | undefined
  /** Content-Length, 0 when unknown. */
  readonly declaredBytes: number
  /** Set when the client sent an Idempotency-Key. */
  readonly idempotency:
    | { readonly claim: Promise<IdempotencyClaim>; readonly fingerprint: RequestFingerprint }
    | undefined
  /** Sends the outcome and counts it; called once, never after an abort. Must not throw. */
  readonly done: (outcome: Outcome, receivedBytes: number) => void
}

export class IngestRequest implements BodyConsumer, Client {
  readonly #services: IngestServices
  readonly #source: BodySource
  readonly #options: IngestRequestOptions
  readonly #room: InFlightRequest
  readonly #held: HeldBatches
  #receivedBytes = 0
  #decompressedBytes = 0
  #framer: Framer | undefined
  #decompressor: Decompressor | undefined
  /** Encoded parts of a large request, in body order. */
  readonly #encoded: { readonly batch: Promise<HeldBatch>; readonly linesBefore: number }[] = []
  #isOver = false
  /** Once set, the commit owns what was encoded, and the Idempotency-Key. */
  #isCommitting = false

  /** Throws `overloaded` when the service has too much in flight. */
  constructor(services: IngestServices, source: BodySource, options: IngestRequestOptions) {
    this.#services = services
    this.#source = source
    this.#options = options
    this.#held = new HeldBatches(services.batcher.buffers)
    const bytes = Math.min(options.declaredBytes, BODY_AHEAD_BYTES)
    this.#room = services.inFlight.enter(bytes, (error) => this.#finish(error))
  }

  chunk(bytes: Uint8Array, isLast: boolean): void {
    if (this.#isOver) return
    try {
      this.#count(bytes.length, isLast)
      const { encoding } = this.#options
      const whole = isLast ? this.#tryWhole(bytes) : undefined
      if (whole !== undefined) {
        this.#submitSmall(whole)
      } else if (encoding !== undefined) {
        this.#decompressor ??= this.#createDecompressor(encoding)
        this.#decompressor.push(bytes)
        this.#hold()
        if (isLast) this.#decompressor.end()
      } else {
        this.#push(bytes)
        if (isLast) this.#bodyEnded()
      }
    } catch (cause) {
      this.#finish(failureOf(cause))
    }
  }

  aborted(): void {
    this.#release()
    this.#discard()
  }

  /** Answered, or given up. */
  get isOver(): boolean {
    return this.#isOver
  }

  get isAdmitted(): boolean {
    return this.#options.sender.isCurrent()
  }

  confirm(): Promise<void> {
    return this.#options.sender.confirm()
  }

  /** The body, if it is small and came in one piece, without an Idempotency-Key. */
  #tryWhole(bytes: Uint8Array): Uint8Array | undefined {
    const { encoding, idempotency } = this.#options
    if (this.#receivedBytes !== bytes.length || idempotency !== undefined) return undefined
    if (encoding === undefined) return bytes.length <= SMALL_BODY_BYTES_MAX ? bytes : undefined
    const whole = tryDecompressSmall(encoding, bytes)
    if (whole === undefined) return undefined
    this.#decompressedBytes = whole.length
    this.#hold()
    return whole
  }

  #count(bytes: number, isLast: boolean): void {
    this.#receivedBytes += bytes
    if (this.#receivedBytes > BODY_BYTES_MAX) throw bodyTooLarge()
    this.#room.received(bytes, isLast)
    this.#hold()
  }

  /** Counts bytes that are or soon will be in memory as in flight. Throws `overloaded`. */
  #hold(): void {
    const received = this.#receivedBytes
    const expected = Math.min(this.#options.declaredBytes, 2 * received + BODY_AHEAD_BYTES)
    const bytes = Math.max(received, expected, this.#decompressedBytes, this.#held.bytes)
    this.#room.hold(bytes + (this.#decompressor?.heldBytes ?? 0))
  }

  #createDecompressor(encoding: Encoding): Decompressor {
    return new Decompressor(encoding, {
      onBytes: (bytes) => {
        try {
          this.#decompressedBytes += bytes.length
          this.#hold()
          this.#push(bytes)
        } catch (cause) {
          this.#finish(failureOf(cause))
        }
      },
      onEnd: () => this.#bodyEnded(),
      onError: (error) => this.#finish(error),
      onPressure: (isHigh) => this.#press(isHigh),
    })
  }

  #press(isHigh: boolean): void {
    if (isHigh) this.#room.paused()
    else this.#room.resumed()
    if (isHigh) this.#source.pause()
    else this.#source.resume()
  }

  #push(bytes: Uint8Array): void {
    this.#framer ??= this.#createFramer()
    this.#options.idempotency?.fingerprint.update(bytes)
    this.#framer.push(bytes)
  }

  #createFramer(): Framer {
    const { plan, encoding, sender } = this.#options
    const { stream } = sender
    const declaredBytes = encoding ? 0 : this.#options.declaredBytes
    const { batcher } = this.#services
    const sink = {
      part: (part: FramedPart) => {
        const bytes = part.end
        this.#room.queued(bytes)
        const batch = batcher
          .encodeOwn(stream, part, plan, this)
          .finally(() => this.#room.unqueued(bytes))
          .then((each) => this.#holdEncoded(each))
        batch.catch((cause: unknown) => this.#finishFailed(cause))
        this.#encoded.push({ batch, linesBefore: part.linesBefore })
      },
      fail: (error: IngestError) => this.#finish(error),
    }
    return plan.format.createFramer(declaredBytes, batcher.buffers, sink)
  }

  /** Blocks and items wait in memory until the whole request is judged, so they count as well. */
  #holdEncoded(encoded: EncodedBatch | undefined): HeldBatch {
    if (encoded === undefined) return NOTHING
    const batch = this.#held.add(encoded)
    if (this.#isOver) {
      this.#held.discard()
      return NOTHING
    }
    const error = this.#held.judge(this.#services.inFlight.bytesMax)
    if (error !== undefined) {
      this.#finish(error)
      return batch
    }
    try {
      if (!this.#tryHoldBlocks()) this.#hold()
    } catch (cause) {
      this.#finish(failureOf(cause))
    }
    return batch
  }

  /** False when there is no room for the blocks, which are dropped then. */
  #tryHoldBlocks(): boolean {
    if (!this.#held.keepsBlocks) return false
    try {
      this.#hold()
      return true
    } catch {
      this.#held.dropBlocks()
      return false
    }
  }

  /** A whole small body: no framer, no batch of its own. */
  #submitSmall(bytes: Uint8Array): void {
    const { sender, plan } = this.#options
    const report = new IngestReport()
    const part = plan.format.whole(bytes, plan.partOptions)
    if (part instanceof IngestError) return this.#finish(part)
    if (part.bytes.length === 0) return this.#finishJudged(report, [])
    report.skipLines(part.linesBefore ?? 0)
    if (part.itemBytes !== undefined) this.#room.hold(this.#room.bytes + part.itemBytes)
    const placed = this.#services.batcher.submitShared(sender.stream, part, plan, this)
    const queuedBytes = bytes.length // The network takes `bytes` back.
    this.#room.queued(queuedBytes)
    const told = (place: CommittedPart) => {
      this.#room.unqueued(queuedBytes)
      report.add(place.result)
      this.#finishJudged(report, [place])
    }
    const failed = (cause: unknown) => {
      this.#room.unqueued(queuedBytes)
      this.#finishFailed(cause)
    }
    placed.then(told, failed).catch((cause: unknown) => this.#finishFailed(cause))
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
    const batches: HeldBatch[] = []
    for (const { batch, linesBefore } of this.#encoded) {
      const encoded = await batch
      if (this.#isOver) return
      report.skipLines(linesBefore)
      report.add(encoded.parts[0]!)
      batches.push(encoded)
    }
    const claim = await this.#options.idempotency?.claim
    // The body may have taken long to arrive: check that its key is still valid.
    if (!this.isAdmitted) await this.confirm()
    if (this.#isOver) return
    const fingerprint = this.#options.idempotency?.fingerprint.digest()
    if (claim?.kind === 'done') {
      assertSameRequest(claim.fingerprint, fingerprint!)
      return this.#finish({ kind: 'accepted', answer: claim.answer, report: undefined })
    }
    if (claim !== undefined) assertKeepable(this.#held.itemBytes)
    const { dialect, sender } = this.#options
    const isEmpty = batches.every(({ segments }) => segments.length === 0)
    if (isEmpty || dialect.judge(report) !== undefined) {
      return this.#finishJudged(report, placeParts(batches, []))
    }
    // Sends the remembered answer itself: made a second time, it could hold another duration.
    let remembered: string | undefined
    const completion = claim && {
      keySha256: claim.keySha256,
      fingerprint: fingerprint!,
      status: 200,
      body: (parts: readonly CommittedPart[]) => {
        remembered = asText(dialect.answer(report, parts))
        return rememberedAnswer(dialect.replyFormat, remembered)
      },
    }
    this.#isCommitting = true
    let placed: readonly CommittedPart[]
    try {
      placed = await this.#services.batcher.commitOwn(sender.stream, batches, completion)
    } catch (cause) {
      await claim?.release() // Keeps the key if the answer was stored after all.
      throw cause
    }
    if (remembered !== undefined) {
      return this.#finish({ kind: 'accepted', answer: remembered, report })
    }
    this.#finishJudged(report, placed)
  }

  #finishJudged(report: IngestReport, parts: readonly CommittedPart[]): void {
    if (this.#isOver) return
    const { dialect } = this.#options
    const error = dialect.judge(report)
    if (error !== undefined) return this.#finish({ kind: 'refused', error, report })
    this.#finish({ kind: 'accepted', answer: dialect.answer(report, parts), report })
  }

  #finishFailed(cause: unknown): void {
    const isUnknown = cause instanceof OutcomeUnknownError
    this.#finish(isUnknown ? cause : IngestError.from(cause, 'internal'))
  }

  #finish(outcome: Outcome): void {
    if (this.#isOver) return
    this.#release()
    const isOwnAnswer = 'kind' in outcome && outcome.kind === 'accepted' && outcome.report
    if (!isOwnAnswer) this.#discard()
    this.#options.done(outcome, this.#receivedBytes)
  }

  /** Gives back what the request holds, except what is on its way through the pool. */
  #release(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#room.leave()
    this.#framer?.discard()
    this.#decompressor?.destroy()
    if (!this.#isCommitting) {
      void this.#options.idempotency?.claim.then(releaseClaim, () => undefined)
    }
  }

  /** Drops what was encoded: no answer will need it. */
  #discard(): void {
    if (!this.#isCommitting) this.#held.discard()
  }
}

/** Stands for the parts of a request that is over. */
const NOTHING: HeldBatch = { segments: [], parts: [] }

function asText(answer: Answer): string {
  return typeof answer === 'string' ? answer : Buffer.from(answer).toString()
}

/** Gives a claimed Idempotency-Key back: its request stored nothing. */
export function releaseClaim(claim: IdempotencyClaim): void {
  if (claim.kind === 'claimed') void claim.release()
}

/** The one answer to bodies over the limit, whether declared so or found so. */
export function bodyTooLarge(): IngestError {
  return new IngestError('too_large', `body is over ${BODY_BYTES_MAX} bytes (BODY_BYTES_MAX)`)
}
