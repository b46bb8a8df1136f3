/**
 * Packs columns of a segment's text that compression cannot make much smaller: two characters a
 * byte, the first in the upper half. `workers/segment/column-packer.ts` says which and what for.
 *
 * All functions read up to 15 bytes after the column and write up to seven after the result.
 */
const LINE_FEED: u8 = 0x0a
const UUID_CHARS: usize = 36
/** The dashes in the first sixteen characters of a UUID, and in the sixteen from 14 on. */
const UUID_DASHES_FIRST: i32 = 0x2100
const UUID_DASHES_SECOND: i32 = 0x0210
const ALL_CHARS: i32 = 0xffff

/**
 * Packs `count` values of `chars` lower case hexadecimal digits, an even number, each with a line
 * feed after it. False when they are not that.
 */
export function packHex(from: usize, count: i32, chars: usize, out: usize): bool {
  let value = from
  let to = out
  for (let i = 0; i < count; i++, value += chars + 1, to += chars >> 1) {
    for (let at: usize = 0; at < chars; at += 16) {
      const text = v128.load(value + at)
      const left = <i32>(chars - at)
      const inValue = left < 16 ? (1 << left) - 1 : ALL_CHARS
      if ((hexDigits(text) & inValue) !== inValue) return false
      v128.store64_lane(to + (at >> 1), pairs(nibbles(text)), 0)
    }
    if (load<u8>(value + chars) !== LINE_FEED) return false
  }
  return true
}

/** Packs `count` UUIDs in lower case, each with a line feed after it. False for anything else. */
export function packUuids(from: usize, count: i32, out: usize): bool {
  let value = from
  let to = out
  for (let i = 0; i < count; i++, value += UUID_CHARS + 1, to += 16) {
    const a = v128.load(value)
    const b = v128.load(value, 14)
    const c = v128.load(value, 20)
    if (dashes(a) !== UUID_DASHES_FIRST) return false
    if ((dashes(b) & 0x3ff) !== UUID_DASHES_SECOND) return false
    // Without the dashes: 0-7, 9-12, 14-17 and 19-22, 24-35.
    const upper = i8x16.shuffle(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 16, 17, 18, 19)
    const lower = i8x16.shuffle(b, c, 5, 6, 7, 8, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31)
    if ((hexDigits(upper) & hexDigits(lower)) !== ALL_CHARS) return false
    v128.store64_lane(to, pairs(nibbles(upper)), 0)
    v128.store64_lane(to, pairs(nibbles(lower)), 0, 8)
    if (load<u8>(value + UUID_CHARS) !== LINE_FEED) return false
  }
  return true
}

function dashes(text: v128): i32 {
  return i8x16.bitmask(i8x16.eq(text, i8x16.splat(0x2d)))
}

/** All ones for each character from 0 to 9. */
function digits(text: v128): v128 {
  return i8x16.lt_u(i8x16.sub(text, i8x16.splat(0x30)), i8x16.splat(10))
}

/** A bit for each character that is a digit or a letter from a to f. */
function hexDigits(text: v128): i32 {
  const letter = i8x16.lt_u(i8x16.sub(text, i8x16.splat(0x61)), i8x16.splat(6))
  return i8x16.bitmask(v128.or(digits(text), letter))
}

/** The values of hexadecimal digits. */
function nibbles(text: v128): v128 {
  const isLetter = i8x16.gt_u(text, i8x16.splat(0x39))
  const half = v128.and(text, i8x16.splat(0x0f))
  return i8x16.add(half, v128.and(isLetter, i8x16.splat(9)))
}

/** Sixteen halves of bytes as eight bytes. */
function pairs(halves: v128): v128 {
  const upper = i16x8.shl(halves, 4)
  const lower = i16x8.shr_u(halves, 8)
  const both = v128.and(v128.or(upper, lower), i16x8.splat(0xff))
  return i8x16.narrow_i16x8_u(both, both)
}
