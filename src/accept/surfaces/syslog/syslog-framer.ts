/**
 * Cuts what comes on one connection into messages (RFC 6587), of which each may be framed in its
 * own way:
 *
 *   123 <34>…        123 bytes, whatever they are
 *   <34>…\n          up to a line feed or a NUL
 *
 * A length counts as one only where a priority follows it: a message without a priority may begin
 * with a number, and one with a length always has a priority. Line feeds, carriage returns and NULs
 * at the end of a message are not its own; without anything else there is no message.
 *
 * Guarantee: where the bytes are cut on their way does not show in the messages. No more is kept
 * than one message; of what is longer, the rest is skipped.
 */
import { SYSLOG_MESSAGE_BYTES_MAX } from '../../../limits.ts'

export interface FramerSink {
  /** The bytes are the callee's until it returns. */
  readonly message: (bytes: Uint8Array, start: number, end: number, isCut: boolean) => void
  /** The half of a message that is kept is so much larger or smaller. Throws to refuse it. */
  readonly halfGrew: (bytes: number) => void
}

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const SPACE = 0x20
const DIGIT_0 = 0x30
const DIGIT_1 = 0x31
const DIGIT_9 = 0x39
const LESS_THAN = 0x3c
const LENGTH_DIGITS_MAX = 9
/** Of the buffer for halves; it doubles from there. */
const HALF_BYTES_MIN = 1024
const UTF8_BYTES_MAX = 4
const NOTHING = new Uint8Array(0)

/** What is known of the message that the position is in. */
const AT_START = 0
const IN_LINE = 1
const IN_COUNTED = 2
const SKIPPING_LINE = 3
const SKIPPING_COUNTED = 4

/** What a beginning says, where it is no length. */
const IS_LINE = -1
const IS_SHORT = -2

export class SyslogFramer {
  readonly #sink: FramerSink
  #state = AT_START
  /** Bytes of a counted message that have not come. */
  #left = 0
  #half = NOTHING
  #halfLength = 0
  /** Behind the last length that `#lengthAt` read. */
  #bodyStart = 0

  constructor(sink: FramerSink) {
    this.#sink = sink
  }

  push(chunk: Uint8Array): void {
    const { length } = chunk
    let pos = 0
    let nul = chunk.indexOf(0)
    while (pos < length) {
      if (nul >= 0 && nul < pos) nul = chunk.indexOf(0, pos)
      switch (this.#state) {
        case AT_START:
          pos = this.#begin(chunk, pos)
          break
        case IN_COUNTED:
          pos = this.#takeCounted(chunk, pos)
          break
        case SKIPPING_COUNTED: {
          const count = Math.min(this.#left, length - pos)
          this.#left -= count
          pos += count
          if (this.#left === 0) this.#state = AT_START
          break
        }
        default:
          pos = this.#takeLine(chunk, pos, nul)
      }
    }
  }

  /** Nothing more will come. `isEarly`: because we stopped reading. */
  end(isEarly = false): void {
    if (this.#halfLength > 0) {
      // A line that ends with its connection is taken for whole, a count that is not met is not.
      this.#emit(this.#half, 0, this.#halfLength, isEarly || this.#state === IN_COUNTED)
    }
    this.discard()
  }

  /** Gives back what it keeps. */
  discard(): void {
    this.#resize(0)
    this.#half = NOTHING
    this.#state = AT_START
  }

  #begin(chunk: Uint8Array, from: number): number {
    let pos = from
    if (this.#halfLength === 0) {
      while (pos < chunk.length && isTrailer(chunk[pos]!)) pos++
      if (pos === chunk.length) return pos
      const length = this.#lengthAt(chunk, pos, chunk.length)
      if (length === IS_SHORT) {
        this.#keep(chunk, pos, chunk.length)
        return chunk.length
      }
      if (length === IS_LINE) {
        this.#state = IN_LINE
        return pos
      }
      this.#count(length)
      return this.#bodyStart
    }
    // Its first bytes came before: one more at a time, a few times.
    this.#keep(chunk, pos, pos + 1)
    const length = this.#lengthAt(this.#half, 0, this.#halfLength)
    if (length === IS_LINE) {
      // The byte may be what ends the line: it is looked at again.
      this.#resize(this.#halfLength - 1)
      this.#state = IN_LINE
      return pos
    }
    if (length === IS_SHORT) return pos + 1
    // Of the message itself there is only its first byte, which is looked at again.
    this.#resize(0)
    this.#count(length)
    return pos
  }

  #count(length: number): void {
    this.#left = length
    this.#state = IN_COUNTED
  }

  /** The length that a message begins with, where one does. */
  #lengthAt(bytes: Uint8Array, start: number, end: number): number {
    const first = bytes[start]!
    if (first < DIGIT_1 || first > DIGIT_9) return IS_LINE
    let length = 0
    let pos = start
    while (pos < end && bytes[pos]! >= DIGIT_0 && bytes[pos]! <= DIGIT_9) {
      if (pos - start === LENGTH_DIGITS_MAX) return IS_LINE
      length = length * 10 + bytes[pos++]! - DIGIT_0
    }
    if (pos === end) return IS_SHORT
    if (bytes[pos++] !== SPACE) return IS_LINE
    if (pos === end) return IS_SHORT
    this.#bodyStart = pos
    return bytes[pos] === LESS_THAN ? length : IS_LINE
  }

  #takeCounted(chunk: Uint8Array, pos: number): number {
    const room = SYSLOG_MESSAGE_BYTES_MAX - this.#halfLength
    const count = Math.min(this.#left, chunk.length - pos, room)
    const end = pos + count
    this.#left -= count
    const isFull = count === room && this.#left > 0
    if (this.#left > 0 && !isFull) {
      this.#keep(chunk, pos, end)
      return end
    }
    this.#finish(chunk, pos, end, isFull)
    this.#state = isFull ? SKIPPING_COUNTED : AT_START
    return end
  }

  #takeLine(chunk: Uint8Array, pos: number, nul: number): number {
    const feed = chunk.indexOf(LINE_FEED, pos)
    const stop = feed < 0 ? nul : nul < 0 ? feed : Math.min(feed, nul)
    const end = stop < 0 ? chunk.length : stop
    const next = stop < 0 ? chunk.length : stop + 1
    if (this.#state === SKIPPING_LINE) {
      if (stop >= 0) this.#state = AT_START
      return next
    }
    const room = SYSLOG_MESSAGE_BYTES_MAX - this.#halfLength
    if (end - pos > room) {
      const full = pos + room
      this.#finish(chunk, pos, full, true)
      this.#state = SKIPPING_LINE
      return full
    }
    if (stop < 0) {
      this.#keep(chunk, pos, end)
      return next
    }
    this.#finish(chunk, pos, end, false)
    this.#state = AT_START
    return next
  }

  /** The message ends with these bytes. */
  #finish(chunk: Uint8Array, start: number, end: number, isCut: boolean): void {
    if (this.#halfLength === 0) return this.#emit(chunk, start, end, isCut)
    this.#keep(chunk, start, end)
    this.#emit(this.#half, 0, this.#halfLength, isCut)
    this.#resize(0)
    if (this.#half.length > HALF_BYTES_MIN) this.#half = NOTHING
  }

  #emit(bytes: Uint8Array, start: number, end: number, isCut: boolean): void {
    let last = isCut ? wholeCharacters(bytes, start, end) : end
    while (last > start && isTrailer(bytes[last - 1]!)) last--
    if (last > start) this.#sink.message(bytes, start, last, isCut)
  }

  #keep(chunk: Uint8Array, start: number, end: number): void {
    const length = this.#halfLength + end - start
    const before = this.#halfLength
    this.#resize(length)
    if (length > this.#half.length) {
      const size = Math.min(Math.max(HALF_BYTES_MIN, 2 * length), SYSLOG_MESSAGE_BYTES_MAX)
      const grown = new Uint8Array(size)
      grown.set(this.#half.subarray(0, before))
      this.#half = grown
    }
    this.#half.set(chunk.subarray(start, end), before)
  }

  #resize(length: number): void {
    if (length !== this.#halfLength) this.#sink.halfGrew(length - this.#halfLength)
    this.#halfLength = length
  }
}

/** Where the last character begins that the end cuts in two, as UTF-8 has it; else the end. */
function wholeCharacters(bytes: Uint8Array, start: number, end: number): number {
  let first = end - 1
  while (first > start && end - first < UTF8_BYTES_MAX && (bytes[first]! & 0xc0) === 0x80) first--
  const lead = bytes[first] ?? 0
  const size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return first + size > end ? first : end
}

function isTrailer(byte: number): boolean {
  return byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === 0
}
