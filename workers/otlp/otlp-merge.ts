/**
 * Merges messages that protobuf allows to come several times though they count once: the fields of
 * the later ones are added to the earlier ones'. No exporter is known to write that; it only has to
 * be read as other decoders read it. So decoding asks for this rewriting where it meets it, and
 * need not know about it otherwise.
 */
import protobuf from 'protobufjs/minimal.js'
import { DEPTH_MAX } from '../../src/limits.ts'
import { FIELD_TOO_LONG, WireError } from './wire-error.ts'

/** Which fields of a message are messages, by field number, and which of those come once. */
export interface MergeSchema {
  readonly once: Readonly<Record<number, MergeSchema>>
  readonly many: Readonly<Record<number, MergeSchema>>
  /** The last one of all its fields counts. */
  readonly isOneof?: boolean
}

const anyValueFields: Record<number, MergeSchema> = {}
const ANY_VALUE: MergeSchema = { once: anyValueFields, many: {}, isOneof: true }
const KEY_VALUE: MergeSchema = { once: { 2: ANY_VALUE }, many: {} }
anyValueFields[5] = { once: {}, many: { 1: ANY_VALUE } }
anyValueFields[6] = { once: {}, many: { 1: KEY_VALUE } }

export const RESOURCE_SCHEMA: MergeSchema = { once: {}, many: { 1: KEY_VALUE } }
export const SCOPE_SCHEMA: MergeSchema = { once: {}, many: { 3: KEY_VALUE } }
export const LOG_RECORD_SCHEMA: MergeSchema = { once: { 5: ANY_VALUE }, many: { 6: KEY_VALUE } }

const LENGTH_DELIMITED = 2
/** Lengths are written in four bytes, so that they can be filled in afterwards. */
const LENGTH_BYTES = 4
/** A tag and a length for at least two bytes of the input. */
const GROWTH = 5
/** Messages in messages: enough for any event that is not too deep, three for an object. */
const LEVELS_MAX = 3 * (DEPTH_MAX + 2)

interface Range {
  readonly start: number
  readonly end: number
}

/** The message `start`..`end` of `bytes`, in which every message comes as often as it may. */
export function mergeRepeated(
  bytes: Uint8Array,
  start: number,
  end: number,
  schema: MergeSchema,
): Uint8Array {
  return new Merger(bytes, end - start).merge({ start, end }, schema)
}

class Merger {
  readonly #bytes: Uint8Array
  readonly #reader: protobuf.Reader
  readonly #out: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array, length: number) {
    this.#bytes = bytes
    this.#reader = new protobuf.Reader(bytes)
    this.#out = new Uint8Array(length * GROWTH)
  }

  merge(range: Range, schema: MergeSchema): Uint8Array {
    this.#message([range], schema, 0)
    return this.#out.subarray(0, this.#at)
  }

  #message(ranges: readonly Range[], schema: MergeSchema, level: number): void {
    const reader = this.#reader
    const merged = new Map<number, Range[]>()
    const last = schema.isOneof === true ? lastField(reader, ranges) : 0
    let current = 0
    for (const { start, end } of ranges) {
      reader.pos = start
      while (reader.pos < end) {
        const fieldStart = reader.pos
        const tag = reader.tag()
        const field = tag >>> 3
        const isMessage = (tag & 7) === LENGTH_DELIMITED && level < LEVELS_MAX
        const many = isMessage ? schema.many[field] : undefined
        const fieldEnd = skipField(reader, tag)
        if (fieldEnd > end) throw new WireError(FIELD_TOO_LONG)
        // Setting one field of a oneof clears the others: what they held is not merged with.
        if (schema.isOneof === true && ONEOF_TAGS.has(tag)) {
          if (field !== current) merged.clear()
          current = field
        }
        if (many !== undefined) {
          this.#field(field, [contents(reader, fieldStart, fieldEnd)], many, level)
        } else if (isMessage && schema.once[field] !== undefined) {
          const all = merged.get(field) ?? []
          all.push(contents(reader, fieldStart, fieldEnd))
          merged.set(field, all)
        } else if (last === 0 || last === field) {
          this.#out.set(this.#bytes.subarray(fieldStart, fieldEnd), this.#at)
          this.#at += fieldEnd - fieldStart
        }
        reader.pos = fieldEnd
      }
    }
    for (const [field, all] of merged) {
      if (last === 0 || last === field) this.#field(field, all, schema.once[field]!, level)
    }
  }

  #field(field: number, ranges: readonly Range[], schema: MergeSchema, level: number): void {
    this.#out[this.#at] = field * 8 + LENGTH_DELIMITED
    const lengthAt = this.#at + 1
    this.#at = lengthAt + LENGTH_BYTES
    this.#message(ranges, schema, level + 1)
    writePaddedLength(this.#out, lengthAt, this.#at - lengthAt - LENGTH_BYTES)
  }
}

/** Writes a length below 2^28 as a varint of four bytes. */
export function writePaddedLength(out: Uint8Array, at: number, length: number): void {
  out[at] = (length & 0x7f) | 0x80
  out[at + 1] = ((length >>> 7) & 0x7f) | 0x80
  out[at + 2] = ((length >>> 14) & 0x7f) | 0x80
  out[at + 3] = length >>> 21
}

function skipField(reader: protobuf.Reader, tag: number): number {
  reader.skipType(tag & 7, 0, tag >>> 3)
  return reader.pos
}

/** What is in the length-delimited field `start`..`end`. */
function contents(reader: protobuf.Reader, start: number, end: number): Range {
  reader.pos = start
  reader.tag()
  const length = reader.size()
  return { start: end - length, end }
}

/** The field that the oneof has in the end; 0 when none. Unknown fields are not in the oneof. */
function lastField(reader: protobuf.Reader, ranges: readonly Range[]): number {
  let last = 0
  for (const { start, end } of ranges) {
    reader.pos = start
    while (reader.pos < end) {
      const tag = reader.tag()
      if (ONEOF_TAGS.has(tag)) last = tag >>> 3
      skipField(reader, tag)
    }
  }
  return last
}

/** Tags of AnyValue's fields with the wire types they have. */
const ONEOF_TAGS = new Set([0x0a, 0x10, 0x18, 0x21, 0x2a, 0x32, 0x3a])
