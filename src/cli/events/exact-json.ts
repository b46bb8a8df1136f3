/**
 * JSON read by positions in its text, not into values: numbers keep every digit, duplicate keys
 * stay, and of a megabyte only the parts that are needed are read. The text is the service's
 * answer, so it is valid JSON; nothing here validates it. The console reads answers by it, too.
 */
import { wellFormed } from '../../language/scan.ts'

/** A value's place in `text`: half-open. */
export interface JsonSpan {
  readonly text: string
  readonly start: number
  readonly end: number
}

export interface JsonMember {
  readonly key: string
  readonly value: JsonSpan
}

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null'

const QUOTE = 34
const COMMA = 44
const OPEN_BRACKET = 91
const BACKSLASH = 92
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

export function wholeJson(text: string): JsonSpan {
  const start = skipSpace(text, 0)
  return { text, start, end: skipValue(text, start) }
}

export function jsonKind({ text, start }: JsonSpan): JsonKind {
  switch (text[start]) {
    case '{':
      return 'object'
    case '[':
      return 'array'
    case '"':
      return 'string'
    case 't':
    case 'f':
      return 'boolean'
    case 'n':
      return 'null'
    default:
      return 'number'
  }
}

/** As it stands in the text. */
export function jsonText({ text, start, end }: JsonSpan): string {
  return text.slice(start, end)
}

/** Precondition: it is a string. */
export function jsonString(span: JsonSpan): string {
  return JSON.parse(jsonText(span)) as string
}

/** An object's members in order, read one by one as they are asked for. */
export function* jsonMembers({ text, start }: JsonSpan): Generator<JsonMember> {
  let at = skipSpace(text, start + 1)
  while (text.charCodeAt(at) !== CLOSE_BRACE) {
    const keyEnd = skipString(text, at)
    // As queries have it.
    const key = wellFormed(JSON.parse(text.slice(at, keyEnd)) as string)
    const valueStart = skipSpace(text, skipSpace(text, keyEnd) + 1)
    const end = skipValue(text, valueStart)
    yield { key, value: { text, start: valueStart, end } }
    at = skipSpace(text, end)
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1)
  }
}

/** An array's elements in order, read one by one as they are asked for. */
export function* jsonElements({ text, start }: JsonSpan): Generator<JsonSpan> {
  let at = skipSpace(text, start + 1)
  while (text.charCodeAt(at) !== CLOSE_BRACKET) {
    const end = skipValue(text, at)
    yield { text, start: at, end }
    at = skipSpace(text, end)
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1)
  }
}

/** An object's members by key; of equal keys the last one, which is the one that counts. */
export function jsonObject(object: JsonSpan): ReadonlyMap<string, JsonSpan> {
  return new Map([...jsonMembers(object)].map(({ key, value }) => [key, value]))
}

/**
 * The value at a dotted path, as queries see it: a name with a dot in it is the same path as the
 * nested one, of equal keys the last one counts, and so does the last of several values, though
 * null and objects are none. Undefined when there is nothing, and for what is in arrays.
 */
export function jsonAt(object: JsonSpan, path: string): JsonSpan | undefined {
  if (jsonKind(object) !== 'object') return undefined
  const byKey = new Map<string, JsonSpan>()
  for (const { key, value } of jsonMembers(object)) {
    if (key !== path && !path.startsWith(`${key}.`)) continue
    byKey.delete(key)
    byKey.set(key, value)
  }
  let found: JsonSpan | undefined
  for (const [key, value] of byKey) {
    const here = key === path ? value : jsonAt(value, path.slice(key.length + 1))
    if (here !== undefined && (found === undefined || hasValue(here))) found = here
  }
  return found
}

/** The value, but elements of arrays that are members `name`, however deep, stay JSON as it is. */
export function parseKeeping(json: JsonSpan, name: string): unknown {
  const text = jsonText(json)
  const kind = jsonKind(json)
  const hasNone = !text.includes(`"${name}"`)
  if (hasNone || (kind !== 'object' && kind !== 'array')) return JSON.parse(text) as unknown
  if (kind === 'array') return [...jsonElements(json)].map((element) => parseKeeping(element, name))
  const members = [...jsonMembers(json)].map(({ key, value }) => {
    const isKept = key === name && jsonKind(value) === 'array'
    return [
      key,
      isKept ? [...jsonElements(value)].map(jsonText) : parseKeeping(value, name),
    ] as const
  })
  return Object.fromEntries(members)
}

function hasValue(span: JsonSpan): boolean {
  const kind = jsonKind(span)
  return kind !== 'null' && kind !== 'object'
}

function skipValue(text: string, start: number): number {
  const first = text.charCodeAt(start)
  if (first === QUOTE) return skipString(text, start)
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) {
    let end = start
    while (end < text.length && !/[,\]}\s]/.test(text[end]!)) end++
    return end
  }
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = skipString(text, at) - 1
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      depth--
      if (depth === 0) return at + 1
    }
  }
  return text.length
}

function skipString(text: string, start: number): number {
  let at = start + 1
  for (;;) {
    const quote = text.indexOf('"', at)
    if (quote < 0) return text.length
    let slashes = 0
    while (text.charCodeAt(quote - 1 - slashes) === BACKSLASH) slashes++
    if (slashes % 2 === 0) return quote + 1
    at = quote + 1
  }
}

function skipSpace(text: string, start: number): number {
  let at = start
  while (at < text.length && text.charCodeAt(at) <= 32) at++
  return at
}
