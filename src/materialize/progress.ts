/**
 * Knows which committed segments are in the projection. Inserts of different streams finish out of
 * order; the checkpoint is the last id before the first segment that is still outstanding.
 */
import assert from 'node:assert/strict'
import type { SegmentId } from '../model/segment-id.ts'
import type { StreamId } from '../model/stream.ts'

export interface Outstanding {
  readonly segmentId: SegmentId
  readonly streamId: StreamId
  isDone: boolean
}

export class Progress {
  #entries: Outstanding[] = []
  #head = 0
  #checkpoint: SegmentId
  #last: SegmentId

  constructor(checkpoint: SegmentId) {
    this.#checkpoint = checkpoint
    this.#last = checkpoint
  }

  /** Every segment up to here that was added is done. */
  get checkpoint(): SegmentId {
    return this.#checkpoint
  }

  /** The last one that was added. */
  get last(): SegmentId {
    return this.#last
  }

  get outstanding(): number {
    return this.#entries.length - this.#head
  }

  /** The oldest segment that is not done. */
  get oldest(): SegmentId | undefined {
    return this.#entries[this.#head]?.segmentId
  }

  /** Adds the next segment; ids must rise. */
  add(segmentId: SegmentId, streamId: StreamId): Outstanding {
    assert(segmentId > this.#last, 'segments come in id order')
    this.#last = segmentId
    const entry = { segmentId, streamId, isDone: false }
    this.#entries.push(entry)
    return entry
  }

  /** Goes on after `segmentId`. Precondition: nothing is outstanding. */
  pass(segmentId: SegmentId): void {
    this.advance()
    assert(this.outstanding === 0)
    if (segmentId <= this.#last) return
    this.#last = segmentId
    this.#checkpoint = segmentId
  }

  /** The oldest segment of the stream, or of all, that is not done. */
  oldestOf(streamId?: StreamId): SegmentId | undefined {
    return this.#outstanding(streamId).next().value?.segmentId
  }

  /** Somebody else sees to the stream's segments, or to all. */
  handOver(streamId?: StreamId): void {
    for (const entry of this.#outstanding(streamId)) entry.isDone = true
  }

  *#outstanding(streamId: StreamId | undefined): Generator<Outstanding, undefined> {
    for (let at = this.#head; at < this.#entries.length; at++) {
      const entry = this.#entries[at]!
      if (!entry.isDone && (streamId === undefined || entry.streamId === streamId)) yield entry
    }
  }

  /** Moves the checkpoint over everything that is done. */
  advance(): SegmentId {
    const entries = this.#entries
    while (this.#head < entries.length && entries[this.#head]!.isDone) {
      this.#checkpoint = entries[this.#head]!.segmentId
      this.#head++
    }
    if (this.#head > 1024 && this.#head * 2 > entries.length) {
      this.#entries = entries.slice(this.#head)
      this.#head = 0
    }
    return this.#checkpoint
  }
}
