/**
 * Writes events that transforms changed, and lets them replace the events as they were.
 *
 * Encoding takes one sequence of bytes and one tape per batch. So changed events are written into
 * the batch's own buffer, after its bytes, and their entries after the batch's entries. Events that
 * did not change cost nothing, and stay where they are.
 *
 * Two ways to write: `splice` moves the entries along with the bytes and is for edits of values
 * outside arrays; `rewrite` parses the new text, and is for everything else.
 */
import assert from 'node:assert/strict'
import { arena } from '../../kernel/arena.ts'
import { copyRange } from '../../kernel/arena-copy.ts'
import { kernels } from '../../kernel/kernels.ts'
import type { DecodedEvents } from '../../tape/decoded-events.ts'
import type { EventBuffer } from '../../tape/event-buffer.ts'
import type { JsonTape } from '../../tape/json-tape.ts'
import { ROOT } from '../../tape/path-trie.ts'
import { type Edits, REDACTED_STRING } from './edits.ts'

const LINE_FEED = 0x0a
const BYTES = Int32Array.BYTES_PER_ELEMENT
/** Integers of an edit for the kernel; what it does (`kernels/splice.ts`). */
const STAGED = 8
const INSERT = 0
const BY_STRING = 1
const BY_NULL = 2

export class EventRewriter {
  #out: EventBuffer | undefined
  #tape: JsonTape | undefined
  #events: DecodedEvents | undefined
  #staged = arena.addresses(2 * STAGED)
  #stagedAddress = this.#staged.byteOffset

  /** Starts a batch as decode left it, with its events in `buffer`. */
  begin(tape: JsonTape, events: DecodedEvents, buffer: EventBuffer): void {
    assert(events.count === 0 || events.end[events.count - 1]! <= buffer.length, 'events in it')
    this.#out = buffer
    this.#tape = tape
    this.#events = events
    // What decode read lies there still, whichever view of it that was.
    tape.extend(buffer.bytes)
  }

  /** What all events' positions refer to now. Changes with every write. */
  get bytes(): Buffer {
    return this.#out!.bytes
  }

  /** The same up to where the next event will be written; after it is what was there before. */
  get written(): Buffer {
    const { bytes, length } = this.#out!
    return bytes.subarray(0, length)
  }

  /** Where events are written that change. */
  get output(): EventBuffer {
    return this.#out!
  }

  get view(): DataView {
    return this.#out!.view
  }

  /**
   * Writes event `index` with its edits. Precondition: all have an entry outside arrays, and no two
   * insert the same object at different nodes. Hot.
   */
  splice(index: number, edits: Edits): void {
    const events = this.#events!
    const tape = this.#tape!
    const start = events.start[index]!
    const end = events.end[index]!
    const from = events.tapeStart[index]!
    const to = events.tapeEnd[index]!
    const out = this.open(end - start + edits.growthMax)
    const outStart = out.length
    tape.reserve(to - from + this.#stage(edits, out))
    const staged = this.#staged
    const tapeStart = tape.length
    kernels.spliceEvent(
      this.#stagedAddress,
      edits.count,
      start,
      end,
      from,
      to,
      out.bytes.byteOffset,
      outStart,
      tape.entries.byteOffset,
      tapeStart,
    )
    out.length = staged[0]! + 1
    tape.length = staged[1]!
    events.move(index, outStart, staged[0]!, tapeStart, staged[1]!)
  }

  /** Lays the edits out as the kernel reads them; returns how many integers objects add. */
  #stage(edits: Edits, out: EventBuffer): number {
    const { count } = edits
    const staged = arena.roomFor(count * STAGED, this.#staged)
    if (staged !== this.#staged) {
      this.#staged = staged
      this.#stagedAddress = staged.byteOffset
    }
    let added = 0
    for (let i = 0, at = 0; i < count; i++, at += STAGED) {
      const text = edits.text[i]!
      const start = edits.start[i]!
      const end = edits.end[i]!
      const object = edits.object[i]
      staged[at] = start
      staged[at + 1] = end
      staged[at + 2] = edits.entry[i]!
      staged[at + 3] = start === end ? INSERT : text === REDACTED_STRING ? BY_STRING : BY_NULL
      staged[at + 4] = text.address
      staged[at + 5] = text.length
      staged[at + 7] = 0
      if (object === undefined) continue
      const entries = object.entries(this.#tape!, edits.node[i]!, out)
      staged[at + 6] = entries.byteOffset
      staged[at + 7] = entries.length * BYTES
      added += entries.length
    }
    return added
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

  /** Makes room for an event of up to `more` bytes after the buffer's `length`. */
  open(more: number): EventBuffer {
    const out = this.#out!
    const { bytes } = out
    out.reserve(more + 1)
    if (out.bytes !== bytes) this.#tape!.extend(out.bytes)
    return out
  }

  /** Copies up to the edit, then its text; returns where in the source it goes on. */
  #copyEdit(edits: Edits, i: number, pos: number): number {
    const out = this.#out!
    const start = edits.start[i]!
    if (start > pos) out.length = copyRange(out.bytes, out.length, out.bytes, pos, start)
    const text = edits.text[i]!
    out.length = copyRange(out.bytes, out.length, text.bytes, 0, text.length)
    return edits.end[i]!
  }

  #finish(index: number, start: number, pos: number, eventEnd: number, tapeStart: number): void {
    const out = this.#out!
    const end = copyRange(out.bytes, out.length, out.bytes, pos, eventEnd)
    out.length = end
    out.bytes[out.length++] = LINE_FEED
    this.#events!.move(index, start, end, tapeStart, this.#tape!.length)
  }
}
