/** Plain text: each line becomes an event whose one member is the line. */
import { copyValue } from './copy'
import { escapeText } from './escape'
import { ends, starts, tapeEnds, tapeStarts } from './events'
import { lineFeedFrom } from './scan'
import { ESCAPED, STRING } from './tape-entries'

const CARRIAGE_RETURN: u8 = 0x0d
/** `"}` and a line feed; the word's fourth byte is written over, or behind the last event. */
const SUFFIX: u32 = 0x000a7d22
const SUFFIX_BYTES: usize = 3
/** What `escapeText` wants to have left. */
const MARGIN: usize = 22

/** Integers of the state, in bytes. */
const EVENTS: usize = 0
const TEXT: usize = 4
const TAPE: usize = 8
const LINES: usize = 12
const LINE_BYTES: usize = 16

/** What comes before a line: a brace, the key, a colon and a quote. */
let prefix: usize = 0
let prefixLength: usize = 0
let node: i32 = 0
let lineBytesMax: usize = 0

export function bindLines(before: usize, length: i32, messageNode: i32, longest: i32): void {
  prefix = before
  prefixLength = length
  node = messageNode
  lineBytesMax = longest
}

/**
 * Makes events of the lines from `pos` to `end` of `source`, the last of which has a line feed at
 * `end` or before. Blank lines are passed over. `state`: events, the length of their text at `out`,
 * the length of the tape, lines so far, and the bytes of the lines taken, with their ends. Returns
 * where it stopped: `end` or beyond, or at a line that is too long or for which there is no room
 * in the text before `limit`, on the tape or among the events.
 */
export function writeLines(
  source: usize,
  pos: i32,
  end: i32,
  out: usize,
  limit: i32,
  entries: usize,
  capacity: i32,
  eventsMax: i32,
  state: usize,
): i32 {
  const textLimit = out + limit
  let events = load<i32>(state, EVENTS)
  let text = out + load<i32>(state, TEXT)
  let tape = load<i32>(state, TAPE)
  let lines = load<i32>(state, LINES)
  let lineBytes = load<i32>(state, LINE_BYTES)
  let at = pos
  while (at < end) {
    const start = source + at
    const feed = lineFeedFrom(start)
    const next = <i32>(feed - source) + 1
    const hasReturn = feed > start && load<u8>(feed - 1) === CARRIAGE_RETURN
    const length = feed - start - (hasReturn ? 1 : 0)
    if (length > 0) {
      if (length > lineBytesMax || events === eventsMax || tape + 4 > capacity) break
      if (text + prefixLength + MARGIN > textLimit) break
      copyValue(text, prefix, prefixLength)
      const open = text + prefixLength
      const close = escapeText(start, start + length, open, textLimit)
      if (close === 0) break
      store<u32>(close, SUFFIX)
      addEvent(events++, <i32>(text - out), <i32>(close + 2 - out), tape)
      pushLine(entries + ((<usize>tape) << 2), open, close, out, close - open === length)
      tape += 4
      text = close + SUFFIX_BYTES
      lineBytes += min(next, end) - at
    }
    lines++
    at = next
  }
  store<i32>(state, events, EVENTS)
  store<i32>(state, <i32>(text - out), TEXT)
  store<i32>(state, tape, TAPE)
  store<i32>(state, lines, LINES)
  store<i32>(state, lineBytes, LINE_BYTES)
  return at
}

function addEvent(event: i32, start: i32, end: i32, tape: i32): void {
  const at = (<usize>event) << 2
  store<i32>(starts + at, start)
  store<i32>(ends + at, end)
  store<i32>(tapeStarts + at, tape)
  store<i32>(tapeEnds + at, tape + 4)
}

function pushLine(entry: usize, open: usize, close: usize, base: usize, isPlain: bool): void {
  store<i32>(entry, node)
  store<i32>(entry, isPlain ? STRING : ESCAPED, 4)
  store<i32>(entry, <i32>(open - base), 8)
  store<i32>(entry, <i32>(close - base), 12)
}
