/** Members of an event that is put together of pieces: texts of the batch, and what was kept. */
import { copyValue } from '../copy'
import { escapeText } from '../escape'
import { ENTRY_BYTES, ESCAPED, STRING } from '../tape-entries'

const QUOTE: u8 = 0x22

@unmanaged
export class Piece {
  /** Of a text: its node. 0 for members that were kept. */
  node: i32 = 0
  /** What comes before a text: a comma, the key, a colon and a quote. Or the members. */
  prefix: usize = 0
  prefixLength: usize = 0
  /** The text. Or the entries of the members, whose positions count from their first byte. */
  start: usize = 0
  end: usize = 0
}

/**
 * Writes `count` pieces to `to`, and their entries, whose positions count from `out`, to `entries`.
 * There is room for each byte as the longest escape. Returns where it ended; 0 where `limit` was
 * not as far as that.
 */
export function writePieces(
  pieces: usize,
  count: i32,
  out: usize,
  to: usize,
  limit: usize,
  entries: usize,
): usize {
  let at = to
  let entry = entries
  const end = pieces + <usize>count * offsetof<Piece>()
  for (let next = pieces; next < end; next += offsetof<Piece>()) {
    const piece = changetype<Piece>(next)
    const shift = <i32>(at - out)
    copyValue(at, piece.prefix, piece.prefixLength)
    at += piece.prefixLength
    const start = piece.start
    if (piece.node === 0) {
      for (let from = start; from < piece.end; from += ENTRY_BYTES) {
        store<u64>(entry, load<u64>(from))
        store<i32>(entry, load<i32>(from, 8) + shift, 8)
        store<i32>(entry, load<i32>(from, 12) + shift, 12)
        entry += ENTRY_BYTES
      }
      continue
    }
    const close = escapeText(start, piece.end, at, limit)
    if (close === 0) return 0
    store<u8>(close, QUOTE)
    store<i32>(entry, piece.node)
    store<i32>(entry, close - at === piece.end - start ? STRING : ESCAPED, 4)
    store<i32>(entry, <i32>(at - out), 8)
    store<i32>(entry, <i32>(close - out), 12)
    entry += ENTRY_BYTES
    at = close + 1
  }
  return at
}
