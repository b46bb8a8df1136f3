/**
 * Finds the events that redaction has to look at; a kernel passes over the others
 * (`kernels/secrets.ts`). Its tables say with which four bytes the formats of secrets begin.
 */
import assert from 'node:assert/strict'
import type { DecodedEvents } from '../decode/decoded-events.ts'
import type { JsonTape } from '../decode/json-tape.ts'
import { arena } from '../kernel/arena.ts'
import { kernels } from '../kernel/kernels.ts'
import type { RedactKeys } from './redact-keys.ts'
import { BYTE_CLASS, SECRET_FORMATS } from './secret-formats.ts'
import { IS_WORD, pairOf } from './secret-matcher.ts'

const PAIRS = 4_096
const BYTES = 256
const HALF = 16

const pairGroups = arena.uint8(PAIRS)
const prefixes = SECRET_FORMATS.map(({ prefix }) => Buffer.from(prefix))
let groups = 0
for (const [first = 0, second = 0] of prefixes) {
  const pair = pairOf(first, second)
  if (pairGroups[pair] === 0) pairGroups[pair] = ++groups
}
assert(groups < BYTES, 'groups are numbered by a byte')
const thirds = arena.uint8((groups + 1) * BYTES)
const fourths = arena.uint8((groups + 1) * BYTES)
for (const [first = 0, second = 0, third, fourth] of prefixes) {
  const from = pairGroups[pairOf(first, second)]! * BYTES
  allow(thirds, from, third)
  allow(fourths, from, fourth)
}
const signs = tableOfHalves((byte) => BYTE_CLASS[byte] !== 0)
const words = tableOfHalves((byte) => IS_WORD[byte] === 1)
mark(signs, '@', 0x40)
mark(signs, 'V', 0x80)
kernels.bindSecrets(
  pairGroups.byteOffset,
  thirds.byteOffset,
  fourths.byteOffset,
  signs.byteOffset,
  words.byteOffset,
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

/** A group's formats may go on with this byte; with any, where one of them has ended. */
function allow(table: Uint8Array, from: number, byte: number | undefined): void {
  if (byte === undefined) table.fill(1, from, from + BYTES)
  else table[from + byte] = 1
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
