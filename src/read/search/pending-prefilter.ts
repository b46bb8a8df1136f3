/**
 * Which of the segments that are not in the projection yet are worth reading: under load these are
 * hundreds of thousands of events, of which a search most often wants one.
 */
import { setImmediate as immediate } from 'node:timers/promises'
import { type RequiredLiteral, requiredLiterals } from '../../language/required-literals.ts'
import type { SegmentId } from '../../model/segment-id.ts'
import type { PendingSegment } from '../../model/segment-place.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Wanted } from './search-sources.ts'

/** How long a search looks into blocks that wait before other work has its turn. */
export const PREFILTER_SLICE_MS = 1
/** Segments in a row that may all have what it looks for: it then reads the rest as they come. */
export const PREFILTER_VAIN_SEGMENTS = 16

/** Lets through the segments that may have all of the literals. Takes little time, and no wait. */
export type OpenPrefilter = (
  literals: readonly RequiredLiteral[],
) => (segmentId: SegmentId) => boolean

export class PendingPrefilter {
  readonly #prefilters = new Map<StreamId, (segmentId: SegmentId) => boolean>()
  /** Segments in a row that were let through: where most are, looking is in vain. */
  #passed = 0
  #sliceStart = performance.now()

  constructor({ query, streams }: Pick<Wanted, 'query' | 'streams'>, open: OpenPrefilter) {
    for (const { streamId, catalog } of streams) {
      const literals = requiredLiterals(query, catalog.textNames)
      if (literals.length > 0) this.#prefilters.set(streamId, open(literals))
    }
  }

  /**
   * Goes through the segments from `at` on until `max` were let through; returns them, and where
   * the next ones are. Other work has its turn meanwhile. Rejects when the signal says so.
   */
  async choose(
    segments: readonly PendingSegment[],
    { at, max }: { readonly at: number; readonly max: number },
    signal: AbortSignal,
  ): Promise<{ readonly chosen: readonly PendingSegment[]; readonly next: number }> {
    const chosen: PendingSegment[] = []
    let next = at
    while (chosen.length < max && next < segments.length) {
      const segment = segments[next++]!
      if (this.#letsThrough(segment)) chosen.push(segment)
      if (performance.now() - this.#sliceStart < PREFILTER_SLICE_MS) continue
      await immediate(undefined, { signal })
      this.#sliceStart = performance.now()
    }
    return { chosen, next }
  }

  #letsThrough({ streamId, segmentId }: PendingSegment): boolean {
    const prefilter = this.#prefilters.get(streamId)
    if (prefilter === undefined || this.#passed >= PREFILTER_VAIN_SEGMENTS) return true
    const isLet = prefilter(segmentId)
    this.#passed = isLet ? this.#passed + 1 : 0
    return isLet
  }
}
