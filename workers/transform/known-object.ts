import assert from 'node:assert/strict'
import type { JsonTape } from '../decode/json-tape.ts'
import type { PathTrie } from '../decode/path-trie.ts'
import { ENTRY } from '../decode/tape-types.ts'
import { heldBytes } from '../kernel/arena-copy.ts'

/**
 * A JSON object of strings that is inserted again and again. Its tape entries are kept from when it
 * was parsed last, as it stands at the same path in most events.
 */
export class KnownObject {
  readonly json: Uint8Array
  #trie: PathTrie | undefined
  #generation = 0
  #node = 0
  /** Positions count from the object's first byte. */
  #entries = new Int32Array(0)

  constructor(json: Uint8Array) {
    this.json = heldBytes(json)
  }

  /** Appends its entries as those of `node`. `start`: where its text stands in the tape's bytes. */
  append(tape: JsonTape, node: number, start: number): void {
    const { trie } = tape
    if (this.#node !== node || this.#trie !== trie || this.#generation !== trie.generation) {
      this.#parse(tape, node, start)
      return
    }
    const known = this.#entries
    tape.reserve(known.length)
    const { entries } = tape
    const out = tape.length
    for (let i = 0; i < known.length; i += ENTRY) {
      entries[out + i] = known[i]!
      entries[out + i + 1] = known[i + 1]!
      entries[out + i + 2] = known[i + 2]! + start
      entries[out + i + 3] = known[i + 3]! + start
    }
    tape.length = out + known.length
  }

  #parse(tape: JsonTape, node: number, start: number): void {
    const from = tape.length
    const end = tape.parse(start, node, false)
    assert.equal(end, start + this.json.length)
    const entries = tape.entries.slice(from, tape.length)
    for (let i = 0; i < entries.length; i += ENTRY) {
      entries[i + 2]! -= start
      entries[i + 3]! -= start
    }
    this.#trie = tape.trie
    this.#generation = tape.trie.generation
    this.#node = node
    this.#entries = entries
  }
}
