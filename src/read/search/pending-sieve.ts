/**
 * Which of the segments that are not in the projection yet are worth reading: under load these are
 * hundreds of thousands of events, of which a search most often wants one.
 */
import { setImmediate as immediate } from 'node:timers/promises'
import { type RequiredLiteral, requiredLiterals } from '../../language/required-literals.ts'
import { SIEVE_SLICE_MS, SIEVE_VAIN_SEGMENTS } from '../../limits.ts'
import type { SegmentId } from '../../model/segment-id.ts'
import type { PendingSegment } from '../../model/segment-place.ts'
import type { StreamId } from '../../model/stream.ts'
import { textOf } from '../asks-catalog.ts'
import type { Wanted } from './search-sources.ts'

/** Lets through the segments that may have all of the literals. Takes little time, and no wait. */
export type OpenSieve = (literals: readonly RequiredLiteral[]) => (segmentId: SegmentId) => boolean

export class PendingSieve {
  readonly #sieves = new Map<StreamId, (segmentId: SegmentId) => boolean>()
  /** Segments in a row that were let through: where most are, looking is in vain. */
  #passed = 0
  #sliceStart = performance.now()

  constructor({ query, streams }: Pick<Wanted, 'query' | 'streams'>, open: OpenSieve) {
    for (const { streamId, catalog } of streams) {
      const literals = requiredLiterals(query, textOf(catalog))
      if (literals.length > 0) this.#sieves.set(streamId, open(literals))
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
      if (performance.now() - this.#sliceStart < SIEVE_SLICE_MS) continue
      await immediate(undefined, { signal })
      this.#sliceStart = performance.now()
    }
    return { chosen, next }
  }

  #letsThrough({ streamId, segmentId }: PendingSegment): boolean {
    const sieve = this.#sieves.get(streamId)
    if (sieve === undefined || this.#passed >= SIEVE_VAIN_SEGMENTS) return true
    const isLet = sieve(segmentId)
    this.#passed = isLet ? this.#passed + 1 : 0
    return isLet
  }
}
