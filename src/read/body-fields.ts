/**
 * Reading the fields of a JSON body. Each reader throws `malformed` with the field's name and its
 * limit; a value is never repeated in a message, as it may be a secret.
 */
import { malformed } from '../errors.ts'
import { FIELD_PATH_BYTES_MAX, NAME_CHARS_MAX } from '../limits.ts'
import { tryParseRfc3339 } from '../model/rfc3339.ts'

export type BodyFields = Readonly<Record<string, unknown>>

/**
 * Control and format characters (zero width, direction), fillers and selectors that show nothing,
 * every space but U+0020, the Braille blank, and halves of pairs.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u

/**
 * A name that people read and tell apart from others: no invisible characters, no space at its
 * ends; normalised to Unicode's form NFC, so that names that look the same are the same.
 */
export function readName(name: string, value: unknown): string {
  if (typeof value !== 'string') throw malformed(`"${name}" must be a string`)
  if (value.trim() === '') throw malformed(`"${name}" must not be blank`)
  return checkText(name, value.normalize('NFC'))
}

/** Like `readName`, but an absent or blank name becomes an empty text. */
export function readOptionalName(name: string, value: unknown): string {
  return value === undefined || value === '' ? '' : readName(name, value)
}

/** Whether `path` is longer than any path that is learned. */
export function isPathTooLong(path: string): boolean {
  return path.length > FIELD_PATH_BYTES_MAX || Buffer.byteLength(path) > FIELD_PATH_BYTES_MAX
}

/** An RFC 3339 time in nanoseconds since 1970. */
export function readTime(name: string, value: unknown): bigint {
  const ns = typeof value === 'string' ? tryParseRfc3339(value) : undefined
  if (ns !== undefined) return ns
  throw malformed(`"${name}" must be an RFC 3339 time such as "2026-01-31T12:00:00Z"`)
}

function checkText(name: string, value: string): string {
  if (value.length > NAME_CHARS_MAX) {
    const limit = `NAME_CHARS_MAX (${NAME_CHARS_MAX})`
    throw malformed(`"${name}" is ${value.length} characters, over ${limit}`)
  }
  const unseen = UNSEEN.exec(value)
  if (unseen !== null) {
    throw malformed(`"${name}" must not hold ${nameOf(unseen[0])} (at character ${unseen.index})`)
  }
  if (value.startsWith(' ') || value.endsWith(' ')) {
    throw malformed(`"${name}" must not begin or end with a space (U+0020)`)
  }
  return value
}

function nameOf(character: string): string {
  const code = character.codePointAt(0) ?? 0
  return `the character U+${code.toString(16).toUpperCase().padStart(4, '0')}`
}
