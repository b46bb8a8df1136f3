/**
 * Which values of a field equal the one that a request names. One meaning for all who compare:
 * queries over the projection, and workers that look at stored events.
 */

/** A value that a field is compared with. A number comes as its JSON text, so no digit is lost. */
export type FieldValue =
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'null' }

/** Events whose field has that value. Precondition: `isFieldPath(field)`. */
export interface FieldFilter {
  readonly field: string
  readonly equals: FieldValue
}

export const INT64_MIN = -(1n << 63n)
export const INT64_MAX = (1n << 63n) - 1n
export const UINT64_MAX = (1n << 64n) - 1n

/**
 * The values that equal a JSON number: as an integer when it is one, and as the float that is kept
 * of a number written so. That is the nearest one for what has a fraction or an exponent and for
 * integers past 64 bits. 9007199254740993 is kept as an integer and must not find a neighbour.
 */
export function readNumber(text: string): { integer?: bigint; float?: number } {
  const value = Number(text)
  const integer = tryParseInteger(text)
  if (integer === undefined) return Number.isFinite(value) ? { float: value } : {}
  if (!Number.isFinite(value)) return { integer }
  const isKeptAsFloat = /[.eE]/.test(text) || integer < INT64_MIN || integer > UINT64_MAX
  return isKeptAsFloat || BigInt(value) === integer ? { integer, float: value } : { integer }
}

/** The integer that a JSON number such as `12`, `12.0` or `1.2e1` is. */
function tryParseInteger(text: string): bigint | undefined {
  const match = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,9}))?$/.exec(text)
  if (match === null) return undefined
  const fraction = match[3] ?? ''
  const digits = `${match[2]}${fraction}`
  const shift = Number(match[4] ?? 0) - fraction.length
  if (/^0+$/.test(digits)) return 0n
  // Past 64 bits it equals no stored integer; more zeros would only cost memory.
  if (shift > 40) return undefined
  const kept = shift >= 0 ? digits + '0'.repeat(shift) : digits.slice(0, shift)
  if (shift < 0 && !/^0*$/.test(digits.slice(shift))) return undefined
  return BigInt(`${match[1]}${kept === '' ? '0' : kept}`)
}
