/**
 * The checked build of the kernels. A test that imports this file before anything else has kernels
 * that throw at an access to memory that is not theirs:
 *
 *   import '../kernel/checked-kernels.ts'
 *
 * They are the very bytes that run in the service, with a check before each access
 * (`checkedModule`).
 * An access is right when it is within an array that the call was given: one whose address is an
 * argument, or stands in a context that the call was given, or in a context of a context. An array
 * is there up to its last byte and ARENA_SLACK behind it; of one that is larger than what was asked
 * for or reserved, only that and the slack. Besides, kernels read their own tables.
 *
 * Numbers that look like addresses count as such, so a call may be given more than it should; it is
 * never given less.
 */
import assert from 'node:assert/strict'
import { ARENA_SLACK, arena } from '../../workers/kernel/arena.ts'
import { BatchBytes } from '../../workers/kernel/batch-bytes.ts'
import { ByteWriter } from '../../workers/kernel/byte-writer.ts'
import { DOUBLE_BYTES_MAX } from '../../workers/kernel/number-text.ts'
import { checkedModule } from './checked-module.ts'

/** Blocks of the arena are multiples of this, at multiples of it. */
const GRANULE_BITS = 8
const BLOCK_BYTES_MIN = 256
const NOBODY = 0

export class KernelAccessError extends Error {}

/** What the checks know of the arena's arrays. */
class Arrays {
  /** By granule: the number of the array that has it, or NOBODY. */
  #owner = new Int32Array(1_024)
  /** By number. */
  readonly #start = [0]
  readonly #end = [0]
  readonly #isContext = [false]
  /** The call that was given the array last. */
  readonly #givenTo = [0]
  readonly #free: number[] = []
  #call = 0
  #kernel = ''
  constants = { start: 0, end: 0 }

  add(array: Uint8Array | Int32Array | Float64Array): void {
    const { byteOffset, byteLength } = array
    const number = this.#free.pop() ?? this.#start.length
    this.#start[number] = byteOffset
    this.#end[number] = byteOffset + byteLength + ARENA_SLACK
    this.#isContext[number] = false
    this.#givenTo[number] = 0
    this.#own(byteOffset, byteLength, number)
  }

  remove({ byteOffset, byteLength }: Uint8Array | Int32Array | Float64Array): void {
    this.#free.push(this.#numberAt(byteOffset))
    this.#own(byteOffset, byteLength, NOBODY)
  }

  #own(address: number, bytes: number, number: number): void {
    const power = 32 - Math.clz32(Math.max(BLOCK_BYTES_MIN, bytes + ARENA_SLACK) - 1)
    const end = (address + 2 ** power) >>> GRANULE_BITS
    if (end > this.#owner.length) {
      const owner = new Int32Array(Math.max(end, this.#owner.length * 2))
      owner.set(this.#owner)
      this.#owner = owner
    }
    this.#owner.fill(number, address >>> GRANULE_BITS, end)
  }

  #numberAt(address: number): number {
    return this.#owner[address >>> GRANULE_BITS] ?? NOBODY
  }

  isContext({ byteOffset }: Uint8Array): boolean {
    return this.#isContext[this.#numberAt(byteOffset)] === true
  }

  setContext({ byteOffset }: Int32Array): void {
    this.#isContext[this.#numberAt(byteOffset)] = true
  }

  /** Of the array at this address only so many bytes are there. */
  limit({ byteOffset }: Uint8Array | Int32Array, bytes: number): void {
    this.#end[this.#numberAt(byteOffset)] = byteOffset + bytes + ARENA_SLACK
  }

  /** A call begins: it is given the arrays that its arguments say. */
  begin(kernel: string, args: readonly unknown[]): void {
    this.#kernel = kernel
    this.#call++
    for (const arg of args) if (typeof arg === 'number') this.#give(arg)
  }

  #give(address: number): void {
    const number = this.#numberAt(address)
    if (number === NOBODY || this.#givenTo[number] === this.#call) return
    this.#givenTo[number] = this.#call
    if (this.#isContext[number] !== true) return
    const start = this.#start[number]!
    const end = this.#end[number]! - ARENA_SLACK
    for (const each of new Int32Array(arena.memory.buffer, start, (end - start) >> 2)) {
      this.#give(each)
    }
  }

  /** What `checkedModule` says of it. */
  readonly check = (address: number, offset: number, bytes: number): number => {
    const size = bytes < 0 ? -bytes : bytes
    const at = (address >>> 0) + (offset >>> 0)
    const number = this.#owner[at >>> GRANULE_BITS] ?? NOBODY
    if (this.#givenTo[number] === this.#call && at + size <= this.#end[number]!) return address
    const isConstant = at >= this.constants.start && at + size <= this.constants.end
    if (size === 0 || (isConstant && bytes > 0)) return address
    return this.#refuse(at, number, bytes)
  }

  #refuse(at: number, number: number, bytes: number): never {
    const what = bytes < 0 ? `writes ${-bytes}` : `reads ${bytes}`
    const past = at + Math.abs(bytes) - this.#end[number]! + ARENA_SLACK
    const isGiven = this.#givenTo[number] === this.#call
    const where = isGiven
      ? `which end ${past} bytes behind an array`
      : 'in an array that it has not'
    const place = number === NOBODY ? 'where there is no array' : where
    throw new KernelAccessError(`${this.#kernel} ${what} bytes at ${at}, ${place}`)
  }
}

const arrays = new Arrays()

/** From here on `arrays` hears of every array of the thread's arena. */
function watchArena(): void {
  for (const name of ['int32', 'float64', 'uint8', 'buffer'] as const) {
    const allocate = arena[name].bind(arena) as (length: number) => Uint8Array
    const watched = (length: number) => {
      const array = allocate(length)
      arrays.add(array)
      return array
    }
    Object.defineProperty(arena, name, { value: watched })
  }
  const addresses = arena.addresses.bind(arena)
  Object.defineProperty(arena, 'addresses', {
    value: (length: number) => {
      const array = addresses(length)
      arrays.setContext(array)
      return array
    },
  })
  const replaced = arena.replaced.bind(arena)
  Object.defineProperty(arena, 'replaced', {
    value: (old: Uint8Array, fresh: Int32Array) => {
      if (arrays.isContext(old)) arrays.setContext(fresh)
      return replaced(old, fresh)
    },
  })
  const roomFor = arena.roomFor.bind(arena)
  Object.defineProperty(arena, 'roomFor', {
    value: (length: number, array: Int32Array) => {
      const room = roomFor(length, array)
      arrays.limit(room, length * Int32Array.BYTES_PER_ELEMENT)
      return room
    },
  })
  const release = arena.release.bind(arena)
  Object.defineProperty(arena, 'release', {
    value: (array: Uint8Array) => {
      release(array)
      arrays.remove(array)
    },
  })
}

/** Of buffers that are larger than what was reserved, only that is there. */
function watchWriters(): void {
  const { reserve } = ByteWriter.prototype
  const reserved = new WeakMap<ByteWriter, number>()
  ByteWriter.prototype.reserve = function (more) {
    reserve.call(this, more)
    const needed = this.length + more
    // What was reserved at an earlier length still is.
    const bytes = this.length === 0 ? needed : Math.max(needed, reserved.get(this) ?? 0)
    reserved.set(this, bytes)
    if (arena.holds(this.bytes)) arrays.limit(this.bytes, bytes)
  }
}

/** The same for the room of a batch's bytes. */
function watchBatches(): void {
  const { room } = BatchBytes.prototype
  BatchBytes.prototype.room = function (length) {
    const bytes = room.call(this, length)
    arrays.limit(bytes, length)
    return bytes
  }
}

interface Instance {
  readonly exports: Record<string, unknown>
}
type Imports = Record<string, Record<string, unknown>>

/** While this runs, what is compiled and instantiated is checked. */
async function withChecks(load: () => Promise<unknown>): Promise<void> {
  const { Module, Instance } = WebAssembly
  function CheckedCode(code: Uint8Array): object {
    const checked = checkedModule(code)
    arrays.constants = checked.constants
    return new Module(checked.code)
  }
  function CheckedInstance(module: object, imports: Imports): Instance {
    const otlp = { writeDouble: writtenWithin(imports.otlp?.writeDouble as WriteDouble) }
    const checked = { check: arrays.check }
    const { exports } = new Instance(module, { ...imports, otlp, checked })
    const kernels = Object.entries(exports).map(([name, kernel]) => {
      return [name, announced(name, kernel as (...args: unknown[]) => unknown)]
    })
    return { exports: Object.fromEntries(kernels) }
  }
  Object.assign(WebAssembly, { Module: CheckedCode, Instance: CheckedInstance })
  await load()
  Object.assign(WebAssembly, { Module, Instance })
  assert(arrays.constants.end > 0, 'imported too late: there are kernels without checks already')
}

type WriteDouble = (address: number, value: number) => number

/** What kernels leave to JavaScript writes to where they say. */
function writtenWithin(writeDouble: WriteDouble): WriteDouble {
  return (address, value) => writeDouble(arrays.check(address, 0, -DOUBLE_BYTES_MAX), value)
}

function announced(name: string, kernel: (...args: unknown[]) => unknown) {
  return (...args: unknown[]) => {
    arrays.begin(name, args)
    return kernel(...args)
  }
}

watchArena()
watchBatches()
watchWriters()
await withChecks(() => import('../../workers/kernel/kernels.ts'))
