/** Snappy's raw blocks, as `workers/decode/loki/snappy.ts` reads them. */

/** Literals longer than this say their length in 1 to 4 bytes of their own. */
const LITERAL_TAG_MAX: usize = 60
const STEP: usize = 16

/**
 * Writes the contents of the elements from `start` to `end` to `out`, where there are to be
 * `length` bytes; false when there are not. Reads and writes up to 15 bytes more.
 */
export function decompress(start: usize, end: usize, out: usize, length: usize): bool {
  const outEnd = out + length
  let at = start
  let to = out
  while (at < end) {
    const tag = <usize>load<u8>(at++)
    const kind = tag & 3
    if (kind === 0) {
      let more = tag >> 2
      if (more >= LITERAL_TAG_MAX) {
        const size = more - LITERAL_TAG_MAX + 1
        if (end - at < size) return false
        more = <usize>load<u32>(at) & (0xffffffff >> (32 - (size << 3)))
        at += size
      }
      if (more >= end - at || more >= outEnd - to) return false
      copyAhead(to, at, more + 1)
      at += more + 1
      to += more + 1
      continue
    }
    const size: usize = kind === 3 ? 4 : kind
    if (end - at < size) return false
    const rest = <usize>load<u32>(at) & (0xffffffff >> (32 - (size << 3)))
    at += size
    const count = kind === 1 ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1
    const offset = kind === 1 ? ((tag >> 5) << 8) | rest : rest
    if (offset === 0 || offset > to - out || count > outEnd - to) return false
    if (offset >= STEP) copyAhead(to, to - offset, count)
    else for (let i: usize = 0; i < count; i++) store<u8>(to + i, load<u8>(to - offset + i))
    to += count
  }
  return to === outEnd
}

/** Copies by steps: `from` is no less than a step behind `to`, or elsewhere. */
function copyAhead(to: usize, from: usize, length: usize): void {
  for (let i: usize = 0; i < length; i += STEP) v128.store(to + i, v128.load(from + i))
}
