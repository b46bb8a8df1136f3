/** An aggregate's value from its parts, as JSON: a number with all its digits, or null. */
import { JSON_NUMBER } from '../../../model/aggregates.ts'
import type { PlacedParts } from './parts.ts'

/** Numbers as ClickHouse writes them, null where there is none; lists of them. */
export type PartValue = string | null | readonly string[]

export function finishAggregate(
  { fn, at, quantile }: PlacedParts,
  values: readonly PartValue[],
): string {
  const value = (name: keyof typeof at) => {
    const found = values[at[name]!]
    return typeof found === 'string' ? found : undefined
  }
  switch (fn) {
    case 'count':
    case 'rate':
      return value('count') ?? '0'
    case 'uniq':
      return value('uniq') ?? '0'
    case 'numbers':
      return value('numbers') ?? '0'
    case 'squares':
      return numberJson(value('squares'))
    case 'top':
      return value('top') || 'null'
    case 'sum':
      return sumJson(value('integers'), value('floats'))
    case 'avg': {
      const sum = Number(value('integers') ?? 0) + Number(value('floats') ?? 0)
      return numberJson(String(sum / Number(value('numbers') ?? 0)))
    }
    case 'min':
      // A value is kept as UInt64 only when it is greater than any Int64.
      return endJson(value('Int64') ?? value('UInt64'), value('Float64'), (a, b) => a <= b)
    case 'max':
      return endJson(value('UInt64') ?? value('Int64'), value('Float64'), (a, b) => a >= b)
    default: {
      const list = values[at.quantiles!]
      // Over no values the engine answers 0.
      if (value('numbers') === '0') return 'null'
      return numberJson(Array.isArray(list) ? (list as readonly string[])[quantile - 1] : undefined)
    }
  }
}

/** Integers alone are added exactly. */
function sumJson(integers: string | undefined, floats: string | undefined): string {
  if (floats === undefined) return numberJson(integers)
  return numberJson(String(Number(integers ?? 0) + Number(floats)))
}

/** Compared exactly: past 2^53 an integer is not the float that it would become. */
function endJson(
  integer: string | undefined,
  float: string | undefined,
  isFirst: (a: bigint, b: number) => boolean,
): string {
  if (integer === undefined || float === undefined) return numberJson(integer ?? float)
  return numberJson(isFirst(BigInt(integer), Number(float)) ? integer : float)
}

/** Null for what is not a JSON number: inf and nan. */
function numberJson(text: string | undefined): string {
  if (text === '-0') return '0'
  return text !== undefined && JSON_NUMBER.test(text) ? text : 'null'
}
