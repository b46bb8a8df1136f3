/**
 * Strings that are RFC 3339 date-times, as times: exactly those that `tryReadTime` reads, to the
 * nanosecond. The engine's own parsers take other texts too, and round or clamp some.
 */
import type { Bound } from '../../../language/query-tree.ts'
import { bothBounds } from './both-bounds.ts'
import type { SqlParams } from './sql-params.ts'

/** Each number within its range; whether a month has that day is checked when the date is read. */
const FORM =
  '^(?:(?:19|20|21)[0-9][0-9]|22[0-5][0-9]|226[01])-' +
  '(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])[Tt ]' +
  '(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\\.[0-9]{1,9})?' +
  '(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$'
const DATE_LENGTH = 10

/** The condition that the text is a time between the bounds, of which there is at least one. */
export function timeRange(
  text: string,
  low: Bound | undefined,
  high: Bound | undefined,
  params: SqlParams,
): string {
  const ns = nanoseconds(text)
  const range = bothBounds(low, high, (operator, { value }) => {
    return `${ns} ${operator} ${params.add('Int64', String(value.timeNs))}`
  })
  const date = `substring(${text}, 1, ${DATE_LENGTH})`
  // A 30th of February is not the 2nd of March.
  const isDate = `toString(toDate32OrNull(${date})) = ${date}`
  return `(match(${text}, ${params.add('String', FORM)}) AND ${isDate} AND ${range})`
}

/** Of a text in that form: since 1970, negative before. Second 60 is the next minute's first. */
function nanoseconds(text: string): string {
  const number = (at: number, sql = text) => `toInt64OrNull(substring(${sql}, ${at}, 2))`
  const days = `toInt64(toDate32OrNull(substring(${text}, 1, ${DATE_LENGTH})))`
  const clock = `${number(12)} * 3600 + ${number(15)} * 60 + ${number(18)}`
  const zone = `substring(${text}, -6)`
  const offset =
    `if(endsWith(lower(${text}), 'z'), 0, ` +
    `(${number(2, zone)} * 3600 + ${number(5, zone)} * 60) * if(startsWith(${zone}, '-'), -1, 1))`
  const fraction = `toInt64OrZero(rightPad(extract(${text}, '[.]([0-9]+)'), 9, '0'))`
  return `((${days} * 86400 + ${clock} - ${offset}) * 1000000000 + ${fraction})`
}
