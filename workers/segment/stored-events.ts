/** Reads a stored segment back onto the tape: its events, their times and shapes. */
import { decodeNdjson } from '../decode/ndjson.ts'
import { PartOutcome } from '../decode/part-outcome.ts'
import { type EventFacts, SOURCE_OTLP } from '../facts/event-facts.ts'
import type { DecodedEvents } from '../tape/decoded-events.ts'
import { type JsonTape, TAPE_PADDING } from '../tape/json-tape.ts'
import { giveLabels } from './explicit-labels.ts'
import { type SegmentContent, type SegmentSays, textBytesOf, writeSegmentText } from './segment.ts'

/** Events' text that is to be read. */
interface StoredText {
  readonly textBytes: number
  /** Fills `text`, of the arena; 31 bytes after it may be overwritten. */
  write(text: Buffer): SegmentSays
}

/**
 * Fills `events` and `facts` with the events of a payload, or of several in sequence; returns the
 * bytes they refer to. Throws on a damaged payload.
 */
export function decodeStoredEvents(
  payload: Uint8Array | readonly Uint8Array[],
  tape: JsonTape,
  events: DecodedEvents,
  facts: EventFacts,
): Uint8Array {
  const payloads = payload instanceof Uint8Array ? [payload] : payload
  const texts = payloads.map((each) => ({
    textBytes: textBytesOf(each),
    write: (text: Buffer) => writeSegmentText(each, text),
  }))
  return decodeTexts(texts, tape, events, facts)
}

/** The same for segments that are decoded already, or parts of them. */
export function decodeContents(
  contents: readonly SegmentContent[],
  tape: JsonTape,
  events: DecodedEvents,
  facts: EventFacts,
): Uint8Array {
  const texts = contents.map(({ text, ...says }) => ({
    textBytes: text.length,
    write: (into: Buffer) => {
      into.fill(text)
      return says
    },
  }))
  return decodeTexts(texts, tape, events, facts)
}

function decodeTexts(
  texts: readonly StoredText[],
  tape: JsonTape,
  events: DecodedEvents,
  facts: EventFacts,
): Uint8Array {
  const total = texts.reduce((sum, { textBytes }) => sum + textBytes, 0)
  const bytes = tape.batch.room(total + 1 + TAPE_PADDING)
  let at = 0
  const says = texts.map(({ textBytes, write }) => {
    at += textBytes
    return write(bytes.subarray(at - textBytes, at))
  })
  bytes.fill(0, total)
  bytes[total] = 0x0a
  events.reset()
  tape.begin(bytes)
  const firstEvents: number[] = []
  let start = 0
  for (const { textBytes } of texts) {
    firstEvents.push(events.count)
    const range = { start, end: start + textBytes }
    const outcome = new PartOutcome()
    decodeNdjson(tape, events, bytes, range, outcome, Number.POSITIVE_INFINITY)
    if (outcome.rejected > 0) throw new Error('segment has a line that is no event')
    start = range.end
  }
  const eventOf = (index: number, ordinal: number, what: string): number => {
    const event = firstEvents[index]! + ordinal
    if (event < (firstEvents[index + 1] ?? events.count)) return event
    throw new Error(`segment has ${what} of an event that it lacks`)
  }
  for (const [index, { labels }] of says.entries()) {
    for (const [ordinal, label] of labels)
      giveLabels(events, eventOf(index, ordinal, 'labels'), label)
  }
  facts.describe(tape, bytes, events)
  for (const [index, { times }] of says.entries()) {
    for (const [ordinal, time] of times) {
      const event = eventOf(index, ordinal, 'a time')
      facts.timeMs[event] = time.ms
      facts.timeNanos[event] = time.nanos
      facts.timeSource[event] = SOURCE_OTLP
    }
  }
  return bytes
}
