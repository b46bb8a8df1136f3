/** Which tests the system fields allow. */
import { LEVELS } from '../model/event-labels.ts'
import { QueryError } from './query-error.ts'
import type { Scalar, SystemField, SystemFieldName, Test } from './query-tree.ts'
import { isTraceField } from './trace-fields.ts'

const EXPECTED = {
  _id: 'an event id such as 3706387219251200000-17',
  _ingested_at: 'a date-time such as 2026-01-31T00:00:00Z, or a range of them',
  _event_time: 'a date-time such as 2026-01-31T00:00:00Z, or a range of them',
  _shape: 'a shape: 16 hex digits',
  _pattern: 'the pattern of a text: 16 hex digits',
  _level: `a level: ${LEVELS.join(', ')}`,
  _service: 'the name of a service',
  _trace_id: "a trace's id, a pattern or a regular expression",
  _span_id: "a span's id, a pattern or a regular expression",
} as const satisfies Record<SystemFieldName, string>

/**
 * The test in the form that suits the field: levels, shapes and patterns in lower case, one moment
 * as a range from it to itself. Throws when the field does not allow the test.
 */
export function readSystemTest(field: SystemField, test: Test): Test {
  const read = test.kind === 'exists' || field.name === '_service' ? test : tryRead(field, test)
  if (read !== undefined) return read
  const repair =
    field.name === '_level'
      ? "the event's own value is in a field of the event, e.g. `level`"
      : 'write a field of your events that has this name in backquotes'
  throw new QueryError(test, `\`${field.name}\` takes ${EXPECTED[field.name]}`, repair)
}

function tryRead({ name }: SystemField, test: Test): Test | undefined {
  if (isTraceField(name)) return test.kind === 'range' ? undefined : test
  if (name === '_ingested_at' || name === '_event_time') return tryReadMoment(test)
  if (name === '_level' && test.kind === 'range') {
    const low = test.low && { ...test.low, value: lowered(test.low.value) }
    const high = test.high && { ...test.high, value: lowered(test.high.value) }
    const isKnown = [low, high].every((bound) => bound === undefined || isLevel(bound.value))
    return isKnown ? { ...test, of: 'level', low, high } : undefined
  }
  if (name === '_level' && (test.kind === 'wildcard' || test.kind === 'regex')) return test
  if (test.kind !== 'value') return undefined
  const value = lowered(test.value)
  const isGood =
    name === '_id'
      ? /^[0-9]{1,19}-[0-9]{1,5}$/.test(value.text)
      : name === '_shape' || name === '_pattern'
        ? /^[0-9a-f]{16}$/.test(value.text)
        : isLevel(value)
  return isGood ? { ...test, value } : undefined
}

function tryReadMoment(test: Test): Test | undefined {
  if (test.kind === 'range') return test.of === 'time' ? test : undefined
  if (test.kind !== 'value' || test.value.timeNs === undefined) return undefined
  const bound = { value: test.value, isInclusive: true }
  const { start, end } = test
  return { kind: 'range', start, end, of: 'time', low: bound, high: bound }
}

function lowered(value: Scalar): Scalar {
  return { ...value, text: value.text.toLowerCase() }
}

function isLevel({ text }: Scalar): boolean {
  return (LEVELS as readonly string[]).includes(text)
}
