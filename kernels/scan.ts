/** Finds the ends of things, sixteen bytes at a time. */
const LINE_FEED: u8 = 0x0a
const QUOTE: u32 = 0x22
const BACKSLASH: u32 = 0x5c
const LOWER_U: u32 = 0x75

/** Address of the first quote, backslash or control character from `pos` on. */
export function stringStop(pos: usize): usize {
  const stops = stopsIn(pos)
  return stops !== 0 ? pos + ctz(stops) : laterStop(pos + 16)
}

function laterStop(pos: usize): usize {
  let at = pos
  let stops = stopsIn(at)
  while (stops === 0) {
    at += 16
    stops = stopsIn(at)
  }
  return at + ctz(stops)
}

/**
 * Address of the quote that ends the string of JSON whose inside begins at `pos`, below zero where
 * it has escapes; 0 where it is no string.
 */
export function stringEnd(pos: usize): i32 {
  const stop = stringStop(pos)
  return <u32>load<u8>(stop) === QUOTE ? <i32>stop : -(<i32>escapedEnd(stop))
}

/** Address of the quote that ends a string with a backslash at `stop`; 0 where it is no string. */
export function escapedEnd(stop: usize): usize {
  let at = stop
  while (<u32>load<u8>(at) !== QUOTE) {
    if (<u32>load<u8>(at) !== BACKSLASH) return 0
    const kind = <u32>load<u8>(at, 1)
    at += 2
    if (kind === LOWER_U) {
      for (const end = at + 4; at < end; at++) if (!isHex(<u32>load<u8>(at))) return 0
    } else if (!isEscape(kind)) return 0
    at = stringStop(at)
  }
  return at
}

function isHex(byte: u32): bool {
  return byte - 0x30 < 10 || (byte | 0x20) - 0x61 < 6
}

/** Whether it may follow a backslash; `u` aside. */
function isEscape(byte: u32): bool {
  switch (byte) {
    case QUOTE:
    case BACKSLASH:
    case 0x2f:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return true
  }
  return false
}

/** Address of the first line feed from `pos` on. */
export function lineFeedFrom(pos: usize): usize {
  let at = pos
  let feeds = signsIn(v128.load(at), LINE_FEED)
  while (feeds === 0) {
    at += 16
    feeds = signsIn(v128.load(at), LINE_FEED)
  }
  return at + ctz(feeds)
}

/** A bit for each of the sixteen bytes that is `sign`. */
export function signsIn(text: v128, sign: u8): i32 {
  return i8x16.bitmask(i8x16.eq(text, i8x16.splat(sign)))
}

/** A bit for each of the sixteen bytes at `pos` that can end a run of plain text. */
export function stopsIn(pos: usize): i32 {
  const bytes = v128.load(pos)
  const isQuote = i8x16.eq(bytes, i8x16.splat(0x22))
  const isBackslash = i8x16.eq(bytes, i8x16.splat(0x5c))
  const isControl = i8x16.lt_u(bytes, i8x16.splat(0x20))
  return i8x16.bitmask(v128.or(v128.or(isQuote, isBackslash), isControl))
}
