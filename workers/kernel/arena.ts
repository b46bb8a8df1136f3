/**
 * The memory that kernels work on: one growing WebAssembly memory per thread, in which batches,
 * their tapes and what is encoded from them lie as ordinary typed arrays. TypeScript and kernels
 * read and write the same bytes; nothing is copied between them.
 *
 * The memory is shared because a shared memory can grow without detaching the arrays that are in
 * use. No other thread sees it: whatever leaves the worker is copied out.
 *
 * An array exists until it is released: the garbage collector knows nothing of kernels that have
 * its address, and Piscina's threads never reach the event loop, where finalizers would run. To
 * replace an array, allocate first, then release: an allocation that fails then changes nothing.
 */
import assert from 'node:assert/strict'
import { ARENA_BYTES_MAX } from '../../src/limits.ts'

const PAGE_BYTES = 64 * 1024
/** What is below belongs to the kernels' own data. */
const FIRST_ADDRESS = 4_096
/** Smallest block; blocks are powers of two. */
const BLOCK_BYTES_MIN = 256
/** The memory grows by at least this much. */
const GROWTH_BYTES = 1024 * 1024
/** After every array this many bytes can be read and written without touching another. */
export const ARENA_SLACK = 64

interface Block {
  readonly address: number
  readonly bytes: number
}

type ArenaArray = Int32Array | Float64Array | Uint8Array

/** Code that was growing several arrays when this was thrown has grown only some of them. */
export class ArenaFullError extends RangeError {
  constructor(text = `a batch needs more than ${ARENA_BYTES_MAX} bytes (ARENA_BYTES_MAX)`) {
    super(text)
  }
}

export class Arena {
  readonly memory = new WebAssembly.Memory({
    initial: 1,
    maximum: ARENA_BYTES_MAX / PAGE_BYTES,
    shared: true,
  })
  #top = FIRST_ADDRESS
  #end = PAGE_BYTES
  /** Free blocks by the power of two that they have bytes. */
  readonly #free: number[][] = Array.from({ length: 32 }, () => [])
  readonly #blocks = new WeakMap<ArenaArray, Block>()
  /** Each growth makes another object of the same memory. */
  readonly #buffers = new WeakSet<ArrayBufferLike>([this.memory.buffer])

  /** Bytes that were ever in use at once. */
  get bytes(): number {
    return this.#top
  }

  /** An array of zeros. */
  int32(length: number): Int32Array {
    const { block, isFresh } = this.#take(length * Int32Array.BYTES_PER_ELEMENT)
    const array = new Int32Array(this.memory.buffer, block.address, length)
    if (!isFresh) array.fill(0)
    return this.#register(array, block)
  }

  /** An array of zeros. */
  float64(length: number): Float64Array {
    const { block, isFresh } = this.#take(length * Float64Array.BYTES_PER_ELEMENT)
    const array = new Float64Array(this.memory.buffer, block.address, length)
    if (!isFresh) array.fill(0)
    return this.#register(array, block)
  }

  /** An array of zeros. */
  uint8(length: number): Uint8Array {
    const { block, isFresh } = this.#take(length)
    const array = new Uint8Array(this.memory.buffer, block.address, length)
    if (!isFresh) array.fill(0)
    return this.#register(array, block)
  }

  /** Zeros for integers of which some are addresses: a context for a kernel. */
  addresses(length: number): Int32Array {
    return this.int32(length)
  }

  /** Bytes, whatever is in them. */
  buffer(length: number): Buffer {
    const { block } = this.#take(length)
    return this.#register(Buffer.from(this.memory.buffer, block.address, length), block)
  }

  /** `array` if it has this many integers, else a new one, of zeros, that replaces it. */
  roomFor(length: number, array: Int32Array): Int32Array {
    if (array.length >= length) return array
    return this.replaced(array, this.int32(length * 2))
  }

  /** A new array that replaces `array`, with its contents and as many zeros after them. */
  doubled(array: Int32Array): Int32Array {
    const doubled = this.int32(array.length * 2)
    doubled.set(array)
    return this.replaced(array, doubled)
  }

  /** Releases `old` now that `fresh` has been allocated to replace it; returns `fresh`. */
  replaced<T extends ArenaArray>(old: ArenaArray, fresh: T): T {
    this.release(old)
    return fresh
  }

  /** Gives back an array that nobody will use any more, nor any view of it. */
  release(array: ArenaArray): void {
    const block = this.#blocks.get(array)
    assert(block !== undefined, 'an array of the arena, released once')
    this.#blocks.delete(array)
    this.#put(block)
  }

  /** Whether kernels can reach these bytes. */
  holds(view: ArrayBufferView): boolean {
    return this.#buffers.has(view.buffer)
  }

  #register<T extends ArenaArray>(array: T, block: Block): T {
    this.#blocks.set(array, block)
    return array
  }

  #take(bytes: number): { block: Block; isFresh: boolean } {
    if (bytes + ARENA_SLACK > ARENA_BYTES_MAX / 2) throw new ArenaFullError()
    const power = 32 - Math.clz32(Math.max(BLOCK_BYTES_MIN, bytes + ARENA_SLACK) - 1)
    const known = this.#free[power]!.pop()
    const blockBytes = 2 ** power
    if (known !== undefined) {
      return { block: { address: known, bytes: blockBytes }, isFresh: false }
    }
    const address = this.#top
    this.#grow(address + blockBytes)
    this.#top = address + blockBytes
    return { block: { address, bytes: blockBytes }, isFresh: true }
  }

  #grow(end: number): void {
    if (end <= this.#end) return
    if (end > ARENA_BYTES_MAX) throw new ArenaFullError()
    const wanted = Math.min(ARENA_BYTES_MAX, Math.max(end, this.#end + GROWTH_BYTES))
    const pages = Math.ceil((wanted - this.#end) / PAGE_BYTES)
    try {
      this.memory.grow(pages)
    } catch {
      throw new ArenaFullError(`the system has no memory beyond the ${this.#end} bytes of a worker`)
    }
    this.#end += pages * PAGE_BYTES
    this.#buffers.add(this.memory.buffer)
  }

  #put({ address, bytes }: Block): void {
    this.#free[Math.log2(bytes)]!.push(address)
  }
}

/** The thread's. */
export const arena = new Arena()
