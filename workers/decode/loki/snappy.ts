/**
 * Snappy's raw block format (google/snappy, format_description.txt): the length of the contents as
 * a varint, then literals and copies of what came before. Input is hostile: nothing is read or
 * written outside what was announced, and nothing is allocated before that was judged.
 *
 * A kernel decompresses (`kernels/decode/snappy.ts`). Where it gives up, the elements are walked
 * once more for the reason.
 */
import { BODY_BYTES_MAX } from '../../../src/limits.ts'
import { kernels } from '../../kernel/kernels.ts'
import type { EventBuffer } from '../../tape/event-buffer.ts'
import { PartError } from './part-error.ts'

const LENGTH_BYTES_MAX = 5
/** Literals longer than this say their length in 1 to 4 bytes of their own. */
const LITERAL_TAG_MAX = 60

/** Decompresses `start`..`end` of `bytes`, the arena's, to `into`, whose contents it becomes. */
export function decompressSnappy(
  bytes: Uint8Array,
  start: number,
  end: number,
  into: EventBuffer,
): void {
  let at = start
  let length = 0
  for (let factor = 1; ; factor *= 0x80) {
    if (at === end || at - start === LENGTH_BYTES_MAX) throw invalid(at - start, 'no length')
    const byte = bytes[at++]!
    length += (byte & 0x7f) * factor
    if (byte < 0x80) break
  }
  if (length > BODY_BYTES_MAX) {
    const text = `decompressed body is over ${BODY_BYTES_MAX} bytes (BODY_BYTES_MAX)`
    throw new PartError(text, 'too_large')
  }
  into.reset()
  into.reserve(length)
  const { byteOffset } = bytes
  const target = into.bytes.byteOffset
  const isWhole = kernels.decompress(byteOffset + at, byteOffset + end, target, length)
  if (isWhole === 0) throw findFault(bytes, start, at, end, length)
  into.length = length
}

/** Why the elements from `first` on do not make `length` bytes. */
function findFault(
  bytes: Uint8Array,
  start: number,
  first: number,
  end: number,
  length: number,
): PartError {
  let to = 0
  for (let at = first; at < end; ) {
    const place = at - start
    const tag = bytes[at++]!
    const kind = tag & 3
    const own = kind === 0 ? Math.max(0, (tag >> 2) + 1 - LITERAL_TAG_MAX) : kind
    const size = kind === 3 ? 4 : own
    if (size > end - at) return invalid(place, 'it ends inside an element')
    const rest = readNumber(bytes, at, size)
    at += size
    let count = (tag >> 2) + 1
    if (kind === 0) {
      if (size > 0) count = rest + 1
      if (count > end - at) return invalid(place, 'it ends inside an element')
      at += count
    } else {
      if (kind === 1) count = ((tag >> 2) & 7) + 4
      const offset = kind === 1 ? ((tag >> 5) << 8) | rest : rest
      if (offset === 0 || offset > to) return invalid(place, 'a copy of what is not there')
    }
    to += count
    if (to > length) return invalid(place, 'longer than its length says')
  }
  return invalid(end - start, 'shorter than its length says')
}

/** Little-endian, of `size` bytes. */
function readNumber(bytes: Uint8Array, at: number, size: number): number {
  let value = 0
  for (let i = size - 1; i >= 0; i--) value = value * 0x100 + bytes[at + i]!
  return value
}

function invalid(at: number, reason: string): PartError {
  return new PartError(`invalid snappy at byte ${at}: ${reason}`)
}
