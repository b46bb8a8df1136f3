/**
 * Log-string extraction: a field `log` at an event's root that holds a JSON object as a string
 * becomes that object, with the string itself as its last key `_raw` (spec, Log-string
 * extraction). Anything else in `log` stays: text, arrays, scalars, broken JSON.
 *
 * The string is decoded into its new place with `"_raw"` already at the object's end, and parsed
 * there once, by the same tape as events. That judges it exactly as `JSON.parse` would judge the
 * string: up to the last brace both are the same bytes, and what is put before that brace is a
 * member that makes no broken object whole and breaks no whole one.
 *
 * A `_raw` that the object already has is overruled, as a later key overrules an earlier one; it
 * remains within ours, which holds the whole text. `EVENT_BYTES_MAX` applies to events as they are
 * sent: an extracted one may be larger. `DEPTH_MAX` applies to what is stored: an object that would
 * nest deeper stays a string.
 */

import { copyRange } from '../../kernel/arena-copy.ts'
import { kernels } from '../../kernel/kernels.ts'
import type { DecodedEvents } from '../../tape/decoded-events.ts'
import type { EventBuffer } from '../../tape/event-buffer.ts'
import { type JsonTape, TAPE_PADDING } from '../../tape/json-tape.ts'
import { type PathTrie, ROOT } from '../../tape/path-trie.ts'
import { ENTRY, ESCAPED, STRING } from '../../tape/tape-types.ts'
import type { EventRewriter } from './event-rewriter.ts'

const LOG_KEY = Buffer.from('log')
const RAW_KEY = Buffer.from('"_raw":"')
/** `,` before the key, `"}` after the value, and a line feed with zeros after that. */
const EXTRA_BYTES = 1 + RAW_KEY.length + 2 + 1 + TAPE_PADDING

const LINE_FEED = 0x0a
const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const BACKSLASH = 0x5c

/** The node of `log` at the root. */
export function logNode(trie: PathTrie): number {
  return trie.child(ROOT, LOG_KEY, 0, LOG_KEY.length, false)
}

/** Extracts `log` in all events of a batch; returns in how many. */
export function extractLogs(
  tape: JsonTape,
  events: DecodedEvents,
  rewriter: EventRewriter,
): number {
  const node = logNode(tape.trie)
  let extracted = 0
  for (let i = 0; ; i++) {
    const { entries } = tape
    i = kernels.findNode(events.context(), i, events.count, entries.byteOffset, node)
    if (i === events.count) return extracted
    const end = events.tapeEnd[i]!
    for (let at = events.tapeStart[i]!; at < end; at += ENTRY) {
      if (entries[at] !== node) continue
      const type = entries[at + 1]
      if (type !== STRING && type !== ESCAPED) continue
      if (mayBeObject(rewriter.bytes, entries[at + 2]!, entries[at + 3]!)) {
        if (extractLog(tape, events, rewriter, i, at)) extracted++
      }
      break
    }
  }
}

/** Cheap, and only ever wrong about strings that are not objects. */
export function mayBeObject(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start < 2) return false
  const first = bytes[start]!
  return first === OPEN_OBJECT || first === SPACE || first === BACKSLASH
}

/** Extracts the string at `entry` of event `index`, if it is an object. */
function extractLog(
  tape: JsonTape,
  events: DecodedEvents,
  rewriter: EventRewriter,
  index: number,
  entry: number,
): boolean {
  const eventStart = events.start[index]!
  const eventEnd = events.end[index]!
  const node = tape.entries[entry]!
  const rawStart = tape.entries[entry + 2]!
  const rawEnd = tape.entries[entry + 3]!
  const rawBytes = rawEnd - rawStart
  const out = rewriter.open(eventEnd - eventStart + 2 * rawBytes + EXTRA_BYTES)
  const outStart = out.length
  const tapeStart = tape.length
  const objectStart = outStart + (rawStart - 1 - eventStart)
  copyRange(out.bytes, outStart, out.bytes, eventStart, rawStart - 1)
  const objectEnd = writeObject(out, objectStart, rawStart, rawEnd)
  if (objectEnd < 0) return false

  tape.copyEntries(events.tapeStart[index]!, entry, outStart - eventStart)
  const open = blankLineFeeds(out.bytes, objectStart, objectEnd)
  if (open < 0 || tape.parse(open, node, false, 1) !== objectEnd) {
    tape.length = tapeStart
    return false
  }
  const shift = objectEnd - (rawEnd + 1)
  tape.copyEntries(entry + ENTRY, events.tapeEnd[index]!, shift)
  const outEnd = copyRange(out.bytes, objectEnd, out.bytes, rawEnd + 1, eventEnd)
  out.bytes[outEnd] = LINE_FEED
  out.length = outEnd + 1
  events.move(index, outStart, outEnd, tapeStart, tape.length)
  return true
}

/**
 * Writes the object with its `_raw` at `at`, followed by the padding that the tape relies on.
 * Returns where it ends, or -1 when the string does not end as an object does.
 */
function writeObject(out: EventBuffer, at: number, rawStart: number, rawEnd: number): number {
  const { bytes } = out
  const { byteOffset } = bytes
  let end =
    kernels.unescapeText(byteOffset + rawStart, byteOffset + rawEnd, byteOffset + at) - byteOffset
  while (end > at && isSpace(bytes[end - 1]!)) end--
  if (end - at < 2 || bytes[end - 1] !== CLOSE_OBJECT) return -1
  end--
  let last = end - 1
  while (last > at && isSpace(bytes[last]!)) last--
  if (bytes[last] !== OPEN_OBJECT) bytes[end++] = COMMA
  bytes.set(RAW_KEY, end)
  end += RAW_KEY.length
  end = copyRange(bytes, end, bytes, rawStart, rawEnd)
  bytes[end++] = QUOTE
  bytes[end++] = CLOSE_OBJECT
  bytes[end] = LINE_FEED
  bytes.fill(0, end + 1, end + 1 + TAPE_PADDING)
  return end
}

/**
 * Line feeds between tokens become spaces, so that the event stays on one line; within strings
 * they are errors. Returns where the value begins, or -1.
 *
 * A line feed inside a string must not become a valid space: such text is refused here.
 */
function blankLineFeeds(bytes: Uint8Array, start: number, end: number): number {
  let open = start
  while (isSpace(bytes[open]!)) bytes[open++] = SPACE
  if (bytes[open] !== OPEN_OBJECT) return -1
  let at = bytes.indexOf(LINE_FEED, open)
  if (at >= end || at < 0) return open
  let isString = false
  for (at = open; at < end; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) isString = !isString
    else if (byte === BACKSLASH) at++
    else if (byte === LINE_FEED) {
      if (isString) return -1
      bytes[at] = SPACE
    }
  }
  return open
}

function isSpace(byte: number): boolean {
  return byte === SPACE || byte === LINE_FEED || byte === 0x0d || byte === 0x09
}
