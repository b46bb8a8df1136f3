/**
 * Which committed segments are in the projection. Inserts finish out of order, over streams; the
 * checkpoint is the last id before the first one that is still outstanding.
 */
import assert from 'node:assert/strict'
import type { SegmentId } from '../model/segment-id.ts'

export interface Outstanding {
  readonly segmentId: SegmentId
  isDone: boolean
}

export class Progress {
  #entries: Outstanding[] = []
  #head = 0
  #checkpoint: SegmentId

  constructor(checkpoint: SegmentId) {
    this.#checkpoint = checkpoint
  }

  /** Every segment up to here is in the projection. */
  get checkpoint(): SegmentId {
    return this.#checkpoint
  }

  get outstanding(): number {
    return this.#entries.length - this.#head
  }

  /** The oldest segment that is not in the projection yet. */
  get oldest(): SegmentId | undefined {
    return this.#entries[this.#head]?.segmentId
  }

  /** Adds the next segment; ids must rise. */
  add(segmentId: SegmentId): Outstanding {
    const last = this.#entries.at(-1)?.segmentId ?? this.#checkpoint
    assert(segmentId > last, 'segments come in id order')
    const entry = { segmentId, isDone: false }
    this.#entries.push(entry)
    return entry
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

  /** Forgets what is outstanding: it will be found in the raw store again. */
  clear(): void {
    this.advance()
    this.#entries = []
    this.#head = 0
  }
}
