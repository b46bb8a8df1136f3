/** What the pool hands to commit. */
import type { StreamId } from '../stream.ts'
import type { EncodedBlock } from './encoded-block.ts'
import type { PartResult } from './part-result.ts'
import type { SchemaDelta } from './schema-delta.ts'
import type { SievedEvents } from './sieved-events.ts'

/** One stream's events in a mixed segment, see `mixed-runs.ts`. */
export interface EncodedRun {
  readonly streamId: StreamId
  readonly eventCount: number
  /** As in `EncodedSegment`. */
  readonly rawBytes: number
  readonly sentBytes: number
  readonly delta: SchemaDelta
}

export interface EncodedSegment {
  /** In a mixed segment: its runs, in order. The segment's own delta is then empty. */
  readonly runs?: readonly EncodedRun[]
  readonly eventCount: number
  /** Bytes of the segment's events as JSON, after all transforms. */
  readonly rawBytes: number
  /** Bytes of the segment's events as sent: `PartResult.acceptedBytes`. */
  readonly sentBytes: number
  /** The compressed segment, format in `workers/segment/segment.ts`. */
  readonly payload: Uint8Array
  readonly block: EncodedBlock
  readonly delta: SchemaDelta
  /** Paths left out of the block because of `BLOCK_PATHS_MAX` or `BLOCK_CELLS_MAX`. */
  readonly pathsSkipped: number
  /** What tails match, by run or for all events; only if queries were given. */
  readonly sieved?: readonly (SievedEvents | undefined)[] | undefined
}

/**
 * What a worker made of an AcceptedBatch. Every segment but the last holds `SEGMENT_EVENTS_MAX`
 * events; there is none when nothing was accepted. The batch's n-th accepted event is event
 * `n % SEGMENT_EVENTS_MAX` of segment `n / SEGMENT_EVENTS_MAX`.
 */
export interface EncodedBatch {
  readonly streamId: StreamId
  readonly segments: readonly EncodedSegment[]
  readonly parts: readonly PartResult[]
  readonly transforms: TransformCounts
}

/** What the transforms did to a batch, for metrics. */
export interface TransformCounts {
  readonly eventsExtracted: number
  readonly eventsRedacted: number
  /** Look-ups of user agent strings: found in the cache, and parsed. */
  readonly userAgentHits: number
  readonly userAgentMisses: number
  /** Strings that were not parsed: their stream's budget was spent. */
  readonly userAgentsSkipped: number
}
