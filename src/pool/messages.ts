/** What crosses between the main thread and the workers. Flat objects and transferred buffers. */

import type { AcceptedBatch, SegmentOutput } from '../model/batch/accepted-batch.ts'
import type { EncodedBatch, EncodedSegment } from '../model/batch/encoded-batch.ts'
import type { SchemaDelta } from '../model/batch/schema-delta.ts'
import type { DamagedRead, RecordFormat, SegmentRead } from '../model/batch/segment-read.ts'
import type { WatchedQueries } from '../model/batch/sieved-events.ts'
import type { RedactionPreview, ReviewedEvents, ReviewRequest } from '../model/redact/redaction.ts'
import type { SegmentPart } from '../model/stored-row.ts'
import type { StreamId } from '../model/stream.ts'

/** What a worker gets when it starts. */
export interface WorkerData {
  /** Random, 32 bits: seeds the worker's tables of keys. */
  readonly hashSeed: number
}

/**
 * Decode, transform and encode a batch. Its bytes are in shared memory: nothing is copied, and main
 * still has them when a worker dies of them.
 */
export interface IngestTask {
  readonly kind: 'ingest'
  readonly batch: AcceptedBatch
  /**
   * Where block and payload go when the batch makes one segment and they fit; else the worker
   * allocates its own buffers. Nobody else touches them while the task runs.
   */
  readonly output: SegmentOutput | undefined
  /** The watched queries of the batch's streams. */
  readonly watched?: readonly WatchedQueries[] | undefined
}

export interface IngestResult {
  readonly kind: 'ingest'
  readonly batch: EncodedBatch
}

/** A stored payload, and which of its events; without a part, all of them as one segment. */
export interface StoredPart {
  readonly payload: Uint8Array
  readonly part?: SegmentPart
}

/** Build the blocks of stored segments again, exactly as ingest built them. */
export interface ReplayTask {
  readonly kind: 'replay'
  /** `MIXED_STREAM` for blocks of the table that small streams share. */
  readonly streamId: number
  readonly segments: readonly StoredPart[]
  /** By stream: its text fields, where they are not the default. */
  readonly textFields?: TextFieldsOf
}

export type TextFieldsOf = ReadonlyMap<StreamId, readonly string[]>

/** In the order of the task's. */
export interface ReplayResult {
  readonly kind: 'replay'
  readonly segments: readonly ReplayedSegment[]
}

export type ReplayedSegment = Pick<EncodedSegment, 'eventCount' | 'block' | 'pathsSkipped'>

/** Repeat what a stored segment reported of its stream's schema. */
export interface DescribeTask extends StoredPart {
  readonly kind: 'describe'
  readonly streamId: number
}

export interface DescribeResult {
  readonly kind: 'describe'
  /** What each of the part's segments reports. */
  readonly deltas: readonly SchemaDelta[]
}

/** Render events of stored segments, by default as JSON event records separated by commas. */
export interface ReadTask {
  readonly kind: 'read'
  readonly reads: readonly SegmentRead[]
  readonly format?: RecordFormat
}

export interface ReadResult {
  readonly kind: 'read'
  readonly json: Uint8Array
  /** The reads that failed: their events are not in `json`. */
  readonly damaged: readonly DamagedRead[]
}

/** Join the events of several payloads, in order, into one payload. */
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
 * Sort the events of mixed segments into segments of one stream each. A piece is a range of events,
 * in three numbers: the payload's index, the first event and the count.
 */
export interface SplitTask {
  readonly kind: 'split'
  readonly payloads: readonly Uint8Array[]
  /** Ordered by the segment that they go into. */
  readonly pieces: Uint32Array
  /** How many pieces make up each segment. */
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
  readonly redactFields: readonly string[] | false
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

/**
 * Find the events of stored segments that match each of several queries. Used by search over events
 * that ClickHouse does not have yet, and by live tails: all tails of a stream in one pass.
 */
export interface MatchTask {
  readonly kind: 'match'
  /** Reads of one payload are consecutive, so that it is decoded once. */
  readonly reads: readonly SegmentRead[]
  readonly queries: readonly MatchQuery[]
  /** Render each event that any query matches, as `ReadTask` does: by default as JSON. */
  readonly withRecords: boolean
  readonly format?: RecordFormat | undefined
  /** For live tails: queued in a lane apart from reads of stored events. */
  readonly isTail?: boolean
}

export interface MatchQuery {
  /** A valid query (`src/language`). */
  readonly text: string
  /** The stream's setting. */
  readonly textFields: readonly string[]
  /** Event times, nanoseconds since 1970, half-open; undefined for events of all times. */
  readonly eventTime: { readonly fromNs: bigint; readonly toNs: bigint } | undefined
  /** Stops after this many matches, in the order of the reads; at most `MATCH_EVENTS_MAX`. */
  readonly limit: number
}

export interface MatchResult {
  readonly kind: 'match'
  /** In the order of the task's input. */
  readonly queries: readonly QueryMatches[]
  readonly events: MatchedEvents
  /** Reads that could not be decoded for any query. */
  readonly damaged: readonly DamagedRead[]
}

export interface QueryMatches {
  /** Its matches, as indexes into `MatchedEvents`; ascending. */
  readonly events: Uint32Array
  /** Where it stopped before the last event; undefined when it tested all events. */
  readonly stopped: MatchStop | undefined
  /**
   * Events that were skipped because a single one costs more than the task may spend: whether they
   * match is unknown. Skipping ensures that a task passes at least one event, so that continuing
   * from `stopped` comes to an end.
   */
  readonly undecided: number
}

export interface MatchStop {
  /**
   * `limit`: it found as many as requested. `cost`: it took too much work (`MATCH_COST_MAX`).
   * `bytes`: the records of all queries are large (`MATCH_RECORDS_BYTES_MAX`).
   */
  readonly reason: 'limit' | 'cost' | 'bytes'
  /** The first event that it did not test: index of the read, ordinal in its segment. */
  readonly read: number
  readonly ordinal: number
}

/** The events that at least one query matches, each once, in the order of the reads. */
export interface MatchedEvents {
  readonly count: number
  /** By event: index of its read. */
  readonly read: Uint32Array
  /** By event: ordinal in its segment. */
  readonly ordinal: Uint32Array
  /** By event: event time, nanoseconds since 1970. */
  readonly timeNs: BigInt64Array
  /** The records one after another, without separators; empty unless requested. */
  readonly json: Uint8Array
  /** By event: where its record ends. */
  readonly jsonEnd: Uint32Array
}

export type PoolTask =
  | IngestTask
  | ReplayTask
  | DescribeTask
  | ReadTask
  | MatchTask
  | CompactTask
  | SplitTask
  | PreviewTask
  | ReviewTask
export type PoolResult =
  | IngestResult
  | ReplayResult
  | DescribeResult
  | ReadResult
  | MatchResult
  | CompactResult
  | SplitResult
  | PreviewResult
  | ReviewResult
