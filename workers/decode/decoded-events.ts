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

  reset(): void {
    this.count = 0
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

  /** Drops the events after the first `count`; returns where the tape is then to be cut. */
  truncate(count: number): number {
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
