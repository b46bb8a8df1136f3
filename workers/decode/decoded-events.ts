/**
 * The events of one batch as decode leaves them: byte ranges and tape ranges, in order. Parallel
 * integer arrays, so that an event costs no object.
 */
export class DecodedEvents {
  count = 0
  /** Where an event's JSON starts and ends in the batch's event bytes. */
  start = new Int32Array(4_096)
  end = new Int32Array(4_096)
  /** Index into the tape of the event's first entry; it ends where the next event's begins. */
  tapeStart = new Int32Array(4_097)
  /** Whether any event's producer time came with the protocol; only then the next three count. */
  hasTimes = false
  /** 1 where it did. */
  timeGiven = new Uint8Array(0)
  /** Whole milliseconds since 1970, and nanoseconds beyond them. */
  timeMs = new Float64Array(0)
  timeNanos = new Int32Array(0)

  reset(): void {
    this.count = 0
    this.hasTimes = false
    this.tapeStart[0] = 0
  }

  /** Adds an event whose entries are the tape's newest, up to `tapeEnd`. */
  add(start: number, end: number, tapeEnd: number): void {
    const index = this.count
    if (index === this.start.length) this.#grow()
    this.start[index] = start
    this.end[index] = end
    this.tapeStart[index + 1] = tapeEnd
    this.count = index + 1
  }

  /** Gives the newest event a producer time that stands beside its JSON. */
  setTime(ms: number, nanos: number): void {
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
    this.timeGiven[index] = 1
    this.timeMs[index] = ms
    this.timeNanos[index] = nanos
  }

  #allocateTimes(capacity: number): void {
    this.timeGiven = new Uint8Array(capacity)
    this.timeMs = new Float64Array(capacity)
    this.timeNanos = new Int32Array(capacity)
  }

  /** Drops the events after the first `count`; returns where the tape is then to be cut. */
  truncate(count: number): number {
    if (this.hasTimes) this.timeGiven.fill(0, count)
    this.count = count
    return this.tapeStart[count]!
  }

  #grow(): void {
    const { start, end, tapeStart } = this
    this.start = new Int32Array(start.length * 2)
    this.end = new Int32Array(start.length * 2)
    this.tapeStart = new Int32Array(start.length * 2 + 1)
    this.start.set(start)
    this.end.set(end)
    this.tapeStart.set(tapeStart)
  }
}
