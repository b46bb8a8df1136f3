/**
 * Checks what a client sent against a route's schemas. The error names the first fault's place, the
 * rule and the kind of the value; never the value itself, as it may be a secret.
 */
import { IngestError, malformed } from '../errors.ts'
import type { ArraySchema, NumberSchema, ObjectSchema, Schema, StringSchema } from './schema.ts'

/** How many unknown names a message repeats, and how much of each. */
const NAMES_SHOWN_MAX = 10
const NAME_SHOWN_CHARS_MAX = 64

/** Throws `malformed` unless `body` fits `schema`. */
export function checkBody(schema: Schema, body: unknown): void {
  check(schema, body, undefined)
}

/**
 * The parameters of a URL, with numbers and booleans converted as their schemas say. Throws
 * `malformed` for one that is unknown, given twice, missing, or does not fit its schema.
 */
export function readQueryString(
  { properties, required = [] }: Pick<ObjectSchema, 'properties' | 'required'>,
  query: URLSearchParams,
): Readonly<Record<string, unknown>> {
  const values: Record<string, unknown> = {}
  for (const [name, text] of query) {
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (schema === undefined) throw unknownNames('parameter', [name], Object.keys(properties))
    if (Object.hasOwn(values, name)) throw malformed(`parameter "${name}" is given twice`)
    const value = fromText(schema, text)
    check(schema, value, `"${name}"`)
    values[name] = value
  }
  const missing = required.find((name) => !Object.hasOwn(values, name))
  if (missing !== undefined) throw malformed(`parameter "${missing}" is required`)
  return values
}

/** A boolean or an integer where the schema wants one and `text` is one; else `text` itself. */
function fromText(schema: Schema, text: string): unknown {
  if (schema.type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  if (schema.type !== 'integer') return text
  return /^(?:0|-?[1-9][0-9]{0,14})$/.test(text) ? Number(text) : text
}

/** `where` is the place as messages show it; undefined means the body itself. */
function check(schema: Schema, value: unknown, where: string | undefined): void {
  if (schema.anyOf !== undefined) {
    if (schema.anyOf.some((one) => fits(one, value, where))) return
    // When one form has the value's kind, the message says what is wrong with that form.
    const meant = schema.anyOf.find((one) => kindFits(one, value))
    if (meant === undefined) throw mustBe(schema, value, where)
    return check(meant, value, where)
  }
  if (schema.type === undefined) return
  if (!kindFits(schema, value)) throw mustBe(schema, value, where)
  if (schema.type === 'object') checkObject(schema, value as Record<string, unknown>, where)
  else if (schema.type === 'array') checkArray(schema, value as readonly unknown[], where)
  else if (schema.type === 'string') checkString(schema, value as string, where)
  else if (schema.type === 'integer' || schema.type === 'number') {
    checkNumber(schema, value as number, where)
  }
}

function fits(schema: Schema, value: unknown, where: string | undefined): boolean {
  try {
    check(schema, value, where)
    return true
  } catch (cause) {
    if (cause instanceof IngestError) return false
    throw cause
  }
}

function checkObject(
  { properties, required = [], additionalProperties }: ObjectSchema,
  value: Readonly<Record<string, unknown>>,
  where: string | undefined,
): void {
  const unknown: string[] = []
  for (const name of Object.keys(value)) {
    const schema = Object.hasOwn(properties, name) ? properties[name] : additionalProperties
    if (schema === undefined) unknown.push(name)
    else if (value[name] !== undefined) check(schema, value[name], memberOf(where, name))
  }
  if (unknown.length > 0) throw unknownNames('field', unknown, Object.keys(properties), where)
  const missing = required.find((name) => value[name] === undefined)
  if (missing === undefined) return
  const words = wordsOf(properties[missing] ?? {}, missing)
  throw malformed(`${memberOf(where, missing)} is required: ${words}`)
}

function checkArray(schema: ArraySchema, value: readonly unknown[], where: string | undefined) {
  const { items, minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema
  if (value.length < minItems) throw mustBe(schema, value, where)
  if (value.length > maxItems) {
    throw malformed(`${where ?? 'the body'} has ${value.length} elements, over ${maxItems}`)
  }
  for (const [index, item] of value.entries()) check(items, item, `${where ?? 'body'}[${index}]`)
}

function checkString(schema: StringSchema, value: string, where: string | undefined): void {
  const { enum: known, minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern } = schema
  if (value.length > maxLength) {
    throw malformed(`${where ?? 'the body'} is ${value.length} characters, over ${maxLength}`)
  }
  const isOne = known === undefined || known.includes(value)
  const isLike = pattern === undefined || new RegExp(pattern, 'u').test(value)
  if (!isOne || !isLike || value.length < minLength) throw mustBe(schema, value, where)
}

function checkNumber(schema: NumberSchema, value: number, where: string | undefined): void {
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema
  const isIn = value >= minimum && value <= maximum
  if (!isIn || (schema.type === 'integer' && !Number.isSafeInteger(value))) {
    throw mustBe(schema, value, where)
  }
}

function kindFits(schema: Schema, value: unknown): boolean {
  if (schema.anyOf !== undefined) return schema.anyOf.some((one) => kindFits(one, value))
  if (schema.type === undefined) return true
  return kindOf(value) === (schema.type === 'integer' ? 'number' : schema.type)
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

const KIND_WORDS: Readonly<Record<string, string>> = {
  null: 'null',
  array: 'an array',
  object: 'an object',
  string: 'a string',
  number: 'a number',
  boolean: 'a boolean',
}

/** "… must be …", and what the value is instead if it has another kind. */
function mustBe(schema: Schema, value: unknown, where: string | undefined): IngestError {
  const rule = `${where ?? 'the body'} must be ${wordsOf(schema, where, value)}`
  const isKind = kindFits(schema, value)
  return malformed(isKind ? rule : `${rule}, not ${KIND_WORDS[kindOf(value)] ?? 'this'}`)
}

function wordsOf(schema: Schema, where: string | undefined, value?: unknown): string {
  const { must } = schema
  if (must !== undefined) return typeof must === 'function' ? must(value) : must
  if (schema.anyOf !== undefined) {
    return joinOr([...new Set(schema.anyOf.map((one) => wordsOf(one, where)))])
  }
  switch (schema.type) {
    case 'string':
      if (schema.enum !== undefined) return enumWords(schema.enum)
      return (schema.minLength ?? 0) > 0 ? 'a string that is not empty' : 'a string'
    case 'integer':
    case 'number':
      return numberWords(schema)
    case 'boolean':
      return 'true or false'
    case 'array':
      return `${(schema.minItems ?? 0) > 0 ? 'a list of one or more' : 'a list'}`
    case 'null':
      return 'null'
    default:
      return where === undefined ? 'a JSON object' : 'an object'
  }
}

function enumWords(known: readonly string[]): string {
  const quoted = known.map((name) => `"${name}"`)
  return quoted.length > 3 ? `one of ${known.join(', ')}` : joinOr(quoted)
}

function numberWords({ type, minimum, maximum }: NumberSchema): string {
  const noun = type === 'integer' ? 'an integer' : 'a number'
  if (minimum !== undefined && maximum !== undefined) return `${noun} from ${minimum} to ${maximum}`
  return minimum === undefined ? noun : `${noun} of at least ${minimum}`
}

function joinOr(words: readonly string[]): string {
  if (words.length < 2) return words.join('')
  return `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

/** `"a"`, then `"a".b`, `"a"[0].b`. */
function memberOf(where: string | undefined, name: string): string {
  const shown = name.slice(0, NAME_SHOWN_CHARS_MAX)
  return where === undefined ? JSON.stringify(shown) : `${where}.${shown}`
}

/** The error for names that are not among those `known`. */
function unknownNames(
  kind: 'field' | 'parameter',
  unknown: readonly string[],
  known: readonly string[],
  where?: string,
): IngestError {
  const shown = unknown.slice(0, NAMES_SHOWN_MAX).map((name) => {
    return JSON.stringify(name.slice(0, NAME_SHOWN_CHARS_MAX))
  })
  const place = where === undefined ? '' : ` in ${where}`
  return malformed(
    `unknown ${kind} ${shown.join(', ')}${place}; known are: ${known.join(', ') || 'none'}`,
  )
}
