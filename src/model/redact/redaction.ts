import type { DamagedRead, SegmentRead } from '../batch/segment-read.ts'

/** Events of stored segments, newest segment first, and the rules to apply to them. */
export interface ReviewRequest {
  readonly reads: readonly SegmentRead[]
  readonly redactFields: readonly string[]
  /** Events that do not match are only counted; undefined: all match. */
  readonly query: ReviewQuery | undefined
}

export interface ReviewQuery {
  /** A valid query (`src/language`). */
  readonly text: string
  /** The stream's setting. */
  readonly textFields: readonly string[]
}

export interface ReviewCounts {
  /** Events that were examined. */
  readonly events: number
  /** Those that match the query; without a query, all. */
  readonly matched: number
  /** Those of them that would be changed. */
  readonly changed: number
  /** Events that may or may not match: the query costs too much. */
  readonly undecided: number
  /** Bytes of the examined events, as JSON. */
  readonly bytes: number
}

export interface ReviewedEvents extends ReviewCounts {
  readonly changes: readonly ReviewedChange[]
  /** Values at paths past the bound, which are not listed as changes. */
  readonly valuesLeft: number
  readonly damaged: readonly DamagedRead[]
}

/** All values at one path that would change for one reason. */
export interface ReviewedChange {
  readonly path: string
  readonly reason: RedactionReason
  readonly events: number
  readonly values: number
  /** Distinct values. */
  readonly samples: readonly MaskedSample[]
  /** The newest first. */
  readonly eventIds: readonly string[]
}

/** What may be shown of a value that redaction would remove. */
export interface MaskedSample {
  readonly type: 'string' | 'number' | 'boolean' | 'object' | 'array'
  /** `***`, with the first two characters before it when the value is long. */
  readonly masked: string
  /** Bytes of the value's text, as a class such as `17-32`. */
  readonly length: string
  readonly characters: SampleCharacters
}

export type SampleCharacters =
  | 'digits'
  | 'hexadecimal'
  | 'letters'
  | 'letters_and_digits'
  | 'words'
  | 'other'

/** What redaction would make of a sample, and why. */
export interface RedactionPreview {
  /** JSON. */
  readonly redacted: string
  readonly changes: readonly RedactionChange[]
}

export interface RedactionChange {
  /** Dotted, `[]` for the elements of an array; empty for a sample that is a string. */
  readonly path: string
  readonly reason: RedactionReason
}

export type RedactionReason =
  | 'denylisted_key'
  | 'redact_field'
  | 'raw_cleared'
  | `secret_value:${string}`
