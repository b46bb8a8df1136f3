/**
 * The end of the tape that a kernel writes on: entries, and the serial numbers of objects. What a
 * tape is, `workers/tape/json-tape.ts` says. Positions are addresses here; on the tape they count
 * from the first byte of what was read, or written, `base`.
 */
import * as type from './tape-entries'

/** Room for what is written between two checks of the tape's end. */
const MARGIN: usize = 4 * type.ENTRY_BYTES

/** By node: the object that had it last. */
let seen: usize = 0
/** As far as an object or an array may be nested. */
export let depthMax: i32 = 0
export let base: usize = 0
/** Where the next entry goes. */
export let out: usize = 0
let tape: usize = 0
let limit: usize = 0
let objectSerial: i32 = 0

export function bindTape(seenBy: usize, deepest: i32): void {
  seen = seenBy
  depthMax = deepest
}

/**
 * Goes on behind the entries there are. `state`: the tape's length and the serial number of its
 * newest object; `endTape` brings both up to date.
 */
export function beginTape(bytes: usize, entries: usize, capacity: i32, state: usize): void {
  base = bytes
  tape = entries
  out = entries + ((<usize>load<i32>(state)) << 2)
  limit = entries + ((<usize>capacity) << 2) - MARGIN
  objectSerial = load<i32>(state, 4)
}

/** Leaves the tape as it was where nothing is `kept`. */
export function endTape(state: usize, kept: bool): void {
  store<i32>(state, objectSerial, 4)
  if (kept) store<i32>(state, <i32>((out - tape) >> 2))
}

/** Whether there is no room for the entries of another value. */
export function isFull(): bool {
  return out > limit
}

export function nextSerial(): i32 {
  return ++objectSerial
}

/** Whether the object `serial` had a value at `node` before. */
export function isSeen(node: i32, serial: i32): bool {
  const at = seen + ((<usize>node) << 2)
  if (load<i32>(at) === serial) return true
  store<i32>(at, serial)
  return false
}

export function push(node: i32, kind: i32, start: usize, end: usize): void {
  store<i32>(out, node)
  store<i32>(out, kind, 4)
  store<i32>(out, <i32>(start - base), 8)
  store<i32>(out, <i32>(end - base), 12)
  out += type.ENTRY_BYTES
}

/** What an array, or an object that is an element, begins with on the tape; see `close`. */
export function pushHeader(node: i32, kind: i32, open: usize): usize {
  const header = out
  push(node, kind, open, base)
  push(0, type.EXTENSION, base, base)
  return header
}

export function close(header: usize, kinds: i32, count: i32, end: usize): void {
  store<i32>(header, <i32>(end - base), 12)
  const extension = header + type.ENTRY_BYTES
  store<i32>(extension, kinds)
  store<i32>(extension, count, 8)
  store<i32>(extension, <i32>((out - tape) >> 2), 12)
}
