/** What a worker made of one part, for the answer to its request. */
import type { BulkItems } from './bulk-items.ts'

/** Why one event was rejected, without its request. */
export const REJECT_CODES = ['malformed', 'not_an_object', 'too_large', 'too_deep'] as const
export type RejectCode = (typeof REJECT_CODES)[number]

export interface EventReject {
  /** Position among the part's non-empty lines or elements, from 0. */
  readonly index: number
  /** Line within the part, from 1. */
  readonly line: number
  readonly code: RejectCode
  readonly message: string
}

/** The result of one part. `firstOrdinal`..`+accepted` are its events in the segment. */
export interface PartResult {
  readonly accepted: number
  readonly rejected: number
  /** Rejected events by reason; absent reasons did not occur. */
  readonly rejectedByCode: Readonly<Partial<Record<RejectCode, number>>>
  /** Lines seen (newlines plus an unterminated last line), for numbering the next part's lines. */
  readonly lines: number
  /** Events seen, good or bad, for numbering the next part's events. */
  readonly items: number
  /** Events whose invalid UTF-8 was replaced by U+FFFD. */
  readonly repaired: number
  /**
   * Bytes of the accepted events as sent, after decompression: lines with their line end, elements
   * of an array, documents of a bulk request. For OTLP, the part's bytes count for all its records.
   */
  readonly acceptedBytes: number
  /** First `REPLY_ERRORS_MAX` rejects. */
  readonly rejects: readonly EventReject[]
  readonly warnings?: number | undefined
  /** Of the accepted events that are stored without something. */
  readonly firstWarning?: Pick<EventReject, 'index' | 'message'> | undefined
  /** Set when the whole part failed (array or document framing): nothing of it is stored. */
  readonly fatal: EventReject | undefined
  /** For a bulk part: its items of the reply. */
  readonly bulkItems?: BulkItems | undefined
}
