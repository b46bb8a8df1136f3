/** Changes events: finds entries of interest, copies events and their entries with edits. */
import { copyValue } from './copy'
import { Events } from './events'
import { ARRAY, DEAD, ENTRY_BYTES, EXTENSION, NULL, STRING } from './tape-entries'

const LINE_FEED: u8 = 0x0a
/** Bytes an edit takes; see `#stage` of `workers/transform/rewrite/event-rewriter.ts`. */
const EDIT_BYTES: usize = 32
/** What an edit does: inserts, or replaces by a string or by null. */
const INSERT: i32 = 0
const REPLACE_BY_STRING: i32 = 1

/**
 * Writes the event `start`..`end` of `bytes`, whose entries are those from `entry` up to
 * `entryEnd`, once more after what is there: the text at `out`, the entries at `length`, both with
 * the `count` edits at `edits`. Where text and entries then end takes the place of the first two
 * integers of the edits. Texts are written up to seven bytes further.
 */
export function spliceEvent(
  edits: usize,
  count: i32,
  start: i32,
  end: i32,
  entry: i32,
  entryEnd: i32,
  bytes: usize,
  out: i32,
  entries: usize,
  length: i32,
): void {
  let pos = start
  let from = entry
  let text = out
  let tape = length
  for (let i = 0, edit = edits; i < count; i++, edit += EDIT_BYTES) {
    const editStart = load<i32>(edit)
    const editEntry = load<i32>(edit, 8)
    const way = load<i32>(edit, 12)
    const stop = way === INSERT ? editEntry + 4 : editEntry
    if (from < stop) tape = copyMoved(entries, from, stop, tape, text - pos)
    from = stop
    if (editStart > pos) {
      copyValue(bytes + text, bytes + pos, editStart - pos)
      text += editStart - pos
    }
    const textLength = load<i32>(edit, 20)
    copyValue(bytes + text, load<u32>(edit, 16), textLength)
    if (way === INSERT) {
      const known: usize = load<u32>(edit, 24)
      const knownBytes: usize = load<u32>(edit, 28)
      copyEntries(known, known + knownBytes, entries + ((<usize>tape) << 2), text, 0)
      tape += <i32>(knownBytes >> 2)
    } else {
      from = pushReplaced(entries, stop, tape, text, textLength, way)
      tape += 4
    }
    text += textLength
    pos = load<i32>(edit, 4)
  }
  tape = copyMoved(entries, from, entryEnd, tape, text - pos)
  copyValue(bytes + text, bytes + pos, end - pos)
  text += end - pos
  store<u8>(bytes + text, LINE_FEED)
  store<i32>(edits, text)
  store<i32>(edits, tape, 4)
}

/** Copies entries to `tape`, all counted in integers; returns where they end. */
function copyMoved(entries: usize, from: i32, to: i32, tape: i32, shift: i32): i32 {
  const source = entries + ((<usize>from) << 2)
  const stop = entries + ((<usize>to) << 2)
  copyEntries(source, stop, entries + ((<usize>tape) << 2), shift, tape - from)
  return tape + to - from
}

/** Writes the entry of what became of the value at `from`; returns the entry after that value. */
function pushReplaced(
  entries: usize,
  from: i32,
  tape: i32,
  text: i32,
  textLength: i32,
  way: i32,
): i32 {
  const replaced = entries + ((<usize>from) << 2)
  const target = entries + ((<usize>tape) << 2)
  const quotes = way === REPLACE_BY_STRING ? 1 : 0
  store<i32>(target, load<i32>(replaced))
  store<i32>(target, way === REPLACE_BY_STRING ? STRING : NULL, 4)
  store<i32>(target, text + quotes, 8)
  store<i32>(target, text + textLength - quotes, 12)
  return load<i32>(replaced, 4) === ARRAY ? load<i32>(replaced, 28) : from + 4
}

/**
 * Writes the entries from `from` up to `to` once more at `out`: their positions are `shift` bytes
 * further, and where extensions end on the tape `moved` integers.
 */
export function copyEntries(from: usize, to: usize, out: usize, shift: i32, moved: i32): void {
  const moveText = i32x4(0, 0, shift, shift)
  const moveEnd = i32x4(0, 0, 0, moved)
  let target = out
  for (let entry = from; entry < to; entry += ENTRY_BYTES, target += ENTRY_BYTES) {
    const isExtension = load<i32>(entry, 4) === EXTENSION
    v128.store(target, i32x4.add(v128.load(entry), isExtension ? moveEnd : moveText))
  }
}

/** The next event, from `first` on, with an entry of `node`; `end` when there is none. */
export function findNode(events: Events, first: i32, end: i32, entries: usize, node: i32): i32 {
  let event = first
  for (; event < end; event++) {
    const at = (<usize>event) << 2
    const stop = entries + ((<usize>load<i32>(events.tapeEnds + at)) << 2)
    let entry = entries + ((<usize>load<i32>(events.tapeStarts + at)) << 2)
    while (entry < stop && load<i32>(entry) !== node) entry += ENTRY_BYTES
    if (entry < stop) break
  }
  return event
}

/**
 * The first entry from `from` on that is under a key with one of the flags `wanted`, or under one
 * that nobody asked about; `to` when there is none. `flags`: by node, `count` of them.
 */
export function findFlagged(from: usize, to: usize, flags: usize, count: i32, wanted: u32): usize {
  let entry = from
  for (; entry < to; entry += ENTRY_BYTES) {
    const type = load<i32>(entry, 4)
    if (type === EXTENSION || type === DEAD) continue
    const node = load<i32>(entry)
    if (node >= count) break
    const found = <u32>load<u8>(flags + node)
    if (found === 0 || (found & wanted) !== 0) break
  }
  return entry
}
