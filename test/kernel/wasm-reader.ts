/** Reads and writes the numbers of WebAssembly's binary format. */
import assert from 'node:assert/strict'

/** Opcodes that follow such a byte are numbers of their own: 0xfc_08 is `memory.init`. */
const PREFIXES = [0xfc, 0xfd]

export class WasmReader {
  readonly #bytes: Uint8Array
  at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  byte(): number {
    const byte = this.#bytes[this.at++]
    assert(byte !== undefined, 'the module is cut short')
    return byte
  }

  take(length: number): Uint8Array {
    const start = this.at
    this.at += length
    assert(this.at <= this.#bytes.length, 'the module is cut short')
    return this.#bytes.subarray(start, this.at)
  }

  unsigned(): number {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = this.byte()
      value += (byte % 128) * factor
      if (byte < 128) return value
    }
  }

  /** Steps over a signed number. */
  skipSigned(): void {
    while (this.byte() >= 128);
  }

  /** As many of `read` as the number says that stands first. */
  list<T>(read: () => T): T[] {
    return Array.from({ length: this.unsigned() }, read)
  }

  /** An instruction's opcode; of two parts, the prefix times 65,536 and the rest. */
  opcode(): number {
    const byte = this.byte()
    return PREFIXES.includes(byte) ? byte * 0x1_0000 + this.unsigned() : byte
  }
}

export function encodeUnsigned(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return [...bytes, rest]
}

/** Of a value of 32 bits. */
export function encodeSigned(value: number): number[] {
  const bytes: number[] = []
  let rest = value | 0
  while (rest < -64 || rest > 63) {
    bytes.push((rest & 127) | 128)
    rest >>= 7
  }
  return [...bytes, rest & 127]
}
