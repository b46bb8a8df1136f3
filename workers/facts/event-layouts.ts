/**
 * Layouts: which events have the same paths with the same kinds of values in the same order.
 *
 * Whatever follows from that alone (shape, where the producer time is, columns, templates) is
 * worked out once per layout and not once per event. A layout is a state of an automaton that reads
 * an event's tape entry by entry, so two events are in one state only if their entries are of one
 * sequence: nothing is hashed, nothing can collide. Bounded: when the automaton is full, new kinds
 * of events have no layout and take the slow path, with the same result.
 */
import { LAYOUT_ENTRIES_MAX, LAYOUT_STATES_MAX } from '../../src/limits.ts'
import { arena } from '../kernel/arena.ts'
import { kernels } from '../kernel/kernels.ts'
import type { DecodedEvents } from '../tape/decoded-events.ts'
import type { PathTrie } from '../tape/path-trie.ts'
import { ENTRY, ESCAPED, EXTENSION, FALSE, STRING, TRUE } from '../tape/tape-types.ts'

/** The event has no layout. */
export const NO_LAYOUT = -1

/** States looked at beyond those expected, an event: hostile ones must not make long searches. */
const STEPS_MAX = 1_024
const STATES_FIRST = 1_024
const ROOT_STATE = 0
const NO_STATE = 0
const NO_KEY = -1

/** Tape types, but for what differs between equal kinds: `true` and `false`, escaped and not. */
const KINDS = Int32Array.from({ length: 16 }, (_, type) => type)
KINDS[TRUE] = FALSE
KINDS[ESCAPED] = STRING

/** What is known of a layout. */
interface LayoutFacts {
  readonly shapeLow: number
  readonly shapeHigh: number
  /** Where strings are that may be the producer time, from the event's first entry; best first. */
  readonly times: readonly number[]
}

/** Integers of a layout's facts; see `kernels/facts.ts`. */
const FACTS = 4

export class EventLayouts {
  /** Facts of the layouts whose events were described, by layout; zeros for others. */
  #facts = arena.int32(STATES_FIRST * FACTS)
  /** The times of all facts, from 1 on: a last time of zero means that nothing is known. */
  #times = arena.int32(STATES_FIRST)
  #timeCount = 1
  /** The entry that leads into a state: path or extent, and kind. */
  #key = arena.int32(STATES_FIRST)
  /** The state that followed last, and the next of those that follow the same one. */
  #next = arena.int32(STATES_FIRST)
  #sibling = arena.int32(STATES_FIRST)
  readonly #context = arena.addresses(3)
  #states = 0
  #steps = 0
  #generation = -1
  /** Changes when all are forgotten: the same numbers mean others then. */
  resets = 0

  /**
   * To be called before each batch. Forgets all layouts when paths were renumbered or space is
   * short.
   */
  begin(trie: PathTrie): void {
    const hasRoom = this.#states <= LAYOUT_STATES_MAX / 2
    if (trie.generation === this.#generation && hasRoom) return
    this.#generation = trie.generation
    this.resets++
    this.#states = 1
    this.#key[ROOT_STATE] = NO_KEY
    this.#next[ROOT_STATE] = NO_STATE
    this.#facts.fill(0)
    this.#timeCount = 1
  }

  /** Keeps what is known of a layout. */
  learn(layout: number, { shapeLow, shapeHigh, times }: LayoutFacts): void {
    const first = this.#timeCount
    const last = first + times.length
    while (last > this.#times.length) this.#times = arena.doubled(this.#times)
    this.#times.set(times, first)
    this.#timeCount = last
    this.#facts.set([shapeLow, shapeHigh, first, last], layout * FACTS)
  }

  /** Where kernels find what is known: the facts of layouts, and the times. */
  get known(): readonly [facts: number, times: number] {
    return [this.#facts.byteOffset, this.#times.byteOffset]
  }

  /** Writes the layout of each event to `found`, an array of the arena; NO_LAYOUT for some. */
  findAll(entries: Int32Array, events: DecodedEvents, found: Int32Array): void {
    const { count, tapeStart, tapeEnd } = events
    const context = this.#context
    const batch = events.context()
    for (let event = 0; event < count; event++) {
      context[0] = this.#key.byteOffset
      context[1] = this.#next.byteOffset
      context[2] = this.#sibling.byteOffset
      event = kernels.findLayouts(
        context.byteOffset,
        batch,
        event,
        count,
        entries.byteOffset,
        found.byteOffset,
        LAYOUT_ENTRIES_MAX,
      )
      if (event < count) found[event] = this.#find(entries, tapeStart[event]!, tapeEnd[event]!)
    }
  }

  /** The layout of the event whose entries are from `start` to `end`, or NO_LAYOUT. */
  #find(entries: Int32Array, start: number, end: number): number {
    if (end - start > LAYOUT_ENTRIES_MAX * ENTRY) return NO_LAYOUT
    this.#steps = STEPS_MAX
    let state = ROOT_STATE
    for (let at = start; at < end; at += ENTRY) {
      const type = entries[at + 1]!
      // An extension says how far its array or object reaches: its entries are not its siblings.
      const path = type === EXTENSION ? entries[at + 3]! - at : entries[at]!
      const key = (path << 4) | KINDS[type]!
      let found = this.#next[state]!
      if (this.#key[found] !== key) {
        found = this.#follow(state, key)
        if (found === NO_STATE) return NO_LAYOUT
      }
      state = found
    }
    return state
  }

  /**
   * The next state by `key`, which moves to the front of the next states, as events of one stream
   * are alike. Makes the state when there is space.
   */
  #follow(state: number, key: number): number {
    let before = NO_STATE
    let at = this.#next[state]!
    while (at !== NO_STATE && this.#key[at] !== key) {
      if (--this.#steps < 0) return NO_STATE
      before = at
      at = this.#sibling[at]!
    }
    if (at === NO_STATE) {
      if (this.#states === LAYOUT_STATES_MAX) return NO_STATE
      if (this.#states === this.#key.length) this.#grow()
      at = this.#states++
      this.#key[at] = key
      this.#next[at] = NO_STATE
    } else {
      this.#sibling[before] = this.#sibling[at]!
    }
    this.#sibling[at] = this.#next[state]!
    this.#next[state] = at
    return at
  }

  #grow(): void {
    this.#key = arena.doubled(this.#key)
    this.#next = arena.doubled(this.#next)
    this.#sibling = arena.doubled(this.#sibling)
    this.#facts = arena.doubled(this.#facts)
  }
}
