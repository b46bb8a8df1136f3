/** What crosses between the main thread and the workers. Flat objects and transferred buffers. */
import type {
  AcceptedBatch,
  DamagedRead,
  EncodedBatch,
  EncodedSegment,
  RecordFormat,
  SchemaDelta,
  SegmentOutput,
  SegmentRead,
  WatchedQueries,
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
  /** Queries of the batch's streams that somebody watches. */
  readonly watched?: readonly WatchedQueries[] | undefined
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

/** Render events of stored segments, by default as JSON event records separated by commas. */
export interface ReadTask {
  readonly kind: 'read'
  readonly reads: readonly SegmentRead[]
  readonly format?: RecordFormat
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
 * three numbers each, the payload's index, the first event and how many.
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

/**
 * Which events of stored segments match each of some queries: for search over events that
 * ClickHouse does not have yet, and for live tails, all tails of a stream in one pass.
 */
export interface MatchTask {
  readonly kind: 'match'
  /** Those that share a payload come one after another, so that it is decoded once. */
  readonly reads: readonly SegmentRead[]
  readonly queries: readonly MatchQuery[]
  /** Render each event that some query matches, as `ReadTask` does. */
  readonly withRecords: boolean
  /** For live tails: it has turns apart from those of reads of stored events. */
  readonly isTail?: boolean
}

export interface MatchQuery {
  /** A query that parses (`src/language`). */
  readonly text: string
  /** Paths of the stream's text fields. */
  readonly textFields: readonly string[]
  /** Strings at other paths are text as well: the stream has none of its text fields. */
  readonly isAllText?: boolean
  /** Event times, nanoseconds since 1970, half-open; undefined for events of all times. */
  readonly eventTime: { readonly fromNs: bigint; readonly toNs: bigint } | undefined
  /** It ends after this many matches, in the order of the reads; `MATCH_EVENTS_MAX` at most. */
  readonly limit: number
}

export interface MatchResult {
  readonly kind: 'match'
  /** In the order of the task's. */
  readonly queries: readonly QueryMatches[]
  readonly events: MatchedEvents
  /** Reads that no query could look at. */
  readonly damaged: readonly DamagedRead[]
}

export interface QueryMatches {
  /** Its matches, as places in `MatchedEvents`; rising. */
  readonly events: Uint32Array
  /** Where it ended before the last event; undefined when it has looked at all. */
  readonly stopped: MatchStop | undefined
  /**
   * Events that were skipped because a single one costs more than the task may: nobody knows
   * whether they match. So a task tests at least one event, and continuing from `stopped` comes to
   * an end.
   */
  readonly undecided: number
}

export interface MatchStop {
  /**
   * `limit`: it has as many as were asked for. `cost`: it took too much work (`MATCH_COST_MAX`).
   * `bytes`: the records of all queries are large (`MATCH_RECORDS_BYTES_MAX`).
   */
  readonly reason: 'limit' | 'cost' | 'bytes'
  /** The first event that it has not looked at: index of the read, ordinal in its segment. */
  readonly read: number
  readonly ordinal: number
}

/** What at least one query matches, each event once, in the order of the reads. */
export interface MatchedEvents {
  readonly count: number
  /** By event: index of its read. */
  readonly read: Uint32Array
  /** By event: ordinal in its segment. */
  readonly ordinal: Uint32Array
  /** By event: event time, nanoseconds since 1970. */
  readonly timeNs: BigInt64Array
  /** The records one after another, nothing between them; empty unless asked for. */
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
