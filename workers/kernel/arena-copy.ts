/**
 * Copies within the arena. V8's own `set` and `copyWithin` are slow where memory is shared: they
 * copy byte by byte unless source and target are aligned alike.
 */
import { arena } from './arena.ts'
import { kernels } from './kernels.ts'

/** Copies `start`..`end` of `from` to `to` at `at`, both of the arena; returns where it ends. */
export function copyRange(
  to: Uint8Array,
  at: number,
  from: Uint8Array,
  start: number,
  end: number,
): number {
  kernels.copyBytes(to.byteOffset + at, from.byteOffset + start, end - start)
  return at + end - start
}

/** A copy in the arena of bytes that are copied from again and again. */
export function heldBytes(bytes: Uint8Array): Buffer {
  const held = arena.buffer(bytes.length)
  held.set(bytes)
  return held
}

/** Bytes of the arena, with what hot code asks: V8 calls a function for that of mixed arrays. */
export class ArenaText {
  readonly bytes: Buffer
  readonly address: number
  readonly length: number

  /** `bytes` are the arena's, and stay somebody else's. */
  constructor(bytes: Buffer) {
    this.bytes = bytes
    this.address = bytes.byteOffset
    this.length = bytes.length
  }
}
