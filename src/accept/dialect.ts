/**
 * What differs between the ingest surfaces: how a request presents its key, what its body holds,
 * and how it is answered. Everything else is one path (`ingest-handler.ts`).
 */
import type { IngestError } from '../errors.ts'
import type { Reply } from '../http/exchange.ts'
import type { Part } from '../model/batch/accepted-batch.ts'
import type { PartResult } from '../model/batch/part-result.ts'
import type { SegmentId } from '../model/segment-id.ts'
import type { BodyKind } from './framing/body-framer.ts'
import type { IngestReport } from './ingest-report.ts'

export type IngestSurface = 'native' | 'text' | 'bulk' | 'otlp' | 'agent'

/** What a part carries to the decoder besides its bytes. */
export type PartOptions = Pick<Part, 'itemFields' | 'defaultIndex'>

export interface BodyPlan {
  readonly kind: BodyKind
  readonly partOptions?: PartOptions | undefined
  /** What the path says about the events; tells apart the requests under one Idempotency-Key. */
  readonly target?: readonly string[]
}

/** One part of a request, made durable. */
export interface PlacedPart {
  readonly result: PartResult
  /** The segments of the part's batch, in order; empty when nothing of the batch was accepted. */
  readonly segmentIds: readonly SegmentId[]
  /** Number of the part's first accepted event among the events of its batch. */
  readonly firstEvent: number
}

/** The body of a successful answer; an Idempotency-Key remembers it as text. */
export type Answer = string | Uint8Array

/** Forms of answers: a remembered answer can be given in its own form only. */
export const ANSWER_FORMS = ['native', 'text', 'bulk', 'document', 'otlp', 'agent'] as const
export type AnswerForm = (typeof ANSWER_FORMS)[number]

/** One request in the terms of its surface. Created before the handler's first call returns. */
export interface Dialect {
  readonly surface: IngestSurface
  readonly answerForm: AnswerForm
  /** The API key as presented; empty when there is none. */
  readonly apiKey: string
  /** Judges the head of a request whose key is valid. Throws the error it is refused with. */
  plan(): BodyPlan
  /** Set where an error's code does not say enough about why the request was refused. */
  readonly refusalReason?: string | undefined
  /** Judges the decoded body: the error to refuse it with, or undefined to store and answer it. */
  judge(report: IngestReport): IngestError | undefined
  answer(report: IngestReport, parts: readonly PlacedPart[]): Answer
  acceptedReply(answer: Answer): Reply
  refusedReply(error: IngestError, report: IngestReport | undefined): Reply
}
