/**
 * Rows of groups over time, in short: a group and its times are said once, and nothing of steps
 * without events. As rows, a day by hour of eight services is 11,000 characters; so it is 1,800.
 */
import { readMemberTexts } from '../api/json-text.ts'
import type { Buckets } from '../model/aggregates.ts'
import type { AggregateRequest } from '../read/aggregate/aggregate-request.ts'
import { LEFT_OUT } from '../read/aggregate/aggregate-request.ts'
import { bucketTime } from '../read/aggregate/buckets.ts'

export const SERIES_FORM =
  'a figure is a list with a value for each step, from start; or, where shorter, an object of ' +
  'those that are not 0 or null, by the number of their step from 0'
const DIGITS = 6

/** Of `rows` of whole groups, each with a row for every bucket in turn: one object a group. */
export function seriesOf(
  rows: readonly string[],
  buckets: Buckets,
  { keys, aggregates }: Pick<AggregateRequest, 'keys' | 'aggregates'>,
): string[] {
  const groups = keys.filter(({ kind }) => kind !== 'bucket').map(({ name }) => name)
  const series: string[] = []
  for (let start = 0; start < rows.length; start += buckets.count) {
    const steps = rows.slice(start, start + buckets.count).map(readMemberTexts)
    const named = groups.flatMap((name) => {
      const value = steps[0]?.get(name)
      return value === undefined ? [] : [`${JSON.stringify(name)}:${value}`]
    })
    const figures = aggregates.map(({ name }) => {
      return `${JSON.stringify(name)}:${figure(steps.map((step) => step.get(name) ?? 'null'))}`
    })
    const leftOut = steps.some((step) => step.has(LEFT_OUT))
    const note = leftOut ? [`"${LEFT_OUT}":"in some steps values that are no numbers"`] : []
    series.push(`{${[...named, ...figures, ...note].join(',')}}`)
  }
  return series
}

/** What tells the times of all series. */
export function stepsOf(buckets: Buckets): readonly string[] {
  const zone = JSON.stringify(buckets.timeZone)
  const last = bucketTime(buckets, buckets.count - 1)
  return [
    `"start":"${bucketTime(buckets, 0)}","step":"${buckets.step}","steps":${buckets.count}`,
    `"last_step":"${last}","time_zone":${zone},"form":${JSON.stringify(SERIES_FORM)}`,
  ]
}

function figure(values: readonly string[]): string {
  const short = values.map(rounded)
  const list = `[${short.join(',')}]`
  const some = short.flatMap((value, index) => (isEmpty(value) ? [] : [`"${index}":${value}`]))
  const sparse = `{${some.join(',')}}`
  return sparse.length < list.length ? sparse : list
}

function isEmpty(value: string): boolean {
  return value === '0' || value === 'null'
}

/** Fractions are rates, means and quantiles; integers keep all their digits. */
function rounded(value: string): string {
  return /[.eE]/.test(value) && !value.startsWith('"')
    ? String(Number(Number(value).toPrecision(DIGITS)))
    : value
}
