/**
 * Plain text: each non-empty line becomes `{"message":"<line>"}`. The event's JSON is written to a
 * buffer of its own, escaped where JSON asks for it, and the tape entry points into that buffer.
 */
import { EVENT_BYTES_MAX } from '../../src/limits.ts'
import type { DecodedEvents } from './decoded-events.ts'
import { type JsonTape, TAPE_PADDING } from './json-tape.ts'
import { TOO_LARGE_MESSAGE } from './ndjson.ts'
import type { PartOutcome } from './part-outcome.ts'
import { ROOT } from './path-trie.ts'
import { ESCAPED, STRING } from './tape-types.ts'

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const QUOTE = 0x22
const BACKSLASH = 0x5c
const CLOSE_OBJECT = 0x7d
const PREFIX = Buffer.from('{"message":"')
const SUFFIX_BYTES = 3
const MESSAGE_KEY = Buffer.from('message')
/** The longest escape, `\u001b`, for one byte. */
const ESCAPE_BYTES_MAX = 6

/** 1 for bytes that JSON wants escaped inside a string. */
const NEEDS_ESCAPE = new Uint8Array(256)
NEEDS_ESCAPE.fill(1, 0, 0x20)
NEEDS_ESCAPE[QUOTE] = 1
NEEDS_ESCAPE[BACKSLASH] = 1

/** The short escapes; 0 where only the `\u` form exists. */
const SHORT_ESCAPE = new Uint8Array(256)
SHORT_ESCAPE[QUOTE] = QUOTE
SHORT_ESCAPE[BACKSLASH] = BACKSLASH
SHORT_ESCAPE[0x08] = 0x62
SHORT_ESCAPE[0x09] = 0x74
SHORT_ESCAPE[0x0c] = 0x66
SHORT_ESCAPE[CARRIAGE_RETURN] = 0x72
const HEX = Buffer.from('0123456789abcdef')

/** Collects the generated events of a batch; kept and reused by its worker. */
export class EventBuffer {
  bytes: Buffer = Buffer.allocUnsafeSlow(256 * 1024)
  length = 0

  /** Makes room for `more` bytes behind `length`, and for words read past the last event's end. */
  reserve(more: number): void {
    const needed = this.length + more + TAPE_PADDING
    if (needed <= this.bytes.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, needed))
    this.bytes.copy(grown, 0, 0, this.length)
    this.bytes = grown
  }
}

/**
 * Decodes the lines of `range` of `bytes`. A last line without a line feed must be followed by one.
 */
export function decodeText(
  tape: JsonTape,
  events: DecodedEvents,
  bytes: Uint8Array,
  range: { readonly start: number; readonly end: number },
  outcome: PartOutcome,
  into: EventBuffer,
): void {
  const node = tape.trie.child(ROOT, MESSAGE_KEY, 0, MESSAGE_KEY.length, false)
  const { end } = range
  let start = range.start
  while (start < end) {
    outcome.lines++
    let stop = start
    while (NEEDS_ESCAPE[bytes[stop]!] === 0) stop++
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
      writeEvent(tape, events, into, { bytes, start, end: lineEnd, node, plain })
      outcome.accept(next + 1 - start)
    }
    start = next + 1
  }
}

interface Line {
  readonly bytes: Uint8Array
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
  out.set(PREFIX, eventStart)
  const valueStart = eventStart + PREFIX.length
  let at = valueStart
  if (plain) {
    out.set(bytes.subarray(start, end), at)
    at += length
  } else {
    at = escapeInto(bytes, start, end, out, at)
  }
  const type = at - valueStart === length ? STRING : ESCAPED
  tape.push(line.node, type, valueStart, at)
  out[at] = QUOTE
  out[at + 1] = CLOSE_OBJECT
  out[at + 2] = LINE_FEED
  events.add(eventStart, at + 2, tape.length)
  into.length = at + SUFFIX_BYTES
}

/** Writes `start`..`end` as the inside of a JSON string; returns where it ended. */
export function escapeInto(
  bytes: Uint8Array,
  start: number,
  end: number,
  out: Uint8Array,
  at: number,
): number {
  for (let i = start; i < end; i++) {
    const byte = bytes[i]! // The caller's range is within `bytes`.
    if (NEEDS_ESCAPE[byte] === 0) {
      out[at++] = byte
      continue
    }
    out[at++] = BACKSLASH
    const short = SHORT_ESCAPE[byte]!
    if (short !== 0) {
      out[at++] = short
      continue
    }
    out[at++] = 0x75
    out[at++] = 0x30
    out[at++] = 0x30
    out[at++] = HEX[byte >> 4]!
    out[at++] = HEX[byte & 15]!
  }
  return at
}
