const VARUINT_BYTES_MAX = 5

/** Reads the numbers and bytes of a segment's layout. Throws past its end. */
export class LayoutReader {
  readonly #bytes: Buffer
  at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Throws unless all was read. */
  end(): void {
    if (this.at !== this.#bytes.length) throw new Error('segment has bytes behind its end')
  }

  byte(): number {
    const byte = this.#bytes[this.at++]
    if (byte === undefined) throw new Error('segment is cut short')
    return byte
  }

  varuint(): number {
    let value = 0
    for (let shift = 0; shift < 7 * VARUINT_BYTES_MAX; shift += 7) {
      const byte = this.byte()
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
    throw new Error('segment has a number that is too long')
  }

  /** Skips this many bytes; returns where they begin. */
  skip(length: number): number {
    if (this.at + length > this.#bytes.length) throw new Error('segment is cut short')
    this.at += length
    return this.at - length
  }

  /** The next `length` bytes. */
  bytes(length: number): Buffer {
    const start = this.skip(length)
    return this.#bytes.subarray(start, start + length)
  }

  uint32(): number {
    return this.#bytes.readUInt32LE(this.skip(4))
  }
}
