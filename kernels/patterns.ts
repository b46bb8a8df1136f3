/**
 * The pattern of each event's text: what `src/model/patterns/text-pattern.ts` says, which has the
 * words for it, for many events at a time. Tokens are found 16 bytes at a time.
 */
import { unescapeText } from './escape'
import { Events } from './events'
import { ESCAPED, STRING } from './tape-entries'

/** As `src/model/patterns` has them; a test compares. */
const TEXT_BYTES_MAX: usize = 4_096
const TOKENS_MAX: i32 = 128
const QUOTED_BYTES_MAX: usize = 512
const QUOTE_LOOKS_MAX: i32 = 8_192
const KEY_BYTES_MAX: usize = 40
const COLOUR_BYTES_MAX: usize = 16
const TELLING_BYTES_MAX: usize = 8
const PRIME_LOW: i32 = 0x85ebca6b
const PRIME_HIGH: i32 = 0xc2b2ae35
const SIGN: i32 = -2

const AT: u8 = 2
const GLUE: u8 = 3
const BLANK: u8 = 4
const QUOTE: u8 = 6
const ESCAPE: u8 = 7

const SPACE: u8 = 0x20
const APOSTROPHE: u8 = 0x27
const COMMA: u8 = 0x2c
const COLON: u8 = 0x3a
const EQUALS_SIGN: u8 = 0x3d
const BRACKET: u8 = 0x5b
const BACKSLASH: u8 = 0x5c
const UNDERSCORE: u8 = 0x5f
/** Makes letters small. */
const SMALL_LETTERS: u64 = ((<u64>0x20202020) << 32) | 0x20202020

/** In the tables: which bytes end a value, telling keys, weekdays and months, each up to a 0. */
const ENDS: usize = 256
const TELLING: usize = 512
const WEEKDAYS: usize = 768
const MONTHS: usize = 800

@unmanaged
export class Patterns {
  /** By layout: where its list of texts begins, 0 when there is none. */
  listOf: usize = 0
  layouts: i32 = 0
  /** Lists: how many texts; then where each is, from the event's first entry. */
  lists: usize = 0
  /** By event: the pattern's halves. */
  lows: usize = 0
  highs: usize = 0
  tables: usize = 0
  /** Room for a text without its escapes; longer ones are left. */
  scratch: usize = 0
  escapedBytesMax: i32 = 0
  seedLow: i32 = 0
  seedHigh: i32 = 0
  /** Of the text that is being read. */
  start: usize = 0
  end: usize = 0
  low: i32 = 0
  high: i32 = 0
  tokens: i32 = 0
  piece: usize = 0
  blank: i32 = 0
  hasPieces: i32 = 0
  gluedLow: i32 = 0
  gluedHigh: i32 = 0
  isGlued: i32 = 0
  plainQuoteEnd: usize = 0
  isTelling: i32 = 0
  looksLeft: i32 = 0
}

/**
 * Goes on from event `first` and stops at the first that has to be read elsewhere; returns which
 * one that is, or `end`. Reads up to 31 bytes behind a text.
 */
export function findPatterns(
  patterns: Patterns,
  events: Events,
  first: i32,
  end: i32,
  layoutOf: usize,
  entries: usize,
  bytes: usize,
): i32 {
  let event = first
  for (; event < end; event++) {
    const at = (<usize>event) << 2
    const layout = load<i32>(layoutOf + at)
    if (layout < 0 || layout >= patterns.layouts) break
    const list = load<i32>(patterns.listOf + ((<usize>layout) << 2))
    if (list === 0) break
    const row = entries + ((<usize>load<i32>(events.tapeStarts + at)) << 2)
    let place = patterns.lists + ((<usize>list) << 2)
    const last = place + ((<usize>load<i32>(place)) << 2)
    patterns.low = 0
    patterns.high = 0
    for (; place < last; place += 4) {
      const entry = row + ((<usize>load<i32>(place, 4)) << 2)
      let from = bytes + load<i32>(entry, 8)
      let to = bytes + load<i32>(entry, 12)
      const type = load<i32>(entry, 4)
      if (type === ESCAPED) {
        if (<i32>(to - from) > patterns.escapedBytesMax) break
        to = unescapeText(from, to, patterns.scratch)
        from = patterns.scratch
      } else if (type !== STRING) break
      if (read(patterns, from, to)) {
        place = last
        break
      }
    }
    if (place < last) break
    store<i32>(patterns.lows + at, patterns.low)
    store<i32>(patterns.highs + at, patterns.high)
  }
  return event
}

/** False when the text is blank. */
function read(p: Patterns, start: usize, textEnd: usize): bool {
  begin(p, start, min<usize>(textEnd, start + TEXT_BYTES_MAX))
  const tables = p.tables
  const end = p.end
  let at = start
  while (at < end && p.tokens < TOKENS_MAX) {
    if (p.isGlued === 0) {
      const plain = plainEnd(p, at)
      if (plain > at) {
        at = plain
        continue
      }
    }
    const kind = load<u8>(tables + load<u8>(at))
    if (kind <= AT) at = token(p, at)
    else if (kind === BLANK) at = blankAt(p, at)
    else if (kind === ESCAPE) at = colour(p, at)
    else if (kind === QUOTE) at = quote(p, at)
    else {
      if (kind !== GLUE) p.isGlued = 0
      at++
    }
  }
  endPiece(p, at)
  return finish(p)
}

/**
 * Passes over what stands for itself, as far as the first token in which something else is, but 16
 * bytes at most; returns where it ended. Precondition: no token is under way at `start`.
 */
function plainEnd(p: Patterns, start: usize): usize {
  const bytes = v128.load(start)
  const within = <i32>min<usize>(p.end - start, 16)
  // Bytes up to the first of another kind.
  const plain = min<i32>(ctz<i32>(otherBits(bytes)), within)
  if (plain === 0) return start
  const tokens = tokenBits(bytes) & ((1 << plain) - 1)
  // The last token may go on behind them.
  const length = plain - clz<i32>(~(tokens << (32 - plain)))
  const passed = tokens & ((1 << length) - 1)
  const count = popcnt<i32>(passed & ~(passed << 1))
  if (p.tokens + count >= TOKENS_MAX) return start
  p.tokens += count
  return start + length
}

/** Which of 16 bytes may mean more: digits, `@`, `=`, quotes, escapes; bits above are set. */
function otherBits(bytes: v128): i32 {
  const low = i8x16.swizzle(
    i8x16(3, 1, 5, 1, 1, 1, 1, 5, 1, 1, 0, 8, 0, 1, 0, 0),
    v128.and(bytes, i8x16.splat(0x0f)),
  )
  const high = i8x16.swizzle(
    i8x16(0, 8, 4, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    i8x16.shr_u(bytes, 4),
  )
  return i8x16.bitmask(i8x16.ne(v128.and(low, high), i8x16.splat(0))) | 0x10000
}

function begin(p: Patterns, start: usize, end: usize): void {
  p.start = start
  p.end = end
  p.low = p.seedLow
  p.high = p.seedHigh
  p.tokens = 0
  p.piece = start
  p.blank = 0
  p.hasPieces = 0
  p.isGlued = 0
  p.plainQuoteEnd = 0
  p.isTelling = 0
  p.looksLeft = QUOTE_LOOKS_MAX
}

function finish(p: Patterns): bool {
  if (p.hasPieces === 0) {
    p.low = 0
    p.high = 0
    return false
  }
  let low = p.low
  let high = p.high
  low = (low ^ shifted(high, 15)) * PRIME_LOW
  high = (high ^ shifted(low, 13)) * PRIME_HIGH
  low = (low ^ shifted(high, 16)) * PRIME_HIGH
  high = (high ^ shifted(low, 15)) * PRIME_LOW
  low ^= shifted(high, 14)
  p.low = low
  p.high = low === 0 && high === 0 ? 1 : high
  return true
}

function shifted(half: i32, bits: u32): i32 {
  return <i32>(<u32>half >> bits)
}

function mixHead(p: Patterns, bytes: i32): void {
  const low = (rotl<i32>(p.low, 13) ^ (2 * bytes + p.blank)) * PRIME_LOW
  p.low = low
  p.high += low
  p.blank = 0
  p.hasPieces = 1
}

/** Reads up to seven bytes behind the piece. */
function endPiece(p: Patterns, pieceEnd: usize): void {
  let at = p.piece
  let end = pieceEnd
  while (at < end && isBlank(p, at)) at++
  if (at > p.piece && p.hasPieces !== 0) p.blank = 1
  if (at === end) return
  while (isBlank(p, end - 1)) end--
  mixHead(p, <i32>(end - at))
  let low = p.low
  let high = p.high
  for (; at + 8 <= end; at += 8) {
    const chunk = load<u64>(at)
    high = (high ^ <i32>(chunk >> 32)) * PRIME_HIGH
    low = (low ^ <i32>chunk) * PRIME_LOW + rotl<i32>(high, 13)
  }
  if (at < end) {
    const chunk = load<u64>(at) & (((<u64>1) << ((end - at) << 3)) - 1)
    high = (high ^ <i32>(chunk >> 32)) * PRIME_HIGH
    low = (low ^ <i32>chunk) * PRIME_LOW + rotl<i32>(high, 13)
  }
  p.low = low
  p.high = high
  if (end < pieceEnd) p.blank = 1
}

function blankAt(p: Patterns, start: usize): usize {
  if (p.isGlued !== 0) {
    const isAfterComma = start > p.start && load<u8>(start - 1) === COMMA
    if (!isAfterComma) p.isGlued = 0
  }
  let at = start + 1
  while (at < p.end && isBlank(p, at)) at++
  return at
}

function isBlank(p: Patterns, at: usize): bool {
  return load<u8>(p.tables + load<u8>(at)) === BLANK
}

function colour(p: Patterns, start: usize): usize {
  endPiece(p, start)
  p.isGlued = 0
  p.piece = colourEnd(p, start)
  return p.piece
}

function colourEnd(p: Patterns, start: usize): usize {
  const end = min<usize>(p.end, start + COLOUR_BYTES_MAX)
  let at = start + 1
  if (at >= end || load<u8>(at) !== BRACKET) return at
  while (++at < end) if (load<u8>(at) >= 0x40) return at + 1
  return start + 1
}

/** Which of 16 bytes are of tokens, a bit each: they are by both of their halves. */
function tokenBits(bytes: v128): i32 {
  const low = i8x16.swizzle(
    i8x16(46, 62, 62, 63, 63, 63, 62, 62, 62, 62, 60, 21, 20, 21, 20, 28),
    v128.and(bytes, i8x16.splat(0x0f)),
  )
  const high = i8x16.swizzle(
    i8x16(0, 0, 1, 2, 4, 8, 16, 32, 0, 0, 0, 0, 0, 0, 0, 0),
    i8x16.shr_u(bytes, 4),
  )
  return ~i8x16.bitmask(i8x16.eq(v128.and(low, high), i8x16.splat(0))) & 0xffff
}

function token(p: Patterns, start: usize): usize {
  p.tokens++
  const end = p.end
  let at = start
  let digits = 0
  let ats = 0
  for (;;) {
    const bytes = v128.load(at)
    const length = min<usize>(ctz<i32>(~tokenBits(bytes)), end - at)
    const within = (1 << (<i32>length)) - 1
    const isDigit = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x30)), i8x16.splat(10))
    digits |= i8x16.bitmask(isDigit) & within
    ats |= i8x16.bitmask(i8x16.eq(bytes, i8x16.splat(0x40))) & within
    at += length
    if (length < 16) break
  }
  const next = isKey(p, start, at) ? load<u8>(at, 1) : EQUALS_SIGN
  if (load<u8>(p.tables + next, ENDS) === 0 && next !== EQUALS_SIGN) return pair(p, start, at)
  if (load<u8>(p.tables + next) === QUOTE) {
    p.isTelling = i32(isTellingKey(p, start, at))
  } else {
    if (digits !== 0 || (ats !== 0 && at - start > 2)) {
      mask(p, dateStart(p, start), at)
      return numbersEnd(p, at)
    }
  }
  p.isGlued = 0
  return at
}

function isKey(p: Patterns, start: usize, end: usize): bool {
  if (end + 1 >= p.end || load<u8>(end) !== EQUALS_SIGN) return false
  const byte = load<u8>(start)
  const first = byte | SPACE
  const isName = (first >= 0x61 && first <= 0x7a) || byte === UNDERSCORE
  return isName && end - start <= KEY_BYTES_MAX
}

function isTellingKey(p: Patterns, start: usize, end: usize): bool {
  const length = end - start
  if (length > TELLING_BYTES_MAX || length === 0) return false
  const within: u64 = length === 8 ? ~0 : ((<u64>1) << (length << 3)) - 1
  const name = (load<u64>(start) | SMALL_LETTERS) & within
  for (let key = p.tables + TELLING; load<u64>(key) !== 0; key += 8) {
    if (load<u64>(key) === name) return true
  }
  return false
}

/**
 * Behind a masked token: passes over what would become a part of it, as far as that is digits and
 * glue; 16 bytes at most.
 */
function numbersEnd(p: Patterns, start: usize): usize {
  const bytes = v128.load(start)
  const within = <i32>min<usize>(p.end - start, 16)
  const digits = i8x16.bitmask(i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x30)), i8x16.splat(10)))
  // `.` and `/`, with the digits; `,` and `:`.
  const some = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x2e)), i8x16.splat(12))
  const others = v128.or(i8x16.eq(bytes, i8x16.splat(0x3a)), i8x16.eq(bytes, i8x16.splat(COMMA)))
  const both = i8x16.bitmask(v128.or(some, others))
  const length = min<i32>(ctz<i32>(~both), within)
  if (length === 0) return start
  let passed = digits & ((1 << length) - 1)
  // The last digits may be the beginning of a longer token.
  const goesOn = length === 16 || (length < within && (tokenBits(bytes) & (1 << length)) !== 0)
  if (goesOn) passed &= (1 << (length - clz<i32>(~(passed << (32 - length))))) - 1
  if (passed === 0) return start
  const count = popcnt<i32>(passed & ~(passed << 1))
  if (p.tokens + count >= TOKENS_MAX) return start
  p.tokens += count
  p.piece = start + (32 - clz<i32>(passed))
  return p.piece
}

/** Where the date begins of which the number at `number` is a part, or the number. */
function dateStart(p: Patterns, number: usize): usize {
  if (number < p.piece + 4 || load<u8>(number - 1) !== SPACE) return number
  return wordBefore(p, wordBefore(p, number, MONTHS), WEEKDAYS)
}

function wordBefore(p: Patterns, at: usize, words: usize): usize {
  const start = p.piece
  let end = at
  while (end > start && load<u8>(end - 1) === SPACE) end--
  if (end === at) return at
  if (words === WEEKDAYS && end > start && load<u8>(end - 1) === COMMA) end--
  if (end < start + 3) return at
  const first = end - 3
  if (first > start && isToken(p, first - 1)) return at
  return isWord(p.tables + words, first) ? first : at
}

/** Whether three letters are one of a list of words, which begin with capitals. */
function isWord(words: usize, at: usize): bool {
  const first = <u32>load<u8>(at)
  if (first >= 0x60) return false
  const word = (first << 16) | ((<u32>load<u8>(at, 1)) << 8) | load<u8>(at, 2)
  for (let each = words; load<u32>(each) !== 0; each += 4) {
    if (load<u32>(each) === word) return true
  }
  return false
}

function pair(p: Patterns, start: usize, equals: usize): usize {
  p.isGlued = 0
  if (isTellingKey(p, start, equals)) return equals + 1
  let at = equals + 1
  while (at < p.end && load<u8>(p.tables + load<u8>(at), ENDS) === 0) at++
  mask(p, equals + 1, at)
  p.isGlued = 0
  return at
}

function mask(p: Patterns, start: usize, end: usize): void {
  if (p.isGlued !== 0) {
    p.low = p.gluedLow
    p.high = p.gluedHigh
    p.blank = 0
  } else {
    endPiece(p, start)
    mixHead(p, SIGN)
    p.gluedLow = p.low
    p.gluedHigh = p.high
    p.isGlued = 1
  }
  p.piece = end
}

function quote(p: Patterns, start: usize): usize {
  if (start === p.plainQuoteEnd) return start + 1
  const isTelling = p.isTelling
  p.isTelling = 0
  const close = closingQuote(p, start)
  if (close === 0) {
    p.isGlued = 0
    return start + 1
  }
  const isName = close + 1 < p.end && load<u8>(close, 1) === COLON
  if (isName || isTelling !== 0) {
    p.plainQuoteEnd = close
    p.isTelling = i32(isName && isTellingKey(p, start + 1, close))
    p.isGlued = 0
    return start + 1
  }
  p.tokens++
  mask(p, start, close + 1)
  return close + 1
}

/** 0 when the quoted string does not end, or is a long one. */
function closingQuote(p: Patterns, start: usize): usize {
  const sign = load<u8>(start)
  const isApostrophe = sign === APOSTROPHE
  if (isApostrophe && start > p.start && isToken(p, start - 1)) return 0
  let end = min<usize>(p.end, start + QUOTED_BYTES_MAX)
  end = min<usize>(end, start + p.looksLeft)
  const signs = i8x16.splat(sign)
  let at = start + 1
  while (at < end) {
    const bytes = v128.load(at)
    const stops = v128.or(i8x16.eq(bytes, signs), i8x16.eq(bytes, i8x16.splat(BACKSLASH)))
    const found = i8x16.bitmask(stops)
    if (found === 0) {
      at += 16
      continue
    }
    at += ctz<i32>(found)
    if (at >= end) break
    if (load<u8>(at) === BACKSLASH) at += 2
    else if (isApostrophe && isToken(p, at + 1)) at++
    else break
  }
  at = min<usize>(at, end)
  p.looksLeft -= <i32>(at - start)
  return at < end ? at : 0
}

function isToken(p: Patterns, at: usize): bool {
  return at < p.end && load<u8>(p.tables + load<u8>(at)) <= AT
}
