/**
 * Facts of events (`workers/facts/event-facts.ts`): the shape that is their layout's, and their
 * producer time; and the columns of a block that they become.
 */
import { unescapeText } from './escape'
import { Events } from './events'
import { ESCAPED } from './tape-entries'
import { Clock, tryTime } from './times'

const SOURCE_RECEIPT: u8 = 0
const SOURCE_FIELD: u8 = 1
const NANOS_PER_MS: i64 = 1_000_000

@unmanaged
export class Facts {
  /** By event. */
  times: usize = 0
  nanos: usize = 0
  sources: usize = 0
  lows: usize = 0
  highs: usize = 0
  /** By layout: the shape's halves, where its times are listed, and after the last. */
  layoutFacts: usize = 0
  /** Positions of strings that may be a time, from the event's first entry. */
  timeOffsets: usize = 0
  /** Room for a time without its escapes; longer texts are not read. */
  scratch: usize = 0
  escapedBytesMax: usize = 0
  clock: Clock = changetype<Clock>(0)
}

/**
 * Describes the events from `first` on, whose layouts are at `layoutOf`. Stops at one whose layout
 * nothing is known of; returns which one that is, or `end`.
 */
export function describeEvents(
  facts: Facts,
  events: Events,
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
    const known = facts.layoutFacts + ((<usize>layout) << 4)
    const lastOffset = load<i32>(known, 12)
    if (lastOffset === 0) break
    store<i32>(facts.lows + at, load<i32>(known))
    store<i32>(facts.highs + at, load<i32>(known, 4))
    const row = entries + ((<usize>load<i32>(events.tapeStarts + at)) << 2)
    takeTime(facts, event, row, bytes, load<i32>(known, 8), lastOffset)
  }
  return event
}

/** The first string that is a time is the event's. */
function takeTime(facts: Facts, event: i32, row: usize, bytes: usize, from: i32, to: i32): void {
  store<u8>(facts.sources + event, SOURCE_RECEIPT)
  for (let i = from; i < to; i++) {
    const entry = row + ((<usize>load<i32>(facts.timeOffsets + ((<usize>i) << 2))) << 2)
    if (!tryEntry(facts, entry, bytes)) continue
    store<f64>(facts.times + ((<usize>event) << 3), facts.clock.ms)
    store<i32>(facts.nanos + ((<usize>event) << 2), facts.clock.nanos)
    store<u8>(facts.sources + event, SOURCE_FIELD)
    return
  }
}

/** Reads a string as a time; an escaped one (`+` as `\u002b`) as what it says. */
function tryEntry(facts: Facts, entry: usize, bytes: usize): bool {
  const start = bytes + load<i32>(entry, 8)
  const end = bytes + load<i32>(entry, 12)
  if (load<i32>(entry, 4) !== ESCAPED) return tryTime(facts.clock, start, end)
  if (end - start > facts.escapedBytesMax) return false
  const scratch = facts.scratch
  return tryTime(facts.clock, scratch, unescapeText(start, end, scratch))
}

/**
 * Writes the times of `count` events from `first` on as nanoseconds since 1970, 0 where the source
 * is the receipt; returns how many are that.
 */
export function writeTimes(facts: Facts, first: i32, count: i32, to: usize): i32 {
  let missing = 0
  for (let i = 0; i < count; i++) {
    const event = <usize>(first + i)
    const isMissing = load<u8>(facts.sources + event) === SOURCE_RECEIPT
    const ms = <i64>load<f64>(facts.times + (event << 3))
    const time = ms * NANOS_PER_MS + <i64>load<i32>(facts.nanos + (event << 2))
    store<i64>(to + ((<usize>i) << 3), isMissing ? 0 : time)
    missing += i32(isMissing)
  }
  return missing
}

/** Writes the shapes of `count` events from `first` on, eight bytes each. */
export function writeShapes(facts: Facts, first: i32, count: i32, to: usize): void {
  for (let i = 0; i < count; i++) {
    const at = (<usize>(first + i)) << 2
    const out = to + ((<usize>i) << 3)
    store<i32>(out, load<i32>(facts.lows + at))
    store<i32>(out, load<i32>(facts.highs + at), 4)
  }
}
