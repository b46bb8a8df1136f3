/** Looks for a literal of a query in the bytes of a block. */
import type { PlacedLiteral } from '../language/required-literals.ts'
import { FOLDED_TO_ASCII } from '../language/words.ts'

/** A longer literal's beginning is looked for. */
const LITERAL_BYTES_MAX = 64
/** Bytes compared in vain, by byte that there is, from which on looking costs too much. */
const VAIN_PER_BYTE = 4
const UPPER_FIRST = 0x41
const UPPER_LAST = 0x5a
const TO_LOWER = 0x20
/** ASCII in lower case, other bytes as they are. */
const FOLDED = Uint8Array.from({ length: 256 }, (_, byte) => {
  return byte >= UPPER_FIRST && byte <= UPPER_LAST ? byte | TO_LOWER : byte
})

export class LiteralFinder {
  readonly #bytes: Buffer
  readonly #ignoresCase: boolean
  /** What its letters may be outside ASCII. */
  readonly #others: readonly Buffer[]
  /** By byte: how far the literal may be moved where that is under its end. */
  readonly #shifts: Uint8Array | undefined

  constructor({ bytes, ignoresCase }: Omit<PlacedLiteral, 'path'>) {
    this.#bytes = Buffer.from(bytes.subarray(0, LITERAL_BYTES_MAX))
    this.#ignoresCase = ignoresCase
    const text = ignoresCase ? this.#bytes.toString('latin1') : ''
    const others = [...FOLDED_TO_ASCII].filter(([letter]) => text.includes(letter))
    this.#others = others.map(([, other]) => Buffer.from(other))
    if (ignoresCase) this.#shifts = shiftsOf(this.#bytes)
  }

  /** False only if it is not in the bytes, in none of its forms. */
  mayBeIn(bytes: Buffer): boolean {
    if (!this.#ignoresCase) return bytes.includes(this.#bytes)
    return this.#mayBeInFolded(bytes) || this.#others.some((other) => bytes.includes(other))
  }

  /** In either case: Horspool's way, which looks at one byte in as many as the literal has. */
  #mayBeInFolded(bytes: Buffer): boolean {
    const literal = this.#bytes
    const shifts = this.#shifts!
    const last = literal.length - 1
    let vain = 0
    for (let end = last; end < bytes.length; ) {
      const byte = FOLDED[bytes[end]!]!
      if (byte === literal[last]) {
        let at = 0
        while (at < last && FOLDED[bytes[end - last + at]!] === literal[at]) at++
        vain += at
        if (at === last || vain > VAIN_PER_BYTE * bytes.length) return true
      }
      end += shifts[byte]!
    }
    return false
  }
}

function shiftsOf(literal: Uint8Array): Uint8Array {
  const shifts = new Uint8Array(256).fill(literal.length)
  for (let at = 0; at < literal.length - 1; at++) shifts[literal[at]!] = literal.length - 1 - at
  return shifts
}
