/**
 * The tables of formats for the kernel that finds suspects (`kernels/secrets.ts`): the four bytes
 * with which formats begin, and the four at a fixed distance from their end.
 */
import assert from 'node:assert/strict'
import { arena } from '../../kernel/arena.ts'
import { bytesAt, HEADED_FORMATS, pairsOf, TAIL_BYTES_MIN, TAIL_FORMATS } from './format-matcher.ts'
import { JWT_HEADS } from './jwt.ts'
import { parsePatterns, type SecretPattern } from './secret-pattern.ts'

const PAIRS = 4_096
const BYTES = 256
const WORD_BYTES = 2
const ALL_BYTES = [...new Uint8Array(BYTES).keys()]
/** As in `kernels/formats.ts` and `kernels/secrets.ts`. */
const HASH = 0x9e3779b1
const TAIL_BITS = 12
const TRIPLE_BITS = 15

/** Formats that begin with the same two bytes are a group. */
const groups = new Map<number, SecretPattern[]>()
for (const format of [...HEADED_FORMATS, ...parsePatterns(JWT_HEADS)]) {
  for (const pair of new Set(pairsOf(format))) {
    groups.set(pair, [...(groups.get(pair) ?? []), format])
  }
}

/** By six bits of each of two bytes: the number of the group that begins so, 0 for none. */
export const PAIR_GROUPS = arena.uint8(PAIRS * WORD_BYTES)
/** By group and byte: whether it is the fourth of one of the formats. */
export const FOURTHS = arena.uint8((groups.size + 1) * BYTES)
/** By a hash of three bytes: a bit, where a format begins so. */
export const TRIPLES = arena.uint8((1 << TRIPLE_BITS) / 8)
for (const [index, [pair, formats]] of [...groups].entries()) {
  const group = index + 1
  PAIR_GROUPS[pair * WORD_BYTES] = group & 0xff
  PAIR_GROUPS[pair * WORD_BYTES + 1] = group >> 8
  for (const format of formats) {
    for (const fourth of bytesAt(format, 3) ?? ALL_BYTES) FOURTHS[group * BYTES + fourth] = 1
    addTriples(format)
  }
}

function addTriples(format: SecretPattern): void {
  const [firsts, seconds, thirds] = [0, 1, 2].map((index) => bytesAt(format, index) ?? ALL_BYTES)
  for (const first of firsts!) {
    for (const second of seconds!) {
      for (const third of thirds!) {
        const hash = Math.imul(first | (second << 8) | (third << 16), HASH) >>> (32 - TRIPLE_BITS)
        TRIPLES[hash >> 3]! |= 1 << (hash & 7)
      }
    }
  }
}

const HEAD_BYTES = 16
/** By group: the number of its first head, and of the next group's. */
export const HEAD_STARTS = arena.uint8((groups.size + 2) * WORD_BYTES)
const headCount = [...groups.values()].reduce((sum, { length }) => sum + length, 0)
/** By head: the bytes at fixed positions of a format, and which positions those are. */
export const HEADS = arena.uint8(headCount * 2 * HEAD_BYTES)
const headStarts = new DataView(HEAD_STARTS.buffer, HEAD_STARTS.byteOffset, HEAD_STARTS.length)
let head = 0
for (const [index, formats] of [[], ...groups.values()].entries()) {
  headStarts.setUint16(index * WORD_BYTES, head, true)
  for (const format of formats) writeHead(format, head++ * 2 * HEAD_BYTES)
  headStarts.setUint16((index + 1) * WORD_BYTES, head, true)
}

function writeHead(format: SecretPattern, at: number): void {
  for (let i = 0; i < HEAD_BYTES; i++) {
    const bytes = bytesAt(format, i)
    if (bytes === undefined) return
    if (bytes.length > 1) continue
    HEADS[at + i] = bytes[0]!
    HEADS[at + HEAD_BYTES + i] = 0xff
  }
}

const distances = [...new Set(TAIL_FORMATS.map(({ distance }) => distance))]
assert(distances.length <= 8, 'a bit a distance')
export const TAIL_DISTANCES = arena.uint8(distances.length)
TAIL_DISTANCES.set(distances)
export const TAIL_RUN_MIN = TAIL_BYTES_MIN
/** By a hash of four bytes: a bit for each distance at which they are looked for. */
export const TAIL_LITERALS = arena.uint8(1 << TAIL_BITS)
for (const { distance, literal } of TAIL_FORMATS) {
  const word = Buffer.from(literal).readUInt32LE()
  TAIL_LITERALS[Math.imul(word, HASH) >>> (32 - TAIL_BITS)]! |= 1 << distances.indexOf(distance)
}
