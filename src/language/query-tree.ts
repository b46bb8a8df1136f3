/**
 * The tree of a query, for all its readers: the compiler to SQL, the evaluator over the tape, the
 * printer, explanations, the console. Its meaning: docs/language.md.
 *
 * Forms with the same meaning have the same tree: `f!=x` is a negation, `f>=5` and `f:[5 TO *]` are
 * one range, `f:(a OR b)` is two clauses, `_exists_:f` is `f:*`, `NOT NOT x` is x, and a
 * conjunction holds no conjunction of its kind. So the tree has few kinds of nodes; the printer
 * restores the short forms.
 */

/** Where a node is in the text: UTF-16 code units from 0, half-open. */
export interface Span {
  readonly start: number
  readonly end: number
}

export type Query = AllClause | Conjunction | Negation | Clause
export type Clause = FieldClause | TextClause | ElementClause

/** Every event: the empty query, `*` and `*:*`. */
export interface AllClause extends Span {
  readonly kind: 'all'
}

/** Two or more clauses, none of the same kind as this. */
export interface Conjunction extends Span {
  readonly kind: 'and' | 'or'
  readonly clauses: readonly Query[]
}

/** Every event for which `clause` is not true; never of a negation. */
export interface Negation extends Span {
  readonly kind: 'not'
  readonly clause: Query
}

export interface FieldClause extends Span {
  readonly kind: 'field'
  readonly field: Field
  readonly test: Test
}

/** A word, a phrase or a regular expression without a field: matches in any text field. */
export interface TextClause extends Span {
  readonly kind: 'text'
  readonly test: ValueTest | WildcardTest | RegexTest
}

/** One element of the array satisfies `query`, whose fields are the element's. */
export interface ElementClause extends Span {
  readonly kind: 'element'
  /** Its last part is empty. */
  readonly field: PathField
  readonly query: Query
}

export type Field = PathField | BelowField | AnyField | SystemField

/**
 * A path of the payload. `parts` are dotted paths; between two parts are an array's elements.
 * `items[].price` is `['items', 'price']`, and `tags[]` is `['tags', '']`, the element itself.
 */
export interface PathField extends Span {
  readonly kind: 'path'
  readonly parts: readonly string[]
}

/** `http.*`: some path below this one, at any depth. */
export interface BelowField extends Span {
  readonly kind: 'below'
  readonly parts: readonly string[]
}

/** `*`: some path of the payload. */
export interface AnyField extends Span {
  readonly kind: 'any'
}

export interface SystemField extends Span {
  readonly kind: 'system'
  readonly name: SystemFieldName
}

export const SYSTEM_FIELDS = [
  '_id',
  '_ingested_at',
  '_event_time',
  '_shape',
  '_pattern',
  '_level',
  '_service',
  '_trace_id',
  '_span_id',
] as const

export type SystemFieldName = (typeof SYSTEM_FIELDS)[number]

export type Test = ValueTest | WildcardTest | RegexTest | RangeTest | ExistsTest

/**
 * `f:x`, or `f=x` with `isWhole`. They differ only on text fields, where the first looks for words
 * and the second compares the whole value.
 */
export interface ValueTest extends Span {
  readonly kind: 'value'
  readonly value: Scalar
  readonly isWhole: boolean
}

export interface WildcardTest extends Span {
  readonly kind: 'wildcard'
  readonly pattern: Pattern
  readonly isWhole: boolean
}

export interface RegexTest extends Span {
  readonly kind: 'regex'
  /** RE2's syntax, `\/` replaced by `/`. */
  readonly source: string
  readonly ignoreCase: boolean
}

/** At least one bound; both have the kind `of`. */
export interface RangeTest extends Span {
  readonly kind: 'range'
  readonly of: RangeKind
  readonly low: Bound | undefined
  readonly high: Bound | undefined
}

/** `level`: only for `_level`, by severity. */
export type RangeKind = 'number' | 'time' | 'string' | 'level'

export interface Bound {
  readonly value: Scalar
  readonly isInclusive: boolean
}

/** The field has a value: it is not absent, null or `{}`. */
export interface ExistsTest extends Span {
  readonly kind: 'exists'
}

/** A word or quoted text without wildcards. */
export interface Scalar extends Span {
  /** Escapes undone. */
  readonly text: string
  readonly isQuoted: boolean
  /** `number` is a JSON number, `boolean` is `true` or `false`; quoted text is a string. */
  readonly kind: 'string' | 'number' | 'boolean'
  /** Nanoseconds since 1970 when the text is an RFC 3339 date-time with a zone, quoted or not. */
  readonly timeNs: bigint | undefined
}

/** No two literals and no two `many` in a row; at least one wildcard, but not only `many`. */
export type Pattern = readonly PatternToken[]
export type PatternToken =
  | { readonly kind: 'literal'; readonly text: string }
  /** `*`: any characters, or none. */
  | { readonly kind: 'many' }
  /** `?`: one character (code point). */
  | { readonly kind: 'one' }
