/**
 * The header before a segment's compressed text. The format is frozen: `docs/segment-format.md`
 * describes it to the byte, and any change of it takes another format number.
 */
import { ARENA_BYTES_MAX } from '../../src/limits.ts'

export const SEGMENT_FORMAT = 2
/** Format 2 and explicit labels: written for segments that have some, and for no others. */
export const LABELLED_FORMAT = 3
/** Bits of the second byte. A reader refuses all others. */
export const SEGMENT_FLAGS = { times: 1, columns: 2, packed: 4, labels: 8 } as const
export const FIXED_HEADER_BYTES = 6
/** Of the text, and of its column layout. */
export const SEGMENT_TEXT_BYTES_MAX = ARENA_BYTES_MAX / 4
export const SECTION_LENGTH_BYTES = 4

const KNOWN_FLAGS = Object.values(SEGMENT_FLAGS).reduce((all, flag) => all | flag, 0)
const NOTHING = Buffer.alloc(0)

/** A payload taken apart; its parts are views of it. */
export interface SegmentParts {
  /** Bytes of the events' text, each event's line feed included. */
  readonly textBytes: number
  readonly isColumns: boolean
  /** Explicit times; empty when there are none. */
  readonly times: Buffer
  /** Explicit labels; empty when there are none. */
  readonly labels: Buffer
  /** Packed columns; empty when there are none. */
  readonly packed: Buffer
  /** The compressed text. */
  readonly body: Buffer
}

/** Throws on a payload that is not a segment of a known format. */
export function parseSegmentHeader({ buffer, byteOffset, length }: Uint8Array): SegmentParts {
  const bytes = Buffer.from(buffer, byteOffset, length)
  const [format, flags = 0] = bytes
  const isLabelled = format === LABELLED_FORMAT
  if (format !== undefined && format !== SEGMENT_FORMAT && !isLabelled) {
    throw new Error(`segment format ${format} is not known`)
  }
  if (length < FIXED_HEADER_BYTES) throw new Error('segment is cut short')
  if ((flags & ~KNOWN_FLAGS) !== 0) throw new Error(`segment flags ${flags} are not known`)
  if (isLabelled !== ((flags & SEGMENT_FLAGS.labels) !== 0)) {
    throw new Error(`segment flags ${flags} are not known in format ${format}`)
  }
  const isColumns = (flags & SEGMENT_FLAGS.columns) !== 0
  const isPacked = (flags & SEGMENT_FLAGS.packed) !== 0
  if (isPacked && !isColumns) throw new Error('segment packs columns and has none')
  const textBytes = bytes.readUInt32LE(2)
  if (textBytes > SEGMENT_TEXT_BYTES_MAX) throw new Error('segment says that it is larger than any')
  const times = readSection(bytes, FIXED_HEADER_BYTES, (flags & SEGMENT_FLAGS.times) !== 0)
  const labels = readSection(bytes, times.end, isLabelled)
  const packed = readSection(bytes, labels.end, isPacked)
  const body = bytes.subarray(packed.end)
  return {
    textBytes,
    isColumns,
    times: times.bytes,
    labels: labels.bytes,
    packed: packed.bytes,
    body,
  }
}

function readSection(bytes: Buffer, at: number, isThere: boolean): { bytes: Buffer; end: number } {
  if (!isThere) return { bytes: NOTHING, end: at }
  const start = at + SECTION_LENGTH_BYTES
  const end = start <= bytes.length ? start + bytes.readUInt32LE(at) : start
  if (end > bytes.length) throw new Error('segment is cut short')
  if (end === start) throw new Error('segment has an empty section')
  return { bytes: bytes.subarray(start, end), end }
}
