/** Looks for keys among KeyValues on the wire, without writing anything. */
import { type AnyValueDecoder, KIND_STRING, TAG_FIRST_MESSAGE } from './otlp-any-value.ts'
import { type FieldRange, readRange } from './record-fields.ts'

const TAG_KEY = 0x0a
const TAG_VALUE = 0x12

const key: FieldRange = { start: 0, end: 0 }
const value: FieldRange = { start: 0, end: 0 }
let hasValue = false

/** Which of `keys` the KeyValueList `start`..`end` has: a bit for each. */
export function findKeys(
  values: AnyValueDecoder,
  start: number,
  end: number,
  keys: readonly Uint8Array[],
): number {
  const { reader, source } = values
  let found = 0
  reader.pos = start
  while (reader.pos < end) {
    const tag = reader.tag()
    if (tag !== TAG_FIRST_MESSAGE) {
      values.skip(tag)
      continue
    }
    readKeyValue(values, values.fieldEnd(end))
    for (let i = 0; i < keys.length; i++) {
      if (isText(source.bytes, key, keys[i]!)) found |= 1 << i
    }
  }
  values.assertEnd(end)
  return found
}

/**
 * Finds the string that the KeyValues of the message `start`..`end`, its fields `memberTag`, have
 * for a key. The last one counts. False when that is no string.
 */
export function tryFindString(
  values: AnyValueDecoder,
  start: number,
  end: number,
  memberTag: number,
  wanted: Uint8Array,
  found: FieldRange,
): boolean {
  const { reader, source } = values
  let isFound = false
  reader.pos = start
  while (reader.pos < end) {
    const tag = reader.tag()
    if (tag !== memberTag) {
      values.skip(tag)
      continue
    }
    const memberEnd = values.fieldEnd(end)
    readKeyValue(values, memberEnd)
    if (!isText(source.bytes, key, wanted)) continue
    isFound = hasValue && values.scan(value.start, value.end) === KIND_STRING
    found.start = values.foundStart
    found.end = values.foundEnd
    reader.pos = memberEnd
  }
  values.assertEnd(end)
  return isFound
}

/** Finds key and value of the KeyValue from the reader's position to `end`. */
function readKeyValue(values: AnyValueDecoder, end: number): void {
  const { reader } = values
  key.end = key.start
  hasValue = false
  while (reader.pos < end) {
    const tag = reader.tag()
    if (tag === TAG_KEY) readRange(key, values, end)
    else if (tag === TAG_VALUE) {
      hasValue = true
      readRange(value, values, end)
    } else values.skip(tag)
  }
  values.assertEnd(end)
}

function isText(bytes: Uint8Array, { start, end }: FieldRange, text: Uint8Array): boolean {
  if (end - start !== text.length) return false
  for (let i = 0; i < text.length; i++) if (bytes[start + i] !== text[i]) return false
  return true
}
