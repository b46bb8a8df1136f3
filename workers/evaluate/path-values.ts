/**
 * The values that a path has had, by number. What a clause says of a path depends on its value
 * alone, so a clause is evaluated once for each value, and looked up for every other event: paths
 * that people filter by, such as a level or a service, have few.
 *
 * Only short scalars are kept. A path with more than VALUES_MAX of them keeps none: looking for one
 * would cost and find nothing.
 */
import { ESCAPED, FALSE, TRUE } from '../tape/tape-types.ts'
import type { EventCursor } from './event-cursor.ts'
import { NO_ENTRY, PathFinder } from './path-finder.ts'
import type { Work } from './work.ts'

/** The number of a value that is not kept. */
export const NOT_KEPT = -1
/** The number of no value. */
const ABSENT = 0
const UNREAD = -2
export const VALUES_MAX = 256
const VALUE_BYTES_MAX = 32
/** A power of two, so that at most half is filled. */
const SLOTS = 2 * VALUES_MAX
/** What a value costs beside its bytes, and what each comparison adds. */
const VALUE_STEPS = 20
const COMPARE_STEPS = 10

interface KeptValue {
  readonly type: number
  readonly bytes: Uint8Array
}

export class PathValues {
  readonly #finder: PathFinder
  /** By number, from 1. */
  #kept: (KeptValue | undefined)[] = [undefined]
  /** Numbers by hash; 0 is empty. */
  #slots: Uint16Array | undefined
  #isWide = false
  /** By the ordinal of the segment's events, below 0 for what is not known. */
  numbers = new Int16Array(0)

  constructor(path: string) {
    this.#finder = new PathFinder([path])
  }

  /** Before the events of a segment, of which there are `count`. */
  begin(event: EventCursor, count: number): void {
    this.#finder.begin(event)
    if (this.numbers.length < count) this.numbers = new Int16Array(2 * count)
    this.numbers.fill(UNREAD, 0, count)
  }

  /** Of the event that the cursor is at, the segment's `ordinal`th. Throws `WorkSpentError`. */
  numberOf(event: EventCursor, ordinal: number, work: Work): number {
    if (this.#isWide) return NOT_KEPT
    const known = this.numbers[ordinal]!
    if (known !== UNREAD) return known
    const number = this.#numberAt(event, this.#finder.find(event, 0), work)
    this.numbers[ordinal] = number
    return number
  }

  #numberAt({ entries, bytes }: EventCursor, at: number, work: Work): number {
    if (at === NO_ENTRY) return ABSENT
    const type = entries[at + 1]!
    if (type < FALSE || type > ESCAPED) return NOT_KEPT
    const start = entries[at + 2]!
    const length = type <= TRUE ? 0 : entries[at + 3]! - start
    if (length > VALUE_BYTES_MAX) return NOT_KEPT
    const slots = (this.#slots ??= new Uint16Array(SLOTS))
    let hash = Math.imul(type, 0x9e3779b1)
    for (let i = 0; i < length; i++) hash = Math.imul(hash ^ bytes[start + i]!, 0x01000193)
    let slot = (hash ^ (hash >>> 15)) & (SLOTS - 1)
    work.spend(VALUE_STEPS + length)
    for (let number = slots[slot]!; number !== 0; number = slots[slot]!) {
      work.spend(COMPARE_STEPS)
      if (isSame(this.#kept[number]!, type, bytes, start, length)) return number
      slot = (slot + 1) & (SLOTS - 1)
    }
    if (this.#kept.length > VALUES_MAX) return this.#giveUp()
    const value = Uint8Array.prototype.slice.call(bytes, start, start + length)
    slots[slot] = this.#kept.length
    return this.#kept.push({ type, bytes: value }) - 1
  }

  #giveUp(): number {
    this.#isWide = true
    this.#kept = []
    this.#slots = undefined
    return NOT_KEPT
  }
}

function isSame(
  { type, bytes: kept }: KeptValue,
  otherType: number,
  bytes: Uint8Array,
  start: number,
  length: number,
): boolean {
  if (type !== otherType || kept.length !== length) return false
  for (let i = 0; i < length; i++) if (kept[i] !== bytes[start + i]) return false
  return true
}
