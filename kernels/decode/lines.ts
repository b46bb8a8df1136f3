/** Plain text: each line becomes an event whose one member is the line. */
import { copyValue } from '../copy'
import { escapeText } from '../escape'
import { Events } from '../events'
import { lineFeedFrom } from '../scan'
import { ESCAPED, STRING } from '../tape-entries'

const CARRIAGE_RETURN: u8 = 0x0d
/** `"}` and a line feed; the word's fourth byte is written over, or after the last event. */
const SUFFIX: u32 = 0x000a7d22
const SUFFIX_BYTES: usize = 3
/** What `escapeText` wants to have left. */
const MARGIN: usize = 22

@unmanaged
export class Lines {
  /** What comes before a line: a brace, the key, a colon and a quote. */
  prefix: usize = 0
  prefixLength: usize = 0
  node: i32 = 0
  lineBytesMax: usize = 0
  /** So far: events, the length of their text and of the tape. */
  events: i32 = 0
  text: i32 = 0
  tape: i32 = 0
  /** Lines, and the bytes of the accepted ones, with their ends. */
  lines: i32 = 0
  lineBytes: i32 = 0
}

/**
 * Makes events of the lines from `pos` to `end` of `source`, the last of which has a line feed at
 * `end` or before. Blank lines are passed over. Returns where it stopped: `end` or beyond, or at a
 * line that is too long or for which there is no room in the text before `limit`, on the tape or
 * among the events.
 */
export function writeLines(
  batch: Lines,
  arrays: Events,
  source: usize,
  pos: i32,
  end: i32,
  out: usize,
  limit: i32,
  entries: usize,
  capacity: i32,
  eventsMax: i32,
): i32 {
  const textLimit = out + limit
  const prefix = batch.prefix
  const prefixLength = batch.prefixLength
  let events = batch.events
  let text = out + batch.text
  let tape = batch.tape
  let lines = batch.lines
  let lineBytes = batch.lineBytes
  let at = pos
  while (at < end) {
    const start = source + at
    const feed = lineFeedFrom(start)
    const next = <i32>(feed - source) + 1
    const hasReturn = feed > start && load<u8>(feed - 1) === CARRIAGE_RETURN
    const length = feed - start - (hasReturn ? 1 : 0)
    if (length > 0) {
      if (length > batch.lineBytesMax || events === eventsMax || tape + 4 > capacity) break
      if (text + prefixLength + MARGIN > textLimit) break
      copyValue(text, prefix, prefixLength)
      const open = text + prefixLength
      const close = escapeText(start, start + length, open, textLimit)
      if (close === 0) break
      store<u32>(close, SUFFIX)
      addEvent(arrays, events++, <i32>(text - out), <i32>(close + 2 - out), tape)
      const type = close - open === length ? STRING : ESCAPED
      pushLine(entries + ((<usize>tape) << 2), batch.node, type, open - out, close - out)
      tape += 4
      text = close + SUFFIX_BYTES
      lineBytes += min(next, end) - at
    }
    lines++
    at = next
  }
  batch.events = events
  batch.text = <i32>(text - out)
  batch.tape = tape
  batch.lines = lines
  batch.lineBytes = lineBytes
  return at
}

function addEvent(events: Events, event: i32, start: i32, end: i32, tape: i32): void {
  const at = (<usize>event) << 2
  store<i32>(events.starts + at, start)
  store<i32>(events.ends + at, end)
  store<i32>(events.tapeStarts + at, tape)
  store<i32>(events.tapeEnds + at, tape + 4)
}

function pushLine(entry: usize, node: i32, type: i32, start: usize, end: usize): void {
  store<i32>(entry, node)
  store<i32>(entry, type, 4)
  store<i32>(entry, <i32>start, 8)
  store<i32>(entry, <i32>end, 12)
}
