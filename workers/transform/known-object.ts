import assert from 'node:assert/strict'
import type { EventBuffer } from '../decode/event-buffer.ts'
import type { JsonTape } from '../decode/json-tape.ts'
import type { PathTrie } from '../decode/path-trie.ts'
import { ENTRY } from '../decode/tape-types.ts'
import { arena } from '../kernel/arena.ts'
import { copyRange, HeldText } from '../kernel/arena-copy.ts'

/**
 * A JSON object of strings that is inserted again and again. Its tape entries are kept from when it
 * was parsed last, as it stands at the same path in most events.
 */
export class KnownObject {
  readonly json: HeldText
  #trie: PathTrie | undefined
  #generation = 0
  #node = 0
  #entries = arena.int32(0)

  constructor(json: Uint8Array) {
    this.json = new HeldText(json)
  }

  /**
   * Its entries as those of `node`, until it is asked for another one's; positions count from the
   * object's first byte. `out` has what the tape refers to, and room for the object: it may be
   * written there to be parsed.
   */
  entries(tape: JsonTape, node: number, out: EventBuffer): Int32Array {
    const { trie } = tape
    if (this.#node !== node || this.#trie !== trie || this.#generation !== trie.generation) {
      this.#parse(tape, node, out)
    }
    return this.#entries
  }

  /** Gives its memory back; it must not be used any more. */
  release(): void {
    this.json.release()
    arena.release(this.#entries)
  }

  #parse(tape: JsonTape, node: number, out: EventBuffer): void {
    const start = out.length
    const from = tape.length
    const end = copyRange(out.bytes, start, this.json.bytes, 0, this.json.length)
    assert.equal(tape.parse(start, node, false), end)
    const parsed = tape.entries.subarray(from, tape.length)
    tape.length = from
    this.#entries = arena.replaced(this.#entries, arena.int32(parsed.length))
    const entries = this.#entries
    entries.set(parsed)
    for (let i = 0; i < entries.length; i += ENTRY) {
      entries[i + 2]! -= start
      entries[i + 3]! -= start
    }
    this.#trie = tape.trie
    this.#generation = tape.trie.generation
    this.#node = node
  }
}
