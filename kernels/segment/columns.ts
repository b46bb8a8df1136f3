/**
 * A segment's text by column: `workers/segment/segment-columns.ts` says what the layout is, makes
 * the templates and takes the events that fit none. Here are those that do: nearly all.
 */
import { copyBytes, copyValue, isSameText } from '../copy'
import { Events } from '../events'
import { cellCount, cellsOf, Layouts } from '../layouts'
import { putLength } from '../varuint'

const LINE_FEED: u8 = 0x0a
const NO_TEMPLATE: i32 = -1

@unmanaged
export class Columns {
  /** By layout: `tried` numbers of templates that its events may have; NO_TEMPLATE ends them. */
  candidates: usize = 0
  tried: i32 = 0
  /** By template: where its gaps begin among `gaps`. */
  gapsOf: usize = 0
  /** Pairs: where a gap's text is in the batch's bytes, and its length. */
  gaps: usize = 0
  entries: usize = 0
  bytes: usize = 0
  /** By slot: where its column's next value goes in `out`. */
  cursors: usize = 0
  out: usize = 0
}

/**
 * Appends the values of the rows from `first` on to their columns and writes by row which template
 * goes with them. Stops at a row that none of its templates fits; returns which one, or `end`. Row
 * `i` is the event `firstEvent + i`.
 */
export function appendRows(
  columns: Columns,
  layouts: Layouts,
  events: Events,
  first: i32,
  end: i32,
  firstEvent: i32,
  templateOf: usize,
): i32 {
  let row = first
  for (; row < end; row++) {
    const layout = load<i32>(layouts.layoutOf + ((<usize>row) << 2))
    if (layout < 0) break
    const template = templateFor(columns, layouts, events, layout, firstEvent + row)
    if (template === NO_TEMPLATE) break
    store<u8>(templateOf + row, <u8>template)
  }
  return row
}

function templateFor(
  columns: Columns,
  layouts: Layouts,
  events: Events,
  layout: i32,
  event: i32,
): i32 {
  const tried = columns.tried
  let candidate = columns.candidates + ((<usize>(layout * tried)) << 2)
  for (let i = 0; i < tried; i++, candidate += 4) {
    const template = load<i32>(candidate)
    if (template === NO_TEMPLATE) break
    if (tryAppend(columns, layouts, events, template, layout, event)) return template
  }
  return NO_TEMPLATE
}

/** Nothing is appended when the text between the values is not the template's. */
function tryAppend(
  columns: Columns,
  layouts: Layouts,
  events: Events,
  template: i32,
  layout: i32,
  event: i32,
): bool {
  const entries = columns.entries
  const bytes = columns.bytes
  const cursors = columns.cursors
  const out = columns.out
  const at = (<usize>event) << 2
  const row = entries + ((<usize>load<i32>(events.tapeStarts + at)) << 2)
  const firstCell = cellsOf(layouts, layout)
  const lastCell = firstCell + (cellCount(layouts, layout) << 3)
  let gap = columns.gaps + ((<usize>load<i32>(columns.gapsOf + ((<usize>template) << 2))) << 3)
  let pos = <usize>load<i32>(events.starts + at)
  for (let cell = firstCell; cell < lastCell; cell += 8, gap += 8) {
    const entry = row + ((<usize>load<i32>(cell, 4)) << 2)
    const start = <usize>load<i32>(entry, 8)
    const end = <usize>load<i32>(entry, 12)
    if (!isGap(bytes, gap, pos, start)) {
      takeBack(cursors, firstCell, cell, row)
      return false
    }
    pos = end
    const cursor = cursors + ((<usize>load<i32>(cell)) << 2)
    const to = <usize>load<i32>(cursor)
    const length = end - start
    // May write seven bytes too many: the next value or the column's padding takes them.
    copyValue(out + to, bytes + start, length)
    store<u8>(out + to + length, LINE_FEED)
    store<i32>(cursor, <i32>(to + length + 1))
  }
  if (isGap(bytes, gap, pos, <usize>load<i32>(events.ends + at))) return true
  takeBack(cursors, firstCell, lastCell, row)
  return false
}

/** Whether the text from `start` to `end` is the gap's. */
function isGap(bytes: usize, gap: usize, start: usize, end: usize): bool {
  const length = end - start
  if (<usize>load<i32>(gap, 4) !== length) return false
  return isSameText(bytes + start, bytes + load<i32>(gap), length)
}

function takeBack(cursors: usize, firstCell: usize, lastCell: usize, row: usize): void {
  for (let cell = firstCell; cell < lastCell; cell += 8) {
    const entry = row + ((<usize>load<i32>(cell, 4)) << 2)
    const cursor = cursors + ((<usize>load<i32>(cell)) << 2)
    const length = load<i32>(entry, 12) - load<i32>(entry, 8)
    store<i32>(cursor, load<i32>(cursor) - length - 1)
  }
}

/**
 * Writes a template: before each value its column and the gap, after the last the gap. Pairs of
 * `cells` begin with a slot; `columnOf`: by slot, the number of its column. Returns where it ends.
 */
export function writeTemplate(
  cells: usize,
  count: i32,
  columnOf: usize,
  firstGap: usize,
  text: usize,
  to: usize,
): usize {
  let out = to
  for (let i = 0; i <= count; i++) {
    const at = (<usize>i) << 3
    if (i < count) {
      const slot = <usize>load<i32>(cells + at)
      out = putLength(<usize>load<i32>(columnOf + (slot << 2)), out)
    }
    const length = <usize>load<i32>(firstGap + at, 4)
    out = putLength(length, out)
    copyBytes(out, text + load<i32>(firstGap + at), length)
    out += length
  }
  return out
}
