/**
 * JSON string contents between the quotes: turning escapes into UTF-8 bytes. The range was judged
 * valid by the tape. A lone surrogate becomes U+FFFD, as when JavaScript writes one out as UTF-8.
 */
const BACKSLASH = 0x5c
const LOWER_U = 0x75
const REPLACEMENT = 0xfffd

/** What follows a backslash, to the byte it stands for. */
const SIMPLE_ESCAPES = new Uint8Array(256)
SIMPLE_ESCAPES[0x22] = 0x22
SIMPLE_ESCAPES[0x5c] = 0x5c
SIMPLE_ESCAPES[0x2f] = 0x2f
SIMPLE_ESCAPES[0x62] = 0x08
SIMPLE_ESCAPES[0x66] = 0x0c
SIMPLE_ESCAPES[0x6e] = 0x0a
SIMPLE_ESCAPES[0x72] = 0x0d
SIMPLE_ESCAPES[0x74] = 0x09

function hexDigit(byte: number): number {
  return byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57
}

function hexUnit(bytes: Uint8Array, at: number): number {
  return (
    (hexDigit(bytes[at]!) << 12) |
    (hexDigit(bytes[at + 1]!) << 8) |
    (hexDigit(bytes[at + 2]!) << 4) |
    hexDigit(bytes[at + 3]!)
  )
}

function writeCodePoint(point: number, out: Uint8Array, at: number): number {
  if (point < 0x80) {
    out[at] = point
    return at + 1
  }
  if (point < 0x800) {
    out[at] = 0xc0 | (point >> 6)
    out[at + 1] = 0x80 | (point & 0x3f)
    return at + 2
  }
  if (point < 0x10000) {
    out[at] = 0xe0 | (point >> 12)
    out[at + 1] = 0x80 | ((point >> 6) & 0x3f)
    out[at + 2] = 0x80 | (point & 0x3f)
    return at + 3
  }
  out[at] = 0xf0 | (point >> 18)
  out[at + 1] = 0x80 | ((point >> 12) & 0x3f)
  out[at + 2] = 0x80 | ((point >> 6) & 0x3f)
  out[at + 3] = 0x80 | (point & 0x3f)
  return at + 4
}

/** Views of the source and of the target, for copying by words. */
export interface ByteViews {
  readonly from: DataView
  readonly to: DataView
}

/** Copies whole words before the next backslash; returns how many bytes. See `stringStop`. */
function copyUntilBackslash(views: ByteViews, start: number, end: number, at: number): number {
  const { from, to } = views
  let i = start
  for (; i + 4 <= end; i += 4) {
    const word = from.getInt32(i, true)
    const backslash = word ^ 0x5c5c5c5c
    if (((backslash - 0x01010101) & ~backslash & 0x80808080) !== 0) break
    to.setInt32(at + i - start, word, true)
  }
  return i - start
}

/**
 * Writes the decoded string to `out` from `at` and returns where it ended. Never writes more bytes
 * than `end - start`: every escape is at least as long as what it stands for. With `views` of both
 * buffers, runs without escapes go four bytes at a time.
 */
export function unescapeInto(
  bytes: Uint8Array,
  start: number,
  end: number,
  out: Uint8Array,
  at: number,
  views?: ByteViews,
): number {
  let i = start
  while (i < end) {
    if (views !== undefined) {
      const copied = copyUntilBackslash(views, i, end, at)
      i += copied
      at += copied
      if (i === end) break
    }
    const byte = bytes[i]!
    if (byte !== BACKSLASH) {
      out[at++] = byte
      i++
      continue
    }
    const kind = bytes[i + 1]!
    if (kind !== LOWER_U) {
      out[at++] = SIMPLE_ESCAPES[kind]!
      i += 2
      continue
    }
    let point = hexUnit(bytes, i + 2)
    i += 6
    if (point >= 0xd800 && point <= 0xdfff) {
      const low =
        point < 0xdc00 && i + 6 <= end && bytes[i] === BACKSLASH && bytes[i + 1] === LOWER_U
          ? hexUnit(bytes, i + 2)
          : 0
      if (low >= 0xdc00 && low <= 0xdfff) {
        point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00)
        i += 6
      } else {
        point = REPLACEMENT
      }
    }
    at = writeCodePoint(point, out, at)
  }
  return at
}

/** The decoded string as a JavaScript string, lone surrogates replaced. Not for hot code. */
export function unescapeToString(bytes: Uint8Array, start: number, end: number): string {
  const out = Buffer.allocUnsafe(end - start)
  return out.toString('utf8', 0, unescapeInto(bytes, start, end, out, 0))
}
