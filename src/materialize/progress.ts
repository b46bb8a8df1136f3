/**
 * Knows which committed segments are in the projection. Inserts of different streams finish out of
 * order; the checkpoint is the last id before the first segment that is still outstanding.
 */
import assert from 'node:assert/strict'
import type { SegmentId } from '../model/segment-id.ts'
import { covers, type LagKey, type SourceKey } from './source-key.ts'

export interface Outstanding {
  readonly segmentId: SegmentId
  readonly source: SourceKey
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
  add(segmentId: SegmentId, source: SourceKey): Outstanding {
    assert(segmentId > this.#last, 'segments come in id order')
    this.#last = segmentId
    const entry = { segmentId, source, isDone: false }
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

  /** The oldest segment among those of `key` that is not done. */
  oldestOf(key: LagKey): SegmentId | undefined {
    return this.#outstanding(key).next().value?.segmentId
  }

  /** Somebody else sees to the segments of `key`. */
  handOver(key: LagKey): void {
    for (const entry of this.#outstanding(key)) entry.isDone = true
  }

  *#outstanding(key: LagKey): Generator<Outstanding, undefined> {
    for (let at = this.#head; at < this.#entries.length; at++) {
      const entry = this.#entries[at]!
      if (!entry.isDone && covers(key, entry.source)) yield entry
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
