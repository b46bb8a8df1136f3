/**
 * Checks quickly, by its end, whether a string can be the name of a secret. For strings in arrays
 * and beside a `value`, nearly all of which are not: its last three letters, and for longer words
 * the three before them, are looked up in tables. Never a false negative: `judgeName` decides what
 * passes. A kernel does the same (`kernels/secrets.ts`).
 */
import { arena } from '../../kernel/arena.ts'
import {
  DENYLISTED_SEGMENTS,
  DRAWN_WORDS,
  NEUTRAL_WORDS,
  OTHER_WORDS,
  PLURALS,
  SECRET_END_WORDS,
  SECRET_PAIRS,
  SECRET_WORDS,
} from './secret-words.ts'

const LETTERS = 32
const ENTRIES = LETTERS ** 3
/** A word ends so; a word of six letters or more does; one that says how a secret is held. */
const SHORT = 1
const LONG = 2
const NEUTRAL = 4

const lasts = arena.uint8(ENTRIES)
const befores = arena.uint8(ENTRIES)
for (const word of [...DENYLISTED_SEGMENTS, ...SECRET_WORDS, ...SECRET_END_WORDS]) add(word)
for (const word of [...SECRET_PAIRS, ...PLURALS.keys(), ...OTHER_WORDS, ...DRAWN_WORDS]) add(word)
for (const word of NEUTRAL_WORDS) addShort(word, NEUTRAL)
const context = arena.addresses(2)
context.set([lasts.byteOffset, befores.byteOffset])
/** The context for kernels: see `NameEnds` of `kernels/secret-tables.ts`. */
export const NAME_ENDS = context.byteOffset

function add(word: string): void {
  if (word.length < 6) return addShort(word, SHORT)
  lasts[indexOf(word, word.length - 3)]! |= LONG
  befores[indexOf(word, word.length - 6)] = 1
}

/** Anything may precede a word of less than three letters. */
function addShort(word: string, bit: number): void {
  const missing = Math.max(0, 3 - word.length)
  for (let before = 0; before < LETTERS ** missing; before++) {
    const filled = String.fromCharCode(before >> 5, before & 31).slice(2 - missing) + word
    lasts[indexOf(filled, filled.length - 3)]! |= bit
  }
}

function indexOf(word: string, at: number): number {
  const letter = (place: number) => word.charCodeAt(place) & 31
  return (letter(at) << 10) | (letter(at + 1) << 5) | letter(at + 2)
}
