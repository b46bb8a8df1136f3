/**
 * Where a value of a payload is, for queries about it. Some values no query can ask for: those in
 * arrays within arrays, of objects beside other values in an array, and of a few names. They have
 * no place: undefined.
 */
import { FIELD_PATH_BYTES_MAX, NESTED_COLUMNS_DEPTH_MAX } from '../../src/language/bounds.ts'
import { isQueryablePath } from '../../src/language/parse-field.ts'
import type { PathField } from '../../src/language/query-tree.ts'
import { type JsonSpan, jsonAt, jsonElements, jsonKind, jsonText } from '../base/exact-json.ts'
import { pathField } from '../base/field.ts'

export interface Place {
  readonly payload: JsonSpan
  /** As in `PathField`, but for an element itself: then those of its array. */
  readonly parts: readonly string[]
  readonly isElement: boolean
}

export function payloadPlace(payload: JsonSpan): Place {
  return { payload, parts: [], isElement: false }
}

/** Of a member of the object at `place`. */
export function memberPlace(place: Place | undefined, key: string): Place | undefined {
  if (place === undefined) return undefined
  const { payload, parts, isElement } = place
  const begun = isElement ? undefined : parts.at(-1)
  const path = begun === undefined ? key : `${begun}.${key}`
  const before = begun === undefined ? parts : parts.slice(0, -1)
  return { payload, parts: [...before, path], isElement: false }
}

/** Of each element of the array at `place`; a function, as the array is looked at once. */
export function elementPlaces(
  place: Place | undefined,
  array: JsonSpan,
): (element: JsonSpan) => Place | undefined {
  if (place === undefined || place.isElement) return () => undefined
  const elements = [...jsonElements(array)]
  const kinds = new Set(elements.map(jsonKind))
  const hasDouble = elements.some((one) => jsonKind(one) === 'number' && !isInteger(one))
  const isObjects = kinds.size === 1 && kinds.has('object')
  const isTooDeep = place.parts.length > NESTED_COLUMNS_DEPTH_MAX
  const at: Place = { ...place, isElement: true }
  return (element) => {
    const kind = jsonKind(element)
    if (kind === 'array') return undefined
    // Beside fractions the store keeps numbers as doubles, without all the digits of long ones.
    if (hasDouble && isInteger(element) && !Number.isSafeInteger(Number(jsonText(element)))) {
      return undefined
    }
    return kind === 'object' && (!isObjects || isTooDeep) ? undefined : at
  }
}

/** Whether the store keeps it with all its digits: in 64 bits, signed or not. */
function isInteger(value: JsonSpan): boolean {
  const text = jsonText(value)
  if (!/^-?\d{1,20}$/.test(text)) return false
  const number = BigInt(text)
  return number >= -(2n ** 63n) && number < 2n ** 64n
}

/** The field that a query asks for to find what is there. */
export function fieldAt(place: Place | undefined): PathField | undefined {
  if (place === undefined) return undefined
  const { parts, isElement } = place
  // An empty name in an element would be written as the element itself.
  if (parts.slice(1).includes('')) return undefined
  const isLong = parts.some((part) => utf8.encode(part).length > FIELD_PATH_BYTES_MAX)
  const all = isElement ? [...parts, ''] : parts
  return !isLong && isQueryablePath(all) ? pathField(all) : undefined
}

/**
 * Whether queries see this value at its place, and not another one of the same path, as in
 * `{"a":{"b":1},"a.b":2}`.
 */
export function isSeen({ payload, parts }: Place, value: JsonSpan): boolean {
  let object: JsonSpan | undefined = payload
  for (const [index, part] of parts.entries()) {
    const seen: JsonSpan | undefined = object && jsonAt(object, part)
    if (seen === undefined || !holds(seen, value)) return false
    if (index === parts.length - 1) return jsonKind(seen) === 'array' || seen.start === value.start
    object = [...jsonElements(seen)].find((element) => holds(element, value))
  }
  return false
}

function holds(outer: JsonSpan, { start, end }: JsonSpan): boolean {
  return outer.start <= start && end <= outer.end
}

const utf8 = new TextEncoder()
