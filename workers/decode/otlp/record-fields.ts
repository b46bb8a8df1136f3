/**
 * Where the fields of one LogRecord are, which may come in any order: the record is read once for
 * that, then its event is written.
 */
import { SPAN_ID_BYTES, TRACE_ID_BYTES } from '../../tape/given-labels.ts'
import type { AnyValueDecoder } from './otlp-any-value.ts'
import { ID_READ, ID_UNREADABLE, readId } from './otlp-ids.ts'

const TAG_TIME = 0x09
const TAG_SEVERITY_NUMBER = 0x10
const TAG_SEVERITY_TEXT = 0x1a
const TAG_BODY = 0x2a
export const TAG_ATTRIBUTE = 0x32
const TAG_DROPPED_ATTRIBUTES = 0x38
const TAG_FLAGS = 0x45
const TAG_TRACE_ID = 0x4a
const TAG_SPAN_ID = 0x52
const TAG_OBSERVED_TIME = 0x59
const TAG_EVENT_NAME = 0x62

/** A range of bytes of the record; empty is as good as missing. */
export interface FieldRange {
  start: number
  end: number
}

/** A time in nanoseconds since 1970: two halves as int32, both zero when there is none. */
interface Halves {
  low: number
  high: number
}

export class RecordFields {
  readonly time: Halves = { low: 0, high: 0 }
  readonly observed: Halves = { low: 0, high: 0 }
  severityNumber = 0
  flags = 0
  droppedAttributes = 0
  /** -1 without a body. */
  bodyStart = -1
  bodyEnd = 0
  /** From the first attribute to the last one's end; other fields may be between. */
  attributesStart = 0
  attributesEnd = 0
  readonly severityText: FieldRange = { start: 0, end: 0 }
  readonly eventName: FieldRange = { start: 0, end: 0 }
  readonly traceId = new Uint8Array(TRACE_ID_BYTES)
  readonly spanId = new Uint8Array(SPAN_ID_BYTES)
  hasTraceId = false
  hasSpanId = false
  /** An id is there that cannot be read. */
  hasUnreadableId = false
  readonly #traceRange: FieldRange = { start: 0, end: 0 }
  readonly #spanRange: FieldRange = { start: 0, end: 0 }

  /** Finds the fields of the record `start`..`end`; false when its body comes in pieces. */
  read(values: AnyValueDecoder, start: number, end: number): boolean {
    const { reader } = values
    this.#clear()
    reader.pos = start
    let isInPieces = false
    while (reader.pos < end) {
      const tagStart = reader.pos
      const tag = reader.tag()
      switch (tag) {
        case TAG_TIME:
          readHalves(this.time, values)
          break
        case TAG_OBSERVED_TIME:
          readHalves(this.observed, values)
          break
        case TAG_SEVERITY_NUMBER:
          this.severityNumber = reader.int32()
          break
        case TAG_BODY:
          isInPieces ||= this.bodyStart >= 0
          this.bodyEnd = values.fieldEnd(end)
          this.bodyStart = reader.pos
          reader.pos = this.bodyEnd
          break
        case TAG_ATTRIBUTE:
          if (this.attributesEnd === 0) this.attributesStart = tagStart
          this.attributesEnd = values.fieldEnd(end)
          reader.pos = this.attributesEnd
          break
        case TAG_FLAGS:
          reader.skip(4)
          this.flags = values.source.view.getUint32(reader.pos - 4, true)
          break
        case TAG_DROPPED_ATTRIBUTES:
          this.droppedAttributes = reader.uint32()
          break
        default:
          this.#readBytesField(values, tag, end)
      }
    }
    values.assertEnd(end)
    this.#readIds(values)
    return !isInPieces
  }

  #clear(): void {
    this.time.low = 0
    this.time.high = 0
    this.observed.low = 0
    this.observed.high = 0
    this.severityNumber = 0
    this.flags = 0
    this.droppedAttributes = 0
    this.bodyStart = -1
    this.attributesStart = 0
    this.attributesEnd = 0
    this.severityText.end = this.severityText.start
    this.eventName.end = this.eventName.start
    this.#traceRange.end = this.#traceRange.start
    this.#spanRange.end = this.#spanRange.start
  }

  #readBytesField(values: AnyValueDecoder, tag: number, end: number): void {
    if (tag === TAG_SEVERITY_TEXT) readRange(this.severityText, values, end)
    else if (tag === TAG_TRACE_ID) readRange(this.#traceRange, values, end)
    else if (tag === TAG_SPAN_ID) readRange(this.#spanRange, values, end)
    else if (tag === TAG_EVENT_NAME) readRange(this.eventName, values, end)
    else values.skip(tag)
  }

  #readIds({ source }: AnyValueDecoder): void {
    const { start, end } = this.#traceRange
    const trace = readId(source.bytes, start, end, TRACE_ID_BYTES, this.traceId)
    const { start: from, end: to } = this.#spanRange
    const span = readId(source.bytes, from, to, SPAN_ID_BYTES, this.spanId)
    this.hasTraceId = trace === ID_READ
    this.hasSpanId = span === ID_READ
    this.hasUnreadableId = trace === ID_UNREADABLE || span === ID_UNREADABLE
  }
}

/** Reads a field of bytes up to `end` as a range. */
export function readRange(range: FieldRange, values: AnyValueDecoder, end: number): void {
  range.end = values.fieldEnd(end)
  range.start = values.reader.pos
  values.reader.pos = range.end
}

function readHalves(halves: Halves, { reader, source }: AnyValueDecoder): void {
  reader.skip(8)
  halves.low = source.view.getInt32(reader.pos - 8, true)
  halves.high = source.view.getInt32(reader.pos - 4, true)
}
