/** Which level a text says: a table of the known spellings, looked up without making a string. */
import { LEVELS, SPELLED_LEVELS } from '../../src/model/event-labels.ts'

/** No level is known. Levels are numbered from 1 on, in the order of `LEVELS`. */
export const NO_LEVEL = 0
const SPELLING_BYTES_MAX = Math.max(...SPELLED_LEVELS.map(([spelling]) => spelling.length))
const SLOTS = 1_024
/** By slot: 16 bytes of the spelling, zeros after it. */
const SPELLING_BYTES = 16
const spellings = new Uint8Array(SLOTS * SPELLING_BYTES)
const levels = new Uint8Array(SLOTS)
const ZERO = 0x30
const MINUS = 0x2d

for (const [spelling, level] of SPELLED_LEVELS) {
  const bytes = Buffer.from(spelling)
  let slot = hashLower(bytes, 0, bytes.length)
  while (levels[slot] !== NO_LEVEL) slot = (slot + 1) & (SLOTS - 1)
  spellings.set(bytes, slot * SPELLING_BYTES)
  levels[slot] = LEVELS.indexOf(level) + 1
}

/** The level that the text names, in upper or lower case; NO_LEVEL when it names none. */
export function levelOfText(bytes: Uint8Array, start: number, end: number): number {
  if (end - start > SPELLING_BYTES_MAX || end === start) return NO_LEVEL
  let slot = hashLower(bytes, start, end)
  for (; levels[slot] !== NO_LEVEL; slot = (slot + 1) & (SLOTS - 1)) {
    if (isSpelled(bytes, start, end, slot * SPELLING_BYTES)) return levels[slot]!
  }
  return NO_LEVEL
}

/** The same of an integer as JSON writes it: `-0` is 0. */
export function levelOfInteger(bytes: Uint8Array, start: number, end: number): number {
  const isMinusZero = end - start === 2 && bytes[start] === MINUS && bytes[start + 1] === ZERO
  return levelOfText(bytes, isMinusZero ? start + 1 : start, end)
}

function isSpelled(bytes: Uint8Array, start: number, end: number, at: number): boolean {
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!
    if (byte === 0 || lower(byte) !== spellings[at + i - start]) return false
  }
  return spellings[at + end - start] === 0 // One place is left after the longest.
}

/** By three bytes: the known spellings are at most two slots from their own. */
function hashLower(bytes: Uint8Array, start: number, end: number): number {
  const first = lower(bytes[start]!)
  const middle = lower(bytes[(start + end) >>> 1]!)
  const last = lower(bytes[end - 1]!)
  return (first * 17 + middle * 9 + last * 3 + (end - start) * 5) & (SLOTS - 1)
}

function lower(byte: number): number {
  return (byte - 0x41) >>> 0 < 26 ? byte | 0x20 : byte
}
