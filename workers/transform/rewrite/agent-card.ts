/**
 * A user agent that is remembered: its string, and the JSON object that is put beside it, with the
 * tape entries of its last parse, as it has the same path in most events. All of it is in one piece
 * of memory, because `kernels/agents.ts` reads it for nearly every event: integers (bytes of the
 * string and space for it, of the object and space for it, of the entries; their node, the trie's
 * generation), string, object, entries.
 */
import assert from 'node:assert/strict'
import { arena } from '../../kernel/arena.ts'
import { ArenaText, copyRange } from '../../kernel/arena-copy.ts'
import type { EventBuffer } from '../../tape/event-buffer.ts'
import type { JsonTape } from '../../tape/json-tape.ts'
import { ENTRY } from '../../tape/tape-types.ts'

const HEAD_BYTES = 32
const ENTRY_BYTES = ENTRY * Int32Array.BYTES_PER_ELEMENT
/** Indexes of the integers. */
const ENTRIES = 4
const NODE = 5
const GENERATION = 6
const NO_NODE = -1

export class AgentCard {
  readonly text: ArenaText
  /** Empty where nothing was recognized. */
  readonly json: ArenaText
  readonly #block: Buffer
  readonly #head: Int32Array
  readonly #entries: Int32Array

  /** `fields`: how many members the object has, all of them strings. */
  constructor(text: Uint8Array, json: Uint8Array, fields: number) {
    const textRoom = roomFor(text.length)
    const jsonRoom = roomFor(json.length)
    const jsonAt = HEAD_BYTES + textRoom
    const entriesAt = jsonAt + jsonRoom
    const block = arena.buffer(entriesAt + fields * ENTRY_BYTES)
    const { buffer, byteOffset } = block
    this.#block = block
    this.#head = new Int32Array(buffer, byteOffset, HEAD_BYTES / 4)
    this.#entries = new Int32Array(buffer, byteOffset + entriesAt, fields * ENTRY)
    block.set(text, HEAD_BYTES)
    block.set(json, jsonAt)
    this.text = new ArenaText(block.subarray(HEAD_BYTES, HEAD_BYTES + text.length))
    this.json = new ArenaText(block.subarray(jsonAt, jsonAt + json.length))
    this.#head.set([text.length, textRoom, json.length, jsonRoom, 0, NO_NODE, 0])
  }

  get address(): number {
    return this.#block.byteOffset
  }

  /**
   * The object's entries as those of `node`, until the next call for another node; positions count
   * from its first byte. `out` has the bytes that the tape refers to, and space for the object,
   * which may be written there to be parsed.
   */
  entries(tape: JsonTape, node: number, out: EventBuffer): Int32Array {
    const head = this.#head
    if (head[NODE] !== node || head[GENERATION] !== tape.trie.generation) {
      this.#parse(tape, node, out)
    }
    return this.#entries
  }

  /** Gives its memory back; it must not be used any more. */
  release(): void {
    arena.release(this.#block)
  }

  #parse(tape: JsonTape, node: number, out: EventBuffer): void {
    const start = out.length
    const from = tape.length
    const end = copyRange(out.bytes, start, this.json.bytes, 0, this.json.length)
    assert.equal(tape.parse(start, node, false), end)
    const entries = this.#entries
    assert.equal(tape.length - from, entries.length, 'an entry a member')
    entries.set(tape.entries.subarray(from, tape.length))
    tape.length = from
    for (let i = 0; i < entries.length; i += ENTRY) {
      entries[i + 2]! -= start
      entries[i + 3]! -= start
    }
    this.#head[ENTRIES] = entries.byteLength
    this.#head[NODE] = node
    this.#head[GENERATION] = tape.trie.generation
  }
}

/** What is copied or compared may be sixteen bytes at a time. */
function roomFor(length: number): number {
  return (length + 15) & ~15
}
