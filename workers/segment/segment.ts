/**
 * The segment: how a run of events is stored in the raw store.
 *
 *   byte 0      format, 2
 *   byte 1      flags; bit 0: explicit times follow; bit 1: the text is in column layout; bit 2:
 *               packed columns follow
 *   bytes 2-5   UInt32 LE, bytes of the events' text
 *   [UInt32 LE bytes, explicit times]
 *   [UInt32 LE bytes, packed columns (`column-packer.ts`)]
 *   rest        brotli of the events' JSON, each followed by a line feed, or of the same text in
 *               column layout (`segment-columns.ts`)
 *
 * Producer times from a field of the event are not stored twice: reading finds them again with the
 * same code. Explicit times are those that the event's text does not hold (OTLP's TimeUnixNano):
 * UInt32 LE ordinal, Float64 LE milliseconds, UInt32 LE nanoseconds beyond.
 *
 * Brotli at quality 1: built into every Node and within noise of zstd-1 on the corpus, in time and
 * in size (`bench/encode/segment.bench.ts`).
 */
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'
import { ARENA_BYTES_MAX } from '../../src/limits.ts'
import type { ColumnIndex } from '../block/column-index.ts'
import { type EventRange, textLength } from '../block/native-block.ts'
import type { ColumnTexts } from '../block/native-json.ts'
import type { TextSource } from '../block/native-values.ts'
import { type EventFacts, SOURCE_OTLP } from '../facts/event-facts.ts'
import { BatchBytes } from '../kernel/batch-bytes.ts'
import type { DecodedEvents } from '../tape/decoded-events.ts'
import { SegmentColumns } from './segment-columns.ts'
import { SegmentColumnsReader } from './segment-columns-reader.ts'

const FORMAT = 2
const FLAG_TIMES = 1
const FLAG_COLUMNS = 2
const FLAG_PACKED = 4
const FIXED_HEADER_BYTES = 6
const NOTHING = Buffer.alloc(0)
const TIME_BYTES = 16
const LINE_FEED = 0x0a
/**
 * At quality 1 brotli's tables are as large as its window, made and touched anew for each segment:
 * two megabytes by default, half a microsecond an event. What is alike stands in one column, so a
 * window of 64 KiB finds nearly as much where columns are of some hundred KiB: text lines, which
 * are one column of 230, take 41.3 instead of 39.3 bytes (`bench/encode/brotli.bench.ts`).
 */
const SMALL_WINDOW_BITS = 16
const SMALL_WINDOW_COLUMN_BYTES_MAX = 512 * 1024
/** Brotli's output grows by so much: half the text, as it rarely is more. */
const OUTPUT_CHUNK_BYTES_MIN = 1024
const OUTPUT_CHUNK_BYTES_MAX = 64 * 1024

const columnsReader = new SegmentColumnsReader()
const decoded = new BatchBytes()

/** A decoded segment. Events are the lines of `text`, each ended by a line feed. */
export interface SegmentContent {
  readonly text: Buffer
  /** By ordinal, for events whose time is not in their text. */
  readonly times: ReadonlyMap<number, { readonly ms: number; readonly nanos: number }>
}

export class SegmentEncoder {
  #text = Buffer.allocUnsafeSlow(64 * 1024)
  readonly #columns = new SegmentColumns()
  /** Whether columns are better than rows. */
  #isGathered = false

  /**
   * Encodes a range of events whose JSON is in `source.bytes`. `index` is that of the block made
   * of just this range. The result is in `into` if it fits.
   */
  encode(
    source: TextSource,
    index: ColumnIndex,
    events: DecodedEvents,
    facts: EventFacts,
    range: EventRange,
    into?: Uint8Array,
  ): Uint8Array {
    this.gather(source, index, events, range)
    return this.encodeGathered(source, events, facts, range, into)
  }

  /**
   * The first half of `encode`: gathers the values by column. Returns them, if all are there, for
   * whoever writes the block of the same range before the second half.
   */
  gather(
    source: TextSource,
    index: ColumnIndex,
    events: DecodedEvents,
    range: EventRange,
  ): ColumnTexts | undefined {
    this.#isGathered = this.#columns.gather(source, index, events, range)
    return this.#columns.texts
  }

  /** The second half. */
  encodeGathered(
    source: TextSource,
    events: DecodedEvents,
    facts: EventFacts,
    range: EventRange,
    into?: Uint8Array,
  ): Uint8Array {
    const columns = this.#isGathered ? this.#columns.layout(range.count) : undefined
    const hasSmallColumns =
      columns !== undefined && this.#columns.largestBytes <= SMALL_WINDOW_COLUMN_BYTES_MAX
    const textBytes = textLength(events, range)
    const text = columns ?? this.#lines(source.bytes, events, range, textBytes)
    const times = encodeTimes(facts, range)
    const body = brotliCompressSync(text, {
      chunkSize: Math.min(
        OUTPUT_CHUNK_BYTES_MAX,
        Math.max(OUTPUT_CHUNK_BYTES_MIN, text.length >> 1),
      ),
      params: {
        [constants.BROTLI_PARAM_QUALITY]: 1,
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
        [constants.BROTLI_PARAM_LGWIN]: hasSmallColumns
          ? SMALL_WINDOW_BITS
          : constants.BROTLI_DEFAULT_WINDOW,
      },
    })
    const packed = columns === undefined ? NOTHING : this.#columns.packed
    const length = FIXED_HEADER_BYTES + sectionBytes(times) + sectionBytes(packed) + body.length
    const fits = into !== undefined && into.length >= length
    const target = fits ? into.subarray(0, length) : new Uint8Array(length)
    const payload = Buffer.from(target.buffer, target.byteOffset, length)
    payload[0] = FORMAT
    payload[1] =
      (times.length > 0 ? FLAG_TIMES : 0) |
      (columns === undefined ? 0 : FLAG_COLUMNS) |
      (packed.length > 0 ? FLAG_PACKED : 0)
    payload.writeUInt32LE(textBytes, 2)
    let at = writeSection(payload, FIXED_HEADER_BYTES, times)
    at = writeSection(payload, at, packed)
    // `set` copies byte by byte to an address of shared memory that is not a multiple of eight.
    payload.fill(body, at)
    return target
  }

  /**
   * The events' JSON, a line each. When the input already is just that (NDJSON without blank or
   * rejected lines), it is used where it lies.
   */
  #lines(bytes: Uint8Array, events: DecodedEvents, range: EventRange, total: number): Uint8Array {
    const { start, end } = events
    const last = range.first + range.count - 1
    const from = start[range.first]!
    if (end[last]! + 1 - from === total && bytes[end[last]!] === LINE_FEED) {
      if (isLinePerEvent(bytes, events, range)) return bytes.subarray(from, from + total)
    }
    if (this.#text.length < total) this.#text = Buffer.allocUnsafeSlow(total * 2)
    const text = this.#text
    let at = 0
    for (let i = range.first; i <= last; i++) {
      text.set(bytes.subarray(start[i]!, end[i]!), at)
      at += end[i]! - start[i]!
      text[at++] = LINE_FEED
    }
    return text.subarray(0, total)
  }
}

function isLinePerEvent(bytes: Uint8Array, events: DecodedEvents, range: EventRange): boolean {
  const stop = range.first + range.count - 1
  for (let i = range.first; i < stop; i++) {
    const end = events.end[i]!
    if (bytes[end] !== LINE_FEED || events.start[i + 1] !== end + 1) return false
  }
  return true
}

function encodeTimes(facts: EventFacts, range: EventRange): Buffer {
  const ordinals: number[] = []
  for (let i = 0; i < range.count; i++) {
    if (facts.timeSource[range.first + i] === SOURCE_OTLP) ordinals.push(i)
  }
  const times = Buffer.alloc(ordinals.length * TIME_BYTES)
  for (const [i, ordinal] of ordinals.entries()) {
    times.writeUInt32LE(ordinal, i * TIME_BYTES)
    times.writeDoubleLE(facts.timeMs[range.first + ordinal]!, i * TIME_BYTES + 4)
    times.writeUInt32LE(facts.timeNanos[range.first + ordinal]!, i * TIME_BYTES + 12)
  }
  return times
}

/** A part that is left out where it is empty. */
function sectionBytes(section: Uint8Array): number {
  return section.length > 0 ? 4 + section.length : 0
}

/** Returns where the section ends. */
function writeSection(payload: Buffer, at: number, section: Uint8Array): number {
  if (section.length === 0) return at
  payload.writeUInt32LE(section.length, at)
  payload.fill(section, at + 4, at + 4 + section.length)
  return at + 4 + section.length
}

/** The inverse of `encode`. Throws on a payload that is not a segment of this format. */
export function decodeSegment(payload: Uint8Array): SegmentContent {
  const text = decoded.room(textBytesOf(payload))
  const times = writeSegmentText(payload, text)
  return { text: Buffer.allocUnsafeSlow(text.length).fill(text), times }
}

/** Bytes of the events' text, each event's line feed included. Throws as `decodeSegment` does. */
export function textBytesOf(payload: Uint8Array): number {
  if (payload[0] !== FORMAT) throw new Error(`segment format ${payload[0]} is not known`)
  const textBytes = viewOf(payload).readUInt32LE(2)
  if (textBytes > ARENA_BYTES_MAX / 4) throw new Error('segment says that it is larger than any')
  return textBytes
}

/**
 * Writes the text to `text` of the arena, which has just that many bytes; up to 31 behind it may be
 * overwritten. Returns the explicit times. Throws as `decodeSegment` does.
 */
export function writeSegmentText(payload: Uint8Array, text: Buffer): SegmentContent['times'] {
  const bytes = viewOf(payload)
  const flags = bytes[1] ?? 0
  const times = readSection(bytes, FIXED_HEADER_BYTES, (flags & FLAG_TIMES) !== 0)
  const packed = readSection(bytes, times.end, (flags & FLAG_PACKED) !== 0)
  const body = brotliDecompressSync(bytes.subarray(packed.end))
  if ((flags & FLAG_COLUMNS) !== 0) columnsReader.write(body, packed.bytes, text)
  else if (body.length === text.length) text.fill(body)
  else throw new Error('segment is cut short')
  return decodeTimes(times.bytes)
}

function viewOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length)
}

function readSection(bytes: Buffer, at: number, isThere: boolean): { bytes: Buffer; end: number } {
  if (!isThere) return { bytes: NOTHING, end: at }
  const end = at + 4 + bytes.readUInt32LE(at)
  return { bytes: bytes.subarray(at + 4, end), end }
}

function decodeTimes(bytes: Buffer): SegmentContent['times'] {
  const times = new Map<number, { ms: number; nanos: number }>()
  for (let at = 0; at < bytes.length; at += TIME_BYTES) {
    const ms = bytes.readDoubleLE(at + 4)
    times.set(bytes.readUInt32LE(at), { ms, nanos: bytes.readUInt32LE(at + 12) })
  }
  return times
}
