/**
 * A private key whose lines came as events of their own, as those of a text body do: its first line
 * says what it is, and the lines after it are recognised by that alone. The last line holds no
 * secret. Such lines follow one another in a batch, under the same key.
 */
import type { DecodedEvents } from '../../tape/decoded-events.ts'
import type { JsonTape } from '../../tape/json-tape.ts'
import { ENTRY, ESCAPED, STRING } from '../../tape/tape-types.ts'

/** A key of 16,384 bits has some 200 lines. */
export const KEY_LINES_MAX = 400
const BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/
const LAST = /^\s*-----END /
/** Lines are 64, 70 or 76 characters, but for the last; or a header, as of an encrypted key. */
const FULL_LINE = /^\s*[A-Za-z0-9+/]{60,80}={0,2}(?:\\r)?$/
const LAST_LINE = /^\s*[A-Za-z0-9+/]{1,80}={0,2}(?:\\r)?$/
const HEADER = /^(?:Proc-Type|DEK-Info|Comment|Version): /
const LINE_BYTES_MAX = 200

/** Whether a string begins a private key that ends elsewhere. */
export function beginsKey(bytes: Buffer, start: number, end: number): boolean {
  const text = bytes.toString('latin1', start, end)
  return BEGIN.test(text) && !text.includes('-----END ')
}

/** The tape entry of the string under `node` in an event, -1 where there is none. */
function stringEntry(tape: JsonTape, events: DecodedEvents, index: number, node: number): number {
  const { entries } = tape
  for (let at = events.tapeStart[index]!; at < events.tapeEnd[index]!; at += ENTRY) {
    const type = entries[at + 1]
    if (entries[at] === node && (type === STRING || type === ESCAPED)) return at
  }
  return -1
}

/**
 * The tape entry of the string in event `index` that continues a private key from the event before,
 * -1 where none does. `node`: that of the key's first line.
 */
export function keyLineEntry(
  tape: JsonTape,
  events: DecodedEvents,
  bytes: Buffer,
  index: number,
  node: number,
): number {
  if (index >= events.count) return -1
  const at = stringEntry(tape, events, index, node)
  const text = at < 0 ? '' : textAt(tape, bytes, at)
  if (FULL_LINE.test(text) || HEADER.test(text)) return at
  if (!LAST_LINE.test(text) || index + 1 === events.count) return -1
  const next = stringEntry(tape, events, index + 1, node)
  return next >= 0 && LAST.test(textAt(tape, bytes, next)) ? at : -1
}

/** A string as it is spelled; empty when it is too long to be a line of a key. */
function textAt({ entries }: JsonTape, bytes: Buffer, at: number): string {
  const start = entries[at + 2]!
  const end = entries[at + 3]!
  return end - start > LINE_BYTES_MAX ? '' : bytes.toString('latin1', start, end)
}
