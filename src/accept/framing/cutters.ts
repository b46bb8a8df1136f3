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

/** The last comma between an array's elements; the first of these begins at `start`. */
export class CommaCutter implements Cutter {
  #searched: number
  #cut = -1
  readonly #elements = new ElementScanner()

  constructor(start: number) {
    this.#searched = start
  }

  cut(bytes: Uint8Array, length: number): number {
    const found = this.#elements.scan(bytes, this.#searched, length)
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

/** Just after the last object or array that is inside no other. */
export class ValueCutter implements Cutter {
  #searched = 0
  #cut = -1
  readonly #elements = new ElementScanner()

  cut(bytes: Uint8Array, length: number): number {
    this.#elements.scan(bytes, this.#searched, length)
    if (this.#elements.closedAt >= 0) this.#cut = this.#elements.closedAt
    this.#searched = length
    return this.#cut
  }

  reset(): void {
    this.#searched = 0
    this.#cut = -1
    this.#elements.reset()
  }
}
