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
