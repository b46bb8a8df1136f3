/**
 * AnyValue and KeyValue, from the protobuf wire straight into an event's JSON and tape: strings as
 * they are, 64-bit integers with all their digits, doubles as JavaScript writes them, bytes in
 * base64, an empty AnyValue as null, a kvlist as an object.
 *
 * Values of the usual form take the fast path (`kernels/decode/otlp.ts`). The rest is read by
 * protobufjs' `Reader`, which throws where it is malformed; where `Reader` does not check, a
 * `WireError` is thrown. Writers return false when the record around them is rejected, and
 * `builder.error` then has the reason.
 *
 * Rules of protobuf: unknown fields, and known ones of another wire type, are skipped; of several
 * fields of a oneof the last counts. One rule is not followed: a message that comes in several
 * pieces is not merged, its record is rejected. No exporter is known to send it (docs/otlp.md).
 */
import protobuf from 'protobufjs/minimal.js'
import { DEPTH_MAX } from '../../../src/limits.ts'
import type { EventBuilder } from '../../build/event-builder.ts'
import { NO_KEY } from '../../build/event-builder.ts'
import type { ByteSource } from '../../build/scalar-writer.ts'
import { arena } from '../../kernel/arena.ts'
import { FIELD_TOO_LONG, WireError } from './wire-error.ts'

/** Values of `EventBuilder.error`, beside EVENT_TOO_LARGE. */
export const EVENT_TOO_DEEP = 2
export const EVENT_IN_PIECES = 3

/** Tags: field number times 8 plus wire type. */
export const TAG_FIRST_MESSAGE = 0x0a
const TAG_KEY = 0x0a
const TAG_VALUE = 0x12
const TAG_STRING = 0x0a
const TAG_BOOL = 0x10
const TAG_INT = 0x18
const TAG_DOUBLE = 0x21
const TAG_ARRAY = 0x2a
const TAG_KVLIST = 0x32
const TAG_BYTES = 0x3a

/** What an AnyValue holds, by field number; 0 when nothing. */
export const KIND_NULL = 0
export const KIND_STRING = 1
const KIND_BOOL = 2
const KIND_INT = 3
const KIND_DOUBLE = 4
const KIND_ARRAY = 5
export const KIND_KVLIST = 6
const KIND_BYTES = 7

export class AnyValueDecoder {
  readonly builder: EventBuilder
  reader: protobuf.Reader = new protobuf.Reader(new Uint8Array(0))
  source: ByteSource = { bytes: new Uint8Array(0), view: new DataView(new ArrayBuffer(0)) }
  /** Whether kernels can read the source. */
  isHeld = false
  readonly #fields = { bytes: this.source.bytes, start: 0, end: 0, tag: 0 }
  /** What `scan` found: a range of bytes, or a number in two halves as int32, the low one first. */
  #a = 0
  #b = 0

  constructor(builder: EventBuilder) {
    this.builder = builder
  }

  /** Reads from `source`, up to `end` at most. */
  readFrom(source: ByteSource, end: number): void {
    this.source = source
    this.isHeld = arena.holds(source.bytes)
    this.#fields.bytes = source.bytes
    this.reader = new protobuf.Reader(source.bytes)
    this.reader.len = end
  }

  /** Reads the length of a field that ends at `end` or before; returns where the field ends. */
  fieldEnd(end: number): number {
    const { reader } = this
    const fieldEnd = reader.size() + reader.pos
    if (fieldEnd > end) throw new WireError(FIELD_TOO_LONG)
    return fieldEnd
  }

  /** Skips a field that does not matter. */
  skip(tag: number): void {
    this.reader.skipType(tag & 7, 0, tag >>> 3)
  }

  /** To be called when fields were read up to the message's end: none may go past it. */
  assertEnd(end: number): void {
    if (this.reader.pos !== end) {
      throw new WireError(FIELD_TOO_LONG)
    }
  }

  /** Finds what the AnyValue `start`..`end` holds; -1 when that comes in pieces. */
  scan(start: number, end: number): number {
    const { reader } = this
    reader.pos = start
    let kind = KIND_NULL
    let isInPieces = false
    while (reader.pos < end) {
      const tag = reader.tag()
      switch (tag) {
        case TAG_STRING:
        case TAG_ARRAY:
        case TAG_KVLIST:
        case TAG_BYTES: {
          // Setting another field of the oneof clears it: then this one starts again.
          const isMessage = tag === TAG_ARRAY || tag === TAG_KVLIST
          if (isMessage && kind === tag >>> 3) isInPieces = true
          kind = tag >>> 3
          const fieldEnd = this.fieldEnd(end)
          this.#a = reader.pos
          this.#b = fieldEnd
          reader.pos = fieldEnd
          break
        }
        case TAG_BOOL: {
          kind = KIND_BOOL
          const varintStart = reader.pos
          this.#varint()
          this.#a = hasBits(this.source.bytes, varintStart, reader.pos) ? 1 : 0
          break
        }
        case TAG_INT:
          kind = KIND_INT
          this.#varint()
          break
        case TAG_DOUBLE:
          kind = KIND_DOUBLE
          this.#a = reader.pos
          reader.skip(8)
          break
        default:
          this.skip(tag)
      }
    }
    this.assertEnd(end)
    if (!isInPieces) return kind
    this.builder.error = EVENT_IN_PIECES
    return -1
  }

  /** Reads 64 bits into `#a`, low, and `#b`, high; what is beyond 64 bits is dropped. */
  #varint(): void {
    const { reader } = this
    const { bytes } = this.source
    let { pos } = reader
    let low = 0
    let high = 0
    for (let shift = 0; shift < 70; shift += 7) {
      if (pos >= reader.len) break
      const byte = bytes[pos++]!
      const bits = byte & 0x7f
      if (shift < 28) low |= bits << shift
      else if (shift === 28) {
        low |= bits << 28
        high = bits >> 4
      } else high |= bits << (shift - 32)
      if (byte < 0x80) {
        reader.pos = pos
        this.#a = low | 0
        this.#b = high | 0
        return
      }
    }
    throw new WireError('a number does not end')
  }

  /** Writes the AnyValue `start`..`end` at `node`; `depth` is that of the container around it. */
  value(node: number, start: number, end: number, depth: number, isElement: boolean): boolean {
    const { builder } = this
    const kind = this.scan(start, end)
    const a = this.#a
    const b = this.#b
    switch (kind) {
      case KIND_STRING:
        return builder.string(node, this.source, a, b)
      case KIND_BOOL:
        return builder.boolean(node, a !== 0)
      case KIND_INT:
        return builder.int64(node, b >>> 0, a >>> 0)
      case KIND_DOUBLE:
        return builder.double(node, this.source.view.getFloat64(a, true))
      case KIND_BYTES:
        return builder.base64String(node, this.source.bytes, a, b)
      case KIND_ARRAY:
        return this.#array(node, a, b, depth + 1)
      case KIND_KVLIST: {
        if (isElement) {
          const header = builder.beginElement(node)
          if (!this.#members(node, a, b, depth + 1)) return false
          builder.closeElement(header)
          return true
        }
        return this.object(node, a, b, depth + 1)
      }
      case KIND_NULL:
        return builder.null(node)
      default:
        return false
    }
  }

  #array(node: number, start: number, end: number, depth: number): boolean {
    const { builder, reader } = this
    if (depth > DEPTH_MAX) return this.#tooDeep()
    const { tape } = builder
    const header = builder.openArray(node)
    let kinds = 0
    let count = 0
    reader.pos = start
    while (reader.pos < end) {
      const tag = reader.tag()
      if (tag !== TAG_FIRST_MESSAGE) {
        this.skip(tag)
        continue
      }
      const fieldEnd = this.fieldEnd(end)
      if (count > 0) builder.comma()
      const at = tape.length
      const element = tape.trie.elementOf(node)
      if (!this.value(element, reader.pos, fieldEnd, depth, true)) return false
      kinds |= 1 << tape.entries[at + 1]!
      count++
      reader.pos = fieldEnd
    }
    this.assertEnd(end)
    builder.closeArray(header, kinds, count)
    return true
  }

  #tooDeep(): boolean {
    this.builder.error = EVENT_TOO_DEEP
    return false
  }

  /** Writes the KeyValueList `start`..`end` as an object that is not an array's element. */
  object(node: number, start: number, end: number, depth: number): boolean {
    const { builder } = this
    const open = builder.at
    const tapeStart = builder.tape.length
    if (!this.#members(node, start, end, depth)) return false
    builder.closeObject(node, open, tapeStart)
    return true
  }

  /** Writes the KeyValueList `start`..`end` as the event itself. */
  event(node: number, start: number, end: number): boolean {
    if (!this.openEvent(node, start, end)) return false
    this.builder.closeRoot()
    return true
  }

  /** The kvlist's range, after `scan` found one. */
  eventOfScan(node: number): boolean {
    return this.event(node, this.#a, this.#b)
  }

  /** `event` without its closing brace. */
  openEvent(node: number, start: number, end: number): boolean {
    return this.outerMembers(node, start, end, 1, TAG_FIRST_MESSAGE)
  }

  /** The range that `scan` found. */
  get foundStart(): number {
    return this.#a
  }

  get foundEnd(): number {
    return this.#b
  }

  /** The opening brace and the members. */
  #members(node: number, start: number, end: number, depth: number): boolean {
    if (depth > DEPTH_MAX) return this.#tooDeep()
    return this.repeatedMembers(node, start, end, depth, TAG_FIRST_MESSAGE)
  }

  /**
   * The same as `repeatedMembers`, for a list that is not part of another such list: tries the fast
   * path once, not again at each level.
   */
  outerMembers(
    node: number,
    start: number,
    end: number,
    depth: number,
    memberTag: number,
  ): boolean {
    const fields = this.#fields
    fields.start = start
    fields.end = end
    fields.tag = memberTag
    if (this.isHeld && this.builder.tryWriteMembers(fields, node, depth)) {
      this.reader.pos = end
      return true
    }
    return this.repeatedMembers(node, start, end, depth, memberTag)
  }

  /**
   * Writes a brace and the members from all fields of the message `start`..`end` that have the tag
   * `memberTag`: KeyValues.
   */
  repeatedMembers(
    node: number,
    start: number,
    end: number,
    depth: number,
    memberTag: number,
  ): boolean {
    const { builder, reader } = this
    const serial = builder.openObject()
    let previous = NO_KEY
    reader.pos = start
    while (reader.pos < end) {
      const tag = reader.tag()
      if (tag !== memberTag) {
        this.skip(tag)
        continue
      }
      const fieldEnd = this.fieldEnd(end)
      previous = this.#member(node, previous, serial, fieldEnd, depth)
      if (previous < 0) return false
      reader.pos = fieldEnd
    }
    this.assertEnd(end)
    return true
  }

  /** Writes the KeyValue from the reader's position to `end`. Returns its key, or -1. */
  #member(node: number, previous: number, serial: number, end: number, depth: number): number {
    const { builder, reader } = this
    let keyStart = 0
    let keyEnd = 0
    let valueStart = -1
    let valueEnd = 0
    while (reader.pos < end) {
      const tag = reader.tag()
      if (tag === TAG_KEY) {
        keyEnd = this.fieldEnd(end)
        keyStart = reader.pos
        reader.pos = keyEnd
      } else if (tag === TAG_VALUE) {
        if (valueStart >= 0) {
          builder.error = EVENT_IN_PIECES
          return -1
        }
        valueEnd = this.fieldEnd(end)
        valueStart = reader.pos
        reader.pos = valueEnd
      } else this.skip(tag)
    }
    this.assertEnd(end)
    const key = builder.key(node, previous, serial, this.source, keyStart, keyEnd)
    if (key < 0) return -1
    const child = builder.tape.trie.canonical[key]!
    const isWritten =
      valueStart < 0 ? builder.null(child) : this.value(child, valueStart, valueEnd, depth, false)
    if (!isWritten) return -1
    builder.endValue(key)
    return key
  }
}

/** Whether a number has any bit set, even one beyond 64 bits. */
function hasBits(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    if ((bytes[i]! & 0x7f) !== 0) return true
  }
  return false
}
