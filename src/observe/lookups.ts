/**
 * Shapes that were counted but not described: the description was postponed, or was lost with a
 * request that failed after its events had been decoded. A stored event of the shape is used to
 * describe it.
 */
import type { SegmentId } from '../model/segment-id.ts'
import type { StreamId } from '../model/stream.ts'

/** Shapes that came without a description and wait to be looked up in the raw store. */
export const OBSERVE_LOOKUPS_MAX = 1_024

export interface Lookup {
  readonly streamId: StreamId
  readonly shape: string
  /** A segment that holds the shape. */
  readonly segmentId: SegmentId
}

export class Lookups {
  readonly #waiting = new Map<string, Lookup>()

  get size(): number {
    return this.#waiting.size
  }

  /** Past OBSERVE_LOOKUPS_MAX nothing is added: the shape comes again, or stays without paths. */
  add(lookup: Lookup): void {
    const key = `${lookup.streamId}/${lookup.shape}`
    if (this.#waiting.size >= OBSERVE_LOOKUPS_MAX || this.#waiting.has(key)) return
    this.#waiting.set(key, lookup)
  }

  /** The oldest, and all others that wait for the same segment. */
  take(): readonly Lookup[] {
    let segmentId: SegmentId | undefined
    const taken: Lookup[] = []
    for (const [key, lookup] of this.#waiting) {
      segmentId ??= lookup.segmentId
      if (lookup.segmentId !== segmentId) continue
      taken.push(lookup)
      this.#waiting.delete(key)
    }
    return taken
  }
}
