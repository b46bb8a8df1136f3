/** A test of what a path has: of a scalar, or of the elements of an array of scalars. */
import {
  ARRAY_BOOL,
  ARRAY_FLOAT64,
  ARRAY_INT64,
  ARRAY_JSON,
  ARRAY_STRING,
  ARRAY_UINT64,
  BOOL,
  FLOAT64,
  INT64,
  STRING_TYPE,
  UINT64,
} from '../block/native-types.ts'
import { ENTRY, NULL, nextEntry } from '../tape/tape-types.ts'
import type { EventCursor } from './event-cursor.ts'
import type { StringTest } from './string-test.ts'
import type { ValueTest } from './value-test.ts'
import type { Work } from './work.ts'

/** Of a text beside its bytes. */
const TEXT_STEPS = 10

/** `native`: the type of the entry's column. */
export function testLeaf(
  event: EventCursor,
  at: number,
  native: number,
  test: ValueTest,
  work: Work,
): boolean {
  if (test.exists) return true
  const { entries } = event
  switch (native) {
    case STRING_TYPE:
      return test.string !== undefined && testText(event, at, test.string, work)
    case INT64:
    case UINT64:
      return test.integer?.(event.bytes, entries[at + 2]!, entries[at + 3]!) === true
    case FLOAT64:
      return test.double?.(event.bytes, entries[at + 2]!, entries[at + 3]!) === true
    case BOOL:
      return entries[at + 1] === test.boolean
    case ARRAY_JSON:
      return false
    default:
      return testElements(event, at, native, test, work)
  }
}

/** Some element of an array of scalars meets the test. */
export function testElements(
  event: EventCursor,
  array: number,
  native: number,
  test: ValueTest,
  work: Work,
): boolean {
  const { entries } = event
  const end = entries[array + 7]!
  work.spend(5 * (end - array))
  for (let at = array + 2 * ENTRY; at < end; at = nextEntry(entries, at)) {
    if (entries[at + 1] === NULL) continue
    if (test.exists || testElement(event, at, native, test, work)) return true
  }
  return false
}

function testElement(
  event: EventCursor,
  at: number,
  native: number,
  test: ValueTest,
  work: Work,
): boolean {
  const { entries, bytes } = event
  switch (native) {
    case ARRAY_STRING:
      return test.string !== undefined && testText(event, at, test.string, work)
    case ARRAY_INT64:
    case ARRAY_UINT64:
      return test.integer?.(bytes, entries[at + 2]!, entries[at + 3]!) === true
    case ARRAY_FLOAT64:
      return test.double?.(bytes, entries[at + 2]!, entries[at + 3]!) === true
    case ARRAY_BOOL:
      return entries[at + 1] === test.boolean
    default:
      return false
  }
}

/** A string; in a mixed array also what else there is, as its JSON. */
function testText(event: EventCursor, at: number, test: StringTest, work: Work): boolean {
  const read = event.textOf(at)
  work.spend(TEXT_STEPS + 4 * read + event.textEnd - event.textStart)
  return test(event.text, event.textStart, event.textEnd)
}
