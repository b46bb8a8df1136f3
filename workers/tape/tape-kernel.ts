/** The context that the tape and its kernel (`kernels/tape.ts`) share. */
import { DEPTH_MAX } from '../../src/limits.ts'
import { arena } from '../kernel/arena.ts'
import type { Kernels } from '../kernel/kernels.ts'
import type { PathTrie } from './path-trie.ts'

/** Offsets in the context: the tape's length, and the serial number of its newest object. */
const LENGTH = 14
const SERIAL = 15
/** Of all its integers; see `Tape` of `kernels/tape-writer.ts`. */
const CONTEXT = 24
const SERIAL_MAX = 0x3fffffff

/** KeyValues: fields that lie in the arena one after another. */
export interface MemberFields {
  bytes: Uint8Array
  start: number
  end: number
  /** Field number times 8 plus wire type. */
  tag: number
}

interface TapeEnd {
  readonly entries: Int32Array
  length: number
}

export class TapeKernel {
  /** By node: the object that had it last. */
  seen = arena.int32(0)
  readonly #context = arena.addresses(CONTEXT)
  readonly #trie: PathTrie
  readonly #kernels: Kernels
  /** `trie.arrays` when they were put in the context. */
  #arrays = -1

  constructor(trie: PathTrie, kernels: Kernels) {
    this.#trie = trie
    this.#kernels = kernels
  }

  /** Between batches objects may be numbered from the start again. */
  begin(): void {
    if (this.#context[SERIAL]! <= SERIAL_MAX) return
    this.seen.fill(0)
    this.#context[SERIAL] = 0
  }

  /** Room for `nodes` nodes. */
  reserve(nodes: number): void {
    if (this.seen.length >= nodes) return
    const seen = arena.int32(nodes)
    seen.set(this.seen)
    arena.release(this.seen)
    this.seen = seen
    this.#arrays = -1
  }

  /** The number of the newest object. */
  get serial(): number {
    return this.#context[SERIAL]!
  }

  /** A number that no object had before. */
  nextSerial(): number {
    return ++this.#context[SERIAL]!
  }

  /**
   * Parses the object at `pos` of `bytes` onto the end of the tape if all its keys are known, it
   * fits and it is valid. Returns where it ended, or -1.
   */
  tryParse(
    tape: TapeEnd,
    bytes: Uint8Array,
    pos: number,
    node: number,
    depth: number,
    lineFeedIsSpace: boolean,
  ): number {
    const context = this.#begin(tape)
    const end = this.#kernels.parseObject(
      context.byteOffset,
      bytes.byteOffset,
      pos,
      node,
      depth,
      lineFeedIsSpace,
      tape.entries.byteOffset,
      tape.entries.length,
    )
    if (end >= 0) tape.length = context[LENGTH]!
    return end
  }

  /**
   * Writes a brace and the members of `fields` as JSON at `at` of `out`, up to `limit`, and onto
   * the tape, if all their keys are known, they fit and nothing is wrong with them. Returns where
   * they end, or -1. Bytes read and written are of the arena.
   */
  tryWriteMembers(
    tape: TapeEnd,
    fields: MemberFields,
    node: number,
    depth: number,
    out: Uint8Array,
    at: number,
    limit: number,
  ): number {
    const context = this.#begin(tape)
    const end = this.#kernels.writeMembers(
      context.byteOffset,
      fields.bytes.byteOffset,
      fields.start,
      fields.end,
      fields.tag,
      node,
      depth,
      out.byteOffset,
      at,
      limit,
      tape.entries.byteOffset,
      tape.entries.length,
    )
    if (end >= 0) tape.length = context[LENGTH]!
    return end
  }

  /** The context of a call that goes on with the tape. */
  #begin(tape: TapeEnd): Int32Array {
    const context = this.#context
    const nodes = this.#trie.parent.length
    if (this.seen.length < nodes) this.reserve(nodes)
    if (this.#arrays !== this.#trie.arrays) {
      context.set([...this.#trie.context(), this.seen.byteOffset, DEPTH_MAX])
      this.#arrays = this.#trie.arrays
    }
    context[LENGTH] = tape.length
    return context
  }
}
