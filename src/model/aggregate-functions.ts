/** What can be computed over the events of a group. */

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

/** `numbers`: how many values are numbers; not available in queries. */
export type AggregateFunction = (typeof AGGREGATE_FUNCTIONS)[number] | 'numbers'

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
