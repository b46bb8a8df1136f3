/** Strings as JSON writes them: putting escapes in and taking them out, sixteen bytes at a time. */
import { signsIn, stopsIn } from './scan'

const QUOTE: u8 = 0x22
const BACKSLASH: u8 = 0x5c
/** The longest escape: `\u001b`. */
const ESCAPE_BYTES_MAX: usize = 6
/** How much is written at once, and how much of that may be surplus. */
const STEP: usize = 16

const HIGH_SURROGATES: u32 = 0xd800
const LOW_SURROGATES: u32 = 0xdc00
const SURROGATES_END: u32 = 0xe000
const REPLACEMENT: u32 = 0xfffd

/**
 * Writes `start`..`end` as the inside of a JSON string to `to`, as `JSON.stringify` does. Returns
 * where that ends, at least 16 bytes before `limit`; 0 where there is no room for it, which it asks
 * for 22 bytes at a time.
 */
export function escapeText(start: usize, end: usize, to: usize, limit: usize): usize {
  const stop = limit - STEP - ESCAPE_BYTES_MAX
  let out = to
  for (let from = start; from < end; ) {
    if (out + min(end - from, STEP) > stop) return 0
    v128.store(out, v128.load(from))
    const left = end - from
    let stops = stopsIn(from)
    if (left < STEP) stops &= (1 << (<i32>left)) - 1
    if (stops === 0) {
      from += min(left, STEP)
      out += min(left, STEP)
      continue
    }
    const plain = <usize>ctz(stops)
    from += plain
    out = putEscape(load<u8>(from++), out + plain)
  }
  return out
}

/** Writes the escape of a byte; returns where it ends. */
function putEscape(byte: u8, to: usize): usize {
  store<u8>(to, BACKSLASH)
  const letter = shortEscape(byte)
  if (letter !== 0) {
    store<u8>(to, letter, 1)
    return to + 2
  }
  // `u00` and two digits; the word's fourth byte is written over.
  store<u32>(to, 0x00303075, 1)
  store<u8>(to, hexDigit(byte >> 4), 4)
  store<u8>(to, hexDigit(byte & 15), 5)
  return to + ESCAPE_BYTES_MAX
}

/** The letter after the backslash; 0 where there is only the form with `u`. */
function shortEscape(byte: u8): u8 {
  switch (byte) {
    case QUOTE:
    case BACKSLASH:
      return byte
    case 0x08:
      return 0x62
    case 0x09:
      return 0x74
    case 0x0a:
      return 0x6e
    case 0x0c:
      return 0x66
    case 0x0d:
      return 0x72
  }
  return 0
}

function hexDigit(value: u8): u8 {
  return value < 10 ? 0x30 + value : 0x57 + value
}

/**
 * Writes what the inside of a JSON string says, which the tape judged valid, as UTF-8 to `to`;
 * returns where that ends. A lone surrogate becomes U+FFFD. As `unescapeInto` does it
 * (`workers/tape/json-string.ts`). Never more bytes than `end - start`, but up to 15 may be
 * written after them, so the two must not overlap.
 */
export function unescapeText(start: usize, end: usize, to: usize): usize {
  let out = to
  for (let from = start; from < end; ) {
    const bytes = v128.load(from)
    v128.store(out, bytes)
    const left = end - from
    let marks = signsIn(bytes, BACKSLASH)
    if (left < STEP) marks &= (1 << (<i32>left)) - 1
    if (marks === 0) {
      from += min(left, STEP)
      out += min(left, STEP)
      continue
    }
    const plain = <usize>ctz(marks)
    out += plain
    from += plain + 2
    const kind = load<u8>(from - 1)
    if (kind !== 0x75) {
      store<u8>(out++, escapedBy(kind))
      continue
    }
    let point = hexUnit(from)
    from += 4
    if (point >= HIGH_SURROGATES && point < SURROGATES_END) {
      const low = point < LOW_SURROGATES ? lowSurrogate(from, end) : 0
      if (low === 0) point = REPLACEMENT
      else {
        point = 0x10000 + ((point - HIGH_SURROGATES) << 10) + (low - LOW_SURROGATES)
        from += 6
      }
    }
    out = putCodePoint(point, out)
  }
  return out
}

/** The byte that a letter after a backslash stands for. */
function escapedBy(letter: u8): u8 {
  switch (letter) {
    case 0x62:
      return 0x08
    case 0x66:
      return 0x0c
    case 0x6e:
      return 0x0a
    case 0x72:
      return 0x0d
    case 0x74:
      return 0x09
  }
  return letter
}

/** The second half of a pair of surrogates, if its escape is at `from`; 0 else. */
function lowSurrogate(from: usize, end: usize): u32 {
  if (from + 6 > end || <u32>load<u16>(from) !== 0x755c) return 0
  const unit = hexUnit(from + 2)
  return unit >= LOW_SURROGATES && unit < SURROGATES_END ? unit : 0
}

function hexUnit(at: usize): u32 {
  return (digitAt(at) << 12) | (digitAt(at + 1) << 8) | (digitAt(at + 2) << 4) | digitAt(at + 3)
}

function digitAt(at: usize): u32 {
  const byte = <u32>load<u8>(at)
  return byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57
}

function putCodePoint(point: u32, to: usize): usize {
  if (point < 0x80) {
    store<u8>(to, <u8>point)
    return to + 1
  }
  if (point < 0x800) {
    store<u8>(to, <u8>(0xc0 | (point >> 6)))
    store<u8>(to, <u8>(0x80 | (point & 0x3f)), 1)
    return to + 2
  }
  if (point < 0x10000) {
    store<u8>(to, <u8>(0xe0 | (point >> 12)))
    store<u8>(to, <u8>(0x80 | ((point >> 6) & 0x3f)), 1)
    store<u8>(to, <u8>(0x80 | (point & 0x3f)), 2)
    return to + 3
  }
  store<u8>(to, <u8>(0xf0 | (point >> 18)))
  store<u8>(to, <u8>(0x80 | ((point >> 12) & 0x3f)), 1)
  store<u8>(to, <u8>(0x80 | ((point >> 6) & 0x3f)), 2)
  store<u8>(to, <u8>(0x80 | (point & 0x3f)), 3)
  return to + 4
}
