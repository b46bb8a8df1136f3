/**
 * The byte tape: one forward pass over JSON bytes writes four integers a leaf, and nothing else.
 *
 * Input is judged exactly as `JSON.parse` judges it (RFC 8259); differential tests hold the two
 * together. No strings, no objects, no allocation an event. Everything downstream (redaction by
 * path, columns, event time, shape) works on these integers and on byte ranges.
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
import { IS_ESCAPE, IS_HEX, integerType, isKeyAt, stringStop } from './json-scan.ts'
import type { PathTrie } from './path-trie.ts'
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
  NULL,
  OBJECT,
  STRING,
  TRUE,
} from './tape-types.ts'

/** Zero bytes that must follow the line feed after the input. */
export const TAPE_PADDING = 8

/** Why parsing stopped; `TAPE_ERRORS` has the words. */
export const SYNTAX_VALUE = 1
export const SYNTAX_KEY = 2
export const SYNTAX_COLON = 3
export const SYNTAX_COMMA = 4
export const SYNTAX_STRING = 5
export const SYNTAX_ESCAPE = 6
export const SYNTAX_NUMBER = 7
export const SYNTAX_TRAILING = 8
export const TOO_DEEP = 9

export const TAPE_ERRORS: readonly string[] = [
  '',
  'expected a value',
  'expected a key in double quotes',
  "expected ':' after the key",
  "expected ',' or the closing bracket",
  'control character or end of input inside a string',
  'invalid escape in a string',
  'invalid number',
  'unexpected data after the value',
  `nested deeper than ${DEPTH_MAX} levels (DEPTH_MAX)`,
]

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

export class JsonTape {
  readonly trie: PathTrie
  entries = new Int32Array(64 * 1024)
  /** Integers in use. */
  length = 0
  errorCode = 0
  errorAt = 0
  #bytes: Uint8Array = new Uint8Array(0)
  #view: DataView = new DataView(new ArrayBuffer(0))
  /** Line feeds are white space inside a document, but end a line of NDJSON. */
  #lineFeedIsSpace = false
  /** By node: the object that had it last, and the entries of its value there. */
  #seen = new Int32Array(0)
  #valueStart = new Int32Array(0)
  #valueEnd = new Int32Array(0)
  #objectSerial = 0

  constructor(trie: PathTrie) {
    this.trie = trie
  }

  /** Starts a batch: forgets all entries. Entry positions refer to `bytes`. */
  begin(bytes: Uint8Array): void {
    this.extend(bytes)
    this.length = 0
    if (this.trie.isFull) this.trie.reset()
    if (this.#seen.length < this.trie.parent.length || this.#objectSerial > 0x3fffffff) {
      this.#allocateNodes(this.trie.parent.length)
      this.#objectSerial = 0
    }
  }

  /**
   * Parses one value at `pos` (no white space before it) under `node`. Returns where it ended, or
   * -1 with `errorCode` and `errorAt` set; entries written for it are then to be cut off by the
   * caller. A root object leaves only its leaves. `depth` is that of the container around it.
   */
  parse(pos: number, node: number, lineFeedIsSpace: boolean, depth = 0): number {
    this.#lineFeedIsSpace = lineFeedIsSpace
    if (this.#bytes[pos] === OPEN_OBJECT) return this.#object(pos + 1, node, depth + 1)
    return this.#value(pos, node, depth)
  }

  /** Goes on with `bytes`, which begin with what the batch's bytes were so far. */
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

  /** Makes room for `more` integers behind `length`, for whoever writes them directly. */
  reserve(more: number): void {
    const needed = this.length + more
    if (needed <= this.entries.length) return
    const grown = new Int32Array(Math.max(needed, 2 * this.entries.length))
    grown.set(this.entries)
    this.entries = grown
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
    const serial = ++this.#objectSerial
    let previous = NO_KEY
    let pos = start
    if (bytes[pos]! <= SPACE) pos = this.space(pos)
    if (bytes[pos] === CLOSE_OBJECT) return pos + 1
    for (;;) {
      if (bytes[pos] !== QUOTE) return this.#fail(SYNTAX_KEY, pos)
      // The key that came here last time, compared in place.
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
      if (this.#seen[child] === serial) this.#overrule(child)
      else this.#seen[child] = serial
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
    if (trie.count > this.#seen.length) {
      const [seen, start, end] = [this.#seen, this.#valueStart, this.#valueEnd]
      this.#allocateNodes(trie.parent.length)
      this.#seen.set(seen)
      this.#valueStart.set(start)
      this.#valueEnd.set(end)
    }
    return key
  }

  #allocateNodes(count: number): void {
    this.#seen = new Int32Array(count)
    this.#valueStart = new Int32Array(count)
    this.#valueEnd = new Int32Array(count)
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
    const bytes = this.#bytes
    const byte = bytes[pos]
    if (byte === 0x74) {
      if (bytes[pos + 1] === 0x72 && bytes[pos + 2] === 0x75 && bytes[pos + 3] === 0x65) {
        this.push(node, TRUE, pos, pos + 4)
        return pos + 4
      }
    } else if (byte === 0x6e) {
      if (bytes[pos + 1] === 0x75 && bytes[pos + 2] === 0x6c && bytes[pos + 3] === 0x6c) {
        this.push(node, NULL, pos, pos + 4)
        return pos + 4
      }
    } else if (byte === 0x66 && bytes[pos + 1] === 0x61 && bytes[pos + 2] === 0x6c) {
      if (bytes[pos + 3] === 0x73 && bytes[pos + 4] === 0x65) {
        this.push(node, FALSE, pos, pos + 5)
        return pos + 5
      }
    }
    return this.#fail(SYNTAX_VALUE, pos)
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

  /** An object inside an array: its leaves stand behind a header of its own. */
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
