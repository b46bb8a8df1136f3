/**
 * The tails of one stream, and its committed segments that they have not been matched with yet.
 * Segments leave in the order in which they came.
 */
import type { SegmentId } from '../model/segment-id.ts'
import type { HeardSegment } from './commit-source.ts'
import type { Tail } from './tail.ts'
import type { Places } from './tail-cursor.ts'

/** Segments that are matched together. */
export interface TailBatch {
  readonly segments: readonly HeardSegment[]
  /** Up to where the stream's tails are when all of them are done. */
  readonly places: Places
}

export class StreamTails {
  readonly tails = new Set<Tail>()
  #waiting: HeardSegment[] = []
  waitingBytes = 0
  waitingEvents = 0
  /** Up to where the tails are; undefined when everything that was heard of is done. */
  #done: Map<number, SegmentId> | undefined

  get isWaiting(): boolean {
    return this.#waiting.length > 0
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** When the oldest one that waits was heard of. */
  get oldestAtMs(): number {
    return this.#waiting[0]?.atMs ?? Number.POSITIVE_INFINITY
  }

  /** `heard`: up to where commits were heard of before this one. */
  add(segment: HeardSegment, heard: Places): void {
    this.#done ??= new Map(heard)
    this.#waiting.push(segment)
    this.waitingBytes += segment.payload?.length ?? 0
    this.waitingEvents += segment.eventCount
  }

  /** The oldest ones, of `eventsMax` events or a single one of more. */
  take(eventsMax: number, heard: Places): TailBatch {
    let count = 0
    let events = 0
    for (const { eventCount } of this.#waiting) {
      if (count > 0 && events + eventCount > eventsMax) break
      events += eventCount
      count++
    }
    const segments = this.#waiting.splice(0, count)
    for (const segment of segments) {
      this.waitingBytes -= segment.payload?.length ?? 0
      this.waitingEvents -= segment.eventCount
    }
    const places = new Map(heard)
    for (const { node } of this.#waiting) {
      const done = this.#done?.get(node)
      if (done === undefined) places.delete(node)
      else places.set(node, done)
    }
    const left = new Set(this.#waiting.map(({ node }) => node))
    for (const { node, segmentId } of segments) if (left.has(node)) places.set(node, segmentId)
    return { segments, places }
  }

  /** One of a batch is done. */
  passed({ node, segmentId }: HeardSegment): void {
    this.#done?.set(node, segmentId)
  }

  /** All of a batch is done. */
  finish({ places }: TailBatch): void {
    for (const [node, id] of places) this.#done?.set(node, id)
    if (!this.isWaiting) this.#done = undefined
  }

  /** Up to where its tails are done, when `heard` is up to where commits were heard of. */
  places(heard: Places): Places {
    return this.#done ?? heard
  }
}
