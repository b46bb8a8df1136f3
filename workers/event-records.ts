/**
 * Writes events as the event records of the API, one after another. The payload is the stored
 * text, byte for byte: never parsed into values and written again, so 64-bit integers and duplicate
 * keys stay what they were. Line breaks between its tokens are spaces.
 */

import { csvCell, safeText } from '../src/bytes/csv-cell.ts'
import type { RecordFormat, SegmentRead } from '../src/model/batch/segment-read.ts'
import { LEVELS } from '../src/model/event-labels.ts'
import { type EventFacts, SOURCE_RECEIPT } from './facts/event-facts.ts'
import { NO_SERVICE } from './facts/service-names.ts'
import { allocateOutside, ByteWriter } from './kernel/byte-writer.ts'
import { FieldPicker } from './pick-fields.ts'
import { shapeText } from './schema/schema-delta.ts'
import type { DecodedEvents } from './tape/decoded-events.ts'
import { IDS_BYTES } from './tape/given-labels.ts'

const QUOTE = 0x22
const CARRIAGE_RETURN = 0x0d
const SPACE = 0x20
const CLOSE_OBJECT = 0x7d
const SOURCE_NAMES = ['receipt', 'field', 'otlp'] as const
const WHOLE: RecordFormat = { kind: 'lines' }

/** Decoded events of one payload. */
export interface Decoded {
  readonly bytes: Uint8Array
  readonly events: DecodedEvents
  readonly facts: EventFacts
}

export class EventRecords {
  readonly #writer = new ByteWriter(64 * 1024, allocateOutside)
  #format = WHOLE
  #fields: readonly string[] = []
  #picker: FieldPicker | undefined

  /** Drops what was written and not taken. */
  begin(format = WHOLE): void {
    this.#writer.length = 0
    this.#format = format
    this.#fields = format.fields ?? []
    this.#picker = format.fields && new FieldPicker(format.fields)
  }

  /** Bytes written since `begin`. */
  get length(): number {
    return this.#writer.length
  }

  /** What was written, in a buffer of its own. */
  take(): Uint8Array {
    return this.#writer.take()
  }

  /**
   * The caller writes whatever goes between two records, except for rows of CSV. `ordinal` is the
   * event's in its segment, `event` its index among those decoded.
   */
  write(read: SegmentRead, { bytes, events, facts }: Decoded, ordinal: number, event: number) {
    const id = `${read.segmentId}-${ordinal}`
    const ingestedAt = new Date(read.ingestedAtMs).toISOString()
    const source = facts.timeSource[event]!
    const eventTime =
      source === SOURCE_RECEIPT
        ? ingestedAt
        : formatTime(facts.timeMs[event]!, facts.timeNanos[event]!)
    const [start, end] = [events.start[event]!, events.end[event]!]
    if (this.#format.kind === 'csv') {
      const stream = read.streamId === undefined ? '' : `${read.streamId},`
      this.#text(`${stream}${id},${ingestedAt},${eventTime}`)
      this.#csvFields(bytes, start, end)
      return
    }
    const shape = shapeText(facts.shapeLow[event]!, facts.shapeHigh[event]!)
    const stream = read.streamId === undefined ? '' : `"_stream":"${read.streamId}",`
    this.#text(
      `{${stream}"id":"${id}","ingested_at":"${ingestedAt}"` +
        `,"event_time":"${eventTime}","event_time_source":"${SOURCE_NAMES[source]}"` +
        `,"shape":"${shape}",`,
    )
    if (facts.labels.given.has(event)) this.#given(facts.labels, event)
    if (this.#picker === undefined) {
      this.#text('"payload":')
      this.#bytes(bytes, start, end)
    } else {
      this.#jsonFields(this.#picker, bytes, start, end)
    }
    this.writeByte(CLOSE_OBJECT)
  }

  /** What the payload does not say: labels that came with the protocol. */
  #given({ given, level, service, names }: EventFacts['labels'], event: number): void {
    const member = (name: string, text: string | undefined) => {
      if (text !== undefined && text !== '') this.#text(`"${name}":${JSON.stringify(text)},`)
    }
    const id = Buffer.alloc(IDS_BYTES)
    member('level', LEVELS[level[event]! - 1])
    if (service[event] !== NO_SERVICE) {
      member('service', Buffer.from(names.nameOf(service[event]!)).toString('utf8'))
    }
    if (given.hasTraceId(event)) {
      member('trace_id', id.toString('hex', 0, given.copyTraceId(event, id, 0)))
    }
    if (given.hasSpanId(event)) {
      member('span_id', id.toString('hex', 0, given.copySpanId(event, id, 0)))
    }
  }

  #jsonFields(picker: FieldPicker, bytes: Uint8Array, start: number, end: number): void {
    picker.pick(bytes, start, end)
    this.#text('"fields":{')
    let isFirst = true
    for (const [index, path] of this.#fields.entries()) {
      const from = picker.start[index]!
      if (from < 0) continue
      this.#text(`${isFirst ? '' : ','}${JSON.stringify(path)}:`)
      this.#bytes(bytes, from, picker.end[index]!)
      isFirst = false
    }
    this.writeByte(CLOSE_OBJECT)
  }

  #csvFields(bytes: Uint8Array, start: number, end: number): void {
    this.#picker?.pick(bytes, start, end)
    for (const index of this.#fields.keys()) {
      const from = this.#picker?.start[index] ?? -1
      const text = from < 0 ? '' : textOf(bytes, from, this.#picker?.end[index] ?? from)
      const isString = from >= 0 && bytes[from] === QUOTE
      const value = isString ? this.#csvText(JSON.parse(text)) : text === 'null' ? '' : text
      this.#text(`,${csvCell(value, isString)}`)
    }
    this.#text('\r\n')
  }

  #csvText(text: string): string {
    return this.#format.isCsvSafe ? safeText(text) : text
  }

  #text(text: string): void {
    const writer = this.#writer
    writer.reserve(text.length * 3)
    writer.length += writer.bytes.write(text, writer.length)
  }

  /** JSON, in one line to readers that take a carriage return for the end of one, too. */
  #bytes(bytes: Uint8Array, start: number, end: number): void {
    const writer = this.#writer
    writer.reserve(end - start)
    const json = bytes.subarray(start, end)
    const from = writer.length
    writer.bytes.set(json, from)
    writer.length += end - start
    // In JSON it can only stand between tokens, where a space means the same.
    for (let at = json.indexOf(CARRIAGE_RETURN); at >= 0; ) {
      writer.bytes[from + at] = SPACE
      at = json.indexOf(CARRIAGE_RETURN, at + 1)
    }
  }

  writeByte(byte: number): void {
    this.#writer.reserve(1)
    this.#writer.bytes[this.#writer.length++] = byte
  }
}

function textOf(bytes: Uint8Array, start: number, end: number): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8')
  return text.replaceAll('\r', ' ')
}

/** RFC 3339 in UTC; nine fraction digits only where the event has them. */
function formatTime(ms: number, nanos: number): string {
  const text = new Date(ms).toISOString()
  return nanos === 0 ? text : `${text.slice(0, -1)}${String(nanos).padStart(6, '0')}Z`
}
