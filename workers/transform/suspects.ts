/**
 * Finds the events that redaction has to look at; a kernel passes over the others
 * (`kernels/secrets.ts`). What it knows of the formats is made by `suspect-formats.ts`.
 */
import assert from 'node:assert/strict'
import type { DecodedEvents } from '../decode/decoded-events.ts'
import type { JsonTape } from '../decode/json-tape.ts'
import { arena } from '../kernel/arena.ts'
import { kernels } from '../kernel/kernels.ts'
import type { RedactKeys } from './redact-keys.ts'
import { BYTE_CLASS } from './secret-formats.ts'
import { IS_WORD } from './secret-matcher.ts'
import {
  FOURTHS,
  HEAD_STARTS,
  HEADS,
  PAIR_GROUPS,
  TAIL_DISTANCES,
  TAIL_LITERALS,
  TAIL_RUN_MIN,
  TRIPLES,
} from './suspect-formats.ts'

const BYTES = 256
const HALF = 16

const signs = tableOfHalves((byte) => BYTE_CLASS[byte] !== 0)
const words = tableOfHalves((byte) => IS_WORD[byte] === 1)
mark(signs, '@', 0x40)
mark(signs, 'V', 0x80)
kernels.bindSecrets(TRIPLES.byteOffset, signs.byteOffset, words.byteOffset)
kernels.bindHeads(
  PAIR_GROUPS.byteOffset,
  FOURTHS.byteOffset,
  HEAD_STARTS.byteOffset,
  HEADS.byteOffset,
)
kernels.bindTokenEnds(
  TAIL_DISTANCES.byteOffset,
  TAIL_DISTANCES.length,
  TAIL_RUN_MIN,
  TAIL_LITERALS.byteOffset,
)

/**
 * Sixteen bytes by a byte's low half, and sixteen by its high half: a byte is one of those asked
 * for if the two have a bit in common. Each of ASCII's columns that holds such has a bit, so those
 * of at most six, the others being for marks.
 */
function tableOfHalves(isOne: (byte: number) => boolean): Uint8Array {
  const table = arena.uint8(2 * HALF)
  for (let byte = 2 * HALF; byte < BYTES; byte++) {
    if (!isOne(byte)) continue
    const column = byte >> 4
    assert(column < 8, 'a byte of ASCII')
    table[byte & 15]! |= 1 << (column - 2)
    table[HALF + column]! |= 1 << (column - 2)
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

/** The next event from `first` on that has to be looked at; `end` when there is none before it. */
export function nextSuspect(
  tape: JsonTape,
  events: DecodedEvents,
  bytes: Uint8Array,
  first: number,
  { keys, special, logNode }: SuspectKeys,
  end = events.count,
): number {
  const { flags } = keys
  events.bind()
  kernels.bindKeys(flags.byteOffset, flags.length, special, logNode)
  return kernels.findSuspect(first, end, tape.entries.byteOffset, bytes.byteOffset)
}

/** Whether the scanner may find a secret in the string `start`..`end`. */
export function mayBeSecret(
  bytes: Uint8Array,
  start: number,
  end: number,
  isEscaped: boolean,
): boolean {
  const { byteOffset } = bytes
  return kernels.mayBeSecret(byteOffset + start, byteOffset + end, isEscaped) !== 0
}
