/**
 * Whether an event has the value that a filter names, as a query over the projection would say
 * (docs/api.md, Query): of duplicate keys the last counts, a name with a dot in it is the nested
 * path, and what is inside an array is not looked at.
 */
import { type FieldFilter, readNumber } from '../../src/model/field-value.ts'
import { unescapeToString } from '../tape/json-string.ts'
import type { JsonTape } from '../tape/json-tape.ts'
import {
  DEAD,
  ESCAPED,
  FALSE,
  FLOAT,
  INT,
  NULL,
  nextEntry,
  OBJECT,
  STRING,
  TRUE,
  UINT,
} from '../tape/tape-types.ts'

/** What is remembered of a node. */
const OTHER = 1
const NAMED = 2
const NO_ENTRY = -1

export class EventFilter {
  readonly #filter: FieldFilter
  readonly #text: Buffer
  readonly #number: ReturnType<typeof readNumber>
  /** By node: whether it is the field. */
  #nodes = new Uint8Array(0)
  #generation = -1

  constructor(filter: FieldFilter) {
    const { equals } = filter
    this.#filter = filter
    this.#text = Buffer.from(equals.kind === 'string' ? equals.value : '')
    this.#number = equals.kind === 'number' ? readNumber(equals.text) : {}
  }

  /** Whether the event with these entries of the tape matches. */
  matches(tape: JsonTape, bytes: Uint8Array, tapeStart: number, tapeEnd: number): boolean {
    const { entries } = tape
    if (this.#generation !== tape.trie.generation) {
      this.#generation = tape.trie.generation
      this.#nodes = new Uint8Array(tape.trie.count)
    }
    let found = NO_ENTRY
    for (let at = tapeStart; at < tapeEnd; at = nextEntry(entries, at)) {
      if (entries[at + 1] !== DEAD && this.#isNamed(tape, entries[at]!)) found = at
    }
    return this.#isEqual(entries, found, bytes)
  }

  #isNamed(tape: JsonTape, node: number): boolean {
    const known = this.#nodes[node]
    if (known === NAMED || known === OTHER) return known === NAMED
    const isNamed = tape.trie.displayPath(node) === this.#filter.field
    if (node >= this.#nodes.length) {
      const grown = new Uint8Array(tape.trie.parent.length)
      grown.set(this.#nodes)
      this.#nodes = grown
    }
    this.#nodes[node] = isNamed ? NAMED : OTHER
    return isNamed
  }

  #isEqual(entries: Int32Array, at: number, bytes: Uint8Array): boolean {
    const { equals } = this.#filter
    const type = at === NO_ENTRY ? NULL : entries[at + 1]!
    const start = entries[at + 2]!
    const end = entries[at + 3]!
    switch (equals.kind) {
      case 'null':
        return type === NULL || type === OBJECT
      case 'boolean':
        return type === (equals.value ? TRUE : FALSE)
      case 'string':
        if (type === ESCAPED) return unescapeToString(bytes, start, end) === equals.value
        return type === STRING && this.#text.equals(bytes.subarray(start, end))
      case 'number': {
        const { integer, float } = this.#number
        if (type !== INT && type !== UINT && type !== FLOAT) return false
        const text = Buffer.from(bytes.subarray(start, end)).toString('latin1')
        return type === FLOAT ? Number(text) === float : BigInt(text) === integer
      }
    }
  }
}
