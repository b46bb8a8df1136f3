/**
 * Puts the text of a segment in column layout together again: the inverse of `columns.ts`.
 * `workers/segment/segment-columns-reader.ts` reads the layout and says where everything is.
 */
import { copyValue } from '../copy'
import { signsIn } from '../scan'

const LINE_FEED: u8 = 0x0a
/** Instead of the end: the segment is damaged. */
const CUT_SHORT: usize = 0
const NO_TEMPLATE: usize = 1
const TOO_LONG: usize = 2

/**
 * A template is a run of gaps: where the text is, its bytes, and the column of the value after it,
 * below zero after the last.
 */
const GAP_BYTES: usize = 12
const NO_COLUMN: i32 = -1

/**
 * Writes `count` events, a line feed after each, from `out` on; returns where they end, or what is
 * wrong. `templateOf`: by event the number of its template, if there are several; `gapsOf`: by
 * template, where its gaps are. Writes up to 31 bytes after `limit`, and reads 15 after a column.
 *
 * `columns`: by column four integers: where its next value is, where its values end, and of a
 * dictionary where the numbers of its values' starts are, and from where these count. Then "values"
 * are numbers.
 */
export function writeStored(
  count: i32,
  templateOf: usize,
  gapsOf: usize,
  templates: i32,
  columns: usize,
  out: usize,
  limit: usize,
): usize {
  let to = out
  for (let event = 0; event < count; event++) {
    const template = templateOf === 0 ? 0 : <i32>load<u8>(templateOf + event)
    if (template >= templates) return NO_TEMPLATE
    const gaps = <usize>load<i32>(gapsOf + ((<usize>template) << 2))
    to = writeEvent(columns, gaps, to, limit)
    if (to <= TOO_LONG) return to
    if (to >= limit) return TOO_LONG
    store<u8>(to++, LINE_FEED)
  }
  return to
}

function writeEvent(columns: usize, gaps: usize, out: usize, limit: usize): usize {
  let to = out
  let gap = gaps
  while (true) {
    const length = <usize>load<i32>(gap, 4)
    if (to + length > limit) return TOO_LONG
    copyValue(to, <usize>load<i32>(gap), length)
    to += length
    const number = load<i32>(gap, 8)
    if (number === NO_COLUMN) return to
    gap += GAP_BYTES
    const column = columns + ((<usize>number) << 4)
    const isText = load<i32>(column, 8) === 0
    to = isText ? writeText(column, to, limit) : writeListed(column, to, limit)
    if (to <= TOO_LONG) return to
  }
}

/** The column's next value, up to its line feed. */
function writeText(column: usize, out: usize, limit: usize): usize {
  const end = <usize>load<i32>(column, 4)
  let from = <usize>load<i32>(column)
  let to = out
  while (from < end) {
    if (to > limit) return TOO_LONG
    const text = v128.load(from)
    v128.store(to, text)
    const feeds = signsIn(text, LINE_FEED)
    if (feeds !== 0) {
      const length = <usize>ctz(feeds)
      from += length + 1
      store<i32>(column, <i32>from)
      return from > end ? CUT_SHORT : to + length
    }
    from += 16
    to += 16
  }
  return CUT_SHORT
}

/** The column's next value, of which it has the number. */
function writeListed(column: usize, to: usize, limit: usize): usize {
  const at = <usize>load<i32>(column)
  if (at >= <usize>load<i32>(column, 4)) return CUT_SHORT
  store<i32>(column, <i32>at + 1)
  const starts = <usize>load<i32>(column, 8) + ((<usize>load<u8>(at)) << 2)
  const start = load<i32>(starts)
  const length = <usize>(load<i32>(starts, 4) - start - 1)
  if (to + length > limit) return TOO_LONG
  copyValue(to, <usize>(load<i32>(column, 12) + start), length)
  return to + length
}
