/**
 * Names and values as ranges of bytes: the labels of a stream, or the structured metadata of an
 * entry. The bytes are the request's, or a buffer of their own for what is not in the request as it
 * is meant.
 */
import { LOKI_PAIRS_MAX } from '../../../src/limits.ts'
import type { ByteSource } from '../../build/scalar-writer.ts'
import { EventBuffer } from '../../tape/event-buffer.ts'
import { unescapeInto } from '../../tape/json-string.ts'
import { isTextAt } from '../text-at.ts'

const PAIR = 4

export class Pairs {
  count = 0
  readonly text = new EventBuffer()
  /** What the ranges are of: the request, or `text`. */
  source: ByteSource = this.text
  readonly #ranges = new Int32Array(PAIR * LOKI_PAIRS_MAX)

  /** Starts anew. Without a source the ranges are of `text`. */
  clear(source: ByteSource = this.text): void {
    this.count = 0
    this.source = source
    this.text.reset()
  }

  /** False when there are too many. */
  add(nameStart: number, nameEnd: number, valueStart: number, valueEnd: number): boolean {
    if (this.count === LOKI_PAIRS_MAX) return false
    const at = this.count * PAIR
    const ranges = this.#ranges
    ranges[at] = nameStart
    ranges[at + 1] = nameEnd
    ranges[at + 2] = valueStart
    ranges[at + 3] = valueEnd
    this.count++
    return true
  }

  nameStart(pair: number): number {
    return this.#ranges[pair * PAIR]!
  }

  nameEnd(pair: number): number {
    return this.#ranges[pair * PAIR + 1]!
  }

  valueStart(pair: number): number {
    return this.#ranges[pair * PAIR + 2]!
  }

  valueEnd(pair: number): number {
    return this.#ranges[pair * PAIR + 3]!
  }

  /** Appends the inside of a JSON string to `text`; returns where it starts. */
  unescape(bytes: Uint8Array, start: number, end: number): number {
    const { text } = this
    const at = text.length
    text.reserve(end - start)
    text.length = unescapeInto(bytes, start, end, text.bytes, at)
    return at
  }

  /** Whether one of the names is the text `start`..`end` of `bytes`. */
  hasName(bytes: Uint8Array, start: number, end: number): boolean {
    const own = this.source.bytes
    for (let pair = 0; pair < this.count; pair++) {
      if (isTextAt(own, this.nameStart(pair), this.nameEnd(pair), bytes, start, end)) return true
    }
    return false
  }

  /**
   * Appends a name with `suffix` to `text`, and again until it is none of the `taken`; returns
   * where it starts. It ends where `text` does.
   */
  renamed(pair: number, suffix: Uint8Array, taken: Pairs): number {
    const { text } = this
    const start = this.nameStart(pair)
    const length = this.nameEnd(pair) - start
    const at = text.length
    text.reserve(length + suffix.length * (LOKI_PAIRS_MAX + 1))
    text.bytes.set(this.source.bytes.subarray(start, start + length), at)
    text.length += length
    do {
      text.bytes.set(suffix, text.length)
      text.length += suffix.length
    } while (taken.hasName(text.bytes, at, text.length))
    return at
  }

  /** Gives a pair another name. */
  setName(pair: number, start: number, end: number): void {
    this.#ranges[pair * PAIR] = start
    this.#ranges[pair * PAIR + 1] = end
  }
}
