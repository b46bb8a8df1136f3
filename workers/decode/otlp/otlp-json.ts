/**
 * OTLP logs in JSON: one document, one part. It is rewritten as protobuf, token by token, and
 * decoded as such (`otlp-protobuf.ts`), so that both encodings make the same events by the same
 * code. No values are made of it on the way: 64-bit integers keep their digits.
 *
 * Unknown fields are ignored and null counts as missing. A syntax error, or a value that its field
 * cannot have, fails the document as a whole.
 *
 * Subtle: where a key recurs in its object the last one counts, as with `JSON.parse`. What the
 * first one wrote is then given the number of an unknown field.
 */
import {
  DEPTH_MAX,
  OTLP_GENERATED_BYTES_MAX,
  OTLP_GENERATED_PER_BYTE_MAX,
} from '../../../src/limits.ts'
import type { ByteRange } from '../../../src/model/batch/accepted-batch.ts'
import { EventBuffer, viewOf } from '../../tape/event-buffer.ts'
import { unescapeInto } from '../../tape/json-string.ts'
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  JsonReader,
  JsonSyntaxError,
  OPEN_ARRAY,
  OPEN_OBJECT,
} from '../json-reader.ts'
import { PartOutcome } from '../part-outcome.ts'
import {
  ANY_VALUE,
  FIELD_MESSAGE,
  FIELD_MESSAGES,
  findField,
  type JsonField,
  type JsonMessage,
  MESSAGE_FIELDS_MAX,
  REQUEST,
} from './otlp-json-fields.ts'
import { LENGTH_BYTES, OtlpJsonValues, writePaddedLength } from './otlp-json-values.ts'
import type { OtlpDecoder } from './otlp-protobuf.ts'

const LENGTH_DELIMITED = 2
/** No field of ours: what has it is skipped. Its tag is one byte, as are those it takes over. */
const FIELD_UNKNOWN = 15
/** The deepest message: each level of an event is at most three of them, and five are around it. */
const LEVELS_MAX = 3 * (DEPTH_MAX + 2) + 8

export class OtlpJsonDecoder {
  readonly #decoder: OtlpDecoder
  /** The document as protobuf. */
  readonly #wire = new EventBuffer()
  /** By level and field: where what the current object wrote for it starts, plus 1, and ends. */
  readonly #places = {
    starts: new Int32Array(LEVELS_MAX * MESSAGE_FIELDS_MAX),
    ends: new Int32Array(LEVELS_MAX * MESSAGE_FIELDS_MAX),
  }

  constructor(decoder: OtlpDecoder) {
    this.#decoder = decoder
  }

  /** Decodes the document `part` of `bytes`; it ends at a line feed and padding. */
  decode(bytes: Uint8Array, part: ByteRange): PartOutcome {
    const { start, end } = part
    this.#wire.reset()
    try {
      new OtlpJsonWriter({ bytes, start, end }, this.#wire, this.#places).request()
    } catch (cause) {
      if (!(cause instanceof JsonSyntaxError)) throw cause
      const outcome = new PartOutcome()
      const at = Math.min(cause.at, end) - start
      outcome.fail(0, 'malformed', `invalid OTLP JSON at byte ${at}: ${cause.message}`)
      return outcome
    }
    const generatedBytesMax = (end - start) * OTLP_GENERATED_PER_BYTE_MAX
    this.#wire.reserve(0)
    return this.#decoder.decode(
      this.#wire.bytes,
      { start: 0, end: this.#wire.length },
      Math.min(generatedBytesMax, OTLP_GENERATED_BYTES_MAX),
    )
  }
}

class OtlpJsonWriter {
  readonly #bytes: Uint8Array
  readonly #reader: JsonReader
  readonly #wire: EventBuffer
  readonly #values: OtlpJsonValues
  readonly #starts: Int32Array
  readonly #ends: Int32Array
  #key = new Uint8Array(64)

  constructor(
    document: { readonly bytes: Uint8Array; readonly start: number; readonly end: number },
    wire: EventBuffer,
    places: { readonly starts: Int32Array; readonly ends: Int32Array },
  ) {
    this.#starts = places.starts
    this.#ends = places.ends
    const { bytes, start, end } = document
    this.#bytes = bytes
    this.#reader = new JsonReader({ bytes, view: viewOf(bytes) }, start, end)
    this.#wire = wire
    this.#values = new OtlpJsonValues(this.#reader, wire)
  }

  request(): void {
    if (this.#reader.peek() !== OPEN_OBJECT) this.#reader.fail('expected an object')
    this.#message(REQUEST, 0, 0)
    if (this.#reader.peek() >= 0) this.#reader.fail('unexpected data after the request')
  }

  /** Writes the fields of the object at the reader's position. `depth` is that of AnyValues. */
  #message(message: JsonMessage, level: number, depth: number): void {
    const reader = this.#reader
    if (reader.peek() !== OPEN_OBJECT) reader.fail('expected an object')
    if (!reader.open(CLOSE_OBJECT)) return
    const base = level * MESSAGE_FIELDS_MAX
    for (let i = 0; i < message.fields.length; i++) this.#starts[base + i] = 0
    do {
      reader.key()
      const field = this.#findField(message)
      if (field === undefined) {
        reader.skipValue()
        continue
      }
      const place = base + field.index
      this.#hide(field, this.#starts[place]! - 1, this.#ends[place]!)
      this.#starts[place] = 0
      if (reader.isNull()) continue
      const start = this.#wire.length
      this.#field(field, level, depth + (message === ANY_VALUE ? 1 : 0))
      this.#starts[place] = start + 1
      this.#ends[place] = this.#wire.length
    } while (reader.more(CLOSE_OBJECT))
  }

  #findField(message: JsonMessage): JsonField | undefined {
    const { stringStart, stringEnd, isEscaped } = this.#reader
    if (!isEscaped) return findField(message, this.#bytes, stringStart, stringEnd)
    const length = stringEnd - stringStart
    if (this.#key.length < length) this.#key = new Uint8Array(length)
    const end = unescapeInto(this.#bytes, stringStart, stringEnd, this.#key, 0)
    return findField(message, this.#key, 0, end)
  }

  /** Makes unknown fields of what an earlier key of the same name wrote. */
  #hide(field: JsonField, start: number, end: number): void {
    if (start < 0) return
    const { bytes } = this.#wire
    let at = start
    while (at < end) {
      const wireType = bytes[at]! & 7
      bytes[at] = FIELD_UNKNOWN * 8 + wireType
      if (field.kind !== FIELD_MESSAGES) return // It wrote one field.
      let length = 0
      for (let i = LENGTH_BYTES; i > 0; i--) length = length * 0x80 + (bytes[at + i]! & 0x7f)
      at += 1 + LENGTH_BYTES + length
    }
  }

  #field(field: JsonField, level: number, depth: number): void {
    const reader = this.#reader
    if (field.kind === FIELD_MESSAGE) {
      this.#nested(field, level, depth)
    } else if (field.kind === FIELD_MESSAGES) {
      if (reader.peek() !== OPEN_ARRAY) reader.fail('expected an array')
      if (!reader.open(CLOSE_ARRAY)) return
      // A null among them is an empty message, for AnyValue the value null.
      do this.#nested(field, level, depth)
      while (reader.more(CLOSE_ARRAY))
    } else {
      this.#values.write(field)
    }
  }

  #nested(field: JsonField, level: number, depth: number): void {
    const wire = this.#wire
    const lengthAt = wire.length + 1
    wire.reserve(1 + LENGTH_BYTES)
    wire.bytes[wire.length] = field.number * 8 + LENGTH_DELIMITED
    wire.length = lengthAt + LENGTH_BYTES
    if (depth > DEPTH_MAX) {
      // Deeper than any event may be: an empty array or object at this depth says that as well.
      this.#reader.skipValue()
    } else if (!this.#reader.isNull()) {
      this.#message(field.message!, level + 1, depth)
    }
    writePaddedLength(wire.bytes, lengthAt, wire.length - lengthAt - LENGTH_BYTES)
  }
}
