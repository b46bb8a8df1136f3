/**
 * Columns of ever new digits as meta-blocks of brotli (RFC 7932, section 9.2), written here: there
 * is nothing in them to find, so all that is done is a prefix code for their characters.
 * `workers/segment/digit-columns.ts` says which and what for.
 *
 * A meta-block has one command, which inserts all of its bytes: those of the column, then
 * PADDING zeros. What comes before the literals is the same for all, but for lengths.
 */

/** By the lower half of a character, which tells them apart: the digits, LF and `+,-./`. */
const CHARACTERS = memory.data<u32>([0x33323130, 0x37363534, 0x2b0a3938, 0x2f2e2d2c], 16)
const ALL_CHARS: i32 = 0xffff
const PADDING: i32 = 8
/** Symbols in the order of their bytes: the zero of the padding, LF, `+,-./`, the digits. */
const SYMBOLS: i32 = 17
const LINE_FEED_SYMBOL: i32 = 1
const FIRST_DIGIT_SYMBOL: i32 = 7
/** Two of the longest codes fit into the 24 bits of an entry of `codes`. */
const CODE_BITS_MAX: i32 = 12
/** Of a long column about so many pairs of characters are counted. */
const PAIRS_COUNTED: usize = 1_024
/** Length of the texts that are looked for again, and what a hash of theirs is multiplied by. */
const REPEATED_BITS: u64 = 48
const HASH_MULTIPLIER: u64 = ((<u64>0x9e3779b9) << 32) | 0x7f4a7c15
const PLACE_BITS: u64 = 10

@unmanaged
export class Digits {
  /** Two characters a byte, the first in the upper half. */
  halves: usize = 0
  /** By such a byte, how often it comes; then its codes, and above them how many bits they have. */
  codes: usize = 0
  /** By symbol, and by node of the tree behind them: its weight, and its parent. */
  weights: usize = 0
  parents: usize = 0
  /** By symbol, the length of its code, and the code as it is written. */
  lengths: usize = 0
  symbols: usize = 0
  /** Where texts were met, by their hash. */
  places: usize = 0
  /** The byte that is not full yet, and how many of its bits are written; the rest are zeros. */
  out: usize = 0
  used: i32 = 0
}

/** How many of the first `count` texts of six bytes at `from` were there before, more or less. */
export function countRepeated(digits: Digits, from: usize, count: i32): i32 {
  const places = digits.places
  memory.fill(places, 0, 4 << (<usize>PLACE_BITS))
  let repeated = 0
  for (let i: usize = 0; i < <usize>count; i++) {
    const text = load<u64>(from + i) << (64 - REPEATED_BITS)
    const place = places + ((<usize>((text * HASH_MULTIPLIER) >> (64 - PLACE_BITS))) << 2)
    const known = <usize>load<u32>(place)
    if (known !== 0 && load<u64>(known) << (64 - REPEATED_BITS) === text) repeated++
    store<u32>(place, <u32>(from + i))
  }
  return repeated
}

/**
 * Writes a column of `length` bytes and the zeros behind it as a meta-block; false, and nothing,
 * when there is another character in it. Up to 12 bits for a byte, and 128 bytes before them; reads
 * up to 15 bytes behind the column.
 */
export function writeDigits(digits: Digits, from: usize, length: i32): bool {
  if (!halve(from, length, digits.halves)) return false
  const halves = digits.halves
  const pairs = <usize>(length >> 1)
  // The lower half of the last byte is a zero's when there is none.
  const last = length & 1 ? <i32>load<u8>(halves + pairs) >> 4 : -1
  count(digits, halves, pairs)
  const weights = digits.weights
  for (let limit = 1; !tryLengths(digits); limit <<= 1) {
    for (let i = 0; i < SYMBOLS; i++) {
      const at = weights + ((<usize>i) << 2)
      store<i32>(at, max(load<i32>(at), limit << 1))
    }
  }
  assignCodes(digits)
  writeHead(digits, length + PADDING)
  pairCodes(digits)
  writePairs(digits, halves, pairs)
  if (last >= 0) writeSymbol(digits, symbolOf(last))
  for (let i = 0; i < PADDING; i++) writeSymbol(digits, 0)
  return true
}

/** Writes the zeros behind an empty column, uncompressed, and the end of the stream. */
export function endDigits(digits: Digits): usize {
  put(digits, 3, 0)
  put(digits, 16, PADDING - 1)
  put(digits, 1, 1)
  const at = digits.used > 0 ? digits.out + 1 : digits.out
  store<u64>(at, 0)
  // The last meta-block is empty.
  store<u8>(at + PADDING, 3)
  return at + PADDING + 1
}

function halve(from: usize, length: i32, out: usize): bool {
  const characters = v128.load(CHARACTERS)
  for (let at = 0; at < length; at += 16) {
    const text = v128.load(from + at)
    const half = v128.and(text, i8x16.splat(0x0f))
    const left = length - at
    const inText = left < 16 ? (1 << left) - 1 : ALL_CHARS
    const known = i8x16.bitmask(i8x16.eq(i8x16.swizzle(characters, half), text))
    if ((known & inText) !== inText) return false
    const upper = i16x8.shl(half, 4)
    const lower = i16x8.shr_u(half, 8)
    const both = v128.and(v128.or(upper, lower), i16x8.splat(0xff))
    v128.store64_lane(out + (at >> 1), i8x16.narrow_i16x8_u(both, both), 0)
  }
  return true
}

/** The symbol of a character, by its lower half. */
function symbolOf(half: i32): i32 {
  if (half < 10) return FIRST_DIGIT_SYMBOL + half
  return half === 10 ? LINE_FEED_SYMBOL : half - 9
}

/** Weighs the symbols by how often they come in some of the pairs; each has a weight. */
function count(digits: Digits, halves: usize, pairs: usize): void {
  const counts = digits.codes
  const weights = digits.weights
  memory.fill(counts, 0, 256 << 2)
  const step: usize = pairs > PAIRS_COUNTED ? pairs / PAIRS_COUNTED : 1
  for (let i: usize = 0; i < pairs; i += step) {
    const place = counts + ((<usize>load<u8>(halves + i)) << 2)
    store<i32>(place, load<i32>(place) + 1)
  }
  for (let symbol = 0; symbol < SYMBOLS; symbol++) {
    store<i32>(weights + ((<usize>symbol) << 2), 1)
  }
  for (let pair = 0; pair < 256; pair++) {
    const times = load<i32>(counts + ((<usize>pair) << 2))
    if (times === 0) continue
    addWeight(weights, symbolOf(pair >> 4), times)
    addWeight(weights, symbolOf(pair & 15), times)
  }
}

function addWeight(weights: usize, symbol: i32, times: i32): void {
  const at = weights + ((<usize>symbol) << 2)
  store<i32>(at, load<i32>(at) + times)
}

/** Finds Huffman's lengths for the weights; false when one is too long. */
function tryLengths(digits: Digits): bool {
  const weights = digits.weights
  const parents = digits.parents
  memory.fill(parents, 0, (SYMBOLS << 1) << 2)
  let nodes = SYMBOLS
  while (true) {
    const first = lightest(digits, nodes, -1)
    const second = lightest(digits, nodes, first)
    if (second < 0) break
    const a = weights + ((<usize>first) << 2)
    const b = weights + ((<usize>second) << 2)
    store<i32>(weights + ((<usize>nodes) << 2), load<i32>(a) + load<i32>(b))
    store<i32>(parents + ((<usize>first) << 2), nodes)
    store<i32>(parents + ((<usize>second) << 2), nodes)
    nodes++
  }
  for (let symbol = 0; symbol < SYMBOLS; symbol++) {
    let length = 0
    let node = load<i32>(parents + ((<usize>symbol) << 2))
    for (; node !== 0; length++) node = load<i32>(parents + ((<usize>node) << 2))
    if (length > CODE_BITS_MAX) return false
    store<i32>(digits.lengths + ((<usize>symbol) << 2), length)
  }
  return true
}

/** The lightest node that has no parent, but for `other`; -1 when there is none. */
function lightest(digits: Digits, nodes: i32, other: i32): i32 {
  let found = -1
  let least = i32.MAX_VALUE
  for (let node = 0; node < nodes; node++) {
    const at = (<usize>node) << 2
    const weight = load<i32>(digits.weights + at)
    const isFree = node !== other && load<i32>(digits.parents + at) === 0
    if (!isFree || weight >= least) continue
    least = weight
    found = node
  }
  return found
}

/** Codes rise with their length, then with the symbol; they are written highest bit first. */
function assignCodes(digits: Digits): void {
  let code = 0
  for (let length = 1; length <= CODE_BITS_MAX; length++) {
    for (let symbol = 0; symbol < SYMBOLS; symbol++) {
      const at = (<usize>symbol) << 2
      if (load<i32>(digits.lengths + at) !== length) continue
      store<i32>(digits.symbols + at, reversed(code, length))
      code++
    }
    code <<= 1
  }
}

function reversed(code: i32, length: i32): i32 {
  let out = 0
  for (let i = 0; i < length; i++) out |= ((code >> i) & 1) << (length - 1 - i)
  return out
}

/** Fewer than eight bits wait, so up to 56 may come. */
function put(digits: Digits, count: i32, value: u64): void {
  const at = digits.out
  store<u64>(at, <u64>load<u8>(at) | (value << digits.used))
  const used = digits.used + count
  digits.out = at + (used >> 3)
  digits.used = used & 7
}

function writeSymbol(digits: Digits, symbol: i32): void {
  const at = (<usize>symbol) << 2
  put(digits, load<i32>(digits.lengths + at), load<i32>(digits.symbols + at))
}

/** Everything of a meta-block of so many bytes but its literals. */
function writeHead(digits: Digits, bytes: i32): void {
  const nibbles = bytes <= 1 << 16 ? 4 : bytes <= 1 << 20 ? 5 : 6
  put(digits, 1, 0)
  put(digits, 2, nibbles - 4)
  put(digits, nibbles << 2, bytes - 1)
  // Compressed, a block type of each kind, no postfix or direct codes, a tree of each kind.
  put(digits, 14, 0)
  writeLengths(digits)
  // Insert codes 18 to 23 and the shortest copy, which never comes, as the only symbol.
  const insert =
    bytes < 578 ? 18 : bytes < 1_090 ? 19 : bytes < 2_114 ? 20 : bytes < 6_210 ? 21 : 22
  const isLong = bytes >= 22_594
  put(digits, 4, 1)
  put(digits, 10, 448 + (((isLong ? 23 : insert) - 16) << 3))
  put(digits, 4, 1)
  put(digits, 6, 0)
  if (isLong) put(digits, 24, bytes - 22_594)
  else if (insert === 22) put(digits, 14, bytes - 6_210)
  else if (insert === 21) put(digits, 12, bytes - 2_114)
  else if (insert === 20) put(digits, 10, bytes - 1_090)
  else if (insert === 19) put(digits, 9, bytes - 578)
  else put(digits, 8, bytes - 322)
}

/**
 * The lengths of the literals' codes. Their own code is always the same: three bits for 3 and 4,
 * four for the others up to 12 and for 17, which repeats zeros.
 */
function writeLengths(digits: Digits): void {
  put(digits, 2, 0)
  // In the order 1, 2, 3, 4, 0, 5, 17, 6, 16, 7 to 12: `01` says four, `10` three, `00` none.
  put(digits, 30, 0b01_01_01_01_01_01_00_01_01_01_01_10_10_01_01)
  writeLength(digits, load<i32>(digits.lengths))
  // Nine zeros up to the line feed, 32 behind it.
  writeRepeat(digits, 6)
  writeLength(digits, load<i32>(digits.lengths, 4))
  writeRepeat(digits, 2)
  writeRepeat(digits, 5)
  for (let symbol = LINE_FEED_SYMBOL + 1; symbol < SYMBOLS; symbol++) {
    writeLength(digits, load<i32>(digits.lengths + ((<usize>symbol) << 2)))
  }
}

function writeRepeat(digits: Digits, extra: i32): void {
  put(digits, 4, 15)
  put(digits, 3, extra)
}

function writeLength(digits: Digits, length: i32): void {
  if (length === 3 || length === 4) put(digits, 3, reversed(length - 3, 3))
  else put(digits, 4, reversed(length < 3 ? length + 4 : length + 2, 4))
}

/** Makes an entry for each two characters. */
function pairCodes(digits: Digits): void {
  for (let upper = 0; upper < 16; upper++) {
    const first = (<usize>symbolOf(upper)) << 2
    const length = load<i32>(digits.lengths + first)
    const code = load<i32>(digits.symbols + first)
    for (let lower = 0; lower < 16; lower++) {
      const second = (<usize>symbolOf(lower)) << 2
      const bits = length + load<i32>(digits.lengths + second)
      const both = code | (load<i32>(digits.symbols + second) << length)
      store<i32>(digits.codes + (((upper << 4) | lower) << 2), (bits << 24) | both)
    }
  }
}

function writePairs(digits: Digits, halves: usize, pairs: usize): void {
  const codes = digits.codes
  let at = digits.out
  let used = digits.used
  let bits = <u64>load<u8>(at)
  let i: usize = 0
  for (; i + 2 <= pairs; i += 2) {
    const first = load<u32>(codes + ((<usize>load<u8>(halves + i)) << 2))
    const second = load<u32>(codes + ((<usize>load<u8>(halves + i, 1)) << 2))
    bits |= (<u64>(first & 0xffffff)) << used
    used += first >> 24
    bits |= (<u64>(second & 0xffffff)) << used
    used += second >> 24
    store<u64>(at, bits)
    at += used >> 3
    bits >>= used & ~7
    used &= 7
  }
  store<u64>(at, bits)
  digits.out = at
  digits.used = used
  if (i === pairs) return
  const rest = load<u32>(codes + ((<usize>load<u8>(halves + i)) << 2))
  put(digits, rest >> 24, rest & 0xffffff)
}
