/** Scalars of OTLP JSON to the protobuf wire. */
import type { EventBuffer } from '../../tape/event-buffer.ts'
import { SPAN_ID_BYTES, TRACE_ID_BYTES } from '../../tape/given-labels.ts'
import { IS_HEX } from '../../tape/json-scan.ts'
import { unescapeInto } from '../../tape/json-string.ts'
import { type JsonReader, LITERAL_NULL, LITERAL_TRUE, MINUS, QUOTE } from '../json-reader.ts'
import { BASE64_VALUES, hexDigit } from './otlp-ids.ts'
import {
  FIELD_BOOL,
  FIELD_BYTES,
  FIELD_DOUBLE,
  FIELD_FIXED32,
  FIELD_FIXED64,
  FIELD_ID,
  FIELD_INT64,
  FIELD_SEVERITY,
  FIELD_STRING,
  FIELD_UINT32,
  type JsonField,
} from './otlp-json-fields.ts'

const VARINT = 0
const EIGHT_BYTES = 1
const LENGTH_DELIMITED = 2
const FOUR_BYTES = 5
/** Of the lengths that are filled in afterwards. */
export const LENGTH_BYTES = 4
const VARINT_BYTES_MAX = 10
const UINT64_DIGITS_MAX = 20
const NUMBER_CHARS_MAX = 400
const TWO_32 = 0x1_0000_0000
const HIGH_SIGN = 0x8000_0000

const SEVERITY_NAME =
  /^SEVERITY_NUMBER_(?:(UNSPECIFIED)|(TRACE|DEBUG|INFO|WARN|ERROR|FATAL)([234]?))$/
const SEVERITY_GROUPS = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL']
const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/
const NON_FINITE = new Set(['NaN', 'Infinity', '-Infinity'])

const PAD = 0x3d
/** An id as bytes of a length that no id has. */
const NO_ID = 0xff

export class OtlpJsonValues {
  readonly #reader: JsonReader
  readonly #wire: EventBuffer
  /** The 64-bit integer last read, in two unsigned halves. */
  #high = 0
  #low = 0
  /** The number last found. */
  #start = 0
  #end = 0

  constructor(reader: JsonReader, wire: EventBuffer) {
    this.#reader = reader
    this.#wire = wire
  }

  /** Reads the value at the reader's position and writes it as `field`. */
  write(field: JsonField): void {
    const { number } = field
    switch (field.kind) {
      case FIELD_STRING:
        return this.#string(number)
      case FIELD_BOOL:
        return this.#bool(number)
      case FIELD_INT64:
        this.#integer(true)
        return this.#varint(number)
      case FIELD_FIXED64:
        this.#integer(false)
        this.#tag(number, EIGHT_BYTES, 8)
        this.#wire.view.setUint32(this.#wire.length, this.#low, true)
        this.#wire.view.setUint32(this.#wire.length + 4, this.#high, true)
        this.#wire.length += 8
        return
      case FIELD_DOUBLE:
        return this.#double(number)
      case FIELD_SEVERITY:
        return this.#severity(number)
      case FIELD_BYTES:
        return this.#bytes(number)
      case FIELD_ID:
        return this.#id(number)
      case FIELD_FIXED32:
        return this.#fixed32(number)
      case FIELD_UINT32:
        this.#integer32()
        return this.#varint(number)
    }
  }

  #tag(number: number, wireType: number, bytes: number): void {
    const wire = this.#wire
    wire.reserve(1 + bytes)
    wire.bytes[wire.length++] = number * 8 + wireType
  }

  #expectString(): void {
    if (this.#reader.peek() !== QUOTE) this.#reader.fail('expected a string')
    this.#reader.string()
  }

  /** Writes the string just read, decoded, as a field. Returns where its contents start. */
  #text(number: number): number {
    const wire = this.#wire
    const { source, stringStart, stringEnd } = this.#reader
    // Decoding never makes it longer; words are copied past its end.
    this.#tag(number, LENGTH_DELIMITED, LENGTH_BYTES + stringEnd - stringStart)
    const start = wire.length + LENGTH_BYTES
    const views = { from: source.view, to: wire.view }
    const end = unescapeInto(source.bytes, stringStart, stringEnd, wire.bytes, start, views)
    this.#endBytes(start, end)
    return start
  }

  #endBytes(start: number, end: number): void {
    writePaddedLength(this.#wire.bytes, start - LENGTH_BYTES, end - start)
    this.#wire.length = end
  }

  #string(number: number): void {
    this.#expectString()
    this.#text(number)
  }

  #bool(number: number): void {
    const literal = this.#reader.literal()
    if (literal === LITERAL_NULL) this.#reader.fail('expected true or false')
    this.#tag(number, VARINT, 1)
    this.#wire.bytes[this.#wire.length++] = literal === LITERAL_TRUE ? 1 : 0
  }

  /** Reads an integer of 64 bits, bare or as a string. */
  #integer(isSigned: boolean): void {
    const reader: JsonReader = this.#reader
    const start = reader.peek() === QUOTE ? reader.pos + 1 : reader.pos
    this.#findNumber()
    const { bytes } = reader.source
    if (!this.#digits(bytes, this.#start, this.#end, isSigned)) {
      const value = exactInteger(this.#numberText())
      if (value === undefined || BigInt[isSigned ? 'asIntN' : 'asUintN'](64, value) !== value) {
        reader.fail('expected an integer of 64 bits', start)
      }
      const bits = BigInt.asUintN(64, value)
      this.#setHalves(Number(bits >> 32n), Number(bits & 0xffffffffn), false)
    }
  }

  /** Reads an unsigned integer of 32 bits. */
  #integer32(): void {
    const start = this.#reader.pos
    this.#integer(false)
    if (this.#high !== 0) this.#reader.fail('expected an unsigned integer of 32 bits', start)
  }

  #fixed32(number: number): void {
    this.#integer32()
    this.#tag(number, FOUR_BYTES, 4)
    this.#wire.view.setUint32(this.#wire.length, this.#low, true)
    this.#wire.length += 4
  }

  /** Reads plain digits; false when they are something else, or do not fit. */
  #digits(bytes: Uint8Array, start: number, end: number, isSigned: boolean): boolean {
    const isNegative = isSigned && bytes[start] === MINUS
    const first = isNegative ? start + 1 : start
    if (first === end || end - first > UINT64_DIGITS_MAX) return false
    if (bytes[first] === 0x30 && end - first > 1) return false
    let high = 0
    let low = 0
    for (let i = first; i < end; i++) {
      const digit = bytes[i]! - 0x30
      if (digit >>> 0 >= 10) return false
      low = low * 10 + digit
      const carry = Math.floor(low / TWO_32)
      low -= carry * TWO_32
      high = high * 10 + carry
    }
    if (high >= (isSigned ? HIGH_SIGN : TWO_32)) return false
    this.#setHalves(high, low, isNegative)
    return true
  }

  #setHalves(high: number, low: number, negate: boolean): void {
    this.#low = negate ? -low >>> 0 : low
    this.#high = negate ? (low === 0 ? -high : ~high) >>> 0 : high
  }

  /** Reads the number at the reader's position, bare or in a string, to `#start`..`#end`. */
  #findNumber(): void {
    const reader = this.#reader
    const byte = reader.peek()
    this.#start = reader.pos
    if (byte === QUOTE) {
      reader.string()
      this.#start = reader.stringStart
      this.#end = reader.stringEnd
      return
    }
    if (byte !== MINUS && (byte - 0x30) >>> 0 >= 10) reader.fail('expected a number')
    reader.number()
    this.#end = reader.pos
  }

  /** What `#findNumber` found, as it is spelled. */
  #numberText(): string {
    const { bytes } = this.#reader.source
    // The copy leaves shared memory. A longer text is not a number that matters.
    const end = Math.min(this.#end, this.#start + NUMBER_CHARS_MAX)
    return Buffer.from(bytes.subarray(this.#start, end)).toString('latin1')
  }

  #varint(number: number): void {
    const wire = this.#wire
    this.#tag(number, VARINT, VARINT_BYTES_MAX)
    let { length } = wire
    let low = this.#low
    let high = this.#high
    while (high !== 0 || low >= 0x80) {
      wire.bytes[length++] = (low & 0x7f) | 0x80
      low = ((low >>> 7) | (high << 25)) >>> 0
      high >>>= 7
    }
    wire.bytes[length++] = low
    wire.length = length
  }

  #double(number: number): void {
    const reader = this.#reader
    const { pos } = reader
    this.#findNumber()
    const text = this.#numberText()
    if (!NON_FINITE.has(text) && !NUMBER.test(text)) reader.fail('expected a number', pos)
    this.#tag(number, EIGHT_BYTES, 8)
    this.#wire.view.setFloat64(this.#wire.length, Number(text), true)
    this.#wire.length += 8
  }

  #severity(number: number): void {
    const reader = this.#reader
    const start = reader.pos
    if (reader.peek() === QUOTE) {
      this.#findNumber()
      const named = SEVERITY_NAME.exec(this.#numberText())
      if (named === null) reader.pos = start
      else {
        const group = SEVERITY_GROUPS.indexOf(named[2] ?? '')
        this.#setHalves(0, group < 0 ? 0 : group * 4 + Number(named[3] || 1), false)
        return this.#varint(number)
      }
    }
    this.#integer(true)
    const isInt32 =
      (this.#high === 0 && this.#low < HIGH_SIGN) ||
      (this.#high === 0xffffffff && this.#low >= HIGH_SIGN)
    if (!isInt32) reader.fail('expected an integer of 32 bits', start)
    this.#varint(number)
  }

  /** Base64 with either alphabet, padded or not. */
  #bytes(number: number): void {
    const reader = this.#reader
    this.#expectString()
    const start = reader.stringStart
    const from = this.#text(number)
    const { bytes } = this.#wire
    let end = this.#wire.length
    for (let pads = 0; pads < 2 && end > from && bytes[end - 1] === PAD; pads++) end--
    if ((end - from) % 4 === 1) reader.fail('expected base64', start)
    let at = from
    let bits = 0
    let count = 0
    for (let i = from; i < end; i++) {
      const six = BASE64_VALUES[bytes[i]!]!
      if (six === 0xff) reader.fail('expected base64', start)
      bits = ((bits << 6) | six) & 0xfff
      count += 6
      if (count < 8) continue
      count -= 8
      bytes[at++] = bits >> count
    }
    this.#endBytes(from, at)
  }

  /**
   * An id in hexadecimal digits of any case. Another text stays what it is, for `readId`, unless it
   * is as long as an id's bytes and would be taken for them.
   */
  #id(number: number): void {
    this.#expectString()
    const from = this.#text(number)
    const { bytes, length } = this.#wire
    const size = length - from
    let isHex = size === 2 * TRACE_ID_BYTES || size === 2 * SPAN_ID_BYTES
    for (let i = from; i < length; i++) isHex &&= IS_HEX[bytes[i]!] === 1
    if (!isHex && size !== TRACE_ID_BYTES && size !== SPAN_ID_BYTES) return
    let at = from
    if (!isHex) bytes[at++] = NO_ID
    else {
      for (let i = from; i < length; i += 2) {
        bytes[at++] = hexDigit(bytes[i]!) * 16 + hexDigit(bytes[i + 1]!)
      }
    }
    this.#endBytes(from, at)
  }
}

/**
 * The integer that `text` spells, also as 1.5e3; undefined when it is not one or is far too large.
 */
function exactInteger(text: string): bigint | undefined {
  if (/^-?(0|[1-9][0-9]*)$/.test(text)) {
    return text.length <= UINT64_DIGITS_MAX + 1 ? BigInt(text) : undefined
  }
  const value = NUMBER.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(value) ? BigInt(value) : undefined
}

/** Writes a length below 2^28 as a varint of `LENGTH_BYTES`. */
export function writePaddedLength(out: Uint8Array, at: number, length: number): void {
  out[at] = (length & 0x7f) | 0x80
  out[at + 1] = ((length >>> 7) & 0x7f) | 0x80
  out[at + 2] = ((length >>> 14) & 0x7f) | 0x80
  out[at + 3] = length >>> 21
}
