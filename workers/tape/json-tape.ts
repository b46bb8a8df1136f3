/**
 * The byte tape: one forward pass over JSON bytes writes four integers per leaf, and nothing else.
 *
 * Input is judged exactly as `JSON.parse` judges it (RFC 8259), as differential tests check. No
 * strings, no objects, no allocation per event. Everything downstream (redaction by path, columns,
 * event time, shape) works on these integers and on byte ranges.
 *
 * An entry is `[node, type, start, end]`; `start`..`end` is the value's text, for strings without
 * the quotes. Every array (ARRAY) and every object that is an array's element (ELEMENT) is
 * followed by an extension entry `[kinds, EXTENSION, count, tapeEnd]`: which types its elements
 * have (bits), how many there are, and where its last descendant ends on the tape. Objects outside
 * arrays leave no entry of their own unless they are empty (OBJECT).
 *
 * Subtle: there are no bounds checks. The caller guarantees that the byte after the range is a
 * line feed followed by `TAPE_PADDING` zero bytes: no token can run past it unnoticed.
 */
import { DEPTH_MAX } from '../../src/limits.ts'
import { arena } from '../kernel/arena.ts'
import { BatchBytes } from '../kernel/batch-bytes.ts'
import { kernels } from '../kernel/kernels.ts'
import {
  IS_ESCAPE,
  IS_HEX,
  integerType,
  isKeyAt,
  literalType,
  NO_LITERAL,
  stringStop,
} from './json-scan.ts'
import {
  SYNTAX_COLON,
  SYNTAX_COMMA,
  SYNTAX_ESCAPE,
  SYNTAX_KEY,
  SYNTAX_NUMBER,
  SYNTAX_STRING,
  SYNTAX_VALUE,
  TOO_DEEP,
} from './json-syntax.ts'
import type { PathTrie } from './path-trie.ts'
import { TapeKernel } from './tape-kernel.ts'
import {
  ARRAY,
  DEAD,
  ELEMENT,
  ENTRY,
  ESCAPED,
  EXTENSION,
  FALSE,
  FLOAT,
  INT,
  OBJECT,
  STRING,
} from './tape-types.ts'

/** Zero bytes that must follow the line feed after the input. */
export const TAPE_PADDING = 8

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const LINE_FEED = 0x0a
const SPACE = 0x20
const NO_KEY = 0
const BYTES = Int32Array.BYTES_PER_ELEMENT

export class JsonTape {
  readonly trie: PathTrie
  entries = arena.int32(1_000)
  /** Integers in use. */
  length = 0
  errorCode = 0
  errorAt = 0
  /** What positions refer to. */
  #bytes: Uint8Array = new Uint8Array(0)
  #view: DataView = new DataView(new ArrayBuffer(0))
  /** Holds batches that come from outside the arena. */
  readonly batch = new BatchBytes()
  /** Line feeds are white space inside a document, but end a line of NDJSON. */
  #lineFeedIsSpace = false
  readonly #kernel: TapeKernel
  /** The quick way; undefined where it is not to be taken. */
  readonly quick: TapeKernel | undefined
  /** By node: the entries of its value in the object that had it last. */
  #valueStart = new Int32Array(0)
  #valueEnd = new Int32Array(0)

  /** `isQuick: false` does without the kernel: what the kernel is compared with. */
  constructor(trie: PathTrie, { isQuick = true } = {}) {
    this.trie = trie
    this.#kernel = new TapeKernel(trie, kernels)
    this.quick = isQuick ? this.#kernel : undefined
  }

  /**
   * Starts a batch: forgets all entries. Entry positions refer to `bytes`. Returns these bytes as
   * they lie in the arena, copied there if need be; valid until the next batch.
   */
  begin(bytes: Uint8Array): Uint8Array {
    const held = this.batch.hold(bytes)
    this.extend(held)
    this.length = 0
    if (this.trie.isFull) this.trie.reset()
    this.#kernel.begin()
    this.#reserveNodes()
    return held
  }

  /**
   * Parses one value at `pos` (no white space before it) under `node`. Returns where it ended, or
   * -1 with `errorCode` and `errorAt` set; entries written for it are then to be cut off by the
   * caller. A root object leaves only its leaves. `depth` is that of the container around it.
   */
  parse(pos: number, node: number, lineFeedIsSpace: boolean, depth = 0): number {
    this.#lineFeedIsSpace = lineFeedIsSpace
    // Others make nodes as well: OTLP's events, the keys that transforms add.
    if (this.trie.parent.length > this.#valueEnd.length) this.#reserveNodes()
    if (this.#bytes[pos] !== OPEN_OBJECT) return this.#value(pos, node, depth)
    if (this.quick !== undefined) {
      const end = this.quick.tryParse(this, this.#bytes, pos, node, depth + 1, lineFeedIsSpace)
      if (end >= 0) return end
    }
    return this.#object(pos + 1, node, depth + 1)
  }

  /** The number of the object that was parsed last, for `hasKeySince`. */
  get serial(): number {
    return this.#kernel.serial
  }

  /** Whether an object parsed after that number has the key of `node`, whatever came of it. */
  hasKeySince(node: number, serial: number): boolean {
    return this.#kernel.seen[node]! > serial
  }

  /** Goes on with `bytes` of the arena, which begin with what the batch's bytes were so far. */
  extend(bytes: Uint8Array): void {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  /** Whether `space` skips line feeds from here on, until a `parse` says otherwise. */
  allowLineFeeds(isAllowed: boolean): void {
    this.#lineFeedIsSpace = isAllowed
  }

  /** Skips white space from `pos`. */
  space(pos: number): number {
    const bytes = this.#bytes
    for (;;) {
      const byte = bytes[pos]!
      if (byte > SPACE) return pos
      if (byte === SPACE || byte === 0x09 || byte === 0x0d) pos++
      else if (byte === LINE_FEED && this.#lineFeedIsSpace) pos++
      else return pos
    }
  }

  /** Appends an entry; the caller has made sure of nothing. */
  push(node: number, type: number, start: number, end: number): void {
    let length = this.length
    if (length + ENTRY > this.entries.length) this.reserve(ENTRY)
    const entries = this.entries
    entries[length++] = node
    entries[length++] = type
    entries[length++] = start
    entries[length++] = end
    this.length = length
  }

  /** Makes room for `more` integers after `length`, for code that writes them directly. */
  reserve(more: number): void {
    const needed = this.length + more
    if (needed <= this.entries.length) return
    const grown = arena.int32(Math.max(needed, 2 * this.entries.length))
    grown.set(this.entries)
    arena.release(this.entries)
    this.entries = grown
  }

  /** Appends the entries `from`..`to` once more, for text `shift` bytes further on. */
  copyEntries(from: number, to: number, shift: number): void {
    this.reserve(to - from)
    const { entries, length } = this
    const address = entries.byteOffset
    kernels.copyEntries(
      address + from * BYTES,
      address + to * BYTES,
      address + length * BYTES,
      shift,
      length - from,
    )
    this.length = length + to - from
  }

  #fail(code: number, at: number): number {
    this.errorCode = code
    this.errorAt = at
    return -1
  }

  /** `pos` is just after the opening brace. Hot: one round a key. */
  #object(start: number, node: number, depth: number): number {
    if (depth > DEPTH_MAX) return this.#fail(TOO_DEEP, start - 1)
    const bytes = this.#bytes
    const view = this.#view
    const trie = this.trie
    const serial = this.#kernel.nextSerial()
    let previous = NO_KEY
    let pos = start
    if (bytes[pos]! <= SPACE) pos = this.space(pos)
    if (bytes[pos] === CLOSE_OBJECT) return pos + 1
    for (;;) {
      if (bytes[pos] !== QUOTE) return this.#fail(SYNTAX_KEY, pos)
      // The key that followed last time, compared in place.
      let key = previous === NO_KEY ? trie.first[node]! : trie.next[previous]!
      if (key === NO_KEY || !isKeyAt(view, pos + 1, trie, key)) {
        key = this.#otherKey(pos + 1, node, previous)
        if (key < 0) return -1
      }
      previous = key
      pos += trie.keyLength[key]! + 2
      if (bytes[pos] !== COLON) {
        pos = this.space(pos)
        if (bytes[pos] !== COLON) return this.#fail(SYNTAX_COLON, pos)
      }
      pos++
      if (bytes[pos]! <= SPACE) pos = this.space(pos)
      const child = trie.canonical[key]!
      if (this.#kernel.seen[child] === serial) this.#overrule(child)
      else this.#kernel.seen[child] = serial
      this.#valueStart[child] = this.length
      pos = this.#value(pos, child, depth)
      if (pos < 0) return -1
      this.#valueEnd[child] = this.length
      if (bytes[pos]! <= SPACE) pos = this.space(pos)
      if (bytes[pos] !== COMMA) break
      pos++
      if (bytes[pos]! <= SPACE) pos = this.space(pos)
    }
    if (bytes[pos] !== CLOSE_OBJECT) return this.#fail(SYNTAX_COMMA, pos)
    return pos + 1
  }

  /** A key that was not the expected one. `pos` is after the quote. Returns its node or -1. */
  #otherKey(pos: number, node: number, previous: number): number {
    const bytes = this.#bytes
    let end = stringStop(this.#view, pos)
    const escaped = bytes[end] === BACKSLASH
    if (bytes[end] !== QUOTE) {
      end = this.#stringEnd(end)
      if (end < 0) return -1
    }
    const trie = this.trie
    const key = trie.child(node, bytes, pos, end, escaped)
    if (previous === NO_KEY) trie.first[node] = key
    else trie.next[previous] = key
    if (trie.count > this.#valueEnd.length) this.#reserveNodes()
    return key
  }

  /** Room for what is noted of each of the trie's nodes. */
  #reserveNodes(): void {
    const { length } = this.trie.parent
    this.#kernel.reserve(length)
    if (this.#valueEnd.length >= length) return
    const [start, end] = [this.#valueStart, this.#valueEnd]
    this.#valueStart = new Int32Array(length)
    this.#valueEnd = new Int32Array(length)
    this.#valueStart.set(start)
    this.#valueEnd.set(end)
  }

  /** Continues a string at its first special byte; returns the closing quote's position or -1. */
  #stringEnd(start: number): number {
    const bytes = this.#bytes
    let pos = start
    for (;;) {
      pos = stringStop(this.#view, pos)
      const byte = bytes[pos]
      if (byte === QUOTE) return pos
      if (byte !== BACKSLASH) return this.#fail(SYNTAX_STRING, pos)
      const kind = bytes[pos + 1]!
      if (IS_ESCAPE[kind] === 1) {
        pos += 2
        continue
      }
      if (kind !== 0x75) return this.#fail(SYNTAX_ESCAPE, pos)
      for (let i = pos + 2; i < pos + 6; i++) {
        if (IS_HEX[bytes[i]!] === 0) return this.#fail(SYNTAX_ESCAPE, pos)
      }
      pos += 6
    }
  }

  /** One value of any kind; `depth` is that of the container around it. */
  #value(pos: number, node: number, depth: number): number {
    const bytes = this.#bytes
    const byte = bytes[pos]!
    if (byte === QUOTE) {
      const start = pos + 1
      let end = stringStop(this.#view, start)
      if (bytes[end] === QUOTE) {
        this.push(node, STRING, start, end)
        return end + 1
      }
      end = this.#stringEnd(end)
      if (end < 0) return -1
      this.push(node, ESCAPED, start, end)
      return end + 1
    }
    if ((byte - 0x30) >>> 0 < 10 || byte === 0x2d) return this.#number(pos, node)
    if (byte === OPEN_OBJECT) {
      const tapeStart = this.length
      const end = this.#object(pos + 1, node, depth + 1)
      if (end > 0 && this.length === tapeStart) this.push(node, OBJECT, pos, end)
      return end
    }
    if (byte === OPEN_ARRAY) return this.#array(pos, node, depth + 1)
    return this.#literal(pos, node)
  }

  #literal(pos: number, node: number): number {
    const type = literalType(this.#view, pos)
    if (type === NO_LITERAL) return this.#fail(SYNTAX_VALUE, pos)
    const end = pos + (type === FALSE ? 5 : 4)
    this.push(node, type, pos, end)
    return end
  }

  #number(start: number, node: number): number {
    const bytes = this.#bytes
    let pos = start
    if (bytes[pos] === 0x2d) pos++
    const firstDigit = pos
    while ((bytes[pos]! - 0x30) >>> 0 < 10) pos++
    const digits = pos - firstDigit
    if (digits === 0 || (digits > 1 && bytes[firstDigit] === 0x30)) {
      return this.#fail(SYNTAX_NUMBER, start)
    }
    const byte = bytes[pos]
    if (byte !== 0x2e && byte !== 0x65 && byte !== 0x45) {
      this.push(node, digits < 19 ? INT : integerType(bytes, start, pos), start, pos)
      return pos
    }
    if (byte === 0x2e) {
      const fraction = ++pos
      while ((bytes[pos]! - 0x30) >>> 0 < 10) pos++
      if (pos === fraction) return this.#fail(SYNTAX_NUMBER, start)
    }
    if (bytes[pos] === 0x65 || bytes[pos] === 0x45) {
      pos++
      if (bytes[pos] === 0x2b || bytes[pos] === 0x2d) pos++
      const exponent = pos
      while ((bytes[pos]! - 0x30) >>> 0 < 10) pos++
      if (pos === exponent) return this.#fail(SYNTAX_NUMBER, start)
    }
    this.push(node, FLOAT, start, pos)
    return pos
  }

  /** `pos` is at the opening bracket. */
  #array(open: number, node: number, depth: number): number {
    if (depth > DEPTH_MAX) return this.#fail(TOO_DEEP, open)
    const bytes = this.#bytes
    const header = this.length
    this.push(node, ARRAY, open, 0)
    this.push(0, EXTENSION, 0, 0)
    let kinds = 0
    let count = 0
    let pos = this.space(open + 1)
    if (bytes[pos] === CLOSE_ARRAY) {
      pos++
    } else {
      const element = this.trie.elementOf(node)
      for (;;) {
        const at = this.length
        pos =
          bytes[pos] === OPEN_OBJECT
            ? this.#elementObject(pos, element, depth + 1)
            : this.#value(pos, element, depth)
        if (pos < 0) return -1
        kinds |= 1 << this.entries[at + 1]!
        count++
        if (bytes[pos]! <= SPACE) pos = this.space(pos)
        const byte = bytes[pos++]
        if (byte === CLOSE_ARRAY) break
        if (byte !== COMMA) return this.#fail(SYNTAX_COMMA, pos - 1)
        if (bytes[pos]! <= SPACE) pos = this.space(pos)
      }
    }
    this.#close(header, kinds, count, pos)
    return pos
  }

  /** An object inside an array: its leaves follow a header of its own. */
  #elementObject(open: number, element: number, depth: number): number {
    const header = this.length
    this.push(element, ELEMENT, open, 0)
    this.push(0, EXTENSION, 0, 0)
    const end = this.#object(open + 1, element, depth)
    if (end > 0) this.#close(header, 0, 0, end)
    return end
  }

  #close(header: number, kinds: number, count: number, end: number): void {
    const entries = this.entries
    entries[header + 3] = end
    entries[header + ENTRY] = kinds
    entries[header + ENTRY + 2] = count
    entries[header + ENTRY + 3] = this.length
  }

  /** A key came again in one object: what it held before counts no more (the last one wins). */
  #overrule(node: number): void {
    const { entries } = this
    const end = this.#valueEnd[node]!
    for (let i = this.#valueStart[node]!; i < end; i += ENTRY) entries[i + 1] = DEAD
  }
}
