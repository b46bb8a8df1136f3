/** Reads a stored segment back onto the tape: its events, their times and shapes. */
import assert from 'node:assert/strict'
import { decodeSegment, type SegmentContent } from '../encode/segment.ts'
import { type EventFacts, SOURCE_OTLP } from '../transform/event-facts.ts'
import type { DecodedEvents } from './decoded-events.ts'
import { type JsonTape, TAPE_PADDING } from './json-tape.ts'
import { decodeNdjson } from './ndjson.ts'
import { PartOutcome } from './part-outcome.ts'

/**
 * Fills `events` and `facts` with the events of a payload, or of several one after another; returns
 * the bytes they refer to. Throws on a damaged payload.
 */
export function decodeStoredEvents(
  payload: Uint8Array | readonly Uint8Array[],
  tape: JsonTape,
  events: DecodedEvents,
  facts: EventFacts,
): Uint8Array {
  const payloads = payload instanceof Uint8Array ? [payload] : payload
  return decodeContents(payloads.map(decodeSegment), tape, events, facts)
}

/** The same for segments that are decoded already, or parts of them. */
export function decodeContents(
  contents: readonly SegmentContent[],
  tape: JsonTape,
  events: DecodedEvents,
  facts: EventFacts,
): Uint8Array {
  const textBytes = contents.reduce((sum, { text }) => sum + text.length, 0)
  const bytes = tape.batch.room(textBytes + 1 + TAPE_PADDING)
  bytes.fill(0, textBytes)
  bytes[textBytes] = 0x0a
  events.reset()
  tape.begin(bytes)
  const firstEvents: number[] = []
  let at = 0
  for (const { text } of contents) {
    firstEvents.push(events.count)
    const range = { start: at, end: at + text.copy(bytes, at) }
    const outcome = new PartOutcome()
    decodeNdjson(tape, events, bytes, range, outcome, Number.POSITIVE_INFINITY)
    assert.equal(outcome.rejected, 0, 'a stored event no longer parses')
    at = range.end
  }
  facts.describe(tape, bytes, events)
  for (const [index, { times }] of contents.entries()) {
    for (const [ordinal, time] of times) {
      const event = firstEvents[index]! + ordinal
      facts.timeMs[event] = time.ms
      facts.timeNanos[event] = time.nanos
      facts.timeSource[event] = SOURCE_OTLP
    }
  }
  return bytes
}
