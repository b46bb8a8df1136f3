/** Copies, compares and hashes short texts. */

/** Odd, with bits in no order: the golden ratio's. */
export const MULTIPLIER: u64 = ((<u64>0x9e3779b9) << 32) | 0x7f4a7c15

/** Longer values are copied by the engine's own instruction, which is a call. */
const SHORT_COPY_MAX: usize = 1024

/** Copies `length` bytes. May write, and read, seven bytes more. */
export function copyValue(to: usize, from: usize, length: usize): void {
  if (length > SHORT_COPY_MAX) return copyBytes(to, from, length)
  let at: usize = 0
  while (at + 16 <= length) {
    v128.store(to + at, v128.load(from + at))
    at += 16
  }
  while (at < length) {
    store<u64>(to + at, load<u64>(from + at))
    at += 8
  }
}

/** Whether the `length` bytes at `a` and at `b` are the same. Reads up to 15 bytes further. */
export function isSameText(a: usize, b: usize, length: usize): bool {
  let at: usize = 0
  while (at + 16 <= length) {
    if (i8x16.bitmask(i8x16.ne(v128.load(a + at), v128.load(b + at))) !== 0) return false
    at += 16
  }
  const left = <i32>(length - at)
  const differing = i8x16.bitmask(i8x16.ne(v128.load(a + at), v128.load(b + at)))
  return (differing & ((1 << left) - 1)) === 0
}

/** Copies bytes, also where the two ranges overlap. */
export function copyBytes(to: usize, from: usize, length: usize): void {
  memory.copy(to, from, length)
}

/**
 * Every bit of the text bears on every bit of the hash, the low ones as well. Not for adversaries:
 * whoever finds equal hashes compares. Reads up to seven bytes further.
 */
export function hashText(text: usize, length: usize): i32 {
  let hash: u64 = length
  let at: usize = 0
  for (; at + 8 <= length; at += 8) hash = mix(hash ^ load<u64>(text + at))
  const left = length - at
  if (left > 0) hash = mix(hash ^ (load<u64>(text + at) << ((8 - left) << 3)))
  return <i32>(mix(hash) >> 32)
}

/** A product's high half depends on more of the value than its low half. */
function mix(value: u64): u64 {
  const product = value * MULTIPLIER
  return product ^ (product >> 32)
}
