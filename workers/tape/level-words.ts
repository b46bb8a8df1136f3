/** Which level a text says: a table of the known spellings, looked up without making a string. */
import {
  LEVEL_TEXT_CHARS_MAX,
  LEVEL_WORD_CHARS_MIN,
  LEVELS,
  SPELLED_LEVELS,
} from '../../src/model/event-labels.ts'

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
const ESCAPE = 0x1b
const OPEN_BRACKET = 0x5b
const SEMICOLON = 0x3b
/** The `m` that ends a colour. */
const COLOUR = 0x6d
/** 1 for what may be around a word: blanks, brackets, a colon. */
const AROUND = new Uint8Array(256)
for (const character of ' \t\r\n[]()<>:') AROUND[character.charCodeAt(0)] = 1

for (const [spelling, level] of SPELLED_LEVELS) {
  const bytes = Buffer.from(spelling)
  let slot = hashLower(bytes, 0, bytes.length)
  while (levels[slot] !== NO_LEVEL) slot = (slot + 1) & (SLOTS - 1)
  spellings.set(bytes, slot * SPELLING_BYTES)
  levels[slot] = LEVELS.indexOf(level) + 1
}

/** As `cleanLevel` of the model leaves it: what `clean` found. */
let cleanStart = 0
let cleanEnd = 0
const cleaned = new Uint8Array(LEVEL_TEXT_CHARS_MAX)

/** The level that the text names, in any case and with what may be around it; or NO_LEVEL. */
export function levelOfText(bytes: Uint8Array, start: number, end: number): number {
  const level = levelOfPlain(bytes, start, end)
  if (level !== NO_LEVEL || end - start > LEVEL_TEXT_CHARS_MAX) return level
  clean(bytes, start, end)
  return levelOfPlain(cleaned, cleanStart, cleanEnd)
}

/** The same where only a word of some letters is meant. */
export function levelOfWord(bytes: Uint8Array, start: number, end: number): number {
  if (end - start > LEVEL_TEXT_CHARS_MAX) return NO_LEVEL
  clean(bytes, start, end)
  const isWord = cleanEnd - cleanStart >= LEVEL_WORD_CHARS_MIN
  const isNumber = (cleaned[cleanStart]! - ZERO) >>> 0 < 10
  return isWord && !isNumber ? levelOfPlain(cleaned, cleanStart, cleanEnd) : NO_LEVEL
}

/** The same of an integer as JSON writes it: `-0` is 0. */
export function levelOfInteger(bytes: Uint8Array, start: number, end: number): number {
  const isMinusZero = end - start === 2 && bytes[start] === MINUS && bytes[start + 1] === ZERO
  return levelOfPlain(bytes, isMinusZero ? start + 1 : start, end)
}

function levelOfPlain(bytes: Uint8Array, start: number, end: number): number {
  if (end - start > SPELLING_BYTES_MAX || end <= start) return NO_LEVEL
  let slot = hashLower(bytes, start, end)
  for (; levels[slot] !== NO_LEVEL; slot = (slot + 1) & (SLOTS - 1)) {
    if (isSpelled(bytes, start, end, slot * SPELLING_BYTES)) return levels[slot]!
  }
  return NO_LEVEL
}

/** Copies the text without colours, then leaves out what is around the word. */
function clean(bytes: Uint8Array, start: number, end: number): void {
  let to = 0
  for (let at = start; at < end; ) {
    const colourEnd = colourAt(bytes, at, end)
    if (colourEnd > at) at = colourEnd
    else cleaned[to++] = bytes[at++]!
  }
  let from = 0
  while (from < to && AROUND[cleaned[from]!] === 1) from++
  while (to > from && AROUND[cleaned[to - 1]!] === 1) to--
  cleanStart = from
  cleanEnd = to
}

/** Where the colour that begins at `at` ends; `at` where there is none. */
function colourAt(bytes: Uint8Array, at: number, end: number): number {
  let i = bytes[at] === ESCAPE ? at + 1 : at
  if (i >= end || bytes[i] !== OPEN_BRACKET) return at
  for (i++; i < end && (bytes[i] === SEMICOLON || (bytes[i]! - ZERO) >>> 0 < 10); i++);
  return i < end && bytes[i] === COLOUR ? i + 1 : at
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
