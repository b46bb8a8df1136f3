/**
 * Members of an event, gathered and then written at once by a kernel (`kernels/decode/pieces.ts`):
 * texts of the batch, and members that were captured when they were written before. Each begins
 * with a comma, but for the first one, which begins with the event's brace.
 */
import { EVENT_BYTES_MAX } from '../../src/limits.ts'
import { arena } from '../kernel/arena.ts'
import { ArenaText, copyRange, heldBytes } from '../kernel/arena-copy.ts'
import { kernels } from '../kernel/kernels.ts'
import { ESCAPE_BYTES_MAX } from '../tape/json-escape.ts'
import { ENTRY } from '../tape/tape-types.ts'
import type { EventBuilder } from './event-builder.ts'
import { EVENT_TOO_LARGE } from './scalar-writer.ts'

const OPEN_OBJECT = 0x7b
/** Of `Piece` in the kernel. */
const INTEGERS = 5
/** What the kernel wants to have left behind the last piece. */
const MARGIN = 48
const NO_ADDRESS = 0

/** What comes before a text: a comma, the key, a colon and a quote. */
export function pieceKey(name: string): ArenaText {
  return new ArenaText(heldBytes(Buffer.from(`,${JSON.stringify(name)}:"`)))
}

/** Members that are copied into many events. */
export class KeptMembers {
  /** Addresses; NO_ADDRESS where nothing was captured. */
  text = NO_ADDRESS
  textLength = 0
  entries = NO_ADDRESS
  entriesLength = 0
  #bytes = arena.buffer(0)
  #integers = arena.int32(0)

  get isCaptured(): boolean {
    return this.text !== NO_ADDRESS
  }

  /** They count no more: their nodes are gone. */
  forget(): void {
    this.text = NO_ADDRESS
  }

  /** Takes a copy of the scalars written since `start`, when the tape was at `tapeStart`. */
  capture(builder: EventBuilder, start: number, tapeStart: number): void {
    const { tape, out } = builder
    const length = builder.at - start
    const integers = tape.length - tapeStart
    this.#bytes = arena.replaced(this.#bytes, arena.buffer(length))
    copyRange(this.#bytes, 0, out, start, builder.at)
    this.#integers = arena.replaced(this.#integers, arena.int32(integers))
    this.#integers.set(tape.entries.subarray(tapeStart, tape.length))
    for (let at = 0; at < integers; at += ENTRY) {
      this.#integers[at + 2]! -= start
      this.#integers[at + 3]! -= start
    }
    this.text = this.#bytes.byteOffset
    this.textLength = length
    this.entries = this.#integers.byteOffset
    this.entriesLength = integers
  }
}

export class EventPieces {
  count = 0
  readonly #pieces: Int32Array
  readonly #address: number
  // Where arrays are: asked for only when they were replaced, as V8 calls a function for that.
  #out: Uint8Array = new Uint8Array(0)
  #outAddress = 0
  #entries: Int32Array = new Int32Array(0)
  #entriesAddress = 0
  /** What they may take. */
  #bytes = 0
  #integers = 0

  /** For so many pieces at most. */
  constructor(countMax: number) {
    this.#pieces = arena.addresses(INTEGERS * countMax)
    this.#address = this.#pieces.byteOffset
  }

  /** Begins an event. */
  begin(): void {
    this.count = 0
    this.#bytes = MARGIN
    this.#integers = 0
  }

  /** Adds a text by its addresses, the arena's. */
  addText(node: number, key: ArenaText, start: number, end: number): void {
    this.#add(node, key.address, key.length, start, end)
    this.#bytes += key.length + (end - start) * ESCAPE_BYTES_MAX + 1
    this.#integers += ENTRY
  }

  /** Adds a text, and before it what is between two addresses and ends with its quote. */
  addBetween(node: number, from: number, to: number, start: number, end: number): void {
    this.#add(node, from, to - from, start, end)
    this.#bytes += to - from + (end - start) * ESCAPE_BYTES_MAX + 1
    this.#integers += ENTRY
  }

  /** Adds what is between two addresses, which has no entries. */
  addRaw(from: number, to: number): void {
    this.#add(0, from, to - from, from, from)
    this.#bytes += to - from
  }

  addKept(kept: KeptMembers): void {
    const entriesEnd = kept.entries + kept.entriesLength * Int32Array.BYTES_PER_ELEMENT
    this.#add(0, kept.text, kept.textLength, kept.entries, entriesEnd)
    this.#bytes += kept.textLength
    this.#integers += kept.entriesLength
  }

  #add(node: number, text: number, length: number, start: number, end: number): void {
    const pieces = this.#pieces
    let at = this.count++ * INTEGERS
    pieces[at++] = node
    pieces[at++] = text
    pieces[at++] = length
    pieces[at++] = start
    pieces[at] = end
  }

  /** Writes the brace of the event and all pieces, of which there is one; false if too large. */
  write(builder: EventBuilder): boolean {
    const { tape } = builder
    const bytes = this.#bytes
    if (bytes > EVENT_BYTES_MAX * ESCAPE_BYTES_MAX) {
      builder.error = EVENT_TOO_LARGE
      return false
    }
    if (!builder.room(bytes)) return false
    tape.reserve(this.#integers)
    if (this.#out !== builder.out) {
      this.#out = builder.out
      this.#outAddress = builder.out.byteOffset
    }
    if (this.#entries !== tape.entries) {
      this.#entries = tape.entries
      this.#entriesAddress = tape.entries.byteOffset
    }
    const out = this.#outAddress
    const open = builder.at
    const entries = this.#entriesAddress + tape.length * Int32Array.BYTES_PER_ELEMENT
    const to = out + open
    const end = kernels.writePieces(this.#address, this.count, out, to, to + bytes, entries)
    if (end === 0) return false
    builder.out[open] = OPEN_OBJECT
    builder.at = end - out
    tape.length += this.#integers
    return true
  }
}
