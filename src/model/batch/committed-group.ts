/** What commit takes, and what it tells those who follow it. */
import type { SegmentId } from '../segment-id.ts'
import type { StreamId } from '../stream.ts'
import type { EncodedSegment } from './encoded-batch.ts'
import type { EncodedBlock } from './encoded-block.ts'
import type { SchemaDelta } from './schema-delta.ts'

/** A segment on its way to commit. Without a block, the projection reads it from the raw store. */
export interface SegmentToCommit extends Omit<EncodedSegment, 'block'> {
  readonly block: EncodedBlock | undefined
}

/** One committed run of a mixed segment: a segment of its stream. */
export interface CommittedRun {
  readonly streamId: StreamId
  readonly segmentId: SegmentId
  readonly eventCount: number
  readonly delta: SchemaDelta
}

/** One committed segment. */
export interface CommittedSegment {
  /** `MIXED_STREAM` for a mixed segment. */
  readonly streamId: StreamId
  /** For a mixed segment, the id of its first run. */
  readonly segmentId: SegmentId
  /** The runs of a mixed segment, in order of their ids. */
  readonly runs?: readonly CommittedRun[]
  readonly eventCount: number
  /** Absent when it was dropped to save memory: it is rebuilt from the raw store. */
  readonly block: EncodedBlock | undefined
  readonly delta: SchemaDelta
}

export interface CommittedGroup {
  readonly segments: readonly CommittedSegment[]
}
