/** What can be computed over events, and how they are grouped for it. */

/** Levels of the quantiles by their names. */
export const QUANTILES = {
  p50: 0.5,
  p75: 0.75,
  p90: 0.9,
  p95: 0.95,
  p99: 0.99,
  'p99.9': 0.999,
} as const

export type QuantileName = keyof typeof QUANTILES

export const AGGREGATE_FUNCTIONS = [
  'count',
  'rate',
  'uniq',
  'sum',
  'avg',
  'min',
  'max',
  'p50',
  'p75',
  'p90',
  'p95',
  'p99',
  'p99.9',
] as const

/**
 * Not available in our own queries: `numbers` is how many values are numbers, `squares` the sum of
 * their squares, `quantile` one of any level, `top` the value of the event that another field, or
 * time, puts first.
 */
export type AggregateFunction =
  | (typeof AGGREGATE_FUNCTIONS)[number]
  | 'numbers'
  | 'squares'
  | 'quantile'
  | 'top'

export function isQuantile(name: AggregateFunction): name is QuantileName {
  return Object.hasOwn(QUANTILES, name)
}

/** A valid JSON number; ClickHouse also writes inf and nan. */
export const JSON_NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

/** The kinds of a value that events are grouped by. */
export const GROUP_KINDS = ['null', 'string', 'number', 'boolean', 'other'] as const
export type GroupKind = (typeof GROUP_KINDS)[number]

export interface GroupValue {
  readonly kind: GroupKind
  /**
   * A number, boolean or array as JSON has it; empty for null. An array's elements that are arrays
   * or objects among scalars are strings with their JSON. The beginning, where texts are cut.
   */
  readonly text: string
}

/** The clocks that a query's range, buckets and order may go by. */
export const TIME_BASES = ['ingested_at', 'event_time'] as const
export type TimeBasis = (typeof TIME_BASES)[number]

/** Labels of ours that events are grouped by, as paths of the payload are. */
export const LABELS = ['_stream', '_level', '_service', '_shape', '_pattern'] as const
export type Label = (typeof LABELS)[number]

/** A field that events are grouped by or counted in: a path of the payload, or a label of ours. */
export type FieldRef =
  /** `isFieldPath` holds of it. */
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'system'; readonly label: Label }

/** `count` buckets of `stepMs` from `startMs` on, one after another. */
export interface Buckets {
  readonly stepMs: number
  readonly startMs: number
  readonly count: number
  /** Where they differ in length: when each begins, and when the last one ends. */
  readonly starts?: readonly number[]
  /** As in a request: `1d`. */
  readonly step: string
  /** By whose clocks they begin: a name of IANA's list. */
  readonly timeZone: string
}

/** What more a key may say of its field. */
export interface KeyChanges {
  /** The group of events without a value. */
  readonly missing?: GroupValue
  /** Values of all kinds are texts: 1 and "1" are one group. */
  readonly isText?: boolean
  /** Groups are the numbers of steps of this size; values that are no numbers have none. */
  readonly steps?: { readonly size: number; readonly offset: number }
}

export type GroupKey =
  | (FieldRef & KeyChanges & { readonly name: string })
  | { readonly kind: 'bucket'; readonly name: string; readonly buckets: Buckets }

export interface Order {
  /** The aggregate, or with `key` the group's value, by its place in the request. */
  readonly of: 'aggregate' | 'key'
  readonly index: number
  readonly isDescending: boolean
  /** Groups without a value count as 0; else they are the last. */
  readonly noneIsZero?: boolean
}
