/**
 * Exact comparison with a number, whether the stored one is a 64-bit integer or a double
 * (docs/decisions/0002-projection-types.md).
 *
 * A stored integer is compared with the query's decimal digits. A stored double is compared with
 * the double nearest to them, because an event with the same digits stores that double. The
 * exception is a 64-bit integer that no double equals: an event with its digits stores an integer,
 * so it is compared with doubles exactly.
 */
import { INT64_MIN, UINT64_MAX } from '../model/int64.ts'

export type NumberOperator = '=' | '>' | '>=' | '<' | '<='

/** What the stored number must be; `undefined` where no number matches. */
export interface NumberTest {
  readonly integer: { readonly operator: '=' | '>=' | '<='; readonly value: bigint } | undefined
  readonly double: { readonly operator: NumberOperator; readonly value: number } | undefined
}

/** Precondition: `text` is a JSON number. */
export function makeNumberTest(operator: NumberOperator, text: string): NumberTest {
  const { floor, isInteger } = decimalFloor(text)
  return {
    integer: integerTest(operator, floor, isInteger),
    double: doubleTest(operator, text, floor),
  }
}

function integerTest(
  operator: NumberOperator,
  floor: bigint,
  isInteger: boolean,
): NumberTest['integer'] {
  switch (operator) {
    case '=':
      return isInteger ? { operator: '=', value: floor } : undefined
    case '>':
      return { operator: '>=', value: floor + 1n }
    case '>=':
      return { operator: '>=', value: isInteger ? floor : floor + 1n }
    case '<':
      return { operator: '<=', value: isInteger ? floor - 1n : floor }
    case '<=':
      return { operator: '<=', value: floor }
  }
}

function doubleTest(operator: NumberOperator, text: string, integer: bigint): NumberTest['double'] {
  const value = Number(text)
  const isKeptAsInteger = /^-?[0-9]+$/.test(text) && integer >= INT64_MIN && integer <= UINT64_MAX
  if (!isKeptAsInteger || BigInt(value) === integer) return { operator, value }
  if (operator === '=') return undefined
  const isAbove = BigInt(value) > integer
  if (operator === '>' || operator === '>=') return { operator: isAbove ? '>=' : '>', value }
  return { operator: isAbove ? '<' : '<=', value }
}

/** Digits before the point past which every 64-bit integer is smaller. */
const INTEGER_DIGITS = 20

/** The integer not above a JSON number; beyond 64 bits, some other integer beyond them. */
function decimalFloor(text: string): { floor: bigint; isInteger: boolean } {
  const match = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/.exec(text)!
  const isNegative = match[1] === '-'
  const fraction = match[3] ?? ''
  const digits = `${match[2]}${fraction}`.replace(/^0+/, '')
  if (digits === '') return { floor: 0n, isInteger: true }
  const shift = Number(match[4] ?? 0) - fraction.length
  const length = digits.length + shift
  const sign = isNegative ? -1n : 1n
  if (length > INTEGER_DIGITS) {
    return { floor: sign * (1n << 80n), isInteger: isWhole(digits, shift) }
  }
  const kept = length <= 0 ? '0' : digits.padEnd(length, '0').slice(0, length)
  const isInteger = isWhole(digits, shift)
  const floor = sign * BigInt(kept)
  return { floor: isNegative && !isInteger ? floor - 1n : floor, isInteger }
}

function isWhole(digits: string, shift: number): boolean {
  return shift >= 0 || /^0*$/.test(digits.slice(Math.max(0, digits.length + shift)))
}
