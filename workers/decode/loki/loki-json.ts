/**
 * Loki's push requests in JSON: one document, one part.
 *
 *   {"streams": [{"stream": {labels}, "values": [["nanoseconds", "line", {metadata}?], …]}]}
 *
 * Unknown members are ignored and null counts as missing. A syntax error, or a structure that no
 * stream can be found in, fails the document; an entry that is none is rejected alone.
 *
 * Subtle: lines are copied as they are escaped. The values of a stream are read at once where its
 * labels come first, as nearly everybody sends them; else when its labels are known.
 */
import { LOKI_PAIRS_MAX } from '../../../src/limits.ts'
import type { ByteRange } from '../../../src/model/batch/accepted-batch.ts'
import type { ByteSource } from '../../build/scalar-writer.ts'
import { viewOf } from '../../tape/event-buffer.ts'
import { unescapeToString } from '../../tape/json-string.ts'
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  JsonReader,
  JsonSyntaxError,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '../json-reader.ts'
import type { PartOutcome } from '../part-outcome.ts'
import { isTextAt } from '../text-at.ts'
import type { Entry, LokiEvents } from './loki-events.ts'
import { NO_DIGITS, readNanos, TOO_LATE } from './nanos.ts'
import type { Pairs } from './pairs.ts'
import { PartError } from './part-error.ts'

const STREAMS = Buffer.from('streams')
const STREAM = Buffer.from('stream')
const VALUES = Buffer.from('values')
const NOT_SEEN = -1

const NO_ENTRY = 'an entry is an array of a time, a line and perhaps structured metadata'
const NO_TIME = 'the time must be a string of nanoseconds since 1970'
const TIME_TOO_LATE = 'the time is over 9223372036854775807 nanoseconds'
const NO_LINE = 'the line must be a string'
const NO_LABELS = 'labels must be an object of strings'
const NO_METADATA = 'structured metadata must be an object of strings'
const TOO_MANY = `are over ${LOKI_PAIRS_MAX} (LOKI_PAIRS_MAX)`

export class LokiJsonDecoder {
  readonly #events: LokiEvents

  constructor(events: LokiEvents) {
    this.#events = events
  }

  /** Decodes the document `part` of `bytes`; it ends at a line feed and padding. */
  decode(bytes: Uint8Array, { start, end }: ByteRange): PartOutcome {
    const source = { bytes, view: viewOf(bytes) }
    return this.#events.decode('values', () => {
      this.#events.begin(end - start)
      try {
        new LokiJsonReader(this.#events, source, start, end).request()
      } catch (cause) {
        if (!(cause instanceof JsonSyntaxError)) throw cause
        const at = Math.min(cause.at, end) - start
        throw new PartError(`invalid Loki JSON at byte ${at}: ${cause.message}`)
      }
    })
  }
}

class LokiJsonReader {
  readonly #events: LokiEvents
  readonly #reader: JsonReader
  readonly #bytes: Uint8Array
  readonly #entry: Entry

  constructor(events: LokiEvents, source: ByteSource, start: number, end: number) {
    this.#events = events
    this.#bytes = source.bytes
    this.#reader = new JsonReader(source, start, end)
    const line = { source, lineStart: 0, lineEnd: 0, isJson: true, isEscaped: false }
    this.#entry = { ...line, ms: 0, nanos: 0, bytes: 0 }
  }

  request(): void {
    const reader = this.#reader
    let hasStreams = false
    if (reader.peek() !== OPEN_OBJECT) reader.fail('expected an object')
    if (reader.open(CLOSE_OBJECT)) {
      do {
        reader.key()
        if (!this.#isKey(STREAMS)) reader.skipValue()
        else if (hasStreams) reader.fail('"streams" comes twice')
        else {
          hasStreams = true
          this.#streams()
        }
      } while (reader.more(CLOSE_OBJECT))
    }
    if (reader.peek() >= 0) reader.fail('unexpected data after the request')
    if (!hasStreams) throw new PartError('the request has no "streams"')
  }

  #isKey(name: Uint8Array): boolean {
    const { stringStart, stringEnd, isEscaped } = this.#reader
    const bytes = this.#bytes
    if (isEscaped) return unescapeToString(bytes, stringStart, stringEnd) === String(name)
    return isTextAt(bytes, stringStart, stringEnd, name)
  }

  #streams(): void {
    const reader = this.#reader
    if (reader.isNull()) return
    if (reader.peek() !== OPEN_ARRAY) reader.fail('"streams" must be an array')
    if (!reader.open(CLOSE_ARRAY)) return
    do this.#stream()
    while (reader.more(CLOSE_ARRAY))
  }

  #stream(): void {
    const reader = this.#reader
    const events = this.#events
    if (reader.peek() !== OPEN_OBJECT) reader.fail('a stream must be an object')
    events.labels.clear()
    let hasLabels = false
    let fault: string | undefined
    let valuesAt = NOT_SEEN
    let isRead = false
    if (reader.open(CLOSE_OBJECT)) {
      do {
        reader.key()
        if (this.#isKey(STREAM)) {
          if (hasLabels) reader.fail('"stream" comes twice')
          hasLabels = true
          fault = this.#pairs(events.labels, NO_LABELS, 'labels')
        } else if (this.#isKey(VALUES)) {
          if (valuesAt !== NOT_SEEN) reader.fail('"values" comes twice')
          valuesAt = reader.pos
          isRead = hasLabels
          if (isRead) this.#values(fault)
          else reader.skipValue()
        } else reader.skipValue()
      } while (reader.more(CLOSE_OBJECT))
    }
    if (isRead) return
    const end = reader.pos
    if (valuesAt === NOT_SEEN) return events.beginStream()
    reader.pos = valuesAt
    this.#values(fault)
    reader.pos = end
  }

  #values(fault: string | undefined): void {
    const reader = this.#reader
    this.#events.beginStream(fault)
    if (reader.isNull()) return
    if (reader.peek() !== OPEN_ARRAY) reader.fail('"values" must be an array')
    if (!reader.open(CLOSE_ARRAY)) return
    do {
      reader.peek()
      const start = reader.pos
      const reason = fault ?? this.#tryEntry()
      if (reason === undefined) {
        this.#entry.bytes = reader.pos - start
        this.#events.add(this.#entry)
        continue
      }
      reader.pos = start
      reader.skipValue()
      this.#events.reject(reason)
    } while (reader.more(CLOSE_ARRAY))
  }

  /** Reads an entry; returns why it is none. */
  #tryEntry(): string | undefined {
    const reader = this.#reader
    const entry = this.#entry
    const { metadata } = this.#events
    if (reader.peek() !== OPEN_ARRAY || !reader.open(CLOSE_ARRAY)) return NO_ENTRY
    if (reader.peek() !== QUOTE) return NO_TIME
    reader.string()
    const fault = readNanos(this.#bytes, reader.stringStart, reader.stringEnd, entry)
    if (fault === NO_DIGITS) return NO_TIME
    if (fault === TOO_LATE) return TIME_TOO_LATE
    if (!reader.more(CLOSE_ARRAY)) return NO_ENTRY
    if (reader.peek() !== QUOTE) return NO_LINE
    reader.longString()
    entry.lineStart = reader.stringStart
    entry.lineEnd = reader.stringEnd
    entry.isEscaped = reader.isEscaped
    metadata.clear()
    if (!reader.more(CLOSE_ARRAY)) return undefined
    const reason = this.#pairs(metadata, NO_METADATA, 'structured metadata')
    if (reason !== undefined) return reason
    return reader.more(CLOSE_ARRAY) ? NO_ENTRY : undefined
  }

  /** Reads an object of strings; returns why it is none, and has then read over it. */
  #pairs(pairs: Pairs, reason: string, name: string): string | undefined {
    const reader = this.#reader
    if (reader.isNull()) return undefined
    const start = reader.pos
    let fault = reader.peek() === OPEN_OBJECT ? undefined : reason
    if (fault === undefined && reader.open(CLOSE_OBJECT)) {
      do {
        reader.key()
        const nameAt = pairs.unescape(this.#bytes, reader.stringStart, reader.stringEnd)
        const nameEnd = pairs.text.length
        if (reader.peek() !== QUOTE) fault = reason
        else {
          reader.string()
          const at = pairs.unescape(this.#bytes, reader.stringStart, reader.stringEnd)
          if (!pairs.add(nameAt, nameEnd, at, pairs.text.length)) fault = `${name} ${TOO_MANY}`
        }
      } while (fault === undefined && reader.more(CLOSE_OBJECT))
    }
    if (fault === undefined) return undefined
    reader.pos = start
    reader.skipValue()
    return fault
  }
}
