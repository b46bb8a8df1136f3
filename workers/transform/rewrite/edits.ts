/**
 * Edits of one event's bytes, in the order of their positions. An edit replaces a range; with an
 * empty range it inserts. An edit that begins within the range of an earlier one is void.
 */

import { ArenaText, heldBytes } from '../../kernel/arena-copy.ts'
import type { AgentCard } from './agent-card.ts'

/** What redaction writes. */
export const REDACTED_STRING = new ArenaText(heldBytes(Buffer.from('"[REDACTED]"')))
/** The same within a string. */
export const REDACTED_TEXT = new ArenaText(heldBytes(Buffer.from('[REDACTED]')))
export const NULL_TEXT = new ArenaText(heldBytes(Buffer.from('null')))

/** Reasons of edits; secrets have REASON_SECRET plus the index of their kind. */
export const REASON_NONE = 0
export const REASON_DENYLISTED = 1
export const REASON_LISTED = 2
export const REASON_RAW = 3
export const REASON_SECRET = 4
/** The reason of edits that add what is not redaction. */
export const INSERTED = 255

export class Edits {
  count = 0
  /** How many bytes longer the edited range can be at most. */
  growthMax = 0
  start = new Int32Array(64)
  end = new Int32Array(64)
  /** The tape entry that is replaced or inserted after, for edits that the tape can follow. */
  entry = new Int32Array(64)
  /** Node of the JSON object that an insertion holds; of other edits it says nothing. */
  node = new Int32Array(64)
  /** REASON_NONE for an edit that turned out to be needless. */
  reason = new Uint8Array(64)
  readonly text: ArenaText[] = []
  /** The object that an insertion holds. */
  readonly object: (AgentCard | undefined)[] = []

  clear(): void {
    this.count = 0
    this.growthMax = 0
  }

  /** Adds an edit; returns its index. */
  add(start: number, end: number, text: ArenaText, reason: number, entry = -1): number {
    const index = this.count++
    if (index === this.start.length) this.#grow()
    this.start[index] = start
    this.end[index] = end
    this.text[index] = text
    this.growthMax += text.length
    this.reason[index] = reason
    this.entry[index] = entry
    this.object[index] = undefined
    return index
  }

  /** Inserts an object's key and the object, known as `node`, after the value of `entry`. */
  insert(at: number, entry: number, key: ArenaText, object: AgentCard, node: number): void {
    this.add(at, at, key, INSERTED, entry)
    const index = this.add(at, at, object.json, INSERTED, entry)
    this.node[index] = node
    this.object[index] = object
  }

  /** Whether the object is inserted at another node already: it has entries for one at a time. */
  insertsElsewhere(object: AgentCard, node: number): boolean {
    for (let i = 0; i < this.count; i++) {
      if (this.object[i] === object && this.node[i] !== node) return true
    }
    return false
  }

  /** Copies an edit to another index. */
  copy(from: number, to: number): void {
    this.start[to] = this.start[from]!
    this.end[to] = this.end[from]!
    this.text[to] = this.text[from]!
    this.reason[to] = this.reason[from]!
    this.entry[to] = this.entry[from]!
    this.node[to] = this.node[from]!
    this.object[to] = this.object[from]
  }

  #grow(): void {
    const { start, end, entry, node, reason } = this
    const capacity = start.length * 2
    this.start = new Int32Array(capacity)
    this.end = new Int32Array(capacity)
    this.entry = new Int32Array(capacity)
    this.node = new Int32Array(capacity)
    this.reason = new Uint8Array(capacity)
    this.start.set(start)
    this.end.set(end)
    this.entry.set(entry)
    this.node.set(node)
    this.reason.set(reason)
  }
}
