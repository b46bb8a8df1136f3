/** What redaction would change in stored events: what workers find and the API tells. */
import type { DamagedRead, SegmentRead } from './batch.ts'
import type { RedactionReason } from './redaction-preview.ts'

/** Events of stored segments, newest segment first, and the rules that they are looked at by. */
export interface ReviewRequest {
  readonly reads: readonly SegmentRead[]
  readonly redactFields: readonly string[]
  /** Events that do not match are only counted; undefined: all do. */
  readonly query: ReviewQuery | undefined
}

export interface ReviewQuery {
  /** A query that parses (`src/language`). */
  readonly text: string
  readonly textFields: readonly string[]
  readonly isAllText: boolean
}

export interface ReviewCounts {
  /** Events that were looked at. */
  readonly events: number
  /** Those that match the query, all without one. */
  readonly matched: number
  /** Those of them that would be changed. */
  readonly changed: number
  /** Events of which nobody knows whether they match: the query costs too much. */
  readonly undecided: number
  /** Bytes of the events that were looked at, as JSON. */
  readonly bytes: number
}

export interface ReviewedEvents extends ReviewCounts {
  readonly changes: readonly ReviewedChange[]
  /** Values at paths past the bound, which are in no change. */
  readonly valuesLeft: number
  readonly damaged: readonly DamagedRead[]
}

/** All values at one path that would change for one reason. */
export interface ReviewedChange {
  readonly path: string
  readonly reason: RedactionReason
  readonly events: number
  readonly values: number
  /** Different ones. */
  readonly samples: readonly MaskedSample[]
  /** The newest first. */
  readonly eventIds: readonly string[]
}

/** What may be told of a value that redaction would take away. */
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
