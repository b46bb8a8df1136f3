import { arena } from '../kernel/arena.ts'
import { GivenLabels } from './given-labels.ts'

const EVENTS_FIRST = 256

/** Values of `timeGiven`. */
export const TIME_GIVEN = 1
export const TIME_FALLBACK = 2

/**
 * The events of one batch as decode leaves them: byte ranges and tape ranges, in order. Parallel
 * integer arrays, so that an event costs no object.
 */
export class DecodedEvents {
  count = 0
  /** Where an event's JSON starts and ends in the batch's event bytes. */
  start = arena.int32(EVENTS_FIRST)
  end = arena.int32(EVENTS_FIRST)
  /** The event's entries on the tape; those of a rewritten event follow the rest. */
  tapeStart = arena.int32(EVENTS_FIRST)
  tapeEnd = arena.int32(EVENTS_FIRST)
  readonly #context = arena.addresses(4)
  /** Where the entries of the next event begin. */
  #tapeNext = 0
  /** First event of the stream whose parts are being decoded: a batch may be of several. */
  streamStart = 0
  /** Whether any event's producer time came with the protocol; only then the next three count. */
  hasTimes = false
  /** TIME_GIVEN where it did, TIME_FALLBACK where it counts only if no field says one. */
  timeGiven = new Uint8Array(0)
  /** Whole milliseconds since 1970, and nanoseconds beyond them. */
  timeMs = new Float64Array(0)
  timeNanos = new Int32Array(0)
  /** Labels that came with the protocol. */
  readonly given = new GivenLabels()

  reset(): void {
    this.count = 0
    this.streamStart = 0
    this.hasTimes = false
    this.given.reset()
    this.#tapeNext = 0
  }

  /** Adds an event whose entries are the tape's newest, up to `tapeEnd`. */
  add(start: number, end: number, tapeEnd: number): void {
    const index = this.count
    this.reserveOne()
    this.start[index] = start
    this.end[index] = end
    this.tapeStart[index] = this.#tapeNext
    this.tapeEnd[index] = tapeEnd
    this.#tapeNext = tapeEnd
    this.count = index + 1
  }

  /** The context for kernels: the four arrays, as they are now (`kernels/events.ts`). */
  context(): number {
    const { start, end, tapeStart, tapeEnd } = this
    const context = this.#context
    context[0] = start.byteOffset
    context[1] = end.byteOffset
    context[2] = tapeStart.byteOffset
    context[3] = tapeEnd.byteOffset
    return context.byteOffset
  }

  /** Makes room for another event, for code that writes the four arrays directly. */
  reserveOne(): void {
    if (this.count === this.start.length) this.#grow()
  }

  /** There are `count` events now, whose entries are the tape's newest, up to `tapeEnd`. */
  added(count: number, tapeEnd: number): void {
    this.count = count
    this.#tapeNext = tapeEnd
  }

  /** The event was rewritten: its JSON and its entries, the tape's newest, lie elsewhere now. */
  move(index: number, start: number, end: number, tapeStart: number, tapeEnd: number): void {
    this.start[index] = start
    this.end[index] = end
    this.tapeStart[index] = tapeStart
    this.tapeEnd[index] = tapeEnd
  }

  /**
   * Gives the newest event a producer time that is not in its JSON; one that is not `isSure` counts
   * only if its JSON says none.
   */
  setTime(ms: number, nanos: number, isSure: boolean): void {
    const capacity = this.start.length
    if (!this.hasTimes) {
      this.hasTimes = true
      if (this.timeGiven.length < capacity) this.#allocateTimes(capacity)
      else this.timeGiven.fill(0)
    } else if (this.timeGiven.length < capacity) {
      const { timeGiven, timeMs, timeNanos } = this
      this.#allocateTimes(capacity)
      this.timeGiven.set(timeGiven)
      this.timeMs.set(timeMs)
      this.timeNanos.set(timeNanos)
    }
    const index = this.count - 1
    this.timeGiven[index] = isSure ? TIME_GIVEN : TIME_FALLBACK
    this.timeMs[index] = ms
    this.timeNanos[index] = nanos
  }

  /** Gives an event labels that are not in its JSON; see `GivenLabels` for its ids. */
  setLabels(event: number, level: number, service: number): void {
    this.given.set(event, this.start.length, level, service)
  }

  #allocateTimes(capacity: number): void {
    this.timeGiven = new Uint8Array(capacity)
    this.timeMs = new Float64Array(capacity)
    this.timeNanos = new Int32Array(capacity)
  }

  /** Drops the events after the first `count`; returns where the tape is then to be cut. */
  truncate(count: number): number {
    if (this.hasTimes) this.timeGiven.fill(0, count)
    this.given.truncate(count)
    this.count = count
    this.#tapeNext = count === 0 ? 0 : this.tapeEnd[count - 1]!
    return this.#tapeNext
  }

  #grow(): void {
    this.start = arena.doubled(this.start)
    this.end = arena.doubled(this.end)
    this.tapeStart = arena.doubled(this.tapeStart)
    this.tapeEnd = arena.doubled(this.tapeEnd)
  }
}
