/**
 * The segment: how a sequence of events is stored in the raw store.
 *
 *   byte 0      format, 2, or 3 with explicit labels
 *   byte 1      flags; bit 0: explicit times follow; bit 1: the text is in column format; bit 2:
 *               packed columns follow; bit 3: explicit labels follow
 *   bytes 2-5   UInt32 LE, bytes of the events' text
 *   [UInt32 LE bytes, explicit times (`explicit-times.ts`)]
 *   [UInt32 LE bytes, explicit labels (`explicit-labels.ts`)]
 *   [UInt32 LE bytes, packed columns (`column-packer.ts`)]
 *   rest        brotli of the events' JSON, each followed by a line feed, or of the same text in
 *               column format (`segment-columns.ts`), whose end may be ours (`digit-columns.ts`)
 *
 * The format is frozen (decision 47): `docs/segment-format.md` says all of it, and
 * `test/segment/frozen.test.ts` reads segments that earlier builds wrote.
 *
 * Producer times from a field of the event are not stored twice: reading finds them again with the
 * same code. Explicit times and labels are those that the event's text does not hold.
 *
 * Brotli at quality 1: built into every Node and within noise of zstd-1 on the corpus, in time and
 * in size (`bench/encode/segment.bench.ts`).
 */
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'
import type { ColumnIndex } from '../block/column-index.ts'
import { type EventRange, textLength } from '../block/native-block.ts'
import type { ColumnTexts } from '../block/native-json.ts'
import type { TextSource } from '../block/native-values.ts'
import type { EventFacts } from '../facts/event-facts.ts'
import { BatchBytes } from '../kernel/batch-bytes.ts'
import type { DecodedEvents } from '../tape/decoded-events.ts'
import { decodeLabels, type ExplicitLabels, encodeLabels } from './explicit-labels.ts'
import { decodeTimes, type ExplicitTimes, encodeTimes } from './explicit-times.ts'
import { SegmentColumns } from './segment-columns.ts'
import { SegmentColumnsReader } from './segment-columns-reader.ts'
import {
  FIXED_HEADER_BYTES,
  LABELLED_FORMAT,
  parseSegmentHeader,
  SECTION_LENGTH_BYTES,
  SEGMENT_FLAGS,
  SEGMENT_FORMAT,
  SEGMENT_TEXT_BYTES_MAX,
} from './segment-header.ts'

const NOTHING = Buffer.alloc(0)
const LINE_FEED = 0x0a
/**
 * At quality 1 brotli's tables are as large as its window, and are made and filled for each
 * segment: two megabytes by default, half a microsecond an event. Similar text is in one column, so
 * a window of 64 KiB finds nearly as much where columns have some hundred KiB: text lines, which
 * are one column of 230, take 41.3 instead of 39.3 bytes (`bench/encode/brotli.bench.ts`).
 */
const SMALL_WINDOW_BITS = 16
const SMALL_WINDOW_COLUMN_BYTES_MAX = 512 * 1024
/** Brotli's output grows by this much: half the text, as it is rarely more. */
const OUTPUT_CHUNK_BYTES_MIN = 1024
const OUTPUT_CHUNK_BYTES_MAX = 64 * 1024

/** With `info`, which Node's types do not have for brotli; `bytesWritten` are those it consumed. */
const inflate = brotliDecompressSync as unknown as (
  body: Uint8Array,
  options: { readonly info: true; readonly maxOutputLength: number },
) => { readonly buffer: Buffer; readonly engine: { readonly bytesWritten: number } }

const columnsReader = new SegmentColumnsReader()
const decoded = new BatchBytes()

/** A decoded segment. Events are the lines of `text`, each ended by a line feed. */
export interface SegmentContent {
  readonly text: Buffer
  /** By ordinal, for events whose time is not in their text. */
  readonly times: ExplicitTimes
  /** By ordinal, for events of which something is known that is not in their text. */
  readonly labels: ExplicitLabels
}

/** What a segment says of its events beside their text. */
export type SegmentSays = Omit<SegmentContent, 'text'>

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
   * The first half of `encode`: gathers the values by column. Returns them if they are complete,
   * for the block of the same range, which is written before the second half.
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
    const labels = encodeLabels(events, range)
    const digits = columns === undefined ? NOTHING : this.#columns.digitsEnd
    const body = brotliCompressSync(text, {
      finishFlush:
        digits.length > 0 ? constants.BROTLI_OPERATION_FLUSH : constants.BROTLI_OPERATION_FINISH,
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
    const sections = sectionBytes(times) + sectionBytes(labels) + sectionBytes(packed)
    const length = FIXED_HEADER_BYTES + sections + body.length + digits.length
    const fits = into !== undefined && into.length >= length
    const target = fits ? into.subarray(0, length) : new Uint8Array(length)
    const payload = Buffer.from(target.buffer, target.byteOffset, length)
    payload[0] = labels.length > 0 ? LABELLED_FORMAT : SEGMENT_FORMAT
    payload[1] =
      (times.length > 0 ? SEGMENT_FLAGS.times : 0) |
      (columns === undefined ? 0 : SEGMENT_FLAGS.columns) |
      (packed.length > 0 ? SEGMENT_FLAGS.packed : 0) |
      (labels.length > 0 ? SEGMENT_FLAGS.labels : 0)
    payload.writeUInt32LE(textBytes, 2)
    let at = writeSection(payload, FIXED_HEADER_BYTES, times)
    at = writeSection(payload, at, labels)
    at = writeSection(payload, at, packed)
    // `set` copies byte by byte to an address of shared memory that is not a multiple of eight.
    payload.fill(body, at, at + body.length)
    if (digits.length > 0) payload.fill(digits, at + body.length)
    return target
  }

  /**
   * The events' JSON, a line each. When the input is already exactly that (NDJSON without blank or
   * rejected lines), it is used in place.
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

/** A part that is left out where it is empty. */
function sectionBytes(section: Uint8Array): number {
  return section.length > 0 ? SECTION_LENGTH_BYTES + section.length : 0
}

/** Returns where the section ends. */
function writeSection(payload: Buffer, at: number, section: Uint8Array): number {
  if (section.length === 0) return at
  payload.writeUInt32LE(section.length, at)
  const start = at + SECTION_LENGTH_BYTES
  payload.fill(section, start, start + section.length)
  return start + section.length
}

/** The inverse of `encode`. Throws on a payload that is not a segment of this format. */
export function decodeSegment(payload: Uint8Array): SegmentContent {
  const text = decoded.room(textBytesOf(payload))
  const says = writeSegmentText(payload, text)
  return { text: Buffer.allocUnsafeSlow(text.length).fill(text), ...says }
}

/** Bytes of the events' text, each event's line feed included. Throws as `decodeSegment` does. */
export function textBytesOf(payload: Uint8Array): number {
  return parseSegmentHeader(payload).textBytes
}

/**
 * Writes the text to `text` of the arena, which has exactly its size; up to 31 bytes after it may
 * be overwritten. Returns the rest of the content. Throws as `decodeSegment` does.
 */
export function writeSegmentText(payload: Uint8Array, text: Buffer): SegmentSays {
  const { isColumns, times, labels, packed, body } = parseSegmentHeader(payload)
  const plain = decompress(body, isColumns ? SEGMENT_TEXT_BYTES_MAX : text.length)
  if (isColumns) columnsReader.write(plain, packed, text)
  else if (plain.length === text.length) text.fill(plain)
  else throw new Error('segment is cut short')
  if (text.length === 0 || text.at(-1) !== LINE_FEED) throw new Error('segment has no whole line')
  return { times: decodeTimes(times), labels: decodeLabels(labels, text.length) }
}

/** At most `bytesMax` bytes. Nothing follows the compressed ones. */
function decompress(body: Buffer, bytesMax: number): Buffer {
  try {
    const { buffer, engine } = inflate(body, { info: true, maxOutputLength: Math.max(1, bytesMax) })
    if (engine.bytesWritten !== body.length) throw new Error('there is something behind its end')
    return buffer
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`segment does not decompress: ${reason}`, { cause })
  }
}
