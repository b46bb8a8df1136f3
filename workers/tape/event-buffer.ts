/**
 * The memory in which a batch's events lie as JSON: as they arrived, or as decoders generate them
 * from text lines and OTLP log records. Transforms append the events that they change.
 */
import { EVENT_BUFFER_KEEP_BYTES } from '../../src/limits.ts'
import { arena } from '../kernel/arena.ts'
import { TAPE_PADDING } from './json-tape.ts'

const FIRST_BYTES = 16 * 1024

/** The events of a batch; kept and reused by its worker. */
export class EventBuffer {
  bytes: Buffer = arena.buffer(FIRST_BYTES)
  view: DataView = viewOf(this.bytes)
  length = 0

  /** Starts a batch. What one large batch needed is not kept for all that follow. */
  reset(): void {
    this.length = 0
    if (this.bytes.length <= EVENT_BUFFER_KEEP_BYTES) return
    this.bytes = arena.replaced(this.bytes, arena.buffer(FIRST_BYTES))
    this.view = viewOf(this.bytes)
  }

  /** Starts a batch with a copy of these bytes; returns that, valid until the next `reserve`. */
  hold(bytes: Uint8Array): Buffer {
    this.reset()
    this.reserve(bytes.length)
    this.bytes.set(bytes)
    this.length = bytes.length
    return this.bytes.subarray(0, bytes.length)
  }

  /** Makes room for `more` bytes after `length`, and for words read past the last event's end. */
  reserve(more: number): void {
    const needed = this.length + more + TAPE_PADDING
    if (needed <= this.bytes.length) return
    const grown = arena.buffer(Math.max(this.bytes.length * 2, needed))
    grown.set(this.bytes.subarray(0, this.length))
    this.bytes = arena.replaced(this.bytes, grown)
    this.view = viewOf(grown)
  }
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
