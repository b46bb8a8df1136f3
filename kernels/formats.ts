/**
 * What is known of the formats of secrets besides their first four bytes: what else stands at fixed
 * places near their beginning, or at a fixed place before the end of a run of token bytes. The
 * tables are made by `workers/transform/secrets/suspect-formats.ts`.
 */
import { SecretTables } from './secret-tables'

const DOT: u32 = 0x2e
const EQUALS: u32 = 0x3d
/** Twice, as the sign pads base64. */
const PADDING_MAX: i32 = 2

const HASH: u32 = 0x9e3779b1
const HASH_SHIFT: u32 = 20

/** Whether a format may begin at `at`, where the four bytes are `text`. */
export function mayBegin(tables: SecretTables, text: u32, at: usize): bool {
  const pair = <usize>(((text & 63) << 6) | ((text >>> 8) & 63))
  const group = <usize>load<u16>(tables.pairs + (pair << 1))
  if (load<u8>(tables.fourths + (group << 8) + (text >>> 24)) === 0) return false
  const bytes = v128.load(at)
  const start = <usize>load<u16>(tables.headStarts + (group << 1))
  const end = <usize>load<u16>(tables.headStarts + (group << 1), 2)
  for (let head = tables.heads + (start << 5); head < tables.heads + (end << 5); head += 32) {
    const counts = v128.and(bytes, v128.load(head, 16))
    if (i8x16.all_true(i8x16.eq(counts, v128.load(head)))) return true
  }
  return false
}

/** Whether a secret may end where the run `from`..`to` does. */
export function mayEndSecret(tables: SecretTables, from: usize, to: usize): bool {
  if (to - from < tables.runBytesMin) return false
  let end = to
  if (<u32>load<u8>(end - 1) === DOT) end--
  for (let i = 0; i < PADDING_MAX && <u32>load<u8>(end - 1) === EQUALS; i++) end--
  for (let i = 0; i < tables.distanceCount; i++) {
    const hash = (load<u32>(end - load<u8>(tables.distances + i)) * HASH) >>> HASH_SHIFT
    if (((load<u8>(tables.literals + hash) >> <u8>i) & 1) !== 0) return true
  }
  return false
}

/** The words PRIVATE KEY as base64, at each of its three alignments: the V and what is around. */
export function isSpelledPrivate(v: usize): bool {
  const around = load<u32>(v - 2)
  return around === 0x6b564a4a || around === 0x5a565353 || around === 0x52565157
}
