/**
 * Finds the events that redaction has to examine; a kernel skips the others (`kernels/secrets.ts`).
 * `suspect-formats.ts` makes its tables of the formats.
 */
import assert from 'node:assert/strict'
import { arena } from '../../kernel/arena.ts'
import { kernels } from '../../kernel/kernels.ts'
import type { DecodedEvents } from '../../tape/decoded-events.ts'
import type { JsonTape } from '../../tape/json-tape.ts'
import { NAME_ENDS } from '../names/name-endings.ts'
import { NAME_MASKS, NAME_TRIPLES } from '../secrets/credential-marks.ts'
import { BYTE_CLASS } from '../secrets/secret-formats.ts'
import { IS_WORD } from '../secrets/secret-matcher.ts'
import {
  FOURTHS,
  HEAD_STARTS,
  HEADS,
  PAIR_GROUPS,
  TAIL_DISTANCES,
  TAIL_LITERALS,
  TAIL_RUN_MIN,
  TRIPLES,
} from '../secrets/suspect-formats.ts'
import { KEY_STATES } from './inner-keys.ts'
import type { RedactKeys } from './redact-keys.ts'

const BYTES = 256
const HALF = 16

/** By a byte's high half: the bit of its column, or of two columns with nearly the same signs. */
const FOUR_BITS = [0, 0, 1, 2, 4, 8, 4, 8]
const SIX_BITS = [0, 0, 1, 2, 4, 8, 16, 32]
/** For `^` and the delete character it says too much: they make a run longer. */
const signs = tableOfHalves(FOUR_BITS, (byte) => BYTE_CLASS[byte] !== 0)
const words = tableOfHalves(SIX_BITS, (byte) => IS_WORD[byte] === 1)
mark(signs, '@', 0x10)
mark(signs, 'V', 0x20)
// One bit for two: their high halves are equal.
mark(signs, '=', 0x40)
mark(signs, ':', 0x40)
mark(signs, '%', 0x80)
// As these two are.
mark(signs, "'", 0x80)
/** See `SecretTables` of `kernels/secret-tables.ts`. */
const context = arena.addresses(19)
context.set([
  TRIPLES.byteOffset,
  signs.byteOffset,
  words.byteOffset,
  PAIR_GROUPS.byteOffset,
  HEAD_STARTS.byteOffset,
  FOURTHS.byteOffset,
  HEADS.byteOffset,
  TAIL_DISTANCES.byteOffset,
  TAIL_DISTANCES.length,
  TAIL_RUN_MIN,
  TAIL_LITERALS.byteOffset,
  NAME_TRIPLES.byteOffset,
  NAME_MASKS.byteOffset,
  NAME_ENDS,
  KEY_STATES,
])
/** Where what is known of a batch's keys begins there. */
const KEYS = 15

/**
 * Sixteen bytes by a byte's low half, and sixteen by its high half: a byte is one of those asked
 * for if the two have a bit in common.
 */
function tableOfHalves(bits: readonly number[], isOne: (byte: number) => boolean): Uint8Array {
  const table = arena.uint8(2 * HALF)
  for (let byte = 2 * HALF; byte < BYTES; byte++) {
    if (!isOne(byte)) continue
    const bit = bits[byte >> 4]
    assert(bit !== undefined, 'a byte of ASCII')
    table[byte & 15]! |= bit
    table[HALF + (byte >> 4)]! |= bit
  }
  return table
}

/** Gives a sign a bit of its own, whatever else it is. */
function mark(table: Uint8Array, sign: string, bit: number): void {
  const byte = sign.charCodeAt(0)
  table[byte & 15]! |= bit
  table[HALF + (byte >> 4)]! |= bit
}

/** What of a batch does not change while its events do. */
export interface SuspectKeys {
  readonly keys: RedactKeys
  /** The flags of keys that need a closer look. */
  readonly special: number
  /** The node of `log` at the root. */
  readonly logNode: number
}

/** The next event from `first` on that has to be examined; `end` when there is none before it. */
export function nextSuspect(
  tape: JsonTape,
  events: DecodedEvents,
  bytes: Uint8Array,
  first: number,
  { keys, special, logNode }: SuspectKeys,
  end = events.count,
): number {
  const { flags } = keys
  const { entries } = tape
  context.set([flags.byteOffset, flags.length, special, logNode], KEYS)
  return kernels.findSuspect(
    context.byteOffset,
    events.context(),
    first,
    end,
    entries.byteOffset,
    bytes.byteOffset,
  )
}

/** Whether the scanner may find a secret in the string `start`..`end`. */
export function mayBeSecret(
  bytes: Uint8Array,
  start: number,
  end: number,
  isEscaped: boolean,
): boolean {
  const { byteOffset } = bytes
  const [from, to] = [byteOffset + start, byteOffset + end]
  return kernels.mayBeSecret(context.byteOffset, from, to, isEscaped) !== 0
}
