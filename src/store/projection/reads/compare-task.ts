/** What statements that compare two sides are asked, and what they answer. */
import type { Query } from '../../../language/query-tree.ts'
import type { FieldRef, GroupKind, TimeBasis } from '../../../model/aggregates.ts'
import type { EventKey } from '../../../model/event-id.ts'
import type { SourceStream } from '../../../model/field-catalog.ts'
import type { NodeMarks } from '../../../model/segment-place.ts'
import type { StreamId } from '../../../model/stream.ts'

/** Events of a range that match a query. */
export interface ComparedSide {
  /** Nanoseconds since 1970, half-open. */
  readonly fromNs: bigint
  readonly toNs: bigint
  readonly query: Query
}

/** What all statements of a comparison share. */
export interface ComparedSides {
  readonly streams: readonly SourceStream[]
  /** See `RowSourceOptions`. */
  readonly observed?: NodeMarks
  readonly timeBasis: TimeBasis
  readonly window: ComparedSide
  readonly baseline: ComparedSide
  readonly timeoutMs: number
  /** Only one granule in so many of each side is read; of ranges that overlap as many of both. */
  readonly oneIn?: BothCounts
}

/** Events are counted by a field's values, or by the steps that its numbers are in. */
export interface CompareKey {
  readonly by: 'values' | 'numbers'
  readonly field: FieldRef
}

/** Of each side. */
export interface BothCounts {
  readonly window: number
  readonly baseline: number
}

export interface ValueCount extends BothCounts {
  /** The key's place in the task. */
  readonly key: number
  readonly kind: GroupKind
  /** As `GroupValue` has it; of numbers the step: `model/number-steps.ts`. */
  readonly text: string
}

export interface ValuesTask extends ComparedSides {
  /** Those of numbers are the last. */
  readonly keys: readonly CompareKey[]
  /** The most frequent values of each key. */
  readonly limit: number
  /** Values that are rarer on both sides are left out; steps of numbers are not. */
  readonly eventsMin: number
  /** How many times as many events the baseline has. */
  readonly baselineTimes: number
}

export interface FieldKinds {
  /** Events that have a value, of those that were looked at. */
  readonly present: number
  readonly distinct: number
  /** Values that are numbers. */
  readonly numbers: number
}

export interface KindsTask extends ComparedSides {
  readonly fields: readonly FieldRef[]
}

/** What events are asked: a condition of the language, or of which stream they are. */
export type CompareCondition =
  | { readonly kind: 'query'; readonly query: Query }
  | { readonly kind: 'stream'; readonly streamId: StreamId }

export interface MasksTask extends ComparedSides {
  /** At most 30: a bit of a positive integer for each. */
  readonly conditions: readonly CompareCondition[]
  /** Into how many parts of equal length each side is cut. */
  readonly slots: number
}

export interface MaskCount {
  readonly isWindow: boolean
  /** From 0. */
  readonly slot: number
  /** A bit for each condition that these events meet. */
  readonly mask: number
  readonly count: number
  /** Some of them. */
  readonly examples: readonly EventKey[]
}

/** Groups of a statement's answer. */
export const MASK_ROWS_MAX = 20_000
