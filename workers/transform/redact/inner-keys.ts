/**
 * Finds keys that may name a secret in JSON that a string holds. A kernel does
 * (`kernels/inner-keys.ts`), with a tree of the words that such keys end in, read backwards: most
 * keys are passed over after two or three letters.
 */
import assert from 'node:assert/strict'
import { arena } from '../../kernel/arena.ts'
import { kernels } from '../../kernel/kernels.ts'
import {
  DENYLISTED_SEGMENTS,
  DRAWN_WORDS,
  NEUTRAL_WORDS,
  PLURALS,
  SECRET_END_WORDS,
  SECRET_PAIRS,
  SECRET_WORDS,
} from '../names/secret-words.ts'

const LETTERS = 32
const ROOT = 1
/** What a word's first letter leads to, which is read last. */
const WHOLE_WORD = 0xffff
/** Set where a word begins that says nothing of what is before it. */
const NEUTRAL_WORD = 0x8000
const STATE = NEUTRAL_WORD - 1

const nodes: Uint16Array[] = [new Uint16Array(LETTERS), new Uint16Array(LETTERS)]
const ENDS = [DENYLISTED_SEGMENTS, SECRET_WORDS, SECRET_END_WORDS, SECRET_PAIRS, PLURALS.keys()]
for (const words of ENDS) {
  for (const word of words) addWord(word, WHOLE_WORD)
}
// What `secret-names.ts` judges in a way of its own.
const OTHERS = ['key', 'keys', 'pw', 'pass', 'sid', 'auth', 'bearer', 'csrf', 'xsrf', 'cred']
for (const word of [...OTHERS, ...DRAWN_WORDS]) addWord(word, WHOLE_WORD)
for (const word of NEUTRAL_WORDS) addWord(word, NEUTRAL_WORD)
assert(nodes.length < STATE, 'states and a flag are two bytes')
const states = arena.uint8(nodes.length * LETTERS * Uint16Array.BYTES_PER_ELEMENT)
for (const [node, next] of nodes.entries()) {
  states.set(new Uint8Array(next.buffer), node * next.byteLength)
}
/** The context for kernels: see `nextInnerKey` of `kernels/inner-keys.ts`. */
export const KEY_STATES = states.byteOffset

/** Adds a word, from its last letter to its first, which leads to `meaning`. */
function addWord(word: string, meaning: number): void {
  // Names with other letters are looked at in any case.
  if (!/^[a-z]+$/.test(word)) return
  let node = nodes[ROOT]!
  for (let i = word.length - 1; i >= 0; i--) {
    const letter = word.charCodeAt(i) & (LETTERS - 1)
    const found = node[letter]!
    // A word that ends in a shorter one is found by that.
    if (found === WHOLE_WORD) return
    if (i === 0) {
      node[letter] = found | meaning
    } else {
      const next = found & STATE || nodes.push(new Uint16Array(LETTERS)) - 1
      node[letter] = (found & NEUTRAL_WORD) | next
      node = nodes[next]!
    }
  }
}

/**
 * The first colon, or `>` of `=>`, in the string `start`..`end` of the arena that follows a key
 * that may name a secret; `end` where there is none. Hot.
 */
export function firstInnerKey(bytes: Uint8Array, start: number, end: number): number {
  const { byteOffset } = bytes
  return kernels.firstInnerKey(KEY_STATES, byteOffset + start, byteOffset + end) - byteOffset
}

/** The next one at or after `from`. */
export function nextInnerKey(bytes: Uint8Array, start: number, from: number, end: number): number {
  const { byteOffset } = bytes
  const [first, at, last] = [byteOffset + start, byteOffset + from, byteOffset + end]
  return kernels.nextInnerKey(KEY_STATES, first, at, last) - byteOffset
}
