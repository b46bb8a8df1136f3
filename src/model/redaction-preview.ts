/** What redaction would make of a sample, and why. */
export interface RedactionPreview {
  /** JSON. */
  readonly redacted: string
  readonly changes: readonly {
    /** Dotted, `[]` for the elements of an array; empty for a sample that is a string. */
    readonly path: string
    /** `denylisted_key`, `redact_field`, `raw_cleared` or `secret_value:<kind>`. */
    readonly reason: string
  }[]
}
