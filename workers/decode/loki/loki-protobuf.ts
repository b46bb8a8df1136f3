/**
 * Loki's push requests in protobuf (`pkg/push/push.proto`), which come in snappy's raw format:
 *
 *   PushRequest { repeated Stream streams = 1 }
 *   Stream      { string labels = 1; repeated Entry entries = 2 }
 *   Entry       { Timestamp timestamp = 1; string line = 2; repeated Pair structured_metadata = 3 }
 *   Timestamp   { int64 seconds = 1; int32 nanos = 2 }
 *   Pair        { string name = 1; string value = 2 }
 *
 * Rules of protobuf: unknown fields, and known ones of another wire type, are skipped; of several
 * scalar fields the last counts. Groups are malformed: no client has them.
 */
import { LOKI_PAIRS_MAX } from '../../../src/limits.ts'
import type { ByteRange } from '../../../src/model/batch/accepted-batch.ts'
import { EventBuffer } from '../../tape/event-buffer.ts'
import type { PartOutcome } from '../part-outcome.ts'
import { readLabelText } from './label-text.ts'
import type { Entry, LokiEvents } from './loki-events.ts'
import type { Pairs } from './pairs.ts'
import { PartError } from './part-error.ts'
import { decompressSnappy } from './snappy.ts'

/** Tags: field number times 8 plus wire type. */
const TAG_STREAMS = 0x0a
const TAG_LABELS = 0x0a
const TAG_ENTRIES = 0x12
const TAG_TIMESTAMP = 0x0a
const TAG_LINE = 0x12
const TAG_METADATA = 0x1a
const TAG_SECONDS = 0x08
const TAG_NANOS = 0x10
const TAG_NAME = 0x0a
const TAG_VALUE = 0x12
/** Later times do not fit the signed nanoseconds that event times are kept in. */
const SECONDS_MAX = 9_223_372_036
const LAST_NANOS_MAX = 854_775_807
const NANOS_MAX = 999_999_999
const BAD_TIME = 'the time is before 1970, after April 2262, or of no second'
const TOO_MANY = `structured metadata are over ${LOKI_PAIRS_MAX} (LOKI_PAIRS_MAX)`

export class LokiProtobufDecoder {
  readonly #events: LokiEvents
  /** The request, decompressed. */
  readonly #wire = new EventBuffer()
  /** Bytes of the last request, decompressed. */
  bytes = 0
  readonly #entry: Entry
  readonly #cursor: WireCursor

  constructor(events: LokiEvents) {
    this.#events = events
    const source = this.#wire
    const line = { source, lineStart: 0, lineEnd: 0, isJson: false, isEscaped: false }
    this.#entry = { ...line, ms: 0, nanos: 0, bytes: 0 }
    this.#cursor = new WireCursor(source)
  }

  /** Decodes the request `part` of `bytes`, the arena's. */
  decode(bytes: Uint8Array, { start, end }: ByteRange): PartOutcome {
    const wire = this.#wire
    wire.reset()
    const outcome = this.#events.decode('entries', () => {
      if (wire.length === 0) decompressSnappy(bytes, start, end, wire)
      this.#events.begin(wire.length)
      this.#request()
    })
    this.bytes = wire.length
    return outcome
  }

  #request(): void {
    const cursor = this.#cursor
    cursor.pos = 0
    const end = this.#wire.length
    while (cursor.pos < end) {
      if (cursor.tag(end) !== TAG_STREAMS) cursor.skip(end)
      else {
        const streamEnd = cursor.fieldEnd(end)
        this.#stream(cursor.pos, streamEnd)
        cursor.pos = streamEnd
      }
    }
  }

  #stream(start: number, end: number): void {
    const cursor = this.#cursor
    const events = this.#events
    let labelsStart = start
    let labelsEnd = start
    cursor.pos = start
    while (cursor.pos < end) {
      if (cursor.tag(end) !== TAG_LABELS) cursor.skip(end)
      else {
        labelsEnd = cursor.fieldEnd(end)
        labelsStart = cursor.pos
        cursor.pos = labelsEnd
      }
    }
    const fault = readLabelText(this.#wire.bytes, labelsStart, labelsEnd, events.labels)
    events.beginStream(fault)
    cursor.pos = start
    while (cursor.pos < end) {
      const fieldStart = cursor.pos
      if (cursor.tag(end) !== TAG_ENTRIES) {
        cursor.skip(end)
        continue
      }
      const entryEnd = cursor.fieldEnd(end)
      const reason = fault ?? this.#readEntry(cursor.pos, entryEnd)
      cursor.pos = entryEnd
      this.#entry.bytes = entryEnd - fieldStart
      if (reason === undefined) events.add(this.#entry)
      else events.reject(reason)
    }
  }

  /** Reads an entry; returns why it is none. */
  #readEntry(start: number, end: number): string | undefined {
    const cursor = this.#cursor
    const entry = this.#entry
    const { metadata } = this.#events
    let reason: string | undefined
    metadata.clear(this.#wire)
    entry.lineStart = start
    entry.lineEnd = start
    cursor.seconds = 0
    cursor.nanos = 0
    cursor.pos = start
    while (cursor.pos < end) {
      const tag = cursor.tag(end)
      if (tag === TAG_LINE) {
        entry.lineEnd = cursor.fieldEnd(end)
        entry.lineStart = cursor.pos
        cursor.pos = entry.lineEnd
      } else if (tag === TAG_TIMESTAMP) cursor.timestamp(cursor.fieldEnd(end))
      else if (tag !== TAG_METADATA) cursor.skip(end)
      else if (!this.#readPair(cursor.fieldEnd(end), metadata)) reason = TOO_MANY
    }
    const { seconds, nanos } = cursor
    const nanosMax = seconds === SECONDS_MAX ? LAST_NANOS_MAX : NANOS_MAX
    if (seconds > SECONDS_MAX || nanos > nanosMax) return reason ?? BAD_TIME
    const nanosMs = Math.floor(nanos / 1e6)
    entry.ms = seconds * 1000 + nanosMs
    entry.nanos = nanos - nanosMs * 1e6
    return reason
  }

  #readPair(end: number, pairs: Pairs): boolean {
    const cursor = this.#cursor
    let nameStart = cursor.pos
    let nameEnd = nameStart
    let valueStart = nameStart
    let valueEnd = nameStart
    while (cursor.pos < end) {
      const tag = cursor.tag(end)
      if (tag !== TAG_NAME && tag !== TAG_VALUE) {
        cursor.skip(end)
        continue
      }
      const fieldEnd = cursor.fieldEnd(end)
      if (tag === TAG_NAME) [nameStart, nameEnd] = [cursor.pos, fieldEnd]
      else [valueStart, valueEnd] = [cursor.pos, fieldEnd]
      cursor.pos = fieldEnd
    }
    return pairs.add(nameStart, nameEnd, valueStart, valueEnd)
  }
}

/** Reads fields of messages, each up to the end of the message that it is in. */
class WireCursor {
  pos = 0
  /** What `timestamp` found. Numbers below zero appear as huge ones. */
  seconds = 0
  nanos = 0
  readonly #wire: EventBuffer
  #tag = 0

  constructor(wire: EventBuffer) {
    this.#wire = wire
  }

  tag(end: number): number {
    this.#tag = this.varint(end)
    if (this.#tag < 8 || this.#tag > 0xffffffff) throw this.#invalid('a tag of no field')
    return this.#tag
  }

  /** Reads a length; returns where the field ends. */
  fieldEnd(end: number): number {
    const length = this.varint(end)
    if (length > end - this.pos) {
      throw this.#invalid('a field is longer than the message around it')
    }
    return this.pos + length
  }

  /** Skips the field whose tag was read. */
  skip(end: number): void {
    const wireType = this.#tag & 7
    if (wireType === 0) this.varint(end)
    else if (wireType === 2) this.pos = this.fieldEnd(end)
    else if (wireType === 1 || wireType === 5) {
      this.pos += wireType === 1 ? 8 : 4
      if (this.pos > end) throw this.#invalid('the data ends inside a field')
    } else throw this.#invalid('a field of an unknown wire type')
  }

  /** A varint; not exact beyond 53 bits. */
  varint(end: number): number {
    const { bytes } = this.#wire
    let value = 0
    let factor = 1
    const most = Math.min(end, this.pos + 10)
    for (let i = this.pos; i < most; i++) {
      const byte = bytes[i]!
      if (byte < 0x80) {
        this.pos = i + 1
        return value + byte * factor
      }
      value += (byte - 0x80) * factor
      factor *= 0x80
    }
    throw this.#invalid(most === end ? 'the data ends inside a field' : 'a number does not end')
  }

  /** Reads a Timestamp up to `end`; one that comes in several pieces is merged. */
  timestamp(end: number): void {
    while (this.pos < end) {
      const tag = this.tag(end)
      if (tag === TAG_SECONDS) this.seconds = this.varint(end)
      else if (tag === TAG_NANOS) this.nanos = this.varint(end)
      else this.skip(end)
    }
  }

  #invalid(reason: string): PartError {
    return new PartError(`invalid protobuf at byte ${this.pos}: ${reason}`)
  }
}
