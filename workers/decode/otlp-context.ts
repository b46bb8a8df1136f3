/**
 * What surrounds log records and stands in each event made of them: the resource, or the scope. It
 * is written once, for the first record that needs it, and copied from then on.
 */
import { EventFragment } from './event-fragment.ts'
import { type AnyValueDecoder, EVENT_TOO_DEEP, NEEDS_MERGE } from './otlp-any-value.ts'
import { type MergeSchema, mergeRepeated } from './otlp-merge.ts'
import { type ByteSource, paddedSource } from './scalar-writer.ts'

/** Writes the message `start`..`end` at the node; see `AnyValueDecoder.value`. */
export type WriteMessage = (node: number, start: number, end: number) => boolean

export class OtlpContext {
  readonly #schema: MergeSchema
  readonly #write: WriteMessage
  readonly #fragment = new EventFragment()
  /** Where it stands; undefined in a source means that of the part. */
  #source: ByteSource | undefined
  start = 0
  end = 0
  #isRendered = false
  #isTooDeep = false
  #isRepaired = false

  constructor(schema: MergeSchema, write: WriteMessage) {
    this.#schema = schema
    this.#write = write
  }

  /** There is none: as good as an empty one. */
  clear(): void {
    this.set(0, 0)
  }

  /** It is at `start`..`end` of the part's bytes. */
  set(start: number, end: number): void {
    this.start = start
    this.end = end
    this.#source = undefined
    this.#isRendered = false
    this.#isTooDeep = false
  }

  /** Once more in the message around it: the two are merged, which is to put them together. */
  add(part: ByteSource, start: number, end: number): void {
    const bytes = (this.#source ?? part).bytes.subarray(this.start, this.end)
    const both = Buffer.concat([bytes, part.bytes.subarray(start, end)])
    this.set(0, both.length)
    this.#source = paddedSource(both)
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
      const { bytes } = this.#source ?? values.source
      const merged = mergeRepeated(bytes, this.start, this.end, this.#schema)
      this.set(0, merged.length)
      this.#source = paddedSource(merged)
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
    if (this.#source === undefined) return this.#write(node, this.start, this.end)
    const outer = values.swap(this.#source, this.end)
    const isWritten = this.#write(node, this.start, this.end)
    values.restore(outer)
    return isWritten
  }
}
