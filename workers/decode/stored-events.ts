/** Reads a stored segment back onto the tape: its events, their times and shapes. */
import assert from 'node:assert/strict'
import { decodeSegment } from '../encode/segment.ts'
import { type EventFacts, SOURCE_OTLP } from '../transform/event-facts.ts'
import type { DecodedEvents } from './decoded-events.ts'
import { type JsonTape, TAPE_PADDING } from './json-tape.ts'
import { decodeNdjson } from './ndjson.ts'
import { PartOutcome } from './part-outcome.ts'

/** Fills `events` and `facts`; returns the bytes they refer to. Throws on a damaged payload. */
export function decodeStoredEvents(
  payload: Uint8Array,
  tape: JsonTape,
  events: DecodedEvents,
  facts: EventFacts,
): Uint8Array {
  const { text, times } = decodeSegment(payload)
  const bytes = Buffer.alloc(text.length + 1 + TAPE_PADDING)
  text.copy(bytes)
  bytes[text.length] = 0x0a
  const outcome = new PartOutcome()
  events.reset()
  tape.begin(bytes)
  const range = { start: 0, end: text.length }
  decodeNdjson(tape, events, bytes, range, outcome, Number.POSITIVE_INFINITY)
  assert.equal(outcome.rejected, 0, 'a stored event no longer parses')
  facts.describe(tape, bytes, events)
  for (const [ordinal, time] of times) {
    facts.timeMs[ordinal] = time.ms
    facts.timeNanos[ordinal] = time.nanos
    facts.timeSource[ordinal] = SOURCE_OTLP
  }
  return bytes
}
