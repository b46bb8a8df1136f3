/** Which names the current event has at its root, as its entries say. */
import type { JsonTape } from '../../tape/json-tape.ts'
import { ROOT } from '../../tape/path-trie.ts'
import { DEAD, ENTRY, ESCAPED, EXTENSION, STRING } from '../../tape/tape-types.ts'
import { isTextAt } from '../text-at.ts'

export class TakenNames {
  readonly #tape: JsonTape
  /** By node: the event that had it last. */
  #seen = new Int32Array(0)
  #event = 0

  constructor(tape: JsonTape) {
    this.#tape = tape
  }

  /** The next event. */
  begin(): void {
    const nodes = this.#tape.trie.parent.length
    if (this.#seen.length < nodes || this.#event > 0x3fffffff) {
      this.#seen = new Int32Array(nodes)
      this.#event = 0
    }
    this.#event++
  }

  /** Takes the names of the entries from `from` on; false where one of them was taken before. */
  take(from: number): boolean {
    const { entries, trie, length } = this.#tape
    const { parent } = trie
    if (this.#seen.length < parent.length) this.#grow(parent.length)
    const seen = this.#seen
    let isFree = true
    let last = 0
    for (let at = from; at < length; at += ENTRY) {
      if (entries[at + 1] === EXTENSION) continue
      const node = rootOf(parent, entries[at]!)
      if (node === last) continue // Mostly another leaf of the same value.
      last = node
      // A value that was overruled by a later one of its name has that name too.
      if (seen[node] === this.#event && entries[at + 1] !== DEAD) isFree = false
      seen[node] = this.#event
    }
    return isFree
  }

  /** Whether the event's scalar at `node` is spelled as this one. */
  isSame(
    node: number,
    from: number,
    own: Uint8Array,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): boolean {
    const { entries, length } = this.#tape
    for (let at = length - ENTRY; at >= from; at -= ENTRY) {
      const type = entries[at + 1]!
      if (entries[at] !== node || type === DEAD || type === EXTENSION) continue
      const quote = type === STRING || type === ESCAPED ? 1 : 0
      const valueStart = entries[at + 2]! - quote
      return isTextAt(own, valueStart, entries[at + 3]! + quote, bytes, start, end)
    }
    return false
  }

  #grow(nodes: number): void {
    const seen = new Int32Array(nodes)
    seen.set(this.#seen)
    this.#seen = seen
  }
}

/** The nodes at the root that the entries `from`..`to` are of, or under. */
export function namesAtRoot({ entries, trie }: JsonTape, from: number, to: number): number[] {
  const nodes = new Set<number>()
  for (let at = from; at < to; at += ENTRY) {
    if (entries[at + 1] !== EXTENSION) nodes.add(rootOf(trie.parent, entries[at]!))
  }
  return [...nodes]
}

function rootOf(parent: Int32Array, entry: number): number {
  let node = entry
  while (parent[node] !== ROOT) node = parent[node]!
  return node
}
