/**
 * Facts of events (`workers/facts/event-facts.ts`): the shape that is their layout's, and their
 * producer time; and the columns of a block that they become.
 */
import { unescapeText } from './escape'
import { tapeStarts } from './events'
import { ESCAPED } from './tape-entries'
import { timeMs, timeNanos, tryTime } from './times'

const SOURCE_RECEIPT: u8 = 0
const SOURCE_FIELD: u8 = 1
const NANOS_PER_MS: i64 = 1_000_000

/** By event. */
let times: usize = 0
let nanos: usize = 0
let sources: usize = 0
let lows: usize = 0
let highs: usize = 0
/** By layout four integers: the shape's halves, where its times are listed, and behind the last. */
let layoutFacts: usize = 0
/** Places of strings that may be a time, from the event's first entry. */
let timeOffsets: usize = 0
/** Room for a time without its escapes; of longer texts none is read. */
let scratch: usize = 0
let escapedBytesMax: usize = 0

export function bindFacts(
  ms: usize,
  nanosBeyond: usize,
  source: usize,
  shapeLow: usize,
  shapeHigh: usize,
): void {
  times = ms
  nanos = nanosBeyond
  sources = source
  lows = shapeLow
  highs = shapeHigh
}

export function bindLayoutFacts(
  facts: usize,
  offsets: usize,
  unescaped: usize,
  unescapedFromMax: usize,
): void {
  layoutFacts = facts
  timeOffsets = offsets
  scratch = unescaped
  escapedBytesMax = unescapedFromMax
}

/**
 * Describes the events from `first` on, whose layouts are at `layoutOf`. Stops at one whose layout
 * nothing is known of; returns which one that is, or `end`.
 */
export function describeEvents(
  first: i32,
  end: i32,
  layoutOf: usize,
  entries: usize,
  bytes: usize,
): i32 {
  let event = first
  for (; event < end; event++) {
    const at = (<usize>event) << 2
    const layout = load<i32>(layoutOf + at)
    if (layout < 0) break
    const facts = layoutFacts + ((<usize>layout) << 4)
    const lastOffset = load<i32>(facts, 12)
    if (lastOffset === 0) break
    store<i32>(lows + at, load<i32>(facts))
    store<i32>(highs + at, load<i32>(facts, 4))
    const row = entries + ((<usize>load<i32>(tapeStarts + at)) << 2)
    takeTime(event, row, bytes, load<i32>(facts, 8), lastOffset)
  }
  return event
}

/** The first string that is a time is the event's. */
function takeTime(event: i32, row: usize, bytes: usize, from: i32, to: i32): void {
  store<u8>(sources + event, SOURCE_RECEIPT)
  for (let i = from; i < to; i++) {
    const entry = row + ((<usize>load<i32>(timeOffsets + ((<usize>i) << 2))) << 2)
    if (!tryEntry(entry, bytes)) continue
    store<f64>(times + ((<usize>event) << 3), timeMs)
    store<i32>(nanos + ((<usize>event) << 2), timeNanos)
    store<u8>(sources + event, SOURCE_FIELD)
    return
  }
}

/** Reads a string as a time; an escaped one (`+` as `\u002b`) as what it says. */
function tryEntry(entry: usize, bytes: usize): bool {
  const start = bytes + load<i32>(entry, 8)
  const end = bytes + load<i32>(entry, 12)
  if (load<i32>(entry, 4) !== ESCAPED) return tryTime(start, end)
  if (end - start > escapedBytesMax) return false
  return tryTime(scratch, unescapeText(start, end, scratch))
}

/**
 * Writes the times of `count` events from `first` on as nanoseconds since 1970, 0 where the source
 * is the receipt; returns how many are that.
 */
export function writeTimes(first: i32, count: i32, to: usize): i32 {
  let missing = 0
  for (let i = 0; i < count; i++) {
    const event = <usize>(first + i)
    const isMissing = load<u8>(sources + event) === SOURCE_RECEIPT
    const ms = <i64>load<f64>(times + (event << 3))
    const time = ms * NANOS_PER_MS + <i64>load<i32>(nanos + (event << 2))
    store<i64>(to + ((<usize>i) << 3), isMissing ? 0 : time)
    missing += i32(isMissing)
  }
  return missing
}

/** Writes the shapes of `count` events from `first` on, eight bytes each. */
export function writeShapes(first: i32, count: i32, to: usize): void {
  for (let i = 0; i < count; i++) {
    const at = (<usize>(first + i)) << 2
    const out = to + ((<usize>i) << 3)
    store<i32>(out, load<i32>(lows + at))
    store<i32>(out, load<i32>(highs + at), 4)
  }
}
