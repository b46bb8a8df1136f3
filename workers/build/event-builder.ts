/**
 * Writes events as JSON and their tape at once: byte for byte and entry for entry what `JsonTape`
 * would write if it parsed that JSON (`test/decode/otlp/decode-otlp.ts` compares the two).
 *
 * For events that do not arrive as JSON, or not as they are stored. Values come as byte ranges of
 * any buffer; keys are predicted by the trie as in parsing, so a known one costs one comparison,
 * which is also its copy. Nothing is allocated per event.
 *
 * Once the event is too large, writing a value returns false and writing a key -1: `error` says so,
 * and the event is then rejected. Punctuation is always written; space is reserved for it. Depth is
 * counted by the caller, which recurses.
 *
 * Subtle: strings and keys are read four bytes at a time, up to `TAPE_PADDING` bytes past their
 * end; see `ByteSource`.
 */
import { EVENT_BYTES_MAX } from '../../src/limits.ts'
import { ESCAPE_BYTES_MAX } from '../tape/json-escape.ts'
import { LOW_BYTES } from '../tape/json-scan.ts'
import type { MemberFields } from '../tape/tape-kernel.ts'
import { ARRAY, DEAD, ELEMENT, ENTRY, EXTENSION, OBJECT } from '../tape/tape-types.ts'
import { type ByteSource, EVENT_TOO_LARGE, ScalarWriter } from './scalar-writer.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
/** Bytes of JSON the quick way gets for one of the wire; what needs more goes the whole way. */
const QUICK_ROOM = 3
/** Instead of a key: none before it in its object. */
export const NO_KEY = 0

export class EventBuilder extends ScalarWriter {
  /** By node, as in `JsonTape`: the object that had it last, and the entries of its value there. */
  #seen = new Int32Array(0)
  #valueStart = new Int32Array(0)
  #valueEnd = new Int32Array(0)
  #objectSerial = 0

  override begin(): void {
    super.begin()
    if (this.#objectSerial > 0x3fffffff) {
      this.#seen = new Int32Array(0)
      this.#objectSerial = 0
    }
    this.#growNodes()
  }

  /** Opens an object; returns its serial for `key`. */
  openObject(): number {
    this.room(0)
    this.out[this.at++] = OPEN_OBJECT
    return ++this.#objectSerial
  }

  /**
   * Writes a brace and the members of `fields` as calls of `openObject`, `key` and so on would, if
   * they have the usual form; `TapeKernel` says which. False: nothing was written.
   */
  tryWriteMembers(fields: MemberFields, node: number, depth: number): boolean {
    const { quick } = this.tape
    if (quick === undefined || this.repairs) return false
    if (!this.room((fields.end - fields.start) * QUICK_ROOM)) return false
    const end = quick.tryWriteMembers(this.tape, fields, node, depth, this.out, this.at, this.limit)
    if (end < 0) return false
    this.at = end
    return true
  }

  /**
   * Closes the object that was opened at byte `open`, when the tape was at `tapeStart`. An empty
   * one outside arrays leaves an entry.
   */
  closeObject(node: number, open: number, tapeStart: number): void {
    this.room(0)
    this.out[this.at++] = CLOSE_OBJECT
    if (this.tape.length === tapeStart) this.tape.push(node, OBJECT, open, this.at)
  }

  /** Closes the event's own object, which leaves no entry. */
  closeRoot(): void {
    this.room(0)
    this.out[this.at++] = CLOSE_OBJECT
  }

  /** Before `openObject`, for an object that is an array's element. Returns its header. */
  beginElement(element: number): number {
    const header = this.tape.length
    this.tape.push(element, ELEMENT, this.at, 0)
    this.tape.push(0, EXTENSION, 0, 0)
    return header
  }

  /** Closes an object that is an array's element. */
  closeElement(header: number): void {
    this.room(0)
    this.out[this.at++] = CLOSE_OBJECT
    this.#closeHeader(header, 0, 0)
  }

  openArray(node: number): number {
    const header = this.tape.length
    this.tape.push(node, ARRAY, this.at, 0)
    this.tape.push(0, EXTENSION, 0, 0)
    this.room(0)
    this.out[this.at++] = OPEN_ARRAY
    return header
  }

  comma(): void {
    this.out[this.at++] = COMMA
  }

  /** `kinds`: a bit for the type of each of the `count` elements. */
  closeArray(header: number, kinds: number, count: number): void {
    this.room(0)
    this.out[this.at++] = CLOSE_ARRAY
    this.#closeHeader(header, kinds, count)
  }

  #closeHeader(header: number, kinds: number, count: number): void {
    const { entries } = this.tape
    entries[header + 3] = this.at
    entries[header + ENTRY] = kinds
    entries[header + ENTRY + 2] = count
    entries[header + ENTRY + 3] = this.tape.length
  }

  /**
   * Writes a key with its colon after `previous` (NO_KEY at first) in the object `serial` at
   * `node`. Returns its trie node as spelled: hand it to the next `key`, and to `endValue` when
   * its value is written. `tape.trie.canonical` of it is the node for the value. -1 on error.
   */
  key(
    node: number,
    previous: number,
    serial: number,
    from: ByteSource,
    start: number,
    end: number,
  ): number {
    const length = end - start
    if (length > EVENT_BYTES_MAX) {
      this.error = EVENT_TOO_LARGE
      return -1
    }
    if (!this.room(length * ESCAPE_BYTES_MAX)) return -1
    const { trie } = this.tape
    const { out } = this
    let { at } = this
    let key: number
    if (previous === NO_KEY) {
      key = trie.first[node]!
    } else {
      key = trie.next[previous]!
      out[at++] = COMMA
    }
    out[at++] = QUOTE
    if (key !== NO_KEY && this.#copyIfKey(key, from.view, start, length, at)) {
      at += length
    } else {
      this.at = at
      key = this.#otherKey(node, previous, from, start, end)
      at = this.at
    }
    out[at] = QUOTE
    out[at + 1] = COLON
    this.at = at + 2
    const child = trie.canonical[key]!
    if (this.#seen[child] === serial) this.#overrule(child)
    else this.#seen[child] = serial
    this.#valueStart[child] = this.tape.length
    return key
  }

  /** The value after `key` is complete. */
  endValue(key: number): void {
    this.#valueEnd[this.tape.trie.canonical[key]!] = this.tape.length
  }

  /** Writes a key of our own, by its node, which no other key of its object can be. */
  knownKey(key: number, isFirst: boolean): void {
    const { trie } = this.tape
    const start = trie.keyStart[key]!
    const length = trie.keyLength[key]!
    this.room(length)
    if (!isFirst) this.out[this.at++] = COMMA
    this.out[this.at++] = QUOTE
    const { at, view } = this
    for (let i = 0; i < length; i += 4) {
      view.setInt32(at + i, trie.keyView.getInt32(start + i, true), true)
    }
    this.at = at + length
    this.out[this.at++] = QUOTE
    this.out[this.at++] = COLON
  }

  /** The nodes of keys for `knownKey`; valid until the trie is reset, so for one batch. */
  knownNodes(parent: number, keys: readonly Uint8Array[]): number[] {
    const nodes = keys.map((key) => this.tape.trie.child(parent, key, 0, key.length, false))
    this.#growNodes()
    return nodes
  }

  /** Writes the key's bytes at `at` if they are those of the node `key`. */
  #copyIfKey(key: number, view: DataView, start: number, length: number, at: number): boolean {
    const { trie } = this.tape
    // A node whose spelling has escapes is never what its decoded bytes are.
    if (trie.keyLength[key] !== length || trie.escaped[key] === 1) return false
    const { keyView } = trie
    const keyStart = trie.keyStart[key]!
    const to = this.view
    let i = 0
    for (; i + 4 <= length; i += 4) {
      const word = view.getInt32(start + i, true)
      if (word !== keyView.getInt32(keyStart + i, true)) return false
      to.setInt32(at + i, word, true)
    }
    const word = view.getInt32(start + i, true)
    const difference = word ^ keyView.getInt32(keyStart + i, true)
    if ((difference & LOW_BYTES[length - i]!) !== 0) return false
    to.setInt32(at + i, word, true)
    return true
  }

  /** A key that was not the expected one: repaired, so that the trie has only valid ones. */
  #otherKey(node: number, previous: number, from: ByteSource, start: number, end: number): number {
    const { trie } = this.tape
    const keyStart = this.at
    const isEscaped = this.writeText(from, start, end)
    const key = trie.child(node, this.out, keyStart, this.at, isEscaped)
    if (previous === NO_KEY) trie.first[node] = key
    else trie.next[previous] = key
    this.#growNodes()
    return key
  }

  #growNodes(): void {
    const count = this.tape.trie.parent.length
    if (count <= this.#seen.length) return
    const [seen, start, end] = [this.#seen, this.#valueStart, this.#valueEnd]
    this.#seen = new Int32Array(count)
    this.#valueStart = new Int32Array(count)
    this.#valueEnd = new Int32Array(count)
    this.#seen.set(seen)
    this.#valueStart.set(start)
    this.#valueEnd.set(end)
  }

  #overrule(node: number): void {
    const { entries } = this.tape
    const end = this.#valueEnd[node]!
    for (let i = this.#valueStart[node]!; i < end; i += ENTRY) entries[i + 1] = DEAD
  }
}
