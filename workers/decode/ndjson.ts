/**
 * NDJSON: one JSON object a line. A bad line is rejected alone. Blank lines are skipped, `\r\n`
 * ends a line like `\n`. The line feed is never white space here, so a value cannot span lines,
 * and the end of a line needs no search: parsing arrives there.
 */
import { DEPTH_MAX, EVENT_BYTES_MAX } from '../../src/limits.ts'
import type { DecodedEvents } from './decoded-events.ts'
import { type JsonTape, SYNTAX_TRAILING, TAPE_ERRORS, TOO_DEEP } from './json-tape.ts'
import type { PartOutcome } from './part-outcome.ts'
import { ROOT } from './path-trie.ts'

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const OPEN_OBJECT = 0x7b

export const TOO_LARGE_MESSAGE = `event is over ${EVENT_BYTES_MAX} bytes (EVENT_BYTES_MAX)`
export const NOT_AN_OBJECT_MESSAGE = 'an event must be a JSON object'
export const TOO_DEEP_MESSAGE = `event is nested deeper than ${DEPTH_MAX} levels (DEPTH_MAX)`

/**
 * Decodes `start`..`end` of `bytes`, which the tape was begun with. `lineBytesMax` is the longest
 * line taken; stored events, judged before, are read back without one.
 */
export function decodeNdjson(
  tape: JsonTape,
  events: DecodedEvents,
  bytes: Uint8Array,
  range: { readonly start: number; readonly end: number },
  outcome: PartOutcome,
  lineBytesMax = EVENT_BYTES_MAX,
): void {
  const { end } = range
  let lineStart = range.start
  tape.allowLineFeeds(false) // A document before it in the batch may have left them allowed.
  while (lineStart < end) {
    outcome.lines++
    // Lines too long are not even parsed: their tape would be as large as they are.
    if (end - lineStart > lineBytesMax) {
      const next = bytes.indexOf(LINE_FEED, lineStart)
      const lineEnd = bytes[next - 1] === CARRIAGE_RETURN ? next - 1 : next
      if (lineEnd - lineStart > lineBytesMax) {
        outcome.reject(outcome.lines, 'too_large', TOO_LARGE_MESSAGE)
        lineStart = next + 1
        continue
      }
    }
    const tapeStart = tape.length
    const pos = tape.space(lineStart)
    if (bytes[pos] === LINE_FEED) {
      lineStart = pos + 1
      continue
    }
    const valueEnd = tape.parse(pos, ROOT, false)
    const lineEnd = valueEnd < 0 ? -1 : tape.space(valueEnd)
    if (lineEnd >= 0 && bytes[lineEnd] === LINE_FEED && bytes[pos] === OPEN_OBJECT) {
      events.add(pos, valueEnd, tape.length)
      outcome.accept(lineEnd + 1 - lineStart)
      lineStart = lineEnd + 1
      continue
    }
    tape.length = tapeStart
    lineStart = rejectLine(tape, bytes, { lineStart, valueEnd, lineEnd }, outcome)
  }
}

/** Cold: says why the line was refused and returns where the next one starts. */
function rejectLine(
  tape: JsonTape,
  bytes: Uint8Array,
  at: { readonly lineStart: number; readonly valueEnd: number; readonly lineEnd: number },
  outcome: PartOutcome,
): number {
  const next = bytes.indexOf(LINE_FEED, at.lineStart)
  const line = outcome.lines
  const parsed = at.valueEnd >= 0
  if (!parsed && tape.errorCode === TOO_DEEP) {
    outcome.reject(line, 'too_deep', TOO_DEEP_MESSAGE)
  } else if (parsed && bytes[at.lineEnd] === LINE_FEED) {
    outcome.reject(line, 'not_an_object', NOT_AN_OBJECT_MESSAGE)
  } else {
    const code = parsed ? SYNTAX_TRAILING : tape.errorCode
    const byte = (parsed ? at.lineEnd : tape.errorAt) - at.lineStart + 1
    outcome.reject(
      line,
      'malformed',
      `invalid JSON at byte ${byte} of the line: ${TAPE_ERRORS[code]}`,
    )
  }
  return next + 1
}
