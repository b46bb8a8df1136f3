/**
 * What surrounds log records and stands in each event made of them: the resource, or the scope. It
 * is written once, for the first record that needs it, and copied from then on.
 */
import { EventFragment } from './event-fragment.ts'
import { type AnyValueDecoder, EVENT_TOO_DEEP, NEEDS_MERGE } from './otlp-any-value.ts'
import { type MergeSchema, mergeRepeated } from './otlp-merge.ts'
import { type ByteSource, paddedSource } from './scalar-writer.ts'

const NOWHERE = paddedSource(new Uint8Array(0))

/** Writes the message `start`..`end` at the node; see `AnyValueDecoder.value`. */
export type WriteMessage = (node: number, start: number, end: number) => boolean

export class OtlpContext {
  readonly #schema: MergeSchema
  readonly #write: WriteMessage
  readonly #fragment = new EventFragment()
  #source = NOWHERE
  start = 0
  end = 0
  /** Whether there is nothing in it that an event has; undefined until somebody looked. */
  isBlank: boolean | undefined = true
  #isRendered = false
  #isTooDeep = false
  #isRepaired = false

  constructor(schema: MergeSchema, write: WriteMessage) {
    this.#schema = schema
    this.#write = write
  }

  /** There is none: as good as an empty one. */
  clear(): void {
    this.set(NOWHERE, 0, 0)
  }

  set(source: ByteSource, start: number, end: number): void {
    this.#source = source
    this.start = start
    this.end = end
    this.isBlank = start === end ? true : undefined
    this.#isRendered = false
    this.#isTooDeep = false
  }

  /** Once more in the message around it: the two are merged, which is to put them together. */
  add(source: ByteSource, start: number, end: number): void {
    const bytes = this.#source.bytes.subarray(this.start, this.end)
    const both = Buffer.concat([bytes, source.bytes.subarray(start, end)])
    this.set(paddedSource(both), 0, both.length)
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
    if (this.#isTooDeep) {
      builder.error = EVENT_TOO_DEEP
      return false
    }
    const byteStart = builder.at
    const tapeStart = builder.tape.length
    const wasRepaired = builder.isRepaired
    builder.isRepaired = false
    let isWritten = this.#writeOnce(values, node)
    if (!isWritten && builder.error === NEEDS_MERGE) {
      builder.at = byteStart
      builder.tape.length = tapeStart
      const merged = mergeRepeated(this.#source.bytes, this.start, this.end, this.#schema)
      const { isBlank } = this
      this.set(paddedSource(merged), 0, merged.length)
      this.isBlank = isBlank
      isWritten = this.#writeOnce(values, node)
    }
    this.#isRepaired = builder.isRepaired
    builder.isRepaired ||= wasRepaired
    this.#isTooDeep = !isWritten && builder.error === EVENT_TOO_DEEP
    if (!isWritten) return false
    // Not so when the event is too large: the next one may have room for it.
    this.#isRendered = true
    this.#fragment.capture(builder, byteStart, tapeStart)
    return true
  }

  #writeOnce(values: AnyValueDecoder, node: number): boolean {
    return this.within(values, () => this.#write(node, this.start, this.end))
  }

  /** Does `work` while `values` reads where this stands. */
  within(values: AnyValueDecoder, work: () => boolean): boolean {
    if (this.#source === values.source) return work()
    const outer = values.swap(this.#source, this.end)
    const result = work()
    values.restore(outer)
    return result
  }
}
