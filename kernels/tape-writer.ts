/**
 * The end of the tape that a kernel writes on: entries, and the serial numbers of objects. What a
 * tape is, `workers/tape/json-tape.ts` says. Positions are addresses here; on the tape they count
 * from the first byte of what was read, or written, `base`.
 */
import * as type from './tape-entries'
import { Trie } from './trie'

/** Room for what is written between two checks of the tape's end. */
const MARGIN: usize = 4 * type.ENTRY_BYTES

/** The context of a call that writes on the tape; from `base` on for the time of the call. */
@unmanaged
export class Tape extends Trie {
  /** By node: the object that had it last. */
  seen: usize = 0
  /** As far as an object or an array may be nested. */
  depthMax: i32 = 0
  /** The tape's length, and the serial number of its newest object: `endTape` sets both. */
  length: i32 = 0
  objectSerial: i32 = 0
  base: usize = 0
  /** Where the next entry goes. */
  out: usize = 0
  entries: usize = 0
  limit: usize = 0
  /** A line feed where it is white space; else another byte that is. */
  fourthSpace: u32 = 0
  /** How far text may be written. */
  textLimit: usize = 0
  /** What `varintAt` read. */
  varint: u64 = 0
}

/** Continues after the existing entries. */
export function beginTape(tape: Tape, bytes: usize, entries: usize, capacity: i32): void {
  tape.base = bytes
  tape.entries = entries
  tape.out = entries + ((<usize>tape.length) << 2)
  tape.limit = entries + ((<usize>capacity) << 2) - MARGIN
}

/** Leaves the tape as it was where nothing is `kept`. */
export function endTape(tape: Tape, kept: bool): void {
  if (kept) tape.length = <i32>((tape.out - tape.entries) >> 2)
}

/** Whether there is no room for the entries of another value. */
export function isFull(tape: Tape): bool {
  return tape.out > tape.limit
}

export function nextSerial(tape: Tape): i32 {
  return ++tape.objectSerial
}

/** Whether the object `serial` had a value at `node` before. */
export function isSeen(tape: Tape, node: i32, serial: i32): bool {
  const at = tape.seen + ((<usize>node) << 2)
  if (load<i32>(at) === serial) return true
  store<i32>(at, serial)
  return false
}

export function push(tape: Tape, node: i32, kind: i32, start: usize, end: usize): void {
  const base = tape.base
  const out = tape.out
  store<i32>(out, node)
  store<i32>(out, kind, 4)
  store<i32>(out, <i32>(start - base), 8)
  store<i32>(out, <i32>(end - base), 12)
  tape.out = out + type.ENTRY_BYTES
}

/** What an array, or an object that is an element, begins with on the tape; see `close`. */
export function pushHeader(tape: Tape, node: i32, kind: i32, open: usize): usize {
  const header = tape.out
  push(tape, node, kind, open, tape.base)
  push(tape, 0, type.EXTENSION, tape.base, tape.base)
  return header
}

export function close(tape: Tape, header: usize, kinds: i32, count: i32, end: usize): void {
  store<i32>(header, <i32>(end - tape.base), 12)
  const extension = header + type.ENTRY_BYTES
  store<i32>(extension, kinds)
  store<i32>(extension, count, 8)
  store<i32>(extension, <i32>((tape.out - tape.entries) >> 2), 12)
}
