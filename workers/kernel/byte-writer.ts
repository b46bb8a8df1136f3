import { arena } from './arena.ts'

/** Memory of its own for what no kernel writes: V8 copies to it quicker than to shared memory. */
export function allocateOutside(bytes: number): Buffer {
  return Buffer.allocUnsafeSlow(bytes)
}

function allocateInArena(bytes: number): Buffer {
  return arena.buffer(bytes)
}

/**
 * A growing byte buffer, in the arena unless its owner says otherwise. Writers reserve once for
 * many writes; the writes themselves are not checked.
 */
export class ByteWriter {
  bytes: Buffer
  view: DataView
  length = 0

  readonly #allocate: (bytes: number) => Buffer

  constructor(capacity: number, allocate = allocateInArena) {
    this.#allocate = allocate
    this.bytes = allocate(capacity)
    this.view = new DataView(this.bytes.buffer, this.bytes.byteOffset, capacity)
  }

  /** Makes room for `more` bytes. `bytes` and `view` may be new afterwards. */
  reserve(more: number): void {
    const needed = this.length + more
    if (needed <= this.bytes.length) return
    const grown = this.#allocate(Math.max(this.bytes.length * 2, needed))
    grown.set(this.bytes.subarray(0, this.length))
    if (arena.holds(this.bytes)) arena.release(this.bytes)
    this.bytes = grown
    this.view = new DataView(grown.buffer, grown.byteOffset, grown.length)
  }

  /** LEB128, as ClickHouse and protobuf write it. `value` < 2^31. Needs 5 bytes reserved. */
  varuint(value: number): void {
    let rest = value
    while (rest > 0x7f) {
      this.bytes[this.length++] = (rest & 0x7f) | 0x80
      rest >>>= 7
    }
    this.bytes[this.length++] = rest
  }

  /** A small unsigned number as UInt64. Needs 8 bytes reserved. */
  uint64(value: number): void {
    this.view.setUint32(this.length, value, true)
    this.view.setUint32(this.length + 4, 0, true)
    this.length += 8
  }

  /** A length-prefixed string; reserves for itself. */
  string(bytes: Uint8Array): void {
    this.reserve(bytes.length + 5)
    this.varuint(bytes.length)
    this.bytes.set(bytes, this.length)
    this.length += bytes.length
  }

  /** A copy of what was written: in `into` if it fits, else in an ArrayBuffer of its own. */
  take(into?: Uint8Array): Uint8Array {
    const fits = into !== undefined && into.length >= this.length
    const copy = fits ? into.subarray(0, this.length) : new Uint8Array(this.length)
    copy.set(this.bytes.subarray(0, this.length))
    return copy
  }
}

/** Bytes that `copyWords` and the kernels may write after the end, and read. */
export const WORD_SLACK = 8

/**
 * Copies `length` bytes of UTF-8 by words of eight: quicker than `set` for short texts. The words
 * travel as doubles. That keeps every bit: no eight bytes of valid UTF-8 are a NaN, whose last byte
 * would be 0x7f or 0xff after one of 0xf0 or more.
 */
export function copyWords(
  to: DataView,
  toStart: number,
  from: DataView,
  fromStart: number,
  length: number,
): void {
  for (let i = 0; i < length; i += 8) {
    to.setFloat64(toStart + i, from.getFloat64(fromStart + i, true), true)
  }
}
