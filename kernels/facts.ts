/**
 * Facts of events (`workers/facts/event-facts.ts`): the shape that is their layout's, and their
 * producer time; and the columns of a block that they become. Labels, too, of texts that were met
 * before: `workers/facts/event-labels.ts` finds out what a text says and has it remembered here.
 */
import { MULTIPLIER } from './copy'
import { unescapeText } from './escape'
import { Events } from './events'
import { ESCAPED, INT, STRING } from './tape-entries'
import { Clock, tryTime } from './times'

const SOURCE_RECEIPT: u8 = 0
const SOURCE_FIELD: u8 = 1
const NANOS_PER_MS: i64 = 1_000_000

/** How the text at a place is read; see `workers/facts/event-labels.ts`. */
const SERVICE: i32 = 2
const NONE: i32 = 0
const TEXT_BYTES_MAX: usize = 32
const SLOT_BITS: u64 = 8
/** A slot: its text's kind and length, what it says, and after eight bytes the text. */
const SLOT_BYTES: usize = 48
const VALUE: usize = 4
const TEXT: usize = 16
const SECOND_MULTIPLIER: u64 = ((<u64>0xc2b2ae3d) << 32) | 0x27d4eb4f
/** From `16 - n` on: `n` bytes of ones, then zeros. */
const MASKS = memory.data<u64>([~0, ~0, 0, 0], 16)

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

/** Writes numbers of 64 bits of `count` events from `first` on, of which there are the halves. */
export function writeHalves(lows: usize, highs: usize, first: i32, count: i32, to: usize): void {
  for (let i = 0; i < count; i++) {
    const at = (<usize>(first + i)) << 2
    const out = to + ((<usize>i) << 3)
    store<i32>(out, load<i32>(lows + at))
    store<i32>(out, load<i32>(highs + at), 4)
  }
}

@unmanaged
export class Labels {
  /** By layout: where its list of places begins, 0 when there is none. */
  listOf: usize = 0
  layouts: i32 = 0
  /** Lists: how many places; of each where it is, from the event's first entry, and its kind. */
  lists: usize = 0
  slots: usize = 0
  /** By event. */
  levels: usize = 0
  services: usize = 0
}

/**
 * Goes on from event `first` and stops at the first that has another text, or no list; returns
 * which one that is, or `end`. Reads up to 31 bytes behind a text.
 */
export function findLabels(
  labels: Labels,
  events: Events,
  first: i32,
  end: i32,
  layoutOf: usize,
  entries: usize,
  bytes: usize,
): i32 {
  const levels = labels.levels
  const services = labels.services
  let event = first
  for (; event < end; event++) {
    const at = (<usize>event) << 2
    const layout = load<i32>(layoutOf + at)
    if (layout < 0 || layout >= labels.layouts) break
    const list = load<i32>(labels.listOf + ((<usize>layout) << 2))
    if (list === 0) break
    const row = entries + ((<usize>load<i32>(events.tapeStarts + at)) << 2)
    let place = labels.lists + ((<usize>list) << 2)
    const last = place + ((<usize>load<i32>(place)) << 3)
    let level = NONE
    let service = NONE
    for (place += 4; place < last; place += 8) {
      const kind = load<i32>(place, 4)
      if ((kind === SERVICE ? service : level) !== NONE) continue
      const entry = row + ((<usize>load<i32>(place)) << 2)
      const slot = slotOf(labels, kind, entry, bytes)
      if (slot === 0) break
      const value = load<i32>(slot, VALUE)
      if (kind === SERVICE) service = value
      else level = value
    }
    if (place < last) break
    store<u8>(levels + event, <u8>level)
    store<i32>(services + at, service)
  }
  return event
}

/** Remembers what the text of an entry says as that kind of place. Precondition: as below. */
export function rememberLabel(
  labels: Labels,
  kind: i32,
  entry: usize,
  bytes: usize,
  value: i32,
): void {
  const start = load<i32>(entry, 8)
  const length = <usize>(load<i32>(entry, 12) - start)
  if (length > TEXT_BYTES_MAX) return
  const a = firstHalf(bytes + start, length)
  const b = secondHalf(bytes + start, length)
  const slot = labels.slots + placeOf(a, b)
  store<i32>(slot, headOf(kind, load<i32>(entry, 4), length))
  store<i32>(slot, value, VALUE)
  v128.store(slot, a, TEXT)
  v128.store(slot, b, TEXT + 16)
}

/**
 * The slot with the text of an entry, or 0; only of strings, as they are spelled, and of integers.
 */
function slotOf(labels: Labels, kind: i32, entry: usize, bytes: usize): usize {
  const type = load<i32>(entry, 4)
  const start = load<i32>(entry, 8)
  const length = <usize>(load<i32>(entry, 12) - start)
  if (length > TEXT_BYTES_MAX || (type !== STRING && type !== INT && type !== ESCAPED)) return 0
  const a = firstHalf(bytes + start, length)
  const b = secondHalf(bytes + start, length)
  const slot = labels.slots + placeOf(a, b)
  if (load<i32>(slot) !== headOf(kind, type, length)) return 0
  const differs = v128.or(
    v128.xor(a, v128.load(slot, TEXT)),
    v128.xor(b, v128.load(slot, TEXT + 16)),
  )
  return v128.any_true(differs) ? 0 : slot
}

/** Never 0, as that is an empty slot's. */
function headOf(kind: i32, type: i32, length: usize): i32 {
  return ((kind + 1) << 16) | (type << 8) | <i32>length
}

function firstHalf(text: usize, length: usize): v128 {
  return v128.and(v128.load(text), v128.load(MASKS + 16 - min<usize>(length, 16)))
}

function secondHalf(text: usize, length: usize): v128 {
  const left = length > 16 ? length - 16 : 0
  return v128.and(v128.load(text, 16), v128.load(MASKS + 16 - left))
}

function placeOf(a: v128, b: v128): usize {
  let hash: u64 = (i64x2.extract_lane(a, 0) ^ i64x2.extract_lane(b, 0)) * MULTIPLIER
  hash ^= (i64x2.extract_lane(a, 1) ^ i64x2.extract_lane(b, 1)) * SECOND_MULTIPLIER
  hash = (hash ^ (hash >> 29)) * SECOND_MULTIPLIER
  return <usize>(hash >> (64 - SLOT_BITS)) * SLOT_BYTES
}
