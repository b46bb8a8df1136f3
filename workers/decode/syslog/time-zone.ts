/**
 * Local times of a zone as UTC. Offsets are Intl's; it takes a microsecond and more to ask, so they
 * are kept by quarters of an hour, on which clocks change.
 */

const SLOT_MS = 15 * 60_000
const DAY_MS = 86_400_000
/** Quarters of an hour whose offsets are kept; then all are forgotten. */
const SLOTS_MAX = 4_096
const OFFSET = /GMT(?:([+-])([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?)?$/

/** Offsets of a local time. Where clocks are set back there are two, else they are the same. */
interface Offsets {
  readonly first: number
  readonly second: number
}

export class TimeZone {
  readonly name: string
  readonly #format: Intl.DateTimeFormat
  readonly #slots = new Map<number, Offsets>()
  #slot = Number.NaN
  #offsets: Offsets = { first: 0, second: 0 }

  constructor(name: string) {
    this.name = name
    this.#format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' })
  }

  /** The time that clocks show as `localMs`; of two the one that is nearer to `nearMs`. */
  toUtc(localMs: number, nearMs: number): number {
    const slot = Math.floor(localMs / SLOT_MS)
    if (slot !== this.#slot) {
      this.#offsets = this.#offsetsOf(slot)
      this.#slot = slot
    }
    const { first, second } = this.#offsets
    const utcMs = localMs - first
    if (first === second) return utcMs
    const other = localMs - second
    return Math.abs(other - nearMs) < Math.abs(utcMs - nearMs) ? other : utcMs
  }

  /** Milliseconds that clocks are ahead of UTC. */
  offsetAt(utcMs: number): number {
    const match = OFFSET.exec(this.#format.format(utcMs))
    const [, sign, hours = 0, minutes = 0, seconds = 0] = match ?? []
    const size = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)
    return (sign === '-' ? -size : size) * 1_000
  }

  #offsetsOf(slot: number): Offsets {
    const known = this.#slots.get(slot)
    if (known !== undefined) return known
    if (this.#slots.size >= SLOTS_MAX) this.#slots.clear()
    const localMs = slot * SLOT_MS
    const before = this.offsetAt(localMs - DAY_MS)
    const after = this.offsetAt(localMs + DAY_MS)
    let offsets = { first: before, second: before }
    if (before !== after) {
      const isBefore = this.offsetAt(localMs - before) === before
      const isAfter = this.offsetAt(localMs - after) === after
      // A time that clocks skip is taken as if they had not been set yet.
      if (isAfter) offsets = { first: isBefore ? before : after, second: after }
    }
    this.#slots.set(slot, offsets)
    return offsets
  }
}
