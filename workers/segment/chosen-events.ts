/**
 * Some events of a stored segment on the tape, for readers that want a few of thousands: the text
 * is compressed and so decompressed as a whole, but only the lines asked for are parsed.
 */
import assert from 'node:assert/strict'
import { decodeNdjson } from '../decode/ndjson.ts'
import { PartOutcome } from '../decode/part-outcome.ts'
import { type EventFacts, SOURCE_OTLP } from '../facts/event-facts.ts'
import type { DecodedEvents } from '../tape/decoded-events.ts'
import { type JsonTape, TAPE_PADDING } from '../tape/json-tape.ts'
import { giveLabels } from './explicit-labels.ts'
import { textBytesOf, writeSegmentText } from './segment.ts'

const LINE_FEED = 0x0a

/**
 * Fills `events` and `facts` with the payload's events `ordinals`, which rise; the first of them is
 * event 0. Ordinals past the last event are passed over. Returns the bytes that `events` refers to.
 * Throws on a damaged payload.
 */
export function decodeChosenEvents(
  payload: Uint8Array,
  ordinals: Uint32Array,
  tape: JsonTape,
  events: DecodedEvents,
  facts: EventFacts,
): Uint8Array {
  const textBytes = textBytesOf(payload)
  const bytes = tape.batch.room(textBytes + 1 + TAPE_PADDING)
  const text = bytes.subarray(0, textBytes)
  const { times, labels } = writeSegmentText(payload, text)
  const end = keepLines(text, ordinals)
  bytes.fill(0, end, end + 1 + TAPE_PADDING)
  bytes[end] = LINE_FEED
  events.reset()
  tape.begin(bytes)
  const outcome = new PartOutcome()
  const range = { start: 0, end }
  decodeNdjson(tape, events, bytes, range, outcome, Number.POSITIVE_INFINITY)
  assert.equal(outcome.rejected, 0, 'a stored event no longer parses')
  if (labels.size > 0) {
    for (let event = 0; event < events.count; event++) {
      const label = labels.get(ordinals[event]!)
      if (label !== undefined) giveLabels(events, event, label)
    }
  }
  facts.describe(tape, bytes, events)
  for (let event = 0; event < events.count; event++) {
    const time = times.get(ordinals[event]!)
    if (time === undefined) continue
    facts.timeMs[event] = time.ms
    facts.timeNanos[event] = time.nanos
    facts.timeSource[event] = SOURCE_OTLP
  }
  return bytes
}

/** Moves the lines `ordinals` to the front of `text`; returns where the last one ends. */
function keepLines(text: Buffer, ordinals: Uint32Array): number {
  let line = 0
  let start = 0
  let kept = 0
  for (const ordinal of ordinals) {
    while (line < ordinal && start < text.length) {
      start = text.indexOf(LINE_FEED, start) + 1
      line++
      assert(start > 0, 'stored text ends with a line feed')
    }
    if (start >= text.length) break
    const end = text.indexOf(LINE_FEED, start) + 1
    assert(end > start, 'stored text ends with a line feed')
    // Lines rise, so this never overwrites one that is still wanted.
    text.copyWithin(kept, start, end)
    kept += end - start
    start = end
    line++
  }
  return kept
}
