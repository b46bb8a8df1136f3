/**
 * NDJSON: one JSON object per line. A bad line is rejected alone. Blank lines are skipped, `\r\n`
 * ends a line like `\n`. The line feed is never white space here, so a value cannot span lines,
 * and the end of a line need not be searched for: parsing arrives there.
 */
import { DEPTH_MAX, EVENT_BYTES_MAX } from '../../src/limits.ts'
import type { RejectCode } from '../../src/model/batch/part-result.ts'
import type { DecodedEvents } from '../tape/decoded-events.ts'
import { SYNTAX_TRAILING, TAPE_ERRORS, TOO_DEEP } from '../tape/json-syntax.ts'
import type { JsonTape } from '../tape/json-tape.ts'
import { ROOT } from '../tape/path-trie.ts'
import type { PartOutcome } from './part-outcome.ts'

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const OPEN_OBJECT = 0x7b

export const TOO_LARGE_MESSAGE = `event is over ${EVENT_BYTES_MAX} bytes (EVENT_BYTES_MAX)`
export const NOT_AN_OBJECT_MESSAGE = 'an event must be a JSON object'
export const TOO_DEEP_MESSAGE = `event is nested deeper than ${DEPTH_MAX} levels (DEPTH_MAX)`

/**
 * Decodes `start`..`end` of `bytes`, which the tape was begun with. `lineBytesMax` is the longest
 * line accepted; stored events, which were judged before, are read back without such a bound.
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
      outcome.accept(Math.min(lineEnd + 1, end) - lineStart)
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
  at: ParsedLine,
  outcome: PartOutcome,
): number {
  const next = bytes.indexOf(LINE_FEED, at.lineStart)
  const { code, message } = faultOfLine(tape, bytes, at)
  outcome.reject(outcome.lines, code, message)
  return next + 1
}

/** Where parsing a line got to. */
export interface ParsedLine {
  readonly lineStart: number
  /** -1 when there was no value; the tape then says why. */
  readonly valueEnd: number
  /** First byte after the value that is not white space. */
  readonly lineEnd: number
}

/**
 * Why a line is not an event: text that is not well-formed is malformed, other values are not
 * objects.
 */
export function faultOfLine(
  tape: JsonTape,
  bytes: Uint8Array,
  at: ParsedLine,
): { readonly code: RejectCode; readonly message: string } {
  const parsed = at.valueEnd >= 0
  if (!parsed && tape.errorCode === TOO_DEEP) return { code: 'too_deep', message: TOO_DEEP_MESSAGE }
  if (parsed && bytes[at.lineEnd] === LINE_FEED) {
    return { code: 'not_an_object', message: NOT_AN_OBJECT_MESSAGE }
  }
  const code = parsed ? SYNTAX_TRAILING : tape.errorCode
  const byte = (parsed ? at.lineEnd : tape.errorAt) - at.lineStart + 1
  const message = `invalid JSON at byte ${byte} of the line: ${TAPE_ERRORS[code]}`
  return { code: 'malformed', message }
}
