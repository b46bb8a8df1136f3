/**
 * A value written once and copied into many events: its JSON and its tape entries. The resource of
 * an OTLP request is in each of its events.
 */
import { arena } from '../kernel/arena.ts'
import { copyRange } from '../kernel/arena-copy.ts'
import { kernels } from '../kernel/kernels.ts'
import type { EventBuilder } from './event-builder.ts'

export class EventFragment {
  #bytes = arena.buffer(0)
  #length = 0
  #entries = arena.int32(0)
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
    const { tape } = builder
    this.#entries = arena.replaced(this.#entries, arena.int32(tape.length - tapeStart))
    this.#entries.set(tape.entries.subarray(tapeStart, tape.length))
    this.#byteStart = byteStart
    this.#tapeStart = tapeStart
  }

  /** Writes it at the same node again; false when the event is too large. */
  append(builder: EventBuilder): boolean {
    if (!builder.room(this.#length)) return false
    const { tape } = builder
    const { byteOffset, byteLength, length } = this.#entries
    tape.reserve(length)
    kernels.copyEntries(
      byteOffset,
      byteOffset + byteLength,
      tape.entries.byteOffset + tape.length * Int32Array.BYTES_PER_ELEMENT,
      builder.at - this.#byteStart,
      tape.length - this.#tapeStart,
    )
    tape.length += length
    builder.at = copyRange(builder.out, builder.at, this.#bytes, 0, this.#length)
    return true
  }
}
