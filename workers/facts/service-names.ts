/**
 * The names of services that a worker has seen, numbered from 1: an event's service is a number,
 * found without making a string. Bounded: when there are too many names, they are forgotten between
 * batches.
 */
import { hashBytes } from '../tape/hash-bytes.ts'

export const NO_SERVICE = 0
const NAMES_FIRST = 64
const BYTES_FIRST = 4_096
const RECENT = 64
/** More are forgotten before the next batch. */
export const NAMES_KEPT_MAX = 4_096

export class ServiceNames {
  count = 1
  #bytes = new Uint8Array(BYTES_FIRST)
  #end = 0
  /** By number; a name ends where the next one starts. */
  #start = new Int32Array(NAMES_FIRST)
  /** At most a quarter full. */
  #table = new Int32Array(NAMES_FIRST * 4)
  /**
   * Recent names, by a few of their bytes: mostly the name is among them and need not be hashed.
   */
  readonly #recent = new Int32Array(RECENT)

  /** Before each batch: numbers given out for the one before mean nothing afterwards. */
  begin(): boolean {
    if (this.count <= NAMES_KEPT_MAX) return false
    this.count = 1
    this.#end = 0
    this.#recent.fill(NO_SERVICE)
    this.#start = new Int32Array(NAMES_FIRST)
    this.#bytes = new Uint8Array(BYTES_FIRST)
    this.#table = new Int32Array(NAMES_FIRST * 4)
    return true
  }

  /** A view of the name, valid until one is added. */
  nameOf(service: number): Uint8Array {
    return this.#bytes.subarray(this.#start[service]!, this.#endOf(service))
  }

  /** Copies the name; returns where it ends. */
  copy(service: number, to: Uint8Array, at: number): number {
    const start = this.#start[service]!
    const length = this.#endOf(service) - start
    for (let i = 0; i < length; i++) to[at + i] = this.#bytes[start + i]!
    return at + length
  }

  lengthOf(service: number): number {
    return this.#endOf(service) - this.#start[service]!
  }

  /** The number of the name, which is not empty. */
  find(bytes: Uint8Array, start: number, end: number): number {
    const middle = (start + end) >>> 1
    const mark = bytes[start]! + bytes[middle]! * 3 + bytes[end - 1]! * 5 + end - start
    const recent = this.#recent[mark & (RECENT - 1)]!
    if (recent !== NO_SERVICE && this.#is(recent, bytes, start, end)) return recent
    const found = this.#findHashed(bytes, start, end)
    this.#recent[mark & (RECENT - 1)] = found
    return found
  }

  #findHashed(bytes: Uint8Array, start: number, end: number): number {
    const mask = this.#table.length - 1
    let slot = hashBytes(bytes, start, end) & mask
    for (;;) {
      const known = this.#table[slot]! // The slot is masked into the table.
      if (known === NO_SERVICE) break
      if (this.#is(known, bytes, start, end)) return known
      slot = (slot + 1) & mask
    }
    this.#table[slot] = this.count
    return this.#add(bytes, start, end)
  }

  #add(bytes: Uint8Array, start: number, end: number): number {
    const added = this.count++
    const from = this.#end
    this.#end += end - start
    if (this.#end > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.#end))
      grown.set(this.#bytes)
      this.#bytes = grown
    }
    this.#bytes.set(bytes.subarray(start, end), from)
    this.#start[added] = from
    if (this.count === this.#start.length) this.#grow()
    return added
  }

  #grow(): void {
    const start = new Int32Array(this.#start.length * 2)
    start.set(this.#start)
    this.#start = start
    this.#table = new Int32Array(start.length * 4)
    const mask = this.#table.length - 1
    for (let service = 1; service < this.count; service++) {
      let slot = hashBytes(this.#bytes, start[service]!, this.#endOf(service)) & mask
      while (this.#table[slot] !== NO_SERVICE) slot = (slot + 1) & mask
      this.#table[slot] = service
    }
  }

  #endOf(service: number): number {
    return service + 1 < this.count ? this.#start[service + 1]! : this.#end
  }

  #is(service: number, bytes: Uint8Array, start: number, end: number): boolean {
    let at = this.#start[service]!
    if (this.#endOf(service) - at !== end - start) return false
    let i = start
    while (i < end && bytes[i] === this.#bytes[at]) {
      i++
      at++
    }
    return i === end
  }
}
