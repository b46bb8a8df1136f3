/**
 * Snappy's raw block format (google/snappy, format_description.txt): the length of the contents as
 * a varint, then literals and copies of what came before. Input is hostile: nothing is read or
 * written outside what was announced, and nothing is allocated before that was judged.
 */
import { BODY_BYTES_MAX } from '../../../src/limits.ts'
import { copyRange } from '../../kernel/arena-copy.ts'
import type { EventBuffer } from '../../tape/event-buffer.ts'
import { PartError } from './part-error.ts'

const LENGTH_BYTES_MAX = 5
/** Shorter ranges are copied byte by byte: a call of a kernel costs more. */
const KERNEL_BYTES_MIN = 24
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
  const out = into.bytes
  let to = 0
  while (at < end) {
    const tag = bytes[at]!
    const tagAt = at++
    const kind = tag & 3
    if (kind === 0) {
      let count = (tag >> 2) + 1
      if (count > LITERAL_TAG_MAX) {
        const size = count - LITERAL_TAG_MAX
        if (at + size > end) throw invalid(tagAt - start, CUT_SHORT)
        count = readLength(bytes, at, size) + 1
        at += size
      }
      if (count > end - at) throw invalid(tagAt - start, CUT_SHORT)
      if (count > length - to) throw invalid(tagAt - start, TOO_LONG)
      if (count >= KERNEL_BYTES_MIN) copyRange(out, to, bytes, at, at + count)
      else for (let i = 0; i < count; i++) out[to + i] = bytes[at + i]!
      at += count
      to += count
      continue
    }
    const size = kind === 3 ? 4 : kind
    if (at + size > end) throw invalid(tagAt - start, CUT_SHORT)
    const rest = readLength(bytes, at, size)
    const count = kind === 1 ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1
    const offset = kind === 1 ? ((tag >> 5) << 8) | rest : rest
    at += size
    if (offset === 0 || offset > to) throw invalid(tagAt - start, 'a copy of what is not there')
    if (count > length - to) throw invalid(tagAt - start, TOO_LONG)
    const from = to - offset
    if (offset >= count && count >= KERNEL_BYTES_MIN) copyRange(out, to, out, from, from + count)
    else for (let i = 0; i < count; i++) out[to + i] = out[from + i]! // It may repeat itself.
    to += count
  }
  if (to !== length) throw invalid(end - start, 'shorter than its length says')
  into.length = length
}

const CUT_SHORT = 'it ends inside an element'
const TOO_LONG = 'longer than its length says'

function readLength(bytes: Uint8Array, at: number, size: number): number {
  let value = bytes[at]!
  if (size > 1) value |= bytes[at + 1]! << 8
  if (size > 2) value |= bytes[at + 2]! << 16
  if (size > 3) value += bytes[at + 3]! * 0x1000000
  return value
}

function invalid(at: number, reason: string): PartError {
  return new PartError(`invalid snappy at byte ${at}: ${reason}`)
}
