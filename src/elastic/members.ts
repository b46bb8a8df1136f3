/**
 * Members of a request's JSON. What is not understood is refused, and the reason names the place:
 * people read it in the panel that asked.
 */
import { IngestError } from '../errors.ts'

export type Members = Readonly<Record<string, unknown>>

/** Where messages show at most so many characters of a name that was sent. */
const NAME_CHARS_MAX = 64

/** `type` is Elasticsearch's name for what is wrong. */
export function refused(reason: string, type = 'illegal_argument_exception'): IngestError {
  return new IngestError('malformed', reason, { members: { type } })
}

/** `[terms] has no member "x"`. */
export function unknownMember(where: string, name: string): IngestError {
  return refused(`${where}: ${shown(name)} is not supported`, 'parsing_exception')
}

export function shown(name: string): string {
  return JSON.stringify(name.slice(0, NAME_CHARS_MAX))
}

export function readObject(value: unknown, where: string): Members {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Members
  throw refused(`${where} must be an object`, 'parsing_exception')
}

/** Of `value`, which may have no other members than these. Null is absent. */
export function readMembers(value: unknown, where: string, known: readonly string[]): Members {
  const given = readObject(value, where)
  const members: Record<string, unknown> = {}
  for (const [name, one] of Object.entries(given)) {
    if (!known.includes(name)) throw unknownMember(where, name)
    if (one !== null) members[name] = one
  }
  return members
}

/** The one member of `value`: `{"terms": …}`. */
export function readOnly(value: unknown, where: string): readonly [name: string, value: unknown] {
  const entries = Object.entries(readObject(value, where))
  const [first] = entries
  if (first !== undefined && entries.length === 1) return first
  throw refused(`${where} must be an object with one member`, 'parsing_exception')
}

export function readText(value: unknown, where: string): string {
  if (typeof value === 'string') return value
  throw refused(`${where} must be a string`)
}

export function readFlag(value: unknown, where: string): boolean {
  if (value === true || value === 'true') return true
  if (value === false || value === 'false') return false
  throw refused(`${where} must be true or false`)
}

/** Also of a string, as forms send numbers. */
export function readNumber(value: unknown, where: string): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  if (typeof number === 'number' && Number.isFinite(number)) return number
  throw refused(`${where} must be a number`)
}

export function readInteger(
  value: unknown,
  where: string,
  { min, max, limit }: { readonly min: number; readonly max: number; readonly limit?: string },
): number {
  const number = readNumber(value, where)
  if (Number.isInteger(number) && number >= min && number <= max) return number
  const of = limit === undefined ? '' : ` (${limit})`
  throw refused(`${where} must be an integer from ${min} to ${max}${of}`)
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value]
}

/** The text of a scalar, with the digits that it was sent with. */
export function readScalar(value: unknown, where: string): string {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'number') {
    if (!Number.isInteger(value) || Number.isSafeInteger(value)) return String(value)
    throw refused(`${where} is past the integers that are exact: send it as a string`)
  }
  throw refused(`${where} must be a string, a number or a boolean`, 'parsing_exception')
}

/** An object, or a list, without anything in it. */
export function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}
