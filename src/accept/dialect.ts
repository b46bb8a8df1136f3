/**
 * What differs between the ingest surfaces: who sends a request, what its body holds, and how it is
 * answered. Everything else is one path (`request/ingest.ts`), which knows no protocol.
 */
import type { IngestError } from '../errors.ts'
import type { BodyConsumer, Reply } from '../http/exchange.ts'
import type { PartResult } from '../model/batch/part-result.ts'
import type { SegmentId } from '../model/segment-id.ts'
import type { Stream } from '../model/stream.ts'
import type { BodyFormat } from './framing/body-format.ts'
import type { IngestReport } from './ingest-report.ts'

export interface BodyPlan {
  readonly format: BodyFormat
  /** What every part tells its decoder, where its framer says nothing. */
  readonly partOptions?: object | undefined
  /** The answer has items that workers write. */
  readonly hasItems?: boolean
  /** A Content-Encoding that its decoder undoes. */
  readonly ownEncoding?: string
  /** What the path says about the events; tells apart the requests under one Idempotency-Key. */
  readonly target?: readonly string[]
}

/** One part of a request, made durable. */
export interface CommittedPart {
  readonly result: PartResult
  /** The segments of the part's batch, in order; empty when nothing of the batch was accepted. */
  readonly segmentIds: readonly SegmentId[]
  /** Number of the part's first accepted event among the events of its batch. */
  readonly firstEvent: number
}

/** The body of a successful answer; an Idempotency-Key remembers it as text. */
export type Answer = string | Uint8Array

/** One request in the terms of its surface. */
export interface Dialect {
  /** Its name in metrics. */
  readonly surface: string
  /** Names the form of its answers: one that is remembered can be given in its own form only. */
  readonly replyFormat: string
  /** Judges the head of a request whose sender is known. Throws the error it is refused with. */
  plan(): BodyPlan
  /** Set where an error's code does not say enough about why the request was refused. */
  readonly refusalReason?: string | undefined
  /** Judges the decoded body: the error to refuse it with, or undefined to store and answer it. */
  judge(report: IngestReport): IngestError | undefined
  answer(report: IngestReport, parts: readonly CommittedPart[]): Answer
}

/** A dialect over HTTP. Created before the handler's first call returns. */
export interface HttpDialect extends Dialect {
  /** The API key as presented; empty when there is none. */
  readonly apiKey: string
  acceptedReply(answer: Answer): Reply
  refusedReply(error: IngestError, report: IngestReport | undefined): Reply
}

/** Who sends, once that is known. */
export interface Sender {
  readonly stream: Stream
  /** The API key's; undefined where none was needed. */
  readonly keyId?: number | undefined
  /** False when the right to send may have ended since; `confirm` then asks. */
  isCurrent(): boolean
  /** Rejects when nothing of the sender may be stored any more. */
  confirm(): Promise<void>
}

/** Where a body comes from: an HTTP exchange, or what `wholeBody` makes of bytes. */
export interface BodySource {
  /** Gives the body to the consumer, at once or as it arrives. */
  readBody(consumer: BodyConsumer): void
  /** Stops and resumes what arrives (back-pressure). */
  pause(): void
  resume(): void
}

/** A body that is there already. */
export function wholeBody(bytes: Uint8Array): BodySource {
  const nothing = () => undefined
  return { readBody: (to) => to.chunk(bytes, true), pause: nothing, resume: nothing }
}

/** Where the answer goes. Each returns the status that metrics count it under. */
export interface Responder {
  accept(answer: Answer): number
  refuse(error: IngestError, report: IngestReport | undefined): number
  /** Nobody knows whether it was stored: ends without an answer. */
  drop(): void
}

/** An Idempotency-Key as the request presents it. */
export interface PresentedKey {
  readonly lines: number
  readonly value: string
}

/** One request as the core takes it. */
export interface Arrival {
  readonly dialect: Dialect
  readonly responder: Responder
  /** The API key as presented, empty without one; or the sender, where no key says who that is. */
  readonly sender: string | Sender
  readonly body: BodySource
  /** Length of the body as it is sent; NaN when unknown. */
  readonly contentLength: number
  /** As HTTP names it; empty when it is not compressed. */
  readonly contentEncoding: string
  readonly idempotencyKey: PresentedKey | undefined
  /** How many events the body has, where that is known before it is judged. */
  readonly events?: number
}
