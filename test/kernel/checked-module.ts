/**
 * Puts a check before every access to memory of a WebAssembly module: the bytes that are tested are
 * those that run, but for the checks. The module gets one import more, `checked.check(address,
 * offset, bytes)`, which is called with what an instruction would read, or with minus so many bytes
 * where it would write, and returns the address.
 *
 * Knows the instructions that our compiler uses and throws at any other: an access that nobody
 * checks would look like one that is right. (WebAssembly core specification, 5: binary format.)
 */
import assert from 'node:assert/strict'
import { accessOf, immediateEnd, MEMORY_COPY, MEMORY_FILL } from './wasm-instructions.ts'
import { encodeSigned, encodeUnsigned, WasmReader } from './wasm-reader.ts'

const HEADER_BYTES = 8
const SECTION = {
  custom: 0,
  type: 1,
  import: 2,
  export: 7,
  start: 8,
  element: 9,
  code: 10,
  data: 11,
}
const FUNCTION = 0
const END = 0x0b
const CALL = 0x10
const REF_FUNC = 0xd2
const DROP = 0x1a
const LOCAL_GET = 0x20
const LOCAL_SET = 0x21
const LOCAL_TEE = 0x22
const I32_CONST = 0x41
const I32_SUB = 0x6b
const I32 = 0x7f
const I64 = 0x7e
const F32 = 0x7d
const F64 = 0x7c
const V128 = 0x7b
/** Locals that each function gets: addresses and lengths, then a value of each type. */
const SPARE_TYPES = [I32, I32, I32, I32, I64, F32, F64, V128]
const CHECK_TYPE = [0x60, 3, I32, I32, I32, 1, I32]
const CHECK_IMPORT = [...nameOf('checked'), ...nameOf('check'), FUNCTION]

export interface CheckedModule {
  readonly code: Uint8Array
  /** Instructions before which there is a check. */
  readonly accesses: number
  /** Where the module's own tables begin and end. */
  readonly constants: { readonly start: number; readonly end: number }
}

interface Module {
  /** Parameters of each type of functions. */
  readonly parameters: readonly number[]
  /** The type of each function that the module defines. */
  readonly types: readonly number[]
  readonly importedFunctions: number
}

function nameOf(text: string): number[] {
  return [...encodeUnsigned(text.length), ...Buffer.from(text)]
}

/** The module with checks. */
export function checkedModule(code: Uint8Array): CheckedModule {
  const sections = sectionsOf(code)
  const module = readModule(sections)
  let accesses = 0
  const parts: Uint8Array[] = [code.subarray(0, HEADER_BYTES)]
  for (const { id, bytes } of sections) {
    // Names of functions go by their old numbers.
    if (id === SECTION.custom) continue
    assert(id !== SECTION.start && id !== SECTION.element, `section ${id}`)
    let rewritten: readonly number[] | Uint8Array = bytes
    if (id === SECTION.type) rewritten = withEntry(bytes, CHECK_TYPE)
    else if (id === SECTION.import) {
      const type = encodeUnsigned(module.parameters.length)
      rewritten = withEntry(bytes, [...CHECK_IMPORT, ...type])
    } else if (id === SECTION.export) rewritten = movedExports(bytes, module)
    else if (id === SECTION.code) {
      const checked = checkedBodies(bytes, module)
      rewritten = checked.bytes
      accesses = checked.accesses
    }
    parts.push(Uint8Array.of(id, ...encodeUnsigned(rewritten.length)), Uint8Array.from(rewritten))
  }
  const data = sections.find(({ id }) => id === SECTION.data)
  return { code: Buffer.concat(parts), accesses, constants: constantsIn(data?.bytes) }
}

function constantsIn(data: Uint8Array | undefined): CheckedModule['constants'] {
  if (data === undefined) return { start: 0, end: 0 }
  const reader = new WasmReader(data)
  const runs = reader.list(() => {
    assert.deepEqual([reader.byte(), reader.byte()], [0, I32_CONST], 'data at an address')
    const start = reader.unsigned()
    assert.equal(reader.byte(), END)
    return { start, end: start + reader.take(reader.unsigned()).length }
  })
  const starts = runs.map(({ start }) => start)
  return { start: Math.min(...starts), end: Math.max(...runs.map(({ end }) => end)) }
}

function sectionsOf(code: Uint8Array): { id: number; bytes: Uint8Array }[] {
  const reader = new WasmReader(code)
  reader.at = HEADER_BYTES
  const sections: { id: number; bytes: Uint8Array }[] = []
  while (reader.at < code.length) {
    const id = reader.byte()
    sections.push({ id, bytes: reader.take(reader.unsigned()) })
  }
  return sections
}

function readModule(sections: readonly { id: number; bytes: Uint8Array }[]): Module {
  const section = (id: number) => new WasmReader(sections.find((each) => each.id === id)!.bytes)
  const types = section(SECTION.type)
  const parameters = types.list(() => {
    assert.equal(types.byte(), 0x60, 'a type of functions')
    const count = types.list(() => types.byte()).length
    types.list(() => types.byte())
    return count
  })
  const imports = section(SECTION.import)
  const kinds = imports.list(() => {
    imports.take(imports.unsigned())
    imports.take(imports.unsigned())
    const kind = imports.byte()
    if (kind === FUNCTION) imports.unsigned()
    else {
      assert.equal(kind, 2, 'a memory')
      const limits = imports.byte()
      imports.unsigned()
      if ((limits & 1) !== 0) imports.unsigned()
    }
    return kind
  })
  const functions = section(3)
  return {
    parameters,
    types: functions.list(() => functions.unsigned()),
    importedFunctions: kinds.filter((kind) => kind === FUNCTION).length,
  }
}

/** A list with one entry more, behind the others. */
function withEntry(list: Uint8Array, entry: readonly number[]): number[] {
  const reader = new WasmReader(list)
  const count = reader.unsigned()
  return [...encodeUnsigned(count + 1), ...list.subarray(reader.at), ...entry]
}

/** The new import stands before the module's own functions, whose numbers rise by one. */
function movedFunction(number: number, { importedFunctions }: Module): number[] {
  return encodeUnsigned(number < importedFunctions ? number : number + 1)
}

function movedExports(bytes: Uint8Array, module: Module): number[] {
  const reader = new WasmReader(bytes)
  const entries = reader.list(() => {
    const start = reader.at
    reader.take(reader.unsigned())
    const kind = reader.byte()
    const head = bytes.subarray(start, reader.at)
    const number = reader.unsigned()
    return [
      ...head,
      ...(kind === FUNCTION ? movedFunction(number, module) : encodeUnsigned(number)),
    ]
  })
  return [...encodeUnsigned(entries.length), ...entries.flat()]
}

function checkedBodies(bytes: Uint8Array, module: Module) {
  const reader = new WasmReader(bytes)
  let accesses = 0
  let index = 0
  const bodies = reader.list(() => {
    const body = reader.take(reader.unsigned())
    const checked = new BodyChecker(body, module, module.parameters[module.types[index++]!]!)
    const code = checked.run()
    accesses += checked.accesses
    return [...encodeUnsigned(code.length), ...code]
  })
  return { bytes: [...encodeUnsigned(bodies.length), ...bodies.flat()], accesses }
}

/** The body of one function. */
class BodyChecker {
  readonly #body: Uint8Array
  readonly #module: Module
  readonly #reader: WasmReader
  readonly #out: number[] = []
  /** The first of the spare locals. */
  #spare: number
  accesses = 0

  constructor(body: Uint8Array, module: Module, parameters: number) {
    this.#body = body
    this.#module = module
    this.#reader = new WasmReader(body)
    this.#spare = parameters
  }

  run(): number[] {
    const reader = this.#reader
    const groups = reader.list(() => {
      const start = reader.at
      this.#spare += reader.unsigned()
      reader.byte()
      return [...this.#body.subarray(start, reader.at)]
    })
    const spares = SPARE_TYPES.map((type) => [1, type])
    this.#out.push(...encodeUnsigned(groups.length + spares.length), ...groups.flat())
    this.#out.push(...spares.flat())
    while (reader.at < this.#body.length) this.#instruction()
    return this.#out
  }

  #instruction(): void {
    const reader = this.#reader
    const start = reader.at
    const opcode = reader.opcode()
    if (opcode === CALL || opcode === REF_FUNC) {
      this.#out.push(opcode, ...movedFunction(reader.unsigned(), this.#module))
      return
    }
    const access = accessOf(opcode)
    if (access !== undefined) {
      reader.unsigned()
      const offset = reader.unsigned()
      if (access.laneByte) reader.byte()
      this.#check(access, offset)
    } else if (opcode === MEMORY_COPY || opcode === MEMORY_FILL) {
      immediateEnd(reader, opcode)
      this.#checkRanges(opcode === MEMORY_COPY)
    } else immediateEnd(reader, opcode)
    this.#out.push(...this.#body.subarray(start, reader.at))
  }

  /** The address is on the stack, below a value if there is one. */
  #check(access: { bytes: number; isStore: boolean; value?: number }, offset: number): void {
    const { value } = access
    const spare = value === undefined ? 0 : this.#spare + SPARE_TYPES.lastIndexOf(value)
    if (value !== undefined) this.#emit(LOCAL_SET, spare)
    this.#out.push(I32_CONST, ...encodeSigned(offset))
    this.#out.push(I32_CONST, ...encodeSigned(access.isStore ? -access.bytes : access.bytes))
    this.#emit(CALL, this.#module.importedFunctions)
    if (value !== undefined) this.#emit(LOCAL_GET, spare)
    this.accesses++
  }

  /** On the stack: a target, a source or a byte, and a length. */
  #checkRanges(isCopy: boolean): void {
    const [to, from, length] = [this.#spare, this.#spare + 1, this.#spare + 2]
    const check = (local: number, isStore: boolean) => {
      this.#emit(LOCAL_GET, local)
      this.#out.push(I32_CONST, 0)
      if (isStore) this.#out.push(I32_CONST, 0)
      this.#emit(LOCAL_GET, length)
      if (isStore) this.#out.push(I32_SUB)
      this.#emit(CALL, this.#module.importedFunctions)
      this.#out.push(DROP)
    }
    this.#emit(LOCAL_SET, length)
    this.#emit(LOCAL_SET, from)
    this.#emit(LOCAL_TEE, to)
    check(to, true)
    if (isCopy) check(from, false)
    this.#emit(LOCAL_GET, from)
    this.#emit(LOCAL_GET, length)
    this.accesses++
  }

  #emit(opcode: number, index: number): void {
    this.#out.push(opcode, ...encodeUnsigned(index))
  }
}
