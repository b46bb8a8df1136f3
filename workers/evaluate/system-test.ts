/** Tests of the system fields: what is known of an event beside its payload. */

import type { SystemFieldName, Test, ValueTest as ValueOf } from '../../src/language/query-tree.ts'
import { levelsInRange } from '../../src/language/scalar.ts'
import { idDigits, isTraceField, type TraceFieldName } from '../../src/language/trace-fields.ts'
import { LEVELS } from '../../src/model/event-labels.ts'
import { CONTEXT_IDS } from '../../src/model/projection.ts'
import { SOURCE_RECEIPT } from '../facts/event-facts.ts'
import { NO_SERVICE } from '../facts/service-names.ts'
import { NO_LEVEL } from '../tape/level-words.ts'
import type { EventCursor } from './event-cursor.ts'
import { makeMomentTest } from './time-test.ts'
import { makeValueTest, type Parts } from './value-test.ts'

export type EventTest = (event: EventCursor) => boolean

/** Precondition: `test` is as `readSystemTest` leaves it. */
export function makeSystemTest(name: SystemFieldName, test: Test, parts: Parts): EventTest {
  if (name === '_level') return makeLevelTest(test, parts)
  if (name === '_service') return makeServiceTest(test, parts)
  if (isTraceField(name)) return makeGivenIdTest(name, test, parts)
  if (name === '_pattern') return makeTextPatternTest(test, parts)
  if (test.kind === 'exists') return () => true
  if (test.kind === 'range') {
    const isBetween = makeMomentTest(test.low, test.high)
    if (name === '_ingested_at') return ({ origin }) => isBetween(origin.ingestedAtMs, 0)
    return (event) => isBetween(timeMsOf(event), timeNanosOf(event))
  }
  if (test.kind !== 'value') return () => false
  return name === '_id' ? makeIdTest(test) : makeShapeTest(test)
}

/** Event time: milliseconds since 1970, whole. */
export function timeMsOf({ facts, event, origin }: EventCursor): number {
  return facts.timeSource[event] === SOURCE_RECEIPT ? origin.ingestedAtMs : facts.timeMs[event]!
}

/** Nanoseconds beyond them. */
export function timeNanosOf({ facts, event }: EventCursor): number {
  return facts.timeSource[event] === SOURCE_RECEIPT ? 0 : facts.timeNanos[event]!
}

function makeLevelTest(test: Test, parts: Parts): EventTest {
  const { string, exists } = makeValueTest(test, false, parts)
  const inRange = test.kind === 'range' ? levelsInRange(test) : []
  const isTrue = new Uint8Array(LEVELS.length + 1)
  for (const [index, level] of LEVELS.entries()) {
    const text = Buffer.from(level)
    const holds = exists || inRange.includes(level) || string?.(text, 0, text.length) === true
    isTrue[NO_LEVEL + 1 + index] = holds ? 1 : 0
  }
  return ({ facts, event }) => isTrue[facts.labels.level[event]!] === 1
}

function makeServiceTest(test: Test, parts: Parts): EventTest {
  const { string, exists } = makeValueTest(test, false, parts)
  return ({ facts, event }) => {
    const service = facts.labels.service[event]!
    if (service === NO_SERVICE) return false
    if (exists) return true
    const name = facts.labels.names.nameOf(service)
    const bytes = Buffer.from(name.buffer, name.byteOffset, name.length)
    return string?.(bytes, 0, bytes.length) === true
  }
}

/** Of an id that came with the protocol. */
function makeGivenIdTest(name: TraceFieldName, test: Test, parts: Parts): EventTest {
  const { bytes } = CONTEXT_IDS[name]
  const isTrace = name === '_trace_id'
  const ofDigits = test.kind === 'value' ? { ...test, value: digitsOf(test) } : test
  const { string, exists } = makeValueTest(ofDigits, false, parts)
  const id = Buffer.alloc(bytes)
  const digits = Buffer.alloc(2 * bytes)
  return ({ facts, event }) => {
    const { given } = facts.labels
    if (!given.has(event)) return false
    if (!(isTrace ? given.hasTraceId(event) : given.hasSpanId(event))) return false
    if (exists) return true
    if (isTrace) given.copyTraceId(event, id, 0)
    else given.copySpanId(event, id, 0)
    digits.write(id.toString('hex'), 'latin1')
    return string?.(digits, 0, digits.length) === true
  }
}

function digitsOf(test: ValueOf): ValueOf['value'] {
  return { ...test.value, kind: 'string', text: idDigits(test) }
}

function makeIdTest({ value }: ValueOf): EventTest {
  const [segmentId, ordinal] = value.text.split('-')
  return ({ event, origin }) =>
    origin.segmentId === segmentId && String(event - origin.firstEvent) === ordinal
}

function makeTextPatternTest(test: Test, { work, pattern }: Parts): EventTest {
  if (test.kind !== 'value') return (event) => pattern.find(event, work)
  const { text } = test.value
  const high = Number.parseInt(text.slice(0, 8), 16) | 0
  const low = Number.parseInt(text.slice(8), 16) | 0
  return (event) => pattern.find(event, work) && pattern.high === high && pattern.low === low
}

function makeShapeTest({ value }: ValueOf): EventTest {
  const high = Number.parseInt(value.text.slice(0, 8), 16) | 0
  const low = Number.parseInt(value.text.slice(8), 16) | 0
  return ({ facts, event }) => facts.shapeHigh[event] === high && facts.shapeLow[event] === low
}
