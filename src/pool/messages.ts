/** What crosses between the main thread and the workers. Flat objects and transferred buffers. */
import type {
  AcceptedBatch,
  DamagedRead,
  EncodedBatch,
  EncodedSegment,
  SchemaDelta,
  SegmentOutput,
  SegmentRead,
} from '../model/batch.ts'
import type { RedactionPreview } from '../model/redaction-preview.ts'
import type { ReviewedEvents, ReviewRequest } from '../model/redaction-review.ts'
import type { StreamId } from '../model/stream.ts'

/** What a worker is given at its start. */
export interface WorkerData {
  /** Random, 32 bits: seeds the worker's tables of keys. */
  readonly hashSeed: number
}

/**
 * Decode, transform and encode a batch. Its bytes are shared memory: nothing is copied, and they
 * are still here when a worker dies over them.
 */
export interface IngestTask {
  readonly kind: 'ingest'
  readonly batch: AcceptedBatch
  /**
   * Where block and payload go when the batch makes one segment and they fit; else the worker
   * makes buffers of its own. Nobody else touches them while the task is under way.
   */
  readonly output: SegmentOutput | undefined
}

export interface IngestResult {
  readonly kind: 'ingest'
  readonly batch: EncodedBatch
}

/** Only these events of a payload, and how many are of one segment each. */
export interface ReplayPart {
  readonly first: number
  readonly counts: readonly number[]
  /** For the shared table: whose those segments are. */
  readonly streamIds?: readonly StreamId[]
}

/** A stored payload, and which of its events; without a part, all of them as one segment. */
export interface StoredPart {
  readonly payload: Uint8Array
  readonly part?: ReplayPart
}

/** Build the blocks of stored segments again, exactly as ingest built them. */
export interface ReplayTask {
  readonly kind: 'replay'
  /** `MIXED_STREAM` for blocks of the table that small streams share. */
  readonly streamId: number
  readonly segments: readonly StoredPart[]
}

/** In the order of the task's. */
export interface ReplayResult {
  readonly kind: 'replay'
  readonly segments: readonly ReplayedSegment[]
}

export type ReplayedSegment = Pick<EncodedSegment, 'eventCount' | 'block' | 'pathsSkipped'>

/** Say again what a stored segment said of its stream's schema. */
export interface DescribeTask extends StoredPart {
  readonly kind: 'describe'
  readonly streamId: number
}

export interface DescribeResult {
  readonly kind: 'describe'
  /** What each of the part's segments says. */
  readonly deltas: readonly SchemaDelta[]
}

/** Render events of stored segments as JSON event records, separated by commas. */
export interface ReadTask {
  readonly kind: 'read'
  readonly reads: readonly SegmentRead[]
}

export interface ReadResult {
  readonly kind: 'read'
  readonly json: Uint8Array
  /** Reads whose events are not in `json`. */
  readonly damaged: readonly DamagedRead[]
}

/** Make one payload of the events of several, in their order. */
export interface CompactTask {
  readonly kind: 'compact'
  readonly payloads: readonly Uint8Array[]
}

export interface CompactResult {
  readonly kind: 'compact'
  readonly eventCount: number
  /** Bytes of the events as sent. */
  readonly rawBytes: number
  readonly payload: Uint8Array
}

/**
 * Sort the events of mixed segments into segments of one stream each. Pieces are ranges of events:
 * of each three numbers, the payload's index, the first event and how many.
 */
export interface SplitTask {
  readonly kind: 'split'
  readonly payloads: readonly Uint8Array[]
  /** By the segments they make, in order. */
  readonly pieces: Uint32Array
  /** How many pieces each segment is made of. */
  readonly pieceCounts: Uint32Array
}

export interface SplitResult {
  readonly kind: 'split'
  /** The payloads one after another, and where each ends. */
  readonly bytes: Uint8Array
  readonly ends: Uint32Array
  readonly eventCounts: Uint32Array
  /** Bytes of the events as JSON. */
  readonly rawBytes: Uint32Array
}

/** What redaction would make of a sample: an event's JSON, or the value of a string field. */
export interface PreviewTask {
  readonly kind: 'preview'
  readonly sample: { readonly kind: 'event' | 'string'; readonly text: string }
  readonly redactFields: readonly string[]
}

export interface PreviewResult {
  readonly kind: 'preview'
  /** Undefined when ingest would not accept the sample. */
  readonly preview: RedactionPreview | undefined
}

/** What redaction would change in stored events. */
export interface ReviewTask extends ReviewRequest {
  readonly kind: 'review'
}

export interface ReviewResult {
  readonly kind: 'review'
  readonly reviewed: ReviewedEvents
}

export type PoolTask =
  | IngestTask
  | ReplayTask
  | DescribeTask
  | ReadTask
  | CompactTask
  | SplitTask
  | PreviewTask
  | ReviewTask
export type PoolResult =
  | IngestResult
  | ReplayResult
  | DescribeResult
  | ReadResult
  | CompactResult
  | SplitResult
  | PreviewResult
  | ReviewResult
