/** What the tape and its kernel (`kernels/tape.ts`) tell each other. */
import { DEPTH_MAX } from '../../src/limits.ts'
import { arena } from '../kernel/arena.ts'
import type { Kernels } from '../kernel/kernels.ts'
import type { PathTrie } from './path-trie.ts'

/** Places in the state: the tape's length, and the serial number of its newest object. */
const LENGTH = 0
const SERIAL = 1
const SERIAL_MAX = 0x3fffffff

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
    tape: { readonly entries: Int32Array; length: number },
    bytes: Uint8Array,
    pos: number,
    node: number,
    depth: number,
    lineFeedIsSpace: boolean,
  ): number {
    if (bound !== this || this.#boundArrays !== this.#trie.arrays) this.#bind()
    const state = this.#state
    state[LENGTH] = tape.length
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

  #bind(): void {
    this.#trie.bind(this.#kernels)
    this.#kernels.bindTape(this.seen.byteOffset, DEPTH_MAX)
    bound = this
    this.#boundArrays = this.#trie.arrays
  }
}
