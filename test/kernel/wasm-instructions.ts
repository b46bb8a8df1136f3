/** What follows the opcodes of WebAssembly instructions, and which of them access memory. */
import assert from 'node:assert/strict'
import type { WasmReader } from './wasm-reader.ts'

const SIMD = 0xfd_0000
const BULK = 0xfc_0000
export const MEMORY_COPY = BULK + 10
export const MEMORY_FILL = BULK + 11
const I32 = 0x7f
const I64 = 0x7e
const F32 = 0x7d
const F64 = 0x7c
const V128 = 0x7b

/** An access to memory. */
export interface Access {
  readonly bytes: number
  readonly isStore: boolean
  /** The type of the value above the address on the stack. */
  readonly value?: number
  /** A byte with a lane's number stands behind the offset. */
  readonly laneByte?: boolean
}

/** From `i32.load` (0x28) on. */
const LOAD_BYTES = [4, 8, 4, 8, 1, 1, 2, 2, 1, 1, 2, 2, 4, 4]
/** From `i32.store` (0x36) on. */
const STORES = [
  [4, I32],
  [8, I64],
  [4, F32],
  [8, F64],
  [1, I32],
  [2, I32],
  [1, I64],
  [2, I64],
  [4, I64],
] as const
const FIRST_LOAD = 0x28
const FIRST_STORE = 0x36

const ACCESSES = new Map<number, Access>([
  ...LOAD_BYTES.map((bytes, i) => [FIRST_LOAD + i, { bytes, isStore: false }] as const),
  ...STORES.map(([bytes, value], i) => [FIRST_STORE + i, { bytes, isStore: true, value }] as const),
  [SIMD, { bytes: 16, isStore: false }],
  // Six that widen eight bytes, then splats.
  ...[8, 8, 8, 8, 8, 8, 1, 2, 4, 8].map(
    (bytes, i) => [SIMD + 1 + i, { bytes, isStore: false }] as const,
  ),
  [SIMD + 11, { bytes: 16, isStore: true, value: V128 }],
  // Lanes that are loaded and stored, then loads that fill with zeros.
  ...[1, 2, 4, 8].map(
    (bytes, i) => [SIMD + 84 + i, { bytes, isStore: false, value: V128, laneByte: true }] as const,
  ),
  ...[1, 2, 4, 8].map(
    (bytes, i) => [SIMD + 88 + i, { bytes, isStore: true, value: V128, laneByte: true }] as const,
  ),
  [SIMD + 92, { bytes: 4, isStore: false }],
  [SIMD + 93, { bytes: 8, isStore: false }],
])

export function accessOf(opcode: number): Access | undefined {
  return ACCESSES.get(opcode)
}

/** Steps over what stands behind an opcode that is no access. Throws at one that is not known. */
export function immediateEnd(reader: WasmReader, opcode: number): void {
  if (opcode >= SIMD) skipSimd(reader, opcode - SIMD)
  else if (opcode >= BULK) skipBulk(reader, opcode)
  else skipPlain(reader, opcode)
}

function skipPlain(reader: WasmReader, opcode: number): void {
  // Arithmetic, comparisons and conversions; and those that take all from the stack.
  if (opcode >= 0x45 && opcode <= 0xc4) return
  switch (opcode) {
    case 0x00: // unreachable
    case 0x01: // nop
    case 0x05: // else
    case 0x0b: // end
    case 0x0f: // return
    case 0x1a: // drop
    case 0x1b: // select
      return
    case 0x02: // block, loop, if: a type
    case 0x03:
    case 0x04:
    case 0x41: // i32.const, i64.const
    case 0x42:
      return reader.skipSigned()
    case 0x0c: // br, br_if: a label
    case 0x0d:
    case 0x20: // locals and globals: a number
    case 0x21:
    case 0x22:
    case 0x23:
    case 0x24:
      reader.unsigned()
      return
    case 0x0e: // br_table
      reader.list(() => reader.unsigned())
      reader.unsigned()
      return
    case 0x43:
      reader.take(4)
      return
    case 0x44:
      reader.take(8)
      return
    default:
      assert.fail(`an instruction that is not known: 0x${opcode.toString(16)}`)
  }
}

function skipBulk(reader: WasmReader, opcode: number): void {
  if (opcode < BULK + 8) return // Conversions.
  if (opcode === MEMORY_COPY) reader.take(2)
  else if (opcode === MEMORY_FILL) reader.take(1)
  else assert.fail(`an instruction that is not known: 0x${opcode.toString(16)}`)
}

function skipSimd(reader: WasmReader, opcode: number): void {
  // A constant, and a shuffle's lanes.
  if (opcode === 12 || opcode === 13) reader.take(16)
  // Lanes that are read and replaced.
  else if (opcode >= 21 && opcode <= 34) reader.take(1)
  else assert(opcode >= 14 && opcode < 256, `a vector instruction that is not known: ${opcode}`)
}
