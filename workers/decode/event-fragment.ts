/**
 * A value written once and copied into many events: its JSON and its tape entries. The resource of
 * an OTLP request stands in each of its events.
 */
import { arena } from '../kernel/arena.ts'
import { copyRange } from '../kernel/arena-copy.ts'
import type { EventBuilder } from './event-builder.ts'
import { ENTRY, EXTENSION } from './tape-types.ts'

export class EventFragment {
  #bytes = arena.buffer(0)
  #length = 0
  #entries = new Int32Array(0)
  /** Where the value stood when it was captured; entries count from there. */
  #byteStart = 0
  #tapeStart = 0

  /** Takes a copy of what was written since `byteStart`, when the tape was at `tapeStart`. */
  capture(builder: EventBuilder, byteStart: number, tapeStart: number): void {
    this.#length = builder.at - byteStart
    if (this.#bytes.length < this.#length) {
      this.#bytes = arena.replaced(this.#bytes, arena.buffer(this.#length))
    }
    copyRange(this.#bytes, 0, builder.out, byteStart, builder.at)
    this.#entries = builder.tape.entries.slice(tapeStart, builder.tape.length)
    this.#byteStart = byteStart
    this.#tapeStart = tapeStart
  }

  /** Writes it at the same node again; false when the event is too large. */
  append(builder: EventBuilder): boolean {
    const entries = this.#entries
    if (!builder.room(this.#length)) return false
    const { tape } = builder
    const byteShift = builder.at - this.#byteStart
    const tapeShift = tape.length - this.#tapeStart
    builder.at = copyRange(builder.out, builder.at, this.#bytes, 0, this.#length)
    for (let i = 0; i < entries.length; i += ENTRY) {
      const type = entries[i + 1]! // An entry is whole.
      if (type === EXTENSION) {
        tape.push(entries[i]!, type, entries[i + 2]!, entries[i + 3]! + tapeShift)
      } else {
        tape.push(entries[i]!, type, entries[i + 2]! + byteShift, entries[i + 3]! + byteShift)
      }
    }
    return true
  }
}
