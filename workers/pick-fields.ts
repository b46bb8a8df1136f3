/**
 * Finds the values at some paths of an event's JSON, as the bytes that were stored: digits stay as
 * they were. A name with a dot is the same path as the nested one; of duplicate keys the last
 * counts.
 */
import assert from 'node:assert/strict'
import { JsonSkipper } from './tape/json-skip.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

interface PathNode {
  /** Of the path that ends here, -1 for none. */
  index: number
  readonly below: Map<string, PathNode>
}

export class FieldPicker {
  /** By path, in the constructor's order: where its value starts, -1 where there is none. */
  readonly start: Int32Array
  readonly end: Int32Array
  readonly #root: PathNode = { index: -1, below: new Map() }
  readonly #skipper = new JsonSkipper()
  #bytes: Uint8Array = new Uint8Array(0)
  #limit = 0

  /** `paths` are dotted, none twice. */
  constructor(paths: readonly string[]) {
    this.start = new Int32Array(paths.length)
    this.end = new Int32Array(paths.length)
    for (const [index, path] of paths.entries()) {
      let node = this.#root
      for (const part of path.split('.')) {
        let next = node.below.get(part)
        if (next === undefined) {
          next = { index: -1, below: new Map() }
          node.below.set(part, next)
        }
        node = next
      }
      node.index = index
    }
  }

  /** Fills `start` and `end` for the object at `start`. Precondition: it is valid JSON. */
  pick(bytes: Uint8Array, start: number, end: number): void {
    this.#bytes = bytes
    this.#limit = end
    this.start.fill(-1)
    this.#object(start, this.#root)
  }

  #object(open: number, node: PathNode): void {
    const bytes = this.#bytes
    let at = spaceEnd(bytes, open + 1)
    while (bytes[at] !== CLOSE_OBJECT) {
      assert(bytes[at] === QUOTE, 'a stored event is valid JSON')
      const keyEnd = stringEnd(bytes, at)
      const value = spaceEnd(bytes, spaceEnd(bytes, keyEnd) + 1)
      const end = this.#skipper.skip(bytes, value, this.#limit)
      assert(end > 0, 'a stored event is valid JSON')
      const found = this.#find(node, at, keyEnd)
      if (found !== undefined) this.#take(found, value, end)
      at = spaceEnd(bytes, end)
      if (bytes[at] === COMMA) at = spaceEnd(bytes, at + 1)
    }
  }

  #take(node: PathNode, value: number, end: number): void {
    this.#forget(node)
    if (node.index >= 0) {
      this.start[node.index] = value
      this.end[node.index] = end
    }
    if (node.below.size > 0 && this.#bytes[value] === OPEN_OBJECT) this.#object(value, node)
  }

  /** What an earlier duplicate of the key gave. */
  #forget(node: PathNode): void {
    if (node.index >= 0) this.start[node.index] = -1
    for (const below of node.below.values()) this.#forget(below)
  }

  /** The node of a key, which may be several names with dots between them. */
  #find(node: PathNode, start: number, end: number): PathNode | undefined {
    const raw = Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset + start, end - start)
    const quoted = raw.toString('utf8')
    const key = quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1)
    let found: PathNode | undefined = node
    for (const part of key.split('.')) {
      found = found.below.get(part)
      if (found === undefined) return undefined
    }
    return found
  }
}

/** Past the closing quote of the string that opens at `start`. */
function stringEnd(bytes: Uint8Array, start: number): number {
  let at = start + 1
  while (bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return at + 1
}

/** Past white space. */
function spaceEnd(bytes: Uint8Array, start: number): number {
  let at = start
  while (bytes[at] === 0x20 || bytes[at] === 0x09 || bytes[at] === 0x0d || bytes[at] === 0x0a) at++
  return at
}
