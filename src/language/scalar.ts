/** What a word or quoted text can mean besides a string. */
import { LEVELS } from '../model/event-labels.ts'
import { tryParseRfc3339 } from '../model/rfc3339.ts'
import { QueryError } from './query-error.ts'
import type { Bound, RangeKind, RangeTest, Scalar, Span } from './query-tree.ts'

/** A JSON number: no other spelling can be one in an event. */
const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

/**
 * What counts as a date-time, in queries and in events: RFC 3339 with a zone, within the range of
 * ClickHouse's 64-bit nanoseconds. A second 60 is the first second of the next minute.
 */
const TIME_YEARS = /^(?:19|20|21|22[0-5])|^226[01]/

export function tryReadTime(text: string): bigint | undefined {
  return text.length <= 35 && TIME_YEARS.test(text) ? tryParseRfc3339(text) : undefined
}

export function makeScalar(at: Span, text: string, isQuoted: boolean): Scalar {
  const isNumber = !isQuoted && NUMBER.test(text)
  const isBoolean = !isQuoted && (text === 'true' || text === 'false')
  return {
    start: at.start,
    end: at.end,
    text,
    isQuoted,
    kind: isNumber ? 'number' : isBoolean ? 'boolean' : 'string',
    timeNs: tryReadTime(text),
  }
}

/** The kind that a bound is compared as. */
function boundKind({ kind, timeNs }: Scalar): RangeKind {
  if (timeNs !== undefined) return 'time'
  return kind === 'number' ? 'number' : 'string'
}

/** Throws when the bounds are not of one kind. Precondition: one of them is not `undefined`. */
export function makeRange(at: Span, low: Bound | undefined, high: Bound | undefined): RangeTest {
  const { start, end } = at
  const of = boundKind((low ?? high)!.value)
  if (high !== undefined && boundKind(high.value) !== of) {
    const names = { number: 'a number', time: 'a date-time', string: 'text', level: 'a level' }
    throw new QueryError(
      high.value,
      `a range from ${names[of]} to ${names[boundKind(high.value)]}`,
      'both ends must be of one kind; date-times are written as 2026-01-31T00:00:00Z',
    )
  }
  return { kind: 'range', start, end, of, low, high }
}

/** The levels in a range of `_level`. */
export function levelsInRange({ low, high }: RangeTest): readonly string[] {
  const at = ({ value }: Bound) => (LEVELS as readonly string[]).indexOf(value.text)
  const isAbove = (index: number) =>
    low === undefined || index > at(low) || (low.isInclusive && index === at(low))
  const isBelow = (index: number) =>
    high === undefined || index < at(high) || (high.isInclusive && index === at(high))
  return LEVELS.filter((_, index) => isAbove(index) && isBelow(index))
}
