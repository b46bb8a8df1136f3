/**
 * `application/json` that is not lines: the elements of one array (cut at top-level commas by
 * accept), or one document. A syntax error fails the part as a whole: nobody can know what a client
 * that sent half an array meant. Elements that are valid JSON but not events are rejected alone.
 */
import { EVENT_BYTES_MAX, REPLY_ERRORS_MAX } from '../../src/limits.ts'
import type { RejectCode } from '../../src/model/batch/part-result.ts'
import type { DecodedEvents } from '../tape/decoded-events.ts'
import { JsonSkipper } from '../tape/json-skip.ts'
import { SYNTAX_COMMA, SYNTAX_TRAILING, TAPE_ERRORS, TOO_DEEP } from '../tape/json-syntax.ts'
import type { JsonTape } from '../tape/json-tape.ts'
import { ROOT } from '../tape/path-trie.ts'
import { NOT_AN_OBJECT_MESSAGE, TOO_DEEP_MESSAGE, TOO_LARGE_MESSAGE } from './ndjson.ts'
import { blankLineFeeds, countLines, lineOf } from './part-lines.ts'
import type { PartOutcome } from './part-outcome.ts'

const COMMA = 0x2c
const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_OBJECT = 0x7b

const skipper = new JsonSkipper()

interface Range {
  readonly start: number
  readonly end: number
}

/** Decodes comma-separated elements; at least one. */
export function decodeArrayElements(
  tape: JsonTape,
  events: DecodedEvents,
  bytes: Uint8Array,
  range: Range,
  outcome: PartOutcome,
): void {
  const { end } = range
  const tapeStart = tape.length
  const eventStart = events.count
  let pos = range.start
  for (;;) {
    pos = decodeElement(tape, events, bytes, pos, range, outcome)
    if (pos < 0 || pos === end) break
    if (bytes[pos] !== COMMA) {
      failAt(bytes, range, pos, SYNTAX_COMMA, outcome)
      break
    }
    pos++
  }
  finish(tape, events, bytes, { ...range, tapeStart, eventStart }, outcome)
}

/** Decodes one document, which may be spread over lines. */
export function decodeDocument(
  tape: JsonTape,
  events: DecodedEvents,
  bytes: Uint8Array,
  range: Range,
  outcome: PartOutcome,
): void {
  const tapeStart = tape.length
  const eventStart = events.count
  const pos = decodeElement(tape, events, bytes, range.start, range, outcome)
  if (pos >= 0 && pos !== range.end) failAt(bytes, range, pos, SYNTAX_TRAILING, outcome)
  finish(tape, events, bytes, { ...range, tapeStart, eventStart }, outcome)
}

/** Counts the part's lines; then takes its events back if it failed, else puts each on one line. */
function finish(
  tape: JsonTape,
  events: DecodedEvents,
  bytes: Uint8Array,
  part: Range & { readonly tapeStart: number; readonly eventStart: number },
  outcome: PartOutcome,
): void {
  outcome.lines = countLines(bytes, part.start, part.end)
  if (outcome.failed) {
    events.truncate(part.eventStart)
    tape.length = part.tapeStart
  } else if (outcome.lines > 0) {
    for (let i = part.eventStart; i < events.count; i++) {
      blankLineFeeds(bytes, events.start[i]!, events.end[i]!)
    }
  }
}

/**
 * The element at `start` and the white space around it, in the part `range`, from whose start lines
 * are counted. Returns where it ended, or -1 after `fail`.
 */
function decodeElement(
  tape: JsonTape,
  events: DecodedEvents,
  bytes: Uint8Array,
  start: number,
  range: Range,
  outcome: PartOutcome,
): number {
  const tapeStart = tape.length
  tape.allowLineFeeds(true)
  const pos = tape.space(start)
  if (range.end - pos > EVENT_BYTES_MAX) {
    // Too large ones are not put on the tape, which would be as large as they are.
    const end = skipElement(bytes, pos, range.end)
    if (end - pos > EVENT_BYTES_MAX) {
      return rejectUnparsed(bytes, pos, range, ['too_large', TOO_LARGE_MESSAGE], outcome)
    }
  }
  const valueEnd = pos < range.end ? tape.parse(pos, ROOT, true) : -2
  if (valueEnd < 0) {
    tape.length = tapeStart
    if (valueEnd === -1 && tape.errorCode === TOO_DEEP) {
      return rejectUnparsed(bytes, pos, range, ['too_deep', TOO_DEEP_MESSAGE], outcome)
    }
    const at = Math.min(valueEnd === -2 ? pos : tape.errorAt, range.end)
    failAt(bytes, range, at, valueEnd === -2 ? 1 : tape.errorCode, outcome)
    return -1
  }
  const next = Math.min(tape.space(valueEnd), range.end)
  if (valueEnd > range.end) {
    tape.length = tapeStart
    failAt(bytes, range, range.end, 1, outcome)
    return -1
  }
  if (bytes[pos] !== OPEN_OBJECT) {
    tape.length = tapeStart
    outcome.reject(
      rejectedLine(bytes, range.start, pos, outcome),
      'not_an_object',
      NOT_AN_OBJECT_MESSAGE,
    )
  } else {
    events.add(pos, valueEnd, tape.length)
    outcome.accept(valueEnd - pos)
  }
  return next
}

/** Rejects the element at `pos` alone, if its syntax is right. Cold. As `decodeElement`. */
function rejectUnparsed(
  bytes: Uint8Array,
  pos: number,
  range: Range,
  [code, message]: readonly [RejectCode, string],
  outcome: PartOutcome,
): number {
  const end = skipper.skip(bytes, pos, range.end)
  if (end < 0) {
    failAt(bytes, range, skipper.errorAt, skipper.errorCode, outcome)
    return -1
  }
  outcome.reject(rejectedLine(bytes, range.start, pos, outcome), code, message)
  return skipper.space(end)
}

/** Cold: finds the comma or end after an element, as far as its brackets are right. */
function skipElement(bytes: Uint8Array, start: number, end: number): number {
  let depth = 0
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!
    if (byte === QUOTE) {
      i++
      while (i < end && bytes[i] !== QUOTE) i += bytes[i] === BACKSLASH ? 2 : 1
    } else if (byte === OPEN_OBJECT || byte === 0x5b) depth++
    else if (byte === 0x7d || byte === 0x5d) depth--
    else if (byte === COMMA && depth === 0) return i
  }
  return end
}

function failAt(
  bytes: Uint8Array,
  range: Range,
  at: number,
  code: number,
  outcome: PartOutcome,
): void {
  const line = lineOf(bytes, range.start, at)
  const what = at >= range.end ? 'the body ends inside a value' : TAPE_ERRORS[code]
  outcome.fail(line, 'malformed', `invalid JSON: ${what}`)
}

/** The line for a reject that the reply will show; counting for all of them would be quadratic. */
function rejectedLine(bytes: Uint8Array, start: number, at: number, outcome: PartOutcome): number {
  return outcome.rejected < REPLY_ERRORS_MAX ? lineOf(bytes, start, at) : 0
}
