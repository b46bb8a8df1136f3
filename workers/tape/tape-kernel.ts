/** What the tape and its kernel (`kernels/tape.ts`) tell each other. */
import { DEPTH_MAX } from '../../src/limits.ts'
import { arena } from '../kernel/arena.ts'
import type { Kernels } from '../kernel/kernels.ts'
import type { PathTrie } from './path-trie.ts'

/** Places in the state: the tape's length, and the serial number of its newest object. */
const LENGTH = 0
const SERIAL = 1
const SERIAL_MAX = 0x3fffffff

/** KeyValues: fields that lie in the arena one behind another. */
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

/** Whose arrays the thread's kernel was told of last. */
let bound: TapeKernel | undefined

export class TapeKernel {
  /** By node: the object that had it last. */
  seen = arena.int32(0)
  readonly #state = arena.int32(2)
  readonly #trie: PathTrie
  readonly #kernels: Kernels
  /** `trie.arrays` when the kernel was told of them. */
  #boundArrays = -1

  constructor(trie: PathTrie, kernels: Kernels) {
    this.#trie = trie
    this.#kernels = kernels
  }

  /** Between batches objects may be numbered from the start again. */
  begin(): void {
    if (this.#state[SERIAL]! <= SERIAL_MAX) return
    this.seen.fill(0)
    this.#state[SERIAL] = 0
  }

  /** Room for so many nodes. */
  reserve(nodes: number): void {
    if (this.seen.length >= nodes) return
    const seen = arena.int32(nodes)
    seen.set(this.seen)
    arena.release(this.seen)
    this.seen = seen
    this.#boundArrays = -1
  }

  /** A number that no object had before. */
  nextSerial(): number {
    return ++this.#state[SERIAL]!
  }

  /**
   * Parses the object at `pos` of `bytes` onto the end of the tape if all its keys are known, it
   * fits and nothing is wrong with it. Returns where it ended, or -1.
   */
  tryParse(
    tape: TapeEnd,
    bytes: Uint8Array,
    pos: number,
    node: number,
    depth: number,
    lineFeedIsSpace: boolean,
  ): number {
    const state = this.#begin(tape)
    const end = this.#kernels.parseObject(
      bytes.byteOffset,
      pos,
      node,
      depth,
      lineFeedIsSpace,
      tape.entries.byteOffset,
      tape.entries.length,
      state.byteOffset,
    )
    if (end >= 0) tape.length = state[LENGTH]!
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
    const state = this.#begin(tape)
    const end = this.#kernels.writeMembers(
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
      state.byteOffset,
    )
    if (end >= 0) tape.length = state[LENGTH]!
    return end
  }

  /** The state for a kernel that goes on with the tape. */
  #begin(tape: TapeEnd): Int32Array {
    const nodes = this.#trie.parent.length
    if (this.seen.length < nodes) this.reserve(nodes)
    if (bound !== this || this.#boundArrays !== this.#trie.arrays) this.#bind()
    this.#state[LENGTH] = tape.length
    return this.#state
  }

  #bind(): void {
    this.#trie.bind(this.#kernels)
    this.#kernels.bindTape(this.seen.byteOffset, DEPTH_MAX)
    bound = this
    this.#boundArrays = this.#trie.arrays
  }
}
