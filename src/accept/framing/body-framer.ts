/**
 * Cuts a body into batches while it arrives: at line ends, between bulk actions with their
 * documents, or at the commas between an array's elements. Copies each byte once, from the
 * network's buffer into a batch's.
 *
 * The beginning of an `application/json` body says whether it is an array, lines or one document.
 * When the rest does not fit that, the decoder rejects the whole body as malformed, never a part.
 */

import { BATCH_PADDING, type BatchBuffers } from '../../bytes/batch-buffers.ts'
import { copyBytes } from '../../bytes/copy-bytes.ts'
import { IngestError } from '../../errors.ts'
import { BATCH_BYTES_TARGET, BODY_AHEAD_BYTES, BODY_BYTES_MAX } from '../../limits.ts'
import type { Framing, Part } from '../../model/batch/accepted-batch.ts'
import { BulkCutter } from '../surfaces/elastic/bulk-framing.ts'
import {
  ElementScanner,
  firstToken,
  isArrayClosed,
  isDocumentStart,
  trimEnd,
} from './json-framing.ts'

/** What a client declares its body to be: a framing, or JSON, whose beginning shows the framing. */
export type BodyKind = Framing | 'json'

export interface FramedPart {
  /** The batch's buffer, padding not written yet. Ownership passes to the sink. */
  readonly buffer: Uint8Array
  readonly framing: Framing
  readonly start: number
  readonly end: number
  /** Line feeds that were cut off before `start`. */
  readonly linesBefore: number
  /** See `Part`. */
  readonly resume?: Part['resume']
  readonly continues?: Part['continues']
}

export interface FramerSink {
  readonly part: (part: FramedPart) => void
  /** The body is malformed as a whole; nothing more follows. */
  readonly fail: (error: IngestError) => void
}

const LINE_FEED = 0x0a
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const ARRAY_NOT_CLOSED = "invalid JSON: the array is not closed by ']' at the end of the body"
const TEXT_BEHIND_ARRAY = "invalid JSON: there is text behind the ']' that closes the array"

/** Why a body that begins as an array is not one. `start` is somewhere between its elements. */
function notAnArray(bytes: Uint8Array, start: number, end: number): IngestError {
  const isClosed = isArrayClosed(bytes, start, end)
  return new IngestError('malformed', isClosed ? TEXT_BEHIND_ARRAY : ARRAY_NOT_CLOSED)
}

function countLineFeeds(bytes: Uint8Array, end: number): number {
  let count = 0
  for (let i = 0; i < end; i++) if (bytes[i] === LINE_FEED) count++
  return count
}

/**
 * Size of a body's first buffer. It depends on what has arrived, not on Content-Length: otherwise
 * a single byte on each of many connections would cost a batch of memory per connection.
 */
export function firstBytes(cameBytes: number, target: number): number {
  const ahead = Math.min(2 * cameBytes + BODY_AHEAD_BYTES, target)
  return Math.min(Math.max(cameBytes, ahead), BATCH_BYTES_TARGET)
}

/** Size of the next buffer when `length` bytes have filled one. */
export function moreBytes(length: number, target: number): number {
  if (length < target) return Math.min(2 * length, target)
  // An event longer than a batch. The body's own limit bounds it.
  return Math.max(Math.min(2 * length, BODY_BYTES_MAX + BATCH_PADDING), length + 1)
}

export class BodyFramer {
  readonly #kind: BodyKind
  readonly #buffers: BatchBuffers
  readonly #sink: FramerSink
  readonly #target: number
  #buffer: Uint8Array | undefined
  #length = 0
  #framing: Framing | undefined
  /** Where the current part starts in the buffer: after the opening bracket of an array. */
  #start = 0
  #linesBefore = 0
  #parts = 0
  /** How far the search for the body's first token has come: each byte is examined once. */
  #first = 0
  /** Bytes already searched for a place to cut. */
  #searched = 0
  #cut = -1
  readonly #elements = new ElementScanner()
  readonly #actions = new BulkCutter()

  /** `declaredBytes`: the Content-Length where it is the length of what is pushed, else 0. */
  constructor(kind: BodyKind, declaredBytes: number, buffers: BatchBuffers, sink: FramerSink) {
    this.#kind = kind
    this.#buffers = buffers
    this.#sink = sink
    // A body a little over the target makes two equal batches rather than a large and a tiny one.
    const batches = Math.max(1, Math.ceil(declaredBytes / BATCH_BYTES_TARGET))
    this.#target = declaredBytes > 0 ? Math.ceil(declaredBytes / batches) : BATCH_BYTES_TARGET
  }

  /**
   * The framing of a whole `application/json` body, and the bytes to decode with it: for an array,
   * those between its brackets. No bytes for an empty body or array.
   */
  static detectWhole(
    bytes: Uint8Array,
  ): { framing: Framing; bytes: Uint8Array; linesBefore?: number } | IngestError {
    const first = firstToken(bytes, 0, bytes.length)
    if (first === bytes.length) return { framing: 'ndjson', bytes: bytes.subarray(0, 0) }
    if (bytes[first] !== OPEN_ARRAY) {
      const lineEnd = bytes.indexOf(LINE_FEED, first)
      const isDocument = lineEnd >= 0 && isDocumentStart(bytes, first, lineEnd)
      return { framing: isDocument ? 'document' : 'ndjson', bytes }
    }
    const end = trimEnd(bytes, first, bytes.length) - 1
    if (end === first || bytes[end] !== CLOSE_ARRAY) {
      return notAnArray(bytes, first + 1, bytes.length)
    }
    const isEmpty = firstToken(bytes, first + 1, end) === end
    const inner = isEmpty ? bytes.subarray(0, 0) : bytes.subarray(first + 1, end)
    return { framing: 'array', bytes: inner, linesBefore: countLineFeeds(bytes, first) }
  }

  /** Takes a copy of `bytes`. */
  push(bytes: Uint8Array): void {
    let at = 0
    while (at < bytes.length) {
      const buffer = this.#room(bytes.length - at)
      const count = Math.min(bytes.length - at, buffer.length - BATCH_PADDING - this.#length)
      copyBytes(buffer, bytes.subarray(at, at + count), this.#length)
      this.#length += count
      at += count
      if (this.#length >= this.#target) this.#tryCut()
    }
  }

  /** The body is complete: hands out the rest. */
  end(): void {
    const buffer = this.#buffer
    if (buffer === undefined) return
    if (this.#length === 0) {
      // The last cut was at the last byte. After a comma, an array must go on and be closed.
      if (this.#framing === 'array') this.#sink.fail(new IngestError('malformed', ARRAY_NOT_CLOSED))
      return this.discard()
    }
    this.#framing ??= this.#detect(buffer, true)
    let end = this.#length
    if (this.#framing === 'array') {
      end = trimEnd(buffer, this.#start, end) - 1
      if (end < this.#start || buffer[end] !== CLOSE_ARRAY) {
        this.#sink.fail(notAnArray(buffer, this.#start, this.#length))
        return this.discard()
      }
      const isEmpty = firstToken(buffer, this.#start, end) === end
      if (isEmpty && this.#parts === 0) return this.discard()
    }
    this.#emit(buffer, end)
    this.#buffer = undefined
  }

  /** Gives the buffer back; nothing more is handed out. */
  discard(): void {
    if (this.#buffer !== undefined) this.#buffers.release(this.#buffer)
    this.#buffer = undefined
    this.#length = 0
  }

  /** The buffer, with room for at least one more byte. */
  #room(wanted: number): Uint8Array {
    const buffer = this.#buffer
    if (buffer === undefined) {
      this.#buffer = this.#buffers.take(firstBytes(wanted, this.#target))
      return this.#buffer
    }
    if (this.#length < buffer.length - BATCH_PADDING) return buffer
    this.#buffer = this.#buffers.grow(buffer, this.#length, moreBytes(this.#length, this.#target))
    return this.#buffer
  }

  #tryCut(): void {
    const buffer = this.#buffer!
    this.#framing ??= this.#detect(buffer, false)
    if (this.#framing === undefined) return
    if (this.#framing === 'document' || this.#framing === 'otlp-json') return
    const cut = this.#findCut(buffer)
    if (cut < 0) return
    const keepFrom = this.#framing === 'array' ? cut + 1 : cut
    const rest = buffer.subarray(keepFrom, this.#length)
    const next = this.#buffers.take(Math.max(rest.length, this.#target))
    copyBytes(next, rest, 0)
    this.#emit(buffer, cut)
    this.#buffer = next
    this.#length = rest.length
    this.#start = 0
    this.#searched = 0
    this.#cut = -1
    this.#elements.reset()
    this.#actions.reset()
  }

  /** The last place to cut at, or -1. */
  #findCut(buffer: Uint8Array): number {
    if (this.#framing === 'array') return this.#lastComma(buffer)
    if (this.#framing === 'bulk') return this.#actions.cut(buffer, this.#length)
    return this.#lastLineEnd(buffer)
  }

  #emit(buffer: Uint8Array, end: number): void {
    const framing = this.#framing!
    const linesBefore = this.#linesBefore
    this.#sink.part({ buffer, framing, start: this.#start, end, linesBefore })
    this.#linesBefore = 0
    this.#parts++
  }

  /** Just after the last line feed, or -1. */
  #lastLineEnd(buffer: Uint8Array): number {
    const fresh = buffer.subarray(this.#searched, this.#length)
    const found = fresh.lastIndexOf(LINE_FEED)
    if (found >= 0) this.#cut = this.#searched + found + 1
    this.#searched = this.#length
    return this.#cut
  }

  /** The last comma between elements, or -1. */
  #lastComma(buffer: Uint8Array): number {
    const from = Math.max(this.#searched, this.#start)
    const found = this.#elements.scan(buffer, from, this.#length)
    if (found >= 0) this.#cut = found
    this.#searched = this.#length
    return this.#cut
  }

  /** How the body is framed; undefined while its beginning does not tell. */
  #detect(buffer: Uint8Array, isWhole: boolean): Framing | undefined {
    if (this.#kind !== 'json') return this.#kind
    const first = firstToken(buffer, this.#first, this.#length)
    this.#first = first
    if (first === this.#length) return isWhole ? 'ndjson' : undefined
    if (buffer[first] === OPEN_ARRAY) {
      this.#start = first + 1
      this.#linesBefore = countLineFeeds(buffer, first)
      return 'array'
    }
    const from = Math.max(first, this.#searched)
    const firstLineEnd = buffer.subarray(from, this.#length).indexOf(LINE_FEED)
    this.#searched = firstLineEnd < 0 ? this.#length : from
    if (firstLineEnd < 0) return isWhole ? 'ndjson' : undefined
    return isDocumentStart(buffer, first, from + firstLineEnd) ? 'document' : 'ndjson'
  }
}
