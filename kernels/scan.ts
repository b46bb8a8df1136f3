/** Finds the ends of things, sixteen bytes at a time. */
const LINE_FEED: u8 = 0x0a

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
