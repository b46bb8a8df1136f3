/**
 * Unpacks what `pack.ts` and `dictionary.ts` packed. All functions write up to 15
 * bytes after the result and read as many after what is packed.
 */
const LINE_FEED: u8 = 0x0a
const DASH: u8 = 0x2d
/** `0123456789abcdef` */
const HEX_DIGITS = memory.data<u32>([0x33323130, 0x37363534, 0x62613938, 0x66656463], 16)
const PACKED_UUID_BYTES: usize = 16
const UUID_CHARS: usize = 36

/** Values of `chars` hexadecimal digits, an even number, each with a line feed after it. */
export function unpackHex(from: usize, count: i32, chars: usize, out: usize): void {
  const digits = v128.load(HEX_DIGITS)
  const bytes = chars >> 1
  let value = from
  let to = out
  for (let i = 0; i < count; i++, value += bytes, to += chars + 1) {
    for (let at: usize = 0; at < bytes; at += 8) {
      v128.store(to + (at << 1), i8x16.swizzle(digits, halves(value + at)))
    }
    store<u8>(to + chars, LINE_FEED)
  }
}

export function unpackUuids(from: usize, count: i32, out: usize): void {
  const digits = v128.load(HEX_DIGITS)
  const dashes = i8x16.splat(DASH)
  let value = from
  let to = out
  for (let i = 0; i < count; i++, value += PACKED_UUID_BYTES, to += UUID_CHARS + 1) {
    const a = i8x16.swizzle(digits, halves(value))
    const b = i8x16.swizzle(digits, halves(value + 8))
    v128.store(to, i8x16.shuffle(a, dashes, 0, 1, 2, 3, 4, 5, 6, 7, 16, 8, 9, 10, 11, 16, 12, 13))
    const rest = i8x16.shuffle(a, b, 14, 15, 0, 16, 17, 18, 19, 0, 20, 21, 22, 23, 24, 25, 26, 27)
    v128.store(to + 16, i8x16.replace_lane(i8x16.replace_lane(rest, 2, DASH), 7, DASH))
    v128.store32_lane(to + 32, b, 3)
    store<u8>(to + UUID_CHARS, LINE_FEED)
  }
}

/** `count` numbers of `width` bits, a byte each. Returns the highest; -1 when there is none. */
export function unpackNumbers(from: usize, count: i32, width: i32, out: usize): i32 {
  const mask = (1 << width) - 1
  let highest = -1
  let bit = 0
  for (let i = 0; i < count; i++, bit += width) {
    const number = (<i32>load<u16>(from + (bit >> 3)) >> (bit & 7)) & mask
    store<u8>(out + i, <u8>number)
    highest = max(highest, number)
  }
  return highest
}

/** Eight bytes as sixteen halves, the upper one of each first. */
function halves(from: usize): v128 {
  const bytes = v128.load64_zero(from)
  const lower = v128.and(bytes, i8x16.splat(0x0f))
  const upper = i8x16.shr_u(bytes, 4)
  return i8x16.shuffle(upper, lower, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
}
