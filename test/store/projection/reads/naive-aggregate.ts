/** What an aggregating query answers, computed plainly from the events. */
import { type AggregateFunction, isQuantile, QUANTILES } from '../../../../src/model/aggregates.ts'

export interface PlainEvent {
  readonly stream: number
  readonly ms: number
  readonly level: string
  /** JSON texts of values by top-level names. */
  readonly fields: Readonly<Record<string, string>>
}

/** A value as a group shows it: equal values are equal texts. `null` for what is no value. */
export function groupText(json: string | undefined): string {
  if (json === undefined || json === 'null' || json === '{}') return 'null'
  if (json.startsWith('[')) return `other ${json}`
  const number = numberOf(json)
  return number === undefined ? json : String(number)
}

/** Exactly: a bigint for what is whole and has 64 bits, a float for other numbers. */
function numberOf(json: string): bigint | number | undefined {
  if (!/^-?[0-9]/.test(json)) return undefined
  if (/^-?[0-9]+$/.test(json)) {
    const whole = BigInt(json)
    if (whole >= -(2n ** 63n) && whole < 2n ** 64n) return whole
  }
  const float = Number(json)
  return Number.isInteger(float) && Math.abs(float) < 2 ** 64 ? BigInt(float) : float
}

/** As the projection has it: whether it was written as a float counts for sums. */
function isFloat(json: string): boolean {
  return !/^-?[0-9]+$/.test(json)
}

/** JSON of one aggregate over the events of a group. */
export function naiveAggregate(
  fn: AggregateFunction,
  values: readonly (string | undefined)[] | undefined,
  events: number,
): string {
  if (values === undefined) return String(events)
  const present = values.filter((json) => groupText(json) !== 'null') as string[]
  const numbers = present.flatMap((json) => {
    const value = numberOf(json)
    return value === undefined ? [] : [{ value, float: isFloat(json), json }]
  })
  const floats = numbers.map(({ value }) => Number(value)).sort((a, b) => a - b)
  switch (fn) {
    case 'count':
    case 'rate':
      return String(present.length)
    case 'uniq':
      return String(new Set(present.map(groupText)).size)
    case 'sum':
      if (numbers.length === 0) return 'null'
      if (numbers.some(({ float }) => float)) return String(floats.reduce((a, b) => a + b, 0))
      return String(numbers.reduce((sum, { value }) => sum + BigInt(value), 0n))
    case 'avg':
      if (numbers.length === 0) return 'null'
      return String(floats.reduce((a, b) => a + b, 0) / numbers.length)
    case 'min':
    case 'max': {
      const sign = fn === 'min' ? 1 : -1
      const [first] = numbers.toSorted((a, b) => (a.value < b.value ? -sign : sign))
      return first === undefined ? 'null' : String(first.value)
    }
    default: {
      if (!isQuantile(fn) || floats.length === 0) return 'null'
      return String(floats[Math.floor(QUANTILES[fn] * floats.length)])
    }
  }
}

/** How many values are there and are no numbers. */
export function naiveLeftOut(values: readonly (string | undefined)[]): number {
  const present = values.filter((json) => groupText(json) !== 'null') as string[]
  return present.filter((json) => numberOf(json) === undefined).length
}
