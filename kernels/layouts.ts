/**
 * Rows by their layout: where all rows of one layout have the same cells at the same positions.
 *
 * `layouts`: for each layout of a batch, where its cells begin among `cells`, and how many it has;
 * `cells`: pairs of a slot and a place on the tape, counted from the row's first entry. Both are
 * `workers/block/column-index.ts`'s.
 */
import { Events } from './events'
import { ENTRY_BYTES, ESCAPED, EXTENSION, FALSE, STRING, TRUE } from './tape-entries'

const NO_STATE: i32 = 0
/** Siblings looked at before the caller has to look itself, which counts. */
const STEPS_MAX: i32 = 16

@unmanaged
export class Layouts {
  /** By row: its layout, or below zero. */
  layoutOf: usize = 0
  layouts: usize = 0
  cells: usize = 0
}

export function cellsOf(layouts: Layouts, layout: i32): usize {
  const at = layouts.layouts + ((<usize>layout) << 3)
  return layouts.cells + ((<usize>load<i32>(at)) << 3)
}

export function cellCount(layouts: Layouts, layout: i32): usize {
  return <usize>load<i32>(layouts.layouts + ((<usize>layout) << 3), 4)
}

/** The automaton of `workers/facts/event-layouts.ts`. */
@unmanaged
export class States {
  keys: usize = 0
  nexts: usize = 0
  siblings: usize = 0
}

/**
 * The state that follows `state` by `key` though it did not the last time; it comes to the front
 * of those that follow. NO_STATE where there is none among the first `steps`.
 */
function follow(states: States, state: i32, key: i32, steps: i32): i32 {
  const siblings = states.siblings
  const front = states.nexts + ((<usize>state) << 2)
  let before = load<i32>(front)
  if (before === NO_STATE) return NO_STATE
  for (let i = 0; i < steps; i++) {
    const link = siblings + ((<usize>before) << 2)
    const found = load<i32>(link)
    if (found === NO_STATE) break
    if (load<i32>(states.keys + ((<usize>found) << 2)) === key) {
      const sibling = siblings + ((<usize>found) << 2)
      store<i32>(link, load<i32>(sibling))
      store<i32>(sibling, load<i32>(front))
      store<i32>(front, found)
      return found
    }
    before = found
  }
  return NO_STATE
}

/**
 * The layouts of the events from `first` on. Stops at one for which a state has to be made or
 * looked for long, or that has more than `entriesMax` entries; returns which one, or `end`.
 */
export function findLayouts(
  states: States,
  events: Events,
  first: i32,
  end: i32,
  entries: usize,
  found: usize,
  entriesMax: i32,
): i32 {
  let event = first
  for (; event < end; event++) {
    const at = (<usize>event) << 2
    let entry = entries + ((<usize>load<i32>(events.tapeStarts + at)) << 2)
    const last = entries + ((<usize>load<i32>(events.tapeEnds + at)) << 2)
    if (last - entry > <usize>entriesMax * ENTRY_BYTES) break
    let state = NO_STATE
    for (; entry < last; entry += ENTRY_BYTES) {
      const type = load<i32>(entry, 4)
      // An extension says how far its array or object reaches.
      const path =
        type === EXTENSION ? load<i32>(entry, 12) - <i32>((entry - entries) >> 2) : load<i32>(entry)
      const kind = type === TRUE ? FALSE : type === ESCAPED ? STRING : type
      const key = (path << 4) | kind
      const next = load<i32>(states.nexts + ((<usize>state) << 2))
      const isExpected = load<i32>(states.keys + ((<usize>next) << 2)) === key
      state = isExpected ? next : follow(states, state, key, STEPS_MAX)
      if (state === NO_STATE) break
    }
    if (entry < last) break
    store<i32>(found + at, state)
  }
  return event
}

/**
 * Puts the entries of the rows from `first` on where their columns' cells are. Stops at a row
 * without a layout; returns which one that is, or `end`. `starts`: by row, its first entry.
 */
export function placeRows(
  layouts: Layouts,
  first: i32,
  end: i32,
  starts: usize,
  entries: usize,
  fill: usize,
  cellRow: usize,
  cellEntry: usize,
  textBytes: usize,
): i32 {
  let row = first
  for (; row < end; row++) {
    const layout = load<i32>(layouts.layoutOf + ((<usize>row) << 2))
    if (layout < 0) break
    const start = load<i32>(starts + ((<usize>row) << 2))
    let cell = cellsOf(layouts, layout)
    const last = cell + (cellCount(layouts, layout) << 3)
    for (; cell < last; cell += 8) {
      const slot = <usize>load<i32>(cell)
      const place = start + load<i32>(cell, 4)
      const next = load<i32>(fill + (slot << 2))
      store<i32>(fill + (slot << 2), next + 1)
      store<i32>(cellRow + ((<usize>next) << 2), row)
      store<i32>(cellEntry + ((<usize>next) << 2), place)
      const entry = entries + ((<usize>place) << 2)
      const length = load<i32>(entry, 12) - load<i32>(entry, 8)
      const bytes = textBytes + (slot << 3)
      store<f64>(bytes, load<f64>(bytes) + <f64>length)
    }
  }
  return row
}
