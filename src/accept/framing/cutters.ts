/** Finds where a body that still arrives can be cut into parts. */
import { ElementScanner } from './json-framing.ts'

const LINE_FEED = 0x0a

export interface Cutter {
  /**
   * The last place in the first `length` bytes to cut at, or -1. Bytes seen in an earlier call have
   * not changed.
   */
  cut(bytes: Uint8Array, length: number): number
  /** A new part begins. */
  reset(): void
}

/** Just after the last line feed. */
export class LineCutter implements Cutter {
  #searched = 0
  #cut = -1

  cut(bytes: Uint8Array, length: number): number {
    const found = bytes.subarray(this.#searched, length).lastIndexOf(LINE_FEED)
    if (found >= 0) this.#cut = this.#searched + found + 1
    this.#searched = length
    return this.#cut
  }

  reset(): void {
    this.#searched = 0
    this.#cut = -1
  }
}

/**
 * In JSON: the last comma between the elements of an array, of which the first begins at `start`;
 * or just after the last object or array that is inside no other.
 */
export class ElementCutter implements Cutter {
  readonly #place: 'comma' | 'close'
  #searched: number
  #cut = -1
  readonly #elements = new ElementScanner()

  constructor(place: 'comma' | 'close', start = 0) {
    this.#place = place
    this.#searched = start
  }

  cut(bytes: Uint8Array, length: number): number {
    const comma = this.#elements.scan(bytes, this.#searched, length)
    const found = this.#place === 'comma' ? comma : this.#elements.closedAt
    if (found >= 0) this.#cut = found
    this.#searched = length
    return this.#cut
  }

  reset(): void {
    this.#searched = 0
    this.#cut = -1
    this.#elements.reset()
  }
}
