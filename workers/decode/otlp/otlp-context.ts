/**
 * The context of log records, which is part of each event made from them: the resource, or the
 * scope. It is written once, for the first record that needs it, and copied from then on.
 */
import { EventFragment } from '../../build/event-fragment.ts'
import { EVENT_TOO_LARGE } from '../../build/scalar-writer.ts'
import type { AnyValueDecoder } from './otlp-any-value.ts'

const NO_FAULT = 0

/** Writes the message `start`..`end` at the node; see `AnyValueDecoder.value`. */
export type WriteMessage = (node: number, start: number, end: number) => boolean

export class OtlpContext {
  readonly #write: WriteMessage
  readonly #fragment = new EventFragment()
  start = 0
  end = 0
  /** Whether there is nothing in it that an event has; undefined until somebody looked. */
  isBlank: boolean | undefined = true
  #isRendered = false
  /** Why every event that contains it is rejected. */
  #fault = NO_FAULT
  #isRepaired = false

  constructor(write: WriteMessage) {
    this.#write = write
  }

  /** Absent, which counts as empty. */
  clear(): void {
    this.set(0, 0)
  }

  set(start: number, end: number): void {
    this.start = start
    this.end = end
    this.isBlank = start === end ? true : undefined
    this.#isRendered = false
    this.#fault = NO_FAULT
  }

  /** Writes it into the current event; false when the event is to be rejected. */
  append(values: AnyValueDecoder, node: number): boolean {
    const { builder } = values
    if (!this.#isRendered) return this.#render(values, node)
    if (this.#isRepaired) builder.isRepaired = true
    return this.#fragment.append(builder)
  }

  #render(values: AnyValueDecoder, node: number): boolean {
    const { builder } = values
    if (this.#fault !== NO_FAULT) {
      builder.error = this.#fault
      return false
    }
    const byteStart = builder.at
    const tapeStart = builder.tape.length
    const wasRepaired = builder.isRepaired
    builder.isRepaired = false
    const isWritten = this.#write(node, this.start, this.end)
    this.#isRepaired = builder.isRepaired
    builder.isRepaired ||= wasRepaired
    if (!isWritten) {
      // The next event may have room for what this one has not.
      if (builder.error !== EVENT_TOO_LARGE) this.#fault = builder.error
      return false
    }
    this.#isRendered = true
    this.#fragment.capture(builder, byteStart, tapeStart)
    return true
  }
}
