/**
 * Writes scalars as JSON text with their tape entries, within the bounds of the event they are in.
 * The base of `EventBuilder`; see there.
 */
import { isUtf8 } from 'node:buffer'
import { EVENT_BYTES_MAX } from '../../src/limits.ts'
import { copyRange } from '../kernel/arena-copy.ts'
import { kernels } from '../kernel/kernels.ts'
import {
  DOUBLE_BYTES_MAX,
  INTEGER_BYTES_MAX,
  writeDouble,
  writeInt64,
  writeUint64,
} from '../kernel/number-text.ts'
import { type EventBuffer, viewOf } from '../tape/event-buffer.ts'
import { ESCAPE_BYTES_MAX, writeEscaped } from '../tape/json-escape.ts'
import { integerType } from '../tape/json-scan.ts'
import { type JsonTape, TAPE_PADDING } from '../tape/json-tape.ts'
import { ESCAPED, FALSE, FLOAT, INT, NULL, STRING, TRUE } from '../tape/tape-types.ts'

const QUOTE = 0x22
const MINUS = 0x2d
const LINE_FEED = 0x0a
/** What the kernel wants to have left behind a text. */
const KERNEL_MARGIN = 32
const LONG_BYTES_MAX = 64 * 1024
/** Room for the marks around any value, and for words written past its end. */
const MARGIN = 16
const LITERALS = Buffer.from('nulltruefalse')
const HEX = Buffer.from('0123456789abcdef')
const BASE64 = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/')
const PAD = 0x3d

/** Values of `error`. The first is the writers' own, the others are the decoder's. */
export const EVENT_TOO_LARGE = 1

/** Bytes to be read by words: `TAPE_PADDING` bytes can be read after any range of them. */
export interface ByteSource {
  readonly bytes: Uint8Array
  readonly view: DataView
}

/** A source for bytes that have no padding of their own. */
export function paddedSource(bytes: Uint8Array): ByteSource {
  const padded = Buffer.alloc(bytes.length + TAPE_PADDING)
  padded.set(bytes)
  return { bytes: padded, view: viewOf(padded) }
}

export class ScalarWriter {
  readonly tape: JsonTape
  /** Why the last writer returned false. */
  error = 0
  /** Set while strings are checked one by one and repaired; see `isCleanSince`. */
  repairs = false
  /** Whether a string of the current event was repaired. */
  isRepaired = false
  /** Where the next byte goes, in `out`. */
  at = 0
  out: Buffer
  protected view: DataView
  readonly #into: EventBuffer
  /** Writing past it asks `#makeRoom`: the buffer's end, or all that an event may have. */
  #limit = 0
  #eventStart = 0
  #eventTapeStart = 0

  constructor(tape: JsonTape, into: EventBuffer) {
    this.tape = tape
    this.#into = into
    this.out = into.bytes
    this.view = into.view
  }

  /** Starts a part, after others may have written to the same buffer and tape. */
  begin(): void {
    this.out = this.#into.bytes
    this.view = this.#into.view
    this.at = this.#into.length
  }

  /** Ends the part: the buffer's contents end after the newest event. */
  end(): void {
    this.#into.length = this.at
  }

  beginEvent(): void {
    this.#eventStart = this.at
    this.#eventTapeStart = this.tape.length
    this.isRepaired = false
    this.error = 0
    this.#setLimit()
  }

  /** Ends the event after its closing brace. Returns its start, or -1 when it is too large. */
  endEvent(): number {
    const start = this.#eventStart
    if (this.at - start > EVENT_BYTES_MAX) {
      this.error = EVENT_TOO_LARGE
      return -1
    }
    this.out[this.at++] = LINE_FEED
    return start
  }

  /** Takes back what was written since `beginEvent`. */
  dropEvent(): void {
    this.at = this.#eventStart
    this.tape.length = this.#eventTapeStart
  }

  /**
   * Whether all that was written since `start` is valid UTF-8. Checking the whole at once is much
   * cheaper than string by string; if it is not valid, it is written again with `repairs` set.
   */
  isCleanSince(start: number): boolean {
    return isUtf8(this.out.subarray(start, this.at))
  }

  /** How far `out` may be written to; as it is after `room`. */
  protected get limit(): number {
    return this.#limit
  }

  /** Makes sure that `bytes` and the marks around them fit; false when the event is too large. */
  room(bytes: number): boolean {
    return this.at + bytes + MARGIN <= this.#limit || this.#makeRoom(bytes)
  }

  #makeRoom(bytes: number): boolean {
    this.#into.length = this.at
    this.#into.reserve(bytes + MARGIN)
    this.out = this.#into.bytes
    this.view = this.#into.view
    this.#setLimit()
    if (this.at - this.#eventStart <= EVENT_BYTES_MAX) return true
    this.error = EVENT_TOO_LARGE
    return false
  }

  #setLimit(): void {
    this.#limit = Math.min(this.out.length, this.#eventStart + EVENT_BYTES_MAX) - TAPE_PADDING
  }

  // Each of these writes one value at `node`, and returns false when the event is too large.

  string(node: number, from: ByteSource, start: number, end: number): boolean {
    const length = end - start
    if (length > EVENT_BYTES_MAX) {
      this.error = EVENT_TOO_LARGE
      return false
    }
    if (!this.room(length * ESCAPE_BYTES_MAX)) return false
    if (this.repairs) return this.#repairedString(node, from, start, end)
    const { out } = this
    const open = this.at
    out[open] = QUOTE
    const valueEnd = writeEscaped(from.view, start, end, this.view, out, open + 1)
    out[valueEnd] = QUOTE
    this.at = valueEnd + 1
    this.tape.push(node, valueEnd - open - 1 === length ? STRING : ESCAPED, open + 1, valueEnd)
    return true
  }

  /** The same, quicker for long ones, of bytes of the arena. */
  longString(node: number, from: ByteSource, start: number, end: number): boolean {
    const length = end - start
    // A large one is judged, and its room made, as any other.
    if (this.repairs || length > LONG_BYTES_MAX) return this.string(node, from, start, end)
    if (!this.room(length * ESCAPE_BYTES_MAX + KERNEL_MARGIN)) return false
    const { out } = this
    const { byteOffset } = out
    const source = from.bytes.byteOffset
    const open = this.at
    out[open] = QUOTE
    const written = kernels.escapeText(
      source + start,
      source + end,
      byteOffset + open + 1,
      byteOffset + this.#limit,
    )
    // So near to the bound of an event it is judged to the byte.
    if (written === 0) return this.string(node, from, start, end)
    const valueEnd = written - byteOffset
    out[valueEnd] = QUOTE
    this.at = valueEnd + 1
    this.tape.push(node, valueEnd - open - 1 === length ? STRING : ESCAPED, open + 1, valueEnd)
    return true
  }

  /** What is a string's inside in JSON already, valid, in bytes of the arena. */
  jsonString(
    node: number,
    from: Uint8Array,
    start: number,
    end: number,
    isEscaped: boolean,
  ): boolean {
    const length = end - start
    if (length > EVENT_BYTES_MAX) {
      this.error = EVENT_TOO_LARGE
      return false
    }
    if (!this.room(length)) return false
    const { out } = this
    const open = this.at
    out[open] = QUOTE
    const valueEnd = copyRange(out, open + 1, from, start, end)
    out[valueEnd] = QUOTE
    this.at = valueEnd + 1
    this.tape.push(node, isEscaped ? ESCAPED : STRING, open + 1, valueEnd)
    return true
  }

  #repairedString(node: number, from: ByteSource, start: number, end: number): boolean {
    this.out[this.at++] = QUOTE
    const valueStart = this.at
    const isEscaped = this.writeText(from, start, end)
    this.tape.push(node, isEscaped ? ESCAPED : STRING, valueStart, this.at)
    this.out[this.at++] = QUOTE
    return true
  }

  /**
   * Writes the inside of a string, repaired where it is not UTF-8; the caller has reserved
   * ESCAPE_BYTES_MAX for each byte. Returns whether it holds escapes.
   */
  protected writeText(from: ByteSource, start: number, end: number): boolean {
    if (!isUtf8(from.bytes.subarray(start, end))) {
      // At most three bytes for one that is bad: less than what there is room for. The copies
      // leave shared memory; Node decodes as the WHATWG does.
      const text = Buffer.from(from.bytes.subarray(start, end)).toString('utf8')
      this.isRepaired = true
      const repaired = paddedSource(Buffer.from(text))
      return this.writeText(repaired, 0, repaired.bytes.length - TAPE_PADDING)
    }
    const textStart = this.at
    this.at = writeEscaped(from.view, start, end, this.view, this.out, textStart)
    return this.at - textStart !== end - start
  }

  null(node: number): boolean {
    return this.#literal(node, NULL, 0, 4)
  }

  boolean(node: number, value: boolean): boolean {
    return value ? this.#literal(node, TRUE, 4, 4) : this.#literal(node, FALSE, 8, 5)
  }

  #literal(node: number, type: number, from: number, length: number): boolean {
    if (!this.room(length)) return false
    const { at, out } = this
    for (let i = 0; i < length; i++) out[at + i] = LITERALS[from + i]!
    this.at = at + length
    this.tape.push(node, type, at, this.at)
    return true
  }

  /** A signed integer of 64 bits in its two halves, as unsigned numbers. */
  int64(node: number, high: number, low: number): boolean {
    if (!this.room(INTEGER_BYTES_MAX)) return false
    const { at } = this
    this.at = writeInt64(this.out, at, high, low)
    this.tape.push(node, INT, at, this.at)
    return true
  }

  /** An unsigned integer of 64 bits as a string of its digits. */
  uint64String(node: number, high: number, low: number): boolean {
    if (!this.room(INTEGER_BYTES_MAX)) return false
    this.out[this.at++] = QUOTE
    const { at } = this
    this.at = writeUint64(this.out, at, high, low)
    this.tape.push(node, STRING, at, this.at)
    this.out[this.at++] = QUOTE
    return true
  }

  /** JSON has no words for those that are not finite: they become strings. */
  double(node: number, value: number): boolean {
    if (!Number.isFinite(value)) {
      const name = paddedSource(Buffer.from(String(value)))
      return this.string(node, name, 0, name.bytes.length - TAPE_PADDING)
    }
    if (!this.room(DOUBLE_BYTES_MAX)) return false
    const { at, out } = this
    const end = writeDouble(out, at, value)
    let type = FLOAT
    let digits = out[at] === MINUS ? at + 1 : at
    while (digits < end && (out[digits]! - 0x30) >>> 0 < 10) digits++
    if (digits === end) type = integerType(out, at, end)
    this.at = end
    this.tape.push(node, type, at, end)
    return true
  }

  /** Bytes as a string of lower-case hexadecimal digits. */
  hexString(node: number, bytes: Uint8Array, start: number, end: number): boolean {
    if (!this.room((end - start) * 2)) return false
    const { out } = this
    out[this.at++] = QUOTE
    let { at } = this
    const valueStart = at
    for (let i = start; i < end; i++) {
      const byte = bytes[i]!
      out[at++] = HEX[byte >> 4]!
      out[at++] = HEX[byte & 15]!
    }
    this.tape.push(node, STRING, valueStart, at)
    out[at] = QUOTE
    this.at = at + 1
    return true
  }

  /** Bytes as a string in base64, padded. */
  base64String(node: number, bytes: Uint8Array, start: number, end: number): boolean {
    if (end - start > EVENT_BYTES_MAX) {
      this.error = EVENT_TOO_LARGE
      return false
    }
    if (!this.room((end - start) * 2)) return false
    const { out } = this
    out[this.at++] = QUOTE
    let { at } = this
    const valueStart = at
    for (let i = start; i < end; i += 3) {
      const left = end - i
      const second = left > 1 ? bytes[i + 1]! : 0
      const third = left > 2 ? bytes[i + 2]! : 0
      const bits = (bytes[i]! << 16) | (second << 8) | third
      out[at++] = BASE64[bits >> 18]!
      out[at++] = BASE64[(bits >> 12) & 63]!
      out[at++] = left > 1 ? BASE64[(bits >> 6) & 63]! : PAD
      out[at++] = left > 2 ? BASE64[bits & 63]! : PAD
    }
    this.tape.push(node, STRING, valueStart, at)
    out[at] = QUOTE
    this.at = at + 1
    return true
  }
}
