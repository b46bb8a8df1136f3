/**
 * Cuts a body into batches while it arrives, where its cutter says. Copies each byte once, from the
 * network's buffer into a batch's.
 *
 * The beginning of a JSON body says whether it is an array, lines or one document. When the rest
 * does not fit that, the decoder rejects the whole body as malformed, never a part.
 */

import { BATCH_PADDING, type BatchBuffers } from '../../bytes/batch-buffers.ts'
import { copyBytes } from '../../bytes/copy-bytes.ts'
import { IngestError } from '../../errors.ts'
import { BATCH_BYTES_TARGET, BODY_AHEAD_BYTES, BODY_BYTES_MAX } from '../../limits.ts'
import { type Cutter, ElementCutter, LineCutter } from './cutters.ts'
import {
  ARRAY_CLOSE,
  ARRAY_NOT_CLOSED,
  ARRAY_OPEN,
  countLineFeeds,
  firstToken,
  isDocumentStart,
  notAnArray,
  trimEnd,
} from './json-framing.ts'

/** What a body consists of, and where it may be cut; without a cutter, nowhere. */
export interface BodyKind {
  readonly framing: string
  readonly cutter: Cutter | undefined
  /** In brackets, which are no part's; cut at commas, which are none's either. */
  readonly isArray?: boolean
}

/** A body that may be an array: its beginning shows it. */
export interface BodyKinds {
  /** The framing of an array's elements. */
  readonly array: string
  /** What any other body is; without it lines or one document, as its first line shows. */
  readonly other?: { readonly framing: string; readonly createCutter: () => Cutter }
}

export interface FramedPart {
  /** The batch's buffer, padding not written yet. Ownership passes to the sink. */
  readonly buffer: Uint8Array
  readonly framing: string
  readonly start: number
  readonly end: number
  /** Line feeds that were cut off before `start`. */
  readonly linesBefore: number
  /** See `Part`. */
  readonly options?: object | undefined
}

export interface FramerSink {
  readonly part: (part: FramedPart) => void
  /** The body is malformed as a whole; nothing more follows. */
  readonly fail: (error: IngestError) => void
}

/** Cuts one body. */
export interface Framer {
  /** Takes a copy of `bytes`. */
  push(bytes: Uint8Array): void
  /** The body is complete: hands out the rest. */
  end(): void
  /** Gives the buffer back; nothing more is handed out. */
  discard(): void
}

const LINE_FEED = 0x0a

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

export class BodyFramer implements Framer {
  readonly #buffers: BatchBuffers
  readonly #sink: FramerSink
  readonly #target: number
  #buffer: Uint8Array | undefined
  #length = 0
  /** Undefined while the beginning of a body does not tell. */
  #kind: BodyKind | undefined
  readonly #kinds: BodyKinds | undefined
  /** Where the current part starts in the buffer: after the opening bracket of an array. */
  #start = 0
  #linesBefore = 0
  #parts = 0
  /** How far the search for the body's first token has come: each byte is examined once. */
  #first = 0
  /** The same for the end of its first line. */
  #firstLine = 0

  /** `declaredBytes`: the Content-Length where it is the length of what is pushed, else 0. */
  constructor(
    kind: BodyKind | BodyKinds,
    declaredBytes: number,
    buffers: BatchBuffers,
    sink: FramerSink,
  ) {
    if ('array' in kind) this.#kinds = kind
    else this.#kind = kind
    this.#buffers = buffers
    this.#sink = sink
    // A body a little over the target makes two equal batches rather than a large and a tiny one.
    const batches = Math.max(1, Math.ceil(declaredBytes / BATCH_BYTES_TARGET))
    this.#target = declaredBytes > 0 ? Math.ceil(declaredBytes / batches) : BATCH_BYTES_TARGET
  }

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

  end(): void {
    const buffer = this.#buffer
    if (buffer === undefined) return
    if (this.#length === 0) {
      // The last cut was at the last byte. After a comma, an array must go on and be closed.
      if (this.#isArray) this.#sink.fail(new IngestError('malformed', ARRAY_NOT_CLOSED))
      return this.discard()
    }
    this.#kind ??= this.#detect(buffer, true)
    let end = this.#length
    if (this.#isArray) {
      end = trimEnd(buffer, this.#start, end) - 1
      if (end < this.#start || buffer[end] !== ARRAY_CLOSE) {
        this.#sink.fail(notAnArray(buffer, this.#start, this.#length))
        return this.discard()
      }
      const isEmpty = firstToken(buffer, this.#start, end) === end
      if (isEmpty && this.#parts === 0) return this.discard()
    }
    this.#emit(buffer, end)
    this.#buffer = undefined
  }

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

  get #isArray(): boolean {
    return this.#kind?.isArray === true
  }

  #tryCut(): void {
    const buffer = this.#buffer!
    this.#kind ??= this.#detect(buffer, false)
    const cutter = this.#kind?.cutter
    const cut = cutter?.cut(buffer, this.#length) ?? -1
    if (cut < 0) return
    const keepFrom = this.#isArray ? cut + 1 : cut
    const rest = buffer.subarray(keepFrom, this.#length)
    const next = this.#buffers.take(Math.max(rest.length, this.#target))
    copyBytes(next, rest, 0)
    this.#emit(buffer, cut)
    this.#buffer = next
    this.#length = rest.length
    this.#start = 0
    cutter?.reset()
  }

  #emit(buffer: Uint8Array, end: number): void {
    const { framing } = this.#kind!
    const linesBefore = this.#linesBefore
    this.#sink.part({ buffer, framing, start: this.#start, end, linesBefore })
    this.#linesBefore = 0
    this.#parts++
  }

  /** What a body consists of; undefined while its beginning does not tell. */
  #detect(buffer: Uint8Array, isWhole: boolean): BodyKind | undefined {
    const first = firstToken(buffer, this.#first, this.#length)
    this.#first = first
    if (first === this.#length) return isWhole ? lines() : undefined
    if (buffer[first] === ARRAY_OPEN) {
      this.#start = first + 1
      this.#linesBefore = countLineFeeds(buffer, first)
      const framing = this.#kinds!.array
      return { framing, cutter: new ElementCutter('comma', this.#start), isArray: true }
    }
    const other = this.#kinds?.other
    if (other !== undefined) return { framing: other.framing, cutter: other.createCutter() }
    const from = Math.max(first, this.#firstLine)
    const firstLineEnd = buffer.subarray(from, this.#length).indexOf(LINE_FEED)
    this.#firstLine = firstLineEnd < 0 ? this.#length : from
    if (firstLineEnd < 0) return isWhole ? lines() : undefined
    const isDocument = isDocumentStart(buffer, first, from + firstLineEnd)
    return isDocument ? { framing: 'document', cutter: undefined } : lines()
  }
}

function lines(): BodyKind {
  return { framing: 'ndjson', cutter: new LineCutter() }
}
