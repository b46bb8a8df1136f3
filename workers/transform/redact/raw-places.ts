/**
 * Which raw keys belong to the same object as something redacted, though not by the text's braces:
 * `{"a":{"_raw":S},"a.password":…}` is one object `a`, as everywhere, and so are duplicate keys. A
 * place is a dotted path from the event's root, or from the one element of an array that it is in.
 * Cold: runs for events with a raw key and something redacted.
 */
import type { PathTrie } from '../../tape/path-trie.ts'
import { ROOT } from '../../tape/path-trie.ts'
import { type Edits, REASON_NONE, REASON_RAW } from '../rewrite/edits.ts'

/** The elements of arrays that a walk was in: `current` is the innermost, 0 none. */
export class ElementScopes {
  readonly parent: number[] = [0]
  readonly node: number[] = [0]
  current = 0
  readonly ofEdit: number[] = []

  clear(): void {
    this.parent.length = 1
    this.node.length = 1
    this.ofEdit.length = 0
    this.current = 0
  }

  /** Enters an element; returns what `leave` wants. */
  enter(node: number): number {
    const outer = this.current
    this.current = this.parent.push(outer) - 1
    this.node.push(node)
    return outer
  }

  leave(outer: number): void {
    this.current = outer
  }
}

/** Edits of raw keys, and how much was redacted within each. */
export interface RawEdits {
  readonly edits: readonly number[]
  readonly own: readonly number[]
}

/** Where edits are: the node and the element of each. */
export interface EditPlaces {
  readonly nodes: readonly number[]
  readonly scopes: ElementScopes
}

/** Makes the edits of raw keys count where something else in their object was redacted. */
export function clearSamePlaces(
  trie: PathTrie,
  edits: Edits,
  { nodes, scopes }: EditPlaces,
  raws: RawEdits,
): void {
  const places = new Places(trie, scopes)
  const placeOf = (edit: number) => places.find(nodes[edit]!, scopes.ofEdit[edit]!)
  for (let i = 0; i < edits.count; i++) {
    const reason = edits.reason[i]!
    if (reason === REASON_NONE || reason === REASON_RAW) continue
    places.total[places.parent[placeOf(i)]!]!++
  }
  places.sum()
  for (const [i, edit] of raws.edits.entries()) {
    if (edits.reason[edit] !== REASON_NONE) continue
    const around = places.parent[placeOf(edit)]!
    if (places.total[around]! > raws.own[i]!) edits.reason[edit] = REASON_RAW
  }
}

/** The places of one event as numbers, each greater than that of the place around it. */
class Places {
  readonly parent: number[] = [0]
  /** Values redacted in and, after `sum`, below. */
  readonly total: number[] = [0]
  readonly #trie: PathTrie
  readonly #scopes: ElementScopes
  readonly #byStep = new Map<string, number>()
  readonly #known = new Map<number, number>()

  constructor(trie: PathTrie, scopes: ElementScopes) {
    this.#trie = trie
    this.#scopes = scopes
  }

  /** The place of a node in an element; no deeper than events are. */
  find(node: number, scope: number): number {
    if (node <= ROOT) return 0
    const identity = scope * this.#trie.count + node
    let place = this.#known.get(identity)
    if (place !== undefined) return place
    const trie = this.#trie
    const parent = trie.parent[node]!
    if (trie.element[parent] !== node) {
      place = this.find(parent, scope)
      for (const segment of trie.key(node).split('.')) place = this.#step(place, `.${segment}`)
    } else if (this.#scopes.node[scope] === node) {
      place = this.#step(this.find(parent, this.#scopes.parent[scope]!), `[${scope}`)
    } else place = this.find(parent, scope)
    this.#known.set(identity, place)
    return place
  }

  #step(place: number, step: string): number {
    const key = `${place}${step}`
    let next = this.#byStep.get(key)
    if (next !== undefined) return next
    next = this.parent.push(place) - 1
    this.total.push(0)
    this.#byStep.set(key, next)
    return next
  }

  sum(): void {
    for (let place = this.total.length - 1; place > 0; place--) {
      this.total[this.parent[place]!]! += this.total[place]!
    }
  }
}
