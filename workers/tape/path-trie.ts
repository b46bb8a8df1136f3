/**
 * The trie of key paths that one worker has seen, shared by all its streams.
 *
 * A node is one key under one parent. Parsing needs a node for every key of every event, so a node
 * remembers which key followed it last time: on recurring shapes a key costs one byte-compare and
 * no hash. Nodes are plain integers into parallel arrays; strings are made once, at creation.
 *
 * Three kinds of identity, all integers:
 * - node: a key as spelled under a parent. `"a"` and `"\u0061"` are two nodes.
 * - canonical node: the node of the decoded spelling. The tape holds only these.
 * - column: a dotted path inside its scope. `{"a":{"b":1}}` and `{"a.b":1}` share a column. A scope
 *   is the event, or the element of one array: elements of an array have columns of their own.
 */
import assert from 'node:assert/strict'
import { FIELD_PATH_BYTES_MAX } from '../../src/limits.ts'
import { arena } from '../kernel/arena.ts'
import { ColumnNames, NO_COLUMN } from './column-names.ts'
import { hashBytes } from './hash-bytes.ts'
import { unescapeToString } from './json-string.ts'
import { labelRankOf } from './label-fields.ts'

/** Key nodes a worker's path trie may hold before it starts afresh (between batches). */
export const TRIE_NODES_MAX = 32_768

export const ROOT = 1
/** Paths with more bytes than this are stored raw but get no column. */
export const PATH_BYTES_MAX = FIELD_PATH_BYTES_MAX
const SHAPE_SEED_LOW = 0x2545f491
const SHAPE_SEED_HIGH = 0x4f6cdd1d
const DOT = 0x2e
const QUOTE = 0x22
/** Keys are compared four bytes at a time, past their end. */
const KEY_PADDING = 8

/** Names at the event's root that may hold its producer time, best first (docs/api.md). */
export const TIME_FIELDS = [
  '@timestamp',
  'timestamp',
  'time',
  'ts',
  'event_time',
  'eventTime',
  'datetime',
  'date',
  'created_at',
] as const

const TIME_FIELD_CHARS_MAX = Math.max(...TIME_FIELDS.map((name) => name.length))
const NODES_FIRST = 256
/** Larger arrays, made for one batch, are not kept. */
const NODES_KEPT_MAX = 2 * TRIE_NODES_MAX
const KEY_BYTES_FIRST = 4_000
const KEY_BYTES_KEPT_MAX = 64 * NODES_KEPT_MAX

/** Of all tries of the thread. */
let generations = 0

export class PathTrie {
  count = 0
  /** Changes when all ids given out before lose their meaning; no other trie has the same. */
  generation = 0
  /** Changes when arrays that kernels read were replaced; see `context`. */
  arrays = 0
  parent: Int32Array = new Int32Array(0)
  keyStart: Int32Array = new Int32Array(0)
  keyLength: Int32Array = new Int32Array(0)
  /** The node itself, or the node of the same key spelled without escapes. */
  canonical: Int32Array = new Int32Array(0)
  /** Which node came next after this one in the object, last time. 0 when unknown. */
  next: Int32Array = new Int32Array(0)
  /** Which node came first in this node's object, last time. 0 when unknown. */
  first: Int32Array = new Int32Array(0)
  /** The node of this node's array elements, 0 when none was seen. */
  element: Int32Array = new Int32Array(0)
  /** Column of the node, or -1 for paths too long. */
  column = new Int32Array(0)
  /** Index + 1 into TIME_FIELDS for root keys that may hold the producer time, else 0. */
  timeRank = new Uint8Array(0)
  /** Whether the path may say the event's level or service, and how well: `label-fields.ts`. */
  labelRank = new Uint8Array(0)
  /** Hash of the full path, two independent 32-bit halves. */
  hashLow = new Int32Array(0)
  hashHigh = new Int32Array(0)
  /** 1 when the key's bytes are spelled with escapes, so that they must be decoded to be read. */
  escaped: Uint8Array = new Uint8Array(0)
  /** Keys, each with its closing quote after it, so that one comparison takes in both. */
  keyBytes: Uint8Array = new Uint8Array(0)
  keyView: DataView = new DataView(this.keyBytes.buffer)
  readonly columns: ColumnNames
  readonly #seed: number
  #keyBytesLength = 0
  #table: Int32Array = new Int32Array(0)
  /**
   * 0 for the event; inside an array's elements, the array's column + 1. Two nodes may be the same
   * path, a dotted key and a nested one, and then so are the paths within their elements.
   */
  #scope = new Int32Array(0)

  /**
   * `seed` is for the table of keys only, never for what is stored: a client that does not know it
   * cannot make keys that all collide in the table.
   */
  constructor(seed = 0) {
    this.#seed = seed
    this.columns = new ColumnNames(seed)
    this.reset()
  }

  /** Forgets everything; ids given out before mean nothing any more. */
  reset(): void {
    this.generation = ++generations
    const kept = this.parent.length
    if (kept === 0 || kept > NODES_KEPT_MAX) {
      const old = this.#kernelArrays()
      this.#allocate(NODES_FIRST)
      release(old)
    } else this.#clear()
    const keyBytes = this.keyBytes.length
    if (keyBytes === 0 || keyBytes > KEY_BYTES_KEPT_MAX) {
      this.#setKeyBytes(arena.uint8(KEY_BYTES_FIRST))
    }
    this.#keyBytesLength = 0
    this.columns.reset(NODES_KEPT_MAX)
    this.count = ROOT + 1
    this.canonical[ROOT] = ROOT
    this.column[ROOT] = NO_COLUMN
    this.hashLow[ROOT] = SHAPE_SEED_LOW
    this.hashHigh[ROOT] = SHAPE_SEED_HIGH
  }

  /** True when the trie has grown past its bound; the owner then resets it between batches. */
  get isFull(): boolean {
    return this.count > TRIE_NODES_MAX
  }

  /**
   * Finds or makes the node of a key. `start`..`end` are the bytes between the quotes, already
   * judged to be a valid JSON string; `escaped` says whether a backslash is among them.
   */
  child(parent: number, bytes: Uint8Array, start: number, end: number, escaped: boolean): number {
    const hash = hashBytes(bytes, start, end, this.#seed) ^ Math.imul(parent, 0x9e3779b1)
    const mask = this.#table.length - 1
    const length = end - start
    const spelling = escaped ? 1 : 0
    let slot = hash & mask
    for (;;) {
      const node = this.#table[slot]! // slot is masked into the table.
      if (node === 0) break
      const sameKind = this.parent[node] === parent && this.escaped[node] === spelling
      if (sameKind && this.keyLength[node] === length) {
        let at = this.keyStart[node]!
        let i = start
        while (i < end && bytes[i] === this.keyBytes[at]) {
          i++
          at++
        }
        if (i === end) return node
      }
      slot = (slot + 1) & mask
    }
    return this.#create(parent, bytes, start, end, escaped)
  }

  /** The node for the elements of the array at `node`. */
  elementOf(node: number): number {
    const known = this.element[node]!
    if (known !== 0) return known
    const element = this.#newNode(node)
    this.element[node] = element
    this.canonical[element] = element
    this.column[element] = NO_COLUMN
    const array = this.column[node]!
    // Of an array without a column nothing is stored; its elements are in no other's scope.
    this.#scope[element] = array === NO_COLUMN ? -element : array + 1
    this.hashLow[element] = Math.imul(this.hashLow[node]! ^ 0x5b5d, 0x01000193)
    this.hashHigh[element] = Math.imul(this.hashHigh[node]! ^ 0x5d5b, 0x85ebca6b)
    return element
  }

  /** Whether the full path has more than PATH_BYTES_MAX bytes. */
  isTooLong(node: number): boolean {
    let bytes = 0
    for (let at = node; at > ROOT; at = this.parent[at]!) {
      const parent = this.parent[at]!
      const isElement = this.element[parent] === at
      // As `displayPath` joins them. A key counts as it is read, not as it is spelled.
      if (isElement) bytes += '[]'.length
      else bytes += this.keyLength[this.canonical[at]!]! + (parent === ROOT ? 0 : 1)
      if (bytes > PATH_BYTES_MAX) return true
    }
    return false
  }

  /** The full path for people: dotted, with `[]` for array elements. Walks up; not for hot code. */
  displayPath(node: number): string {
    const parts: string[] = []
    for (let at = node; at > ROOT; at = this.parent[at]!) {
      const isElement = this.element[this.parent[at]!] === at
      const isTop = this.parent[at] === ROOT
      parts.push(isElement ? '[]' : `${isTop ? '' : '.'}${this.key(at)}`)
    }
    return parts.reverse().join('')
  }

  /** The key of a node as people write it. Not for hot code. */
  key(node: number): string {
    const start = this.keyStart[node]!
    const end = start + this.keyLength[node]!
    if (this.escaped[node] === 1) return unescapeToString(this.keyBytes, start, end)
    return Buffer.from(this.keyBytes.subarray(start, end)).toString()
  }

  #create(parent: number, bytes: Uint8Array, start: number, end: number, escaped: boolean): number {
    const node = this.#newNode(parent)
    const length = end - start
    this.escaped[node] = escaped ? 1 : 0
    this.#appendKey(node, bytes, start, end)
    this.#insert(node, hashBytes(bytes, start, end, this.#seed), parent)
    if (!escaped) {
      this.canonical[node] = node
      this.#describe(node, parent, bytes, start, length)
      return node
    }
    const plain = Buffer.from(unescapeToString(bytes, start, end))
    // The decoded key may itself hold backslashes; `escaped` keeps it apart from spelled ones.
    const canonical = this.child(parent, plain, 0, plain.length, false)
    this.canonical[node] = canonical
    this.column[node] = this.column[canonical]!
    return node
  }

  #describe(node: number, parent: number, bytes: Uint8Array, start: number, length: number): void {
    const end = start + length
    const nested = parent !== ROOT && this.element[this.parent[parent]!] !== parent
    // The same steps as hashing "parent.key" in one go: a dotted key hashes like a nested one.
    const seedLow = nested
      ? Math.imul(this.hashLow[parent]! ^ DOT, 0x01000193)
      : this.hashLow[parent]!
    const seedHigh = nested
      ? Math.imul(this.hashHigh[parent]! ^ DOT, 0x01000193)
      : this.hashHigh[parent]!
    this.hashLow[node] = hashBytes(bytes, start, end, seedLow)
    this.hashHigh[node] = hashBytes(bytes, start, end, seedHigh)
    const scope = this.#scope[parent]!
    this.#scope[node] = scope
    this.column[node] = NO_COLUMN
    const above = nested ? this.column[parent]! : NO_COLUMN
    if (nested && above === NO_COLUMN) return
    const lengthBefore = nested ? this.columns.lengthOf(above) + 1 : 0
    if (lengthBefore + length > PATH_BYTES_MAX) return
    const column = this.columns.find(scope, above, bytes, start, end)
    this.column[node] = column
    if (scope === 0) this.labelRank[node] = labelRankOf(this.columns.nameOf(column))
    if (parent === ROOT && length <= TIME_FIELD_CHARS_MAX) {
      const key = Buffer.from(bytes.buffer, bytes.byteOffset + start, length).toString()
      this.timeRank[node] = (TIME_FIELDS as readonly string[]).indexOf(key) + 1
    }
  }

  #newNode(parent: number): number {
    if (this.count === this.parent.length) this.#grow()
    const node = this.count++
    this.parent[node] = parent
    return node
  }

  #appendKey(node: number, bytes: Uint8Array, start: number, end: number): void {
    const at = this.#keyBytesLength
    const length = end - start
    if (at + length + KEY_PADDING > this.keyBytes.length) {
      const grown = arena.uint8(Math.max(this.keyBytes.length * 2, at + length + KEY_PADDING))
      grown.set(this.keyBytes)
      this.#setKeyBytes(grown)
    }
    this.keyBytes.set(bytes.subarray(start, end), at)
    this.keyBytes[at + length] = QUOTE
    this.keyStart[node] = at
    this.keyLength[node] = length
    this.#keyBytesLength = at + length + 1
  }

  #setKeyBytes(bytes: Uint8Array): void {
    release([this.keyBytes])
    this.keyBytes = bytes
    this.keyView = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.arrays++
  }

  #insert(node: number, keyHash: number, parent: number): void {
    const mask = this.#table.length - 1
    let slot = (keyHash ^ Math.imul(parent, 0x9e3779b1)) & mask
    while (this.#table[slot] !== 0) slot = (slot + 1) & mask
    this.#table[slot] = node
  }

  #allocate(capacity: number): void {
    this.arrays++
    this.parent = arena.int32(capacity)
    this.keyStart = arena.int32(capacity)
    this.keyLength = arena.int32(capacity)
    this.canonical = arena.int32(capacity)
    this.next = arena.int32(capacity)
    this.first = arena.int32(capacity)
    this.element = arena.int32(capacity)
    this.column = new Int32Array(capacity)
    this.timeRank = new Uint8Array(capacity)
    this.labelRank = new Uint8Array(capacity)
    this.escaped = arena.uint8(capacity)
    this.hashLow = new Int32Array(capacity)
    this.hashHigh = new Int32Array(capacity)
    this.#scope = new Int32Array(capacity)
    this.#table = arena.int32(capacity * 4)
  }

  #clear(): void {
    this.#table.fill(0)
    for (const array of this.#nodeArrays()) array.fill(0, 0, this.count)
  }

  /**
   * The context for kernels: see `Trie` of `kernels/trie.ts`. Its integers change when `arrays`
   * changes.
   */
  context(): number[] {
    const { parent, keyStart, keyLength, canonical, next, first, element, escaped } = this
    const byNode = [parent, keyStart, keyLength, canonical, next, first, element, escaped]
    const arrays = [...byNode, this.keyBytes, this.#table]
    return [...arrays.map((array) => array.byteOffset), this.#table.length - 1, this.#seed]
  }

  #kernelArrays(): readonly (Int32Array | Uint8Array)[] {
    const { parent, canonical, next, first, element, keyStart, keyLength, escaped } = this
    return [parent, canonical, next, first, element, keyStart, keyLength, escaped, this.#table]
  }

  #nodeArrays(): readonly (Int32Array | Uint8Array)[] {
    const { parent, keyStart, keyLength, canonical, next, first, element, column } = this
    const { timeRank, labelRank, escaped, hashLow, hashHigh } = this
    const links = [parent, canonical, next, first, element, column, this.#scope]
    const facts = [timeRank, labelRank, escaped, hashLow, hashHigh]
    return [...links, keyStart, keyLength, ...facts]
  }

  /** Bytes of all buffers, what the columns' names take included. */
  get bytes(): number {
    const arrays = [...this.#nodeArrays(), this.#table, this.keyBytes]
    return this.columns.bytes + arrays.reduce((sum, { byteLength }) => sum + byteLength, 0)
  }

  /** Doubles the arrays. The table stays at most a quarter full. */
  #grow(): void {
    const old = { ...this }
    const oldScope = this.#scope
    const oldKernelArrays = this.#kernelArrays()
    this.#allocate(this.parent.length * 2)
    this.parent.set(old.parent)
    this.keyStart.set(old.keyStart)
    this.keyLength.set(old.keyLength)
    this.canonical.set(old.canonical)
    this.next.set(old.next)
    this.first.set(old.first)
    this.element.set(old.element)
    this.column.set(old.column)
    this.timeRank.set(old.timeRank)
    this.labelRank.set(old.labelRank)
    this.escaped.set(old.escaped)
    this.hashLow.set(old.hashLow)
    this.hashHigh.set(old.hashHigh)
    this.#scope.set(oldScope)
    release(oldKernelArrays)
    for (let node = ROOT + 1; node < this.count; node++) {
      const parent = this.parent[node]!
      if (this.element[parent] === node) continue // Array elements are found by `element`.
      const start = this.keyStart[node]!
      const end = start + this.keyLength[node]!
      this.#insert(node, hashBytes(this.keyBytes, start, end, this.#seed), parent)
    }
    assert(this.count <= this.parent.length)
  }
}

/** Gives back arrays of the arena; those that a trie begins with are empty and not of it. */
function release(arrays: readonly (Int32Array | Uint8Array)[]): void {
  for (const array of arrays) if (array.length > 0) arena.release(array)
}
