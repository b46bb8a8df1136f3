/** Which paths may say an event's level or service, as ranks that the trie's nodes have. */

import {
  caseVariants,
  LEVEL_FIELDS,
  LEVEL_WORD_FIELDS,
  lowerAscii,
  PRIORITY_FIELD,
  SERVICE_FIELDS,
  SEVERITY_NUMBER_FIELDS,
} from '../../src/model/event-labels.ts'
import { hashBytes } from './hash-bytes.ts'

/** How a field's value says it; SERVICE_PLACE as in `kernels/facts.ts`. */
export const LEVEL_PLACE = 0
export const SEVERITY_NUMBER_PLACE = 1
export const SERVICE_PLACE = 2
export const LEVEL_WORD_PLACE = 3
export const PRIORITY_PLACE = 4

const FIELDS: readonly (readonly [path: string, kind: number])[] = [
  ...LEVEL_FIELDS.map((path) => [path, LEVEL_PLACE] as const),
  ...LEVEL_WORD_FIELDS.map((path) => [path, LEVEL_WORD_PLACE] as const),
  [PRIORITY_FIELD, PRIORITY_PLACE],
  ...SEVERITY_NUMBER_FIELDS.map((path) => [path, SEVERITY_NUMBER_PLACE] as const),
  ...SERVICE_FIELDS.map((path) => [path, SERVICE_PLACE] as const),
]
/** Ranks of a field: those of its `caseVariants`, and one for all other cases of its letters. */
const RANKS_A_FIELD = 5
/** Ranks are from 1 on, levels before services, best first among each. */
export const LABEL_RANKS = FIELDS.length * RANKS_A_FIELD
const CHARS_MAX = Math.max(...FIELDS.map(([path]) => path.length))

/** By rank, a `…_PLACE`. */
export const PLACE_KINDS = Uint8Array.from({ length: LABEL_RANKS + 1 }, (_, rank) => {
  return FIELDS[Math.floor((rank - 1) / RANKS_A_FIELD)]?.[1] ?? LEVEL_PLACE
})

/** The first field with the name, in small letters: others differ from it only in case. */
const byLower = new Map<string, number>()
for (const [index, [path]] of FIELDS.entries()) {
  const lower = lowerAscii(path)
  if (!byLower.has(lower)) byLower.set(lower, index)
}
const exact = new Map(FIELDS.map(([path], index) => [path, index]))
/** Of the names in small letters: other paths cost a look into a small set. */
const hashes = new Set(
  [...byLower.keys()].map((path) => hashBytes(Buffer.from(path), 0, path.length)),
)
const lowered = Buffer.alloc(CHARS_MAX)

/** The rank of the path, 0 when it is none of these. */
export function labelRankOf(path: Uint8Array): number {
  if (path.length > CHARS_MAX) return 0
  for (let i = 0; i < path.length; i++) {
    const byte = path[i]!
    lowered[i] = (byte - 0x41) >>> 0 < 26 ? byte | 0x20 : byte
  }
  if (!hashes.has(hashBytes(lowered, 0, path.length))) return 0
  const text = Buffer.from(path).toString('latin1')
  const index = exact.get(text) ?? byLower.get(lowered.toString('latin1', 0, path.length))
  if (index === undefined) return 0
  const [name, kind] = FIELDS[index]!
  if (kind === PRIORITY_PLACE && text !== name) return 0
  const variant = caseVariants(name).indexOf(text)
  return 1 + index * RANKS_A_FIELD + (variant < 0 ? RANKS_A_FIELD - 1 : variant)
}
