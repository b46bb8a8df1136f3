/**
 * Writes events that transforms changed, and puts them where those before them were.
 *
 * Encoding takes one run of bytes and one tape a batch. So with the first change the batch's bytes
 * are copied as a whole to a buffer of ours, where every position stays what it is; changed events
 * are written behind them, and their entries behind the batch's entries. Events that did not
 * change cost a share of one `memcpy`, and nothing where no event changed.
 *
 * Two ways to write: `splice` moves the entries along with the bytes and is for edits of values
 * outside arrays; `rewrite` parses the new text, and is for everything else.
 */
import assert from 'node:assert/strict'
import { REWRITE_BUFFER_KEEP_BYTES } from '../../src/limits.ts'
import type { DecodedEvents } from '../decode/decoded-events.ts'
import { EventBuffer } from '../decode/event-buffer.ts'
import { type JsonTape, TAPE_PADDING } from '../decode/json-tape.ts'
import { ROOT } from '../decode/path-trie.ts'
import { ARRAY, ENTRY, NULL, STRING } from '../decode/tape-types.ts'
import { copyRange } from '../kernel/arena-copy.ts'
import { kernels } from '../kernel/kernels.ts'
import { type Edits, REDACTED_STRING } from './edits.ts'

const LINE_FEED = 0x0a
const BYTES = Int32Array.BYTES_PER_ELEMENT

export class EventRewriter {
  readonly #out = new EventBuffer()
  #tape: JsonTape | undefined
  #events: DecodedEvents | undefined
  #bytes: Uint8Array = new Uint8Array(0)
  #view: DataView = viewOf(this.#bytes)
  #isOpen = false

  /** Starts a batch as decode left it. */
  begin(tape: JsonTape, events: DecodedEvents, bytes: Uint8Array): void {
    this.#out.reset(REWRITE_BUFFER_KEEP_BYTES)
    this.#tape = tape
    this.#events = events
    this.#bytes = tape.batch.hold(bytes)
    this.#view = viewOf(this.#bytes)
    this.#isOpen = false
  }

  /** What all events' positions refer to now. Changes with every write. */
  get bytes(): Uint8Array {
    return this.#bytes
  }

  /** Where the next event would be written; 0 when none was. */
  get length(): number {
    return this.#isOpen ? this.#out.length : 0
  }

  get view(): DataView {
    return this.#view
  }

  /** Writes event `index` with its edits, all of which have an entry outside arrays. */
  splice(index: number, edits: Edits): void {
    const events = this.#events!
    const tape = this.#tape!
    const tapeStart = tape.length
    const tapeEnd = events.tapeEnd[index]!
    const eventEnd = events.end[index]!
    const out = this.open(eventEnd - events.start[index]! + edits.growthMax)
    const outStart = out.length
    let pos = events.start[index]!
    let entry = events.tapeStart[index]!
    for (let i = 0; i < edits.count; i++) {
      const isInsertion = edits.start[i] === edits.end[i]
      const stop = edits.entry[i]! + (isInsertion ? ENTRY : 0)
      if (entry < stop) copyEntries(tape, entry, stop, out.length - pos)
      entry = stop
      pos = this.#copyEdit(edits, i, pos)
      const textStart = out.length - edits.text[i]!.length
      if (!isInsertion) {
        entry = pushReplaced(tape, stop, textStart, edits.text[i]!)
      } else {
        edits.object[i]?.append(tape, edits.node[i]!, textStart)
      }
    }
    copyEntries(tape, entry, tapeEnd, out.length - pos)
    this.#finish(index, outStart, pos, eventEnd, tapeStart)
  }

  /** Writes event `index` with any edits. */
  rewrite(index: number, edits: Edits): void {
    const events = this.#events!
    const tape = this.#tape!
    const eventEnd = events.end[index]!
    const out = this.open(eventEnd - events.start[index]! + edits.growthMax)
    const tapeStart = tape.length
    const outStart = out.length
    let pos = events.start[index]!
    for (let i = 0; i < edits.count; i++) {
      if (edits.reason[i] !== 0 && edits.start[i]! >= pos) pos = this.#copyEdit(edits, i, pos)
    }
    this.#finish(index, outStart, pos, eventEnd, tapeStart)
    const end = tape.parse(outStart, ROOT, false)
    assert.equal(end, out.length - 1, 'a rewritten event is JSON')
    events.tapeEnd[index] = tape.length
  }

  /**
   * Makes room for `more` bytes behind `length` of the buffer that is returned, and copies the
   * batch there first if that was not done.
   */
  open(more: number): EventBuffer {
    const out = this.#out
    const events = this.#events!
    if (!this.#isOpen) {
      const length = events.end[events.count - 1]!
      out.length = 0
      out.reserve(length + 1 + more + TAPE_PADDING)
      copyRange(out.bytes, 0, this.#bytes, 0, length)
      out.bytes[length] = LINE_FEED
      out.length = length + 1
      this.#isOpen = true
    } else {
      out.reserve(more + 1 + TAPE_PADDING)
    }
    if (out.bytes !== this.#bytes) {
      this.#bytes = out.bytes
      this.#view = out.view
      this.#tape!.extend(out.bytes)
    }
    return out
  }

  /** Copies up to the edit, then its text; returns where in the source it goes on. */
  #copyEdit(edits: Edits, i: number, pos: number): number {
    const out = this.#out
    const start = edits.start[i]!
    if (start > pos) out.length = copyRange(out.bytes, out.length, out.bytes, pos, start)
    const text = edits.text[i]!
    out.length = copyRange(out.bytes, out.length, text, 0, text.length)
    return edits.end[i]!
  }

  #finish(index: number, start: number, pos: number, eventEnd: number, tapeStart: number): void {
    const out = this.#out
    const end = copyRange(out.bytes, out.length, out.bytes, pos, eventEnd)
    out.length = end
    out.bytes[out.length++] = LINE_FEED
    this.#events!.move(index, { start, end }, tapeStart, this.#tape!.length)
  }
}

/** Appends the entries `from`..`to` once more, their positions moved by `shift` bytes. */
export function copyEntries(tape: JsonTape, from: number, to: number, shift: number): void {
  tape.reserve(to - from)
  const { entries, length } = tape
  const address = entries.byteOffset
  kernels.copyEntries(
    address + from * BYTES,
    address + to * BYTES,
    address + length * BYTES,
    shift,
    length - from,
  )
  tape.length = length + to - from
}

/** Appends what became of the value at `entry`; returns the entry behind that value's. */
function pushReplaced(tape: JsonTape, entry: number, textStart: number, text: Uint8Array): number {
  const { entries } = tape
  const node = entries[entry]!
  const next = entries[entry + 1] === ARRAY ? entries[entry + 7]! : entry + ENTRY
  const textEnd = textStart + text.length
  if (text === REDACTED_STRING) tape.push(node, STRING, textStart + 1, textEnd - 1)
  else tape.push(node, NULL, textStart, textEnd)
  return next
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
