/**
 * Plain text: each non-empty line becomes `{"message":"<line>"}`. The event's JSON is written to a
 * buffer of its own, escaped where JSON asks for it, and the tape entry points into that buffer.
 */
import { EVENT_BYTES_MAX } from '../../src/limits.ts'
import { copyRange, heldBytes } from '../kernel/arena-copy.ts'
import { kernels } from '../kernel/kernels.ts'
import type { DecodedEvents } from './decoded-events.ts'
import { type EventBuffer, viewOf } from './event-buffer.ts'
import { ESCAPE_BYTES_MAX, writeEscape } from './json-escape.ts'
import { stringStop } from './json-scan.ts'
import type { JsonTape } from './json-tape.ts'
import { TOO_LARGE_MESSAGE } from './ndjson.ts'
import type { PartOutcome } from './part-outcome.ts'
import { ROOT } from './path-trie.ts'
import { ESCAPED, STRING } from './tape-types.ts'

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const QUOTE = 0x22
const CLOSE_OBJECT = 0x7d
const PREFIX = heldBytes(Buffer.from('{"message":"'))
const SUFFIX_BYTES = 3
const MESSAGE_KEY = Buffer.from('message')
/**
 * Decodes the lines of `range` of `given`. A last line without a line feed must be followed by one.
 */
export function decodeText(
  tape: JsonTape,
  events: DecodedEvents,
  given: Uint8Array,
  range: { readonly start: number; readonly end: number },
  outcome: PartOutcome,
  into: EventBuffer,
): void {
  const bytes = tape.batch.hold(given)
  const node = tape.trie.child(ROOT, MESSAGE_KEY, 0, MESSAGE_KEY.length, false)
  const view = viewOf(bytes)
  const { end } = range
  let start = range.start
  while (start < end) {
    outcome.lines++
    const stop = kernels.stringStop(bytes.byteOffset + start) - bytes.byteOffset
    let plain = bytes[stop] === LINE_FEED
    let next = stop
    if (!plain) {
      next = bytes.indexOf(LINE_FEED, stop)
      plain = stop === next - 1 && bytes[stop] === CARRIAGE_RETURN
    }
    const lineEnd = next > start && bytes[next - 1] === CARRIAGE_RETURN ? next - 1 : next
    if (lineEnd - start > EVENT_BYTES_MAX) {
      outcome.reject(outcome.lines, 'too_large', TOO_LARGE_MESSAGE)
    } else if (lineEnd > start) {
      writeEvent(tape, events, into, { bytes, view, start, end: lineEnd, node, plain })
      outcome.accept(Math.min(next + 1, end) - start)
    }
    start = next + 1
  }
}

interface Line {
  readonly bytes: Uint8Array
  readonly view: DataView
  readonly start: number
  readonly end: number
  readonly node: number
  readonly plain: boolean
}

function writeEvent(tape: JsonTape, events: DecodedEvents, into: EventBuffer, line: Line): void {
  const { bytes, start, end, plain } = line
  const length = end - start
  into.reserve(PREFIX.length + (plain ? length : length * ESCAPE_BYTES_MAX) + SUFFIX_BYTES)
  const out = into.bytes
  const eventStart = into.length
  const valueStart = copyRange(out, eventStart, PREFIX, 0, PREFIX.length)
  let at = valueStart
  if (plain) {
    at = copyRange(out, at, bytes, start, end)
  } else {
    at = escapeLine(line, into, at)
  }
  const type = at - valueStart === length ? STRING : ESCAPED
  tape.push(line.node, type, valueStart, at)
  out[at] = QUOTE
  out[at + 1] = CLOSE_OBJECT
  out[at + 2] = LINE_FEED
  events.add(eventStart, at + 2, tape.length)
  into.length = at + SUFFIX_BYTES
}

/**
 * Writes the line as the inside of a JSON string from `at` on; returns where it ended. Runs that
 * need no escape go a word at a time, past their end: the next write or the suffix takes that.
 */
function escapeLine(line: Line, into: EventBuffer, at: number): number {
  const { bytes, view, end } = line
  const out = into.bytes
  const outView = into.view
  for (let i = line.start; i < end; i++) {
    const stop = Math.min(stringStop(view, i), end)
    const length = stop - i
    for (let j = 0; j < length; j += 4) outView.setInt32(at + j, view.getInt32(i + j, true), true)
    at += length
    i = stop
    if (i === end) break
    at = writeEscape(bytes[i]!, out, at)
  }
  return at
}
