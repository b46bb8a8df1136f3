/**
 * Plain text: each non-empty line becomes `{"message":"<line>"}`. A kernel writes the events' JSON
 * to a buffer of its own, escaped where JSON requires it, and their entries onto the tape
 * (`kernels/decode/lines.ts`).
 */
import { EVENT_BYTES_MAX } from '../../src/limits.ts'
import { arena } from '../kernel/arena.ts'
import { heldBytes } from '../kernel/arena-copy.ts'
import { kernels } from '../kernel/kernels.ts'
import type { DecodedEvents } from '../tape/decoded-events.ts'
import type { EventBuffer } from '../tape/event-buffer.ts'
import { ESCAPE_BYTES_MAX } from '../tape/json-escape.ts'
import { type JsonTape, TAPE_PADDING } from '../tape/json-tape.ts'
import { ROOT } from '../tape/path-trie.ts'
import { ENTRY } from '../tape/tape-types.ts'
import { TOO_LARGE_MESSAGE } from './ndjson.ts'
import type { PartOutcome } from './part-outcome.ts'

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const PREFIX = heldBytes(Buffer.from('{"message":"'))
/** What the kernel wants beside the escaped line: what is around it, and some to spare. */
const EVENT_ROOM = 64
const MESSAGE_KEY = Buffer.from('message')
/** The kernel's context: see `Lines` of `kernels/decode/lines.ts`. */
const context = arena.addresses(9)
/** Where its counts begin there. */
const COUNTS = 4

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
  context.set([PREFIX.byteOffset, PREFIX.length, node, EVENT_BYTES_MAX])
  into.reserve(range.end - range.start + EVENT_ROOM)
  for (let pos = range.start; ; ) {
    pos = writeLines(tape, events, bytes, { start: pos, end: range.end }, outcome, into)
    if (pos >= range.end) return
    const next = bytes.indexOf(LINE_FEED, pos) + 1
    const length = next - 1 - pos - (bytes[next - 2] === CARRIAGE_RETURN ? 1 : 0)
    if (length > EVENT_BYTES_MAX) {
      outcome.reject(++outcome.lines, 'too_large', TOO_LARGE_MESSAGE)
      pos = next
    } else {
      into.reserve(length * ESCAPE_BYTES_MAX + EVENT_ROOM)
      events.reserveOne()
      tape.reserve(ENTRY)
    }
  }
}

/** Continues until there is no room or a line is too long; returns the position. */
function writeLines(
  tape: JsonTape,
  events: DecodedEvents,
  bytes: Uint8Array,
  range: { readonly start: number; readonly end: number },
  outcome: PartOutcome,
  into: EventBuffer,
): number {
  const before = events.count
  context.set([before, into.length, tape.length, outcome.lines, 0], COUNTS)
  const pos = kernels.writeLines(
    context.byteOffset,
    events.context(),
    bytes.byteOffset,
    range.start,
    range.end,
    into.bytes.byteOffset,
    into.bytes.length - TAPE_PADDING,
    tape.entries.byteOffset,
    tape.entries.length,
    events.start.length,
  )
  const [count, textLength, tapeLength, lines, lineBytes] = context.subarray(COUNTS)
  into.length = textLength!
  tape.length = tapeLength!
  events.added(count!, tape.length)
  outcome.lines = lines!
  outcome.accept(lineBytes!, count! - before)
  return pos
}
