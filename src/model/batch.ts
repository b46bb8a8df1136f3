/**
 * What the stages hand to each other. A call passes ownership of its buffers: the caller does not
 * touch them again.
 *
 *   accept --AcceptedBatch--> pool --EncodedBatch--> commit --CommittedGroup--> materialize, tail
 */
import type { SegmentId } from './segment-id.ts'
import type { Stream, StreamId, TransformSettings } from './stream.ts'

/** How the events of a part are delimited. */
export const FRAMINGS = [
  'ndjson',
  'array',
  'document',
  'text',
  'bulk',
  'otlp-protobuf',
  'otlp-json',
] as const
export type Framing = (typeof FRAMINGS)[number]

/**
 * Parts of one kind may share a batch: those whose input holds the events as JSON, those whose
 * events are generated from text, and those whose input is binary.
 */
export const BATCH_KINDS = {
  ndjson: 'json',
  array: 'json',
  document: 'json',
  bulk: 'json',
  text: 'generated',
  'otlp-json': 'generated',
  'otlp-protobuf': 'binary',
} as const satisfies Record<Framing, string>

/** Why one event was rejected, without its request. */
export const REJECT_CODES = ['malformed', 'not_an_object', 'too_large', 'too_deep'] as const
export type RejectCode = (typeof REJECT_CODES)[number]

/** A range of a batch's bytes. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/**
 * Consecutive bytes of one request: whole lines, whole array elements, one document, whole bulk
 * actions with their documents, or whole log records.
 */
export interface Part extends ByteRange {
  readonly framing: Framing
  /** Bulk: what each item of the reply holds. */
  readonly itemFields?: BulkItemFields | undefined
  /** Bulk: the index in the request's path, for actions that name none. */
  readonly defaultIndex?: string | undefined
  /** OTLP protobuf: where a part after the first begins in its request. */
  readonly resume?: OtlpResume | undefined
  /** OTLP protobuf: the messages around the part's last record go on in the next part. */
  readonly continues?: boolean | undefined
}

/** Bits of what an item of the bulk reply holds, by operation; see `filter_path`. */
export interface BulkItemFields {
  readonly index: number
  readonly create: number
  readonly update: number
  readonly delete: number
}

export const ITEM_INDEX = 1
export const ITEM_ID = 2
export const ITEM_VERSION = 4
export const ITEM_RESULT = 8
export const ITEM_SHARDS = 16
export const ITEM_SEQ_NO = 32
export const ITEM_PRIMARY_TERM = 64
export const ITEM_STATUS = 128
export const ITEM_ERROR_TYPE = 256
export const ITEM_ERROR_REASON = 512
/** Only senders before version 8 expect it. */
export const ITEM_TYPE = 1_024
export const ITEM_ALL = 2_047

/** What some sender reads (docs/elastic.md, Who reads what). */
const ITEM_COMPACT = ITEM_ALL & ~(ITEM_SHARDS | ITEM_SEQ_NO | ITEM_PRIMARY_TERM | ITEM_TYPE)
export const COMPACT_ITEMS = everyOperation(ITEM_COMPACT)

export function everyOperation(fields: number): BulkItemFields {
  return { index: fields, create: fields, update: fields, delete: fields }
}

/** The items of a bulk reply for one part, in request order, separated by commas. */
export interface BulkItems {
  /** At the start of a shared buffer, or in memory of its own. */
  readonly json: Uint8Array
  /**
   * Pairs of (byte offset, n), in order: at each offset `json` holds 19 zero digits, to be replaced
   * by the segment id of the part's n-th accepted event, from 0. Only for events with an id of
   * ours.
   */
  readonly idPlaces: Uint32Array
  readonly hasErrors: boolean
}

/** A part of an OTLP request that begins between two records of one ScopeLogs message. */
export interface OtlpResume {
  /** The Resource and the InstrumentationScope messages, in the batch's bytes before the part. */
  readonly resource: ByteRange
  readonly scope: ByteRange | undefined
  /** Bytes that remain, from the part's start, of the ScopeLogs and ResourceLogs messages. */
  readonly scopeLogsBytes: number
  readonly resourceLogsBytes: number
}

/** The parts of one stream in a mixed batch; they are consecutive. */
export type BatchOwner = { readonly streamId: StreamId; readonly parts: number }

export interface AcceptedBatch {
  /** `MIXED_STREAM` with `owners`. */
  readonly streamId: StreamId
  /** In a batch of several streams with the same settings: the owners of its parts, in order. */
  readonly owners?: readonly BatchOwner[]
  readonly settings: TransformSettings
  /** Receipt time of the newest byte, milliseconds since 1970. */
  readonly receivedAtMs: number
  readonly bytes: Uint8Array
  readonly parts: readonly Part[]
}

export interface EventReject {
  /** Position among the part's non-empty lines or elements, from 0. */
  readonly index: number
  /** Line within the part, from 1. */
  readonly line: number
  readonly code: RejectCode
  readonly message: string
}

/** The result of one part. `firstOrdinal`..`+accepted` are its events in the segment. */
export interface PartResult {
  readonly accepted: number
  readonly rejected: number
  /** Rejected events by reason; absent reasons did not occur. */
  readonly rejectedByCode: Readonly<Partial<Record<RejectCode, number>>>
  /** Lines seen (newlines plus an unterminated last line), for numbering the next part's lines. */
  readonly lines: number
  /** Events seen, good or bad, for numbering the next part's events. */
  readonly items: number
  /** Events whose invalid UTF-8 was replaced by U+FFFD. */
  readonly repaired: number
  /**
   * Bytes of the accepted events as sent, after decompression: lines with their line end, elements
   * of an array, documents of a bulk request. For OTLP, the part's bytes count for all its records.
   */
  readonly acceptedBytes: number
  /** First `REPLY_ERRORS_MAX` rejects. */
  readonly rejects: readonly EventReject[]
  readonly warnings?: number | undefined
  /** Of the accepted events that are stored without something. */
  readonly firstWarning?: Pick<EventReject, 'index' | 'message'> | undefined
  /** Set when the whole part failed (array or document framing): nothing of it is stored. */
  readonly fatal: EventReject | undefined
  /** For a bulk part: its items of the reply. */
  readonly bulkItems?: BulkItems | undefined
}

/** The columns of a Native block that are known only at commit; see `materialize/stamp.ts`. */
export interface StampedColumns {
  readonly rows: number
  /** Byte offset of `rows` UInt64 little-endian values. */
  readonly segmentIdOffset: number
  /** Byte offset of `rows` Int64 milliseconds. */
  readonly ingestedAtOffset: number
  /** Byte offset of `rows` Int64 nanoseconds. */
  readonly eventTimeOffset: number
  /** Rows without a producer time: their event time is the receipt time. `'all'` is common. */
  readonly receiptTimeRows: 'all' | Uint32Array
}

/** A Native block. */
export interface EncodedBlock extends StampedColumns {
  readonly bytes: Uint8Array
  /**
   * The pieces that the bytes consist of, in order, for joining blocks: the end of each, times
   * four, plus its kind (`PIECE_…`). Absent for blocks of the shared table.
   */
  readonly pieces?: Uint32Array | undefined
  /**
   * For each path of the payload, in the order of their names, which piece its data begin with: a
   * byte for each row; its values follow. Absent as `pieces` are.
   */
  readonly pathPieces?: Uint32Array | undefined
  /** Whether it has all paths of its events. */
  readonly isWhole: boolean
}

/** A piece of a Native block: its numbers of columns and rows. */
export const PIECE_COUNTS = 0
/** Names and types; blocks where these are the same can be joined. */
export const PIECE_NAMES = 1
/** Values, row after row. */
export const PIECE_VALUES = 2
/** UInt64 little-endian: where each row's array ends among all of its rows' elements. */
export const PIECE_OFFSETS = 3

export interface ShapeDelta {
  /** 64-bit fingerprint as 16 hex digits. */
  readonly shape: string
  readonly count: number
  readonly firstOrdinal: number
  /**
   * Its leaves (`decodeLeaf`) with the objects around them, when the worker describes the shape:
   * when it first meets the shape on this stream, and again every `SHAPE_DESCRIBE_MS`.
   */
  readonly leaves: readonly string[] | undefined
}

export interface SchemaDelta {
  readonly shapes: readonly ShapeDelta[]
  /** Events of shapes beyond `DELTA_SHAPES_MAX`, which are only counted. */
  readonly shapesSkipped: number
  /** Fields with integers that fit 64 bits only without a sign; undefined for too many. */
  readonly largePaths: readonly string[] | undefined
}

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

/** The queries of a stream's live tails, tested while its events are encoded. */
export interface WatchedQueries {
  readonly streamId: StreamId
  /** Unique to each set of queries. */
  readonly setId: number
  /** JSON: `[textFields, ...queries]`. The queries are valid and need nothing set by commit. */
  readonly json: string
}

/** What watched queries match in a segment, or in one run of a mixed segment. */
export interface SievedEvents {
  readonly setId: number
  /** Undefined when the test would cost more than it may. */
  readonly found: SievedMatches | undefined
}

export interface SievedMatches {
  /** Per query: how many events it matches, then their indexes in `ordinals`, ascending. */
  readonly matches: Uint32Array
  /** Events that at least one query matches, as ordinals in the segment; ascending. */
  readonly ordinals: Uint32Array
  /** Event records as in the event list, without separators and without what commit sets. */
  readonly records: Uint8Array
  readonly recordEnd: Uint32Array
}

/** The placeholders in records of `SievedMatches` for what commit sets. */
export const NO_SEGMENT_ID = '0000000000000000000'
export const NO_RECEIPT_MS = 0

/** A segment on its way to commit. Without a block, the projection reads it from the raw store. */
export interface SegmentToCommit extends Omit<EncodedSegment, 'block'> {
  readonly block: EncodedBlock | undefined
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

/** Shared memory for the bytes of one segment's block and payload. */
export interface SegmentOutput {
  readonly block: Uint8Array
  readonly payload: Uint8Array
  /** For the items of a bulk batch of one part. */
  readonly items?: Uint8Array
}

/** A read, by its index, that cannot be shown: its payload can no longer be decoded. */
export interface DamagedRead {
  readonly index: number
  /** Never holds contents of events. */
  readonly reason: string
}

/** Consecutive events to show, from one segment. */
export interface SegmentRead {
  readonly payload: Uint8Array
  readonly segmentId: string
  readonly ingestedAtMs: number
  readonly fromOrdinal: number
  /** Exclusive. */
  readonly toOrdinal: number
  /** Events of the payload before the segment's first: it may hold several segments. */
  readonly firstEvent?: number
  readonly newestFirst: boolean
  /** Only these events of the range; ascending. */
  readonly ordinals?: Uint32Array
  /** If set, each record names its stream, as `_stream`. */
  readonly streamId?: string
}

/** How events are written. */
export interface RecordFormat {
  /** `list`: JSON records with commas between; `lines`: a line each; `csv`: rows by RFC 4180. */
  readonly kind: 'list' | 'lines' | 'csv'
  /** Dotted paths: records then have the values stored there in place of the payload. */
  readonly fields?: readonly string[] | undefined
  /** Strings that a spreadsheet would take for formulas are written so that it does not. */
  readonly isCsvSafe?: boolean
}

/** Events that an agent sends. */
export interface AgentEvents {
  readonly stream: Stream
  /** `json`: an array of events; `text`: lines of text. */
  readonly kind: 'json' | 'text'
  readonly body: Uint8Array
  readonly idempotencyKey: string | undefined
  /** Rejects when nothing may be stored any more: the token or the stream no longer exists. */
  readonly confirm: () => Promise<unknown>
  readonly signal: AbortSignal
}

export interface AgentReport {
  readonly accepted: number
  readonly rejected: number
  readonly errors: readonly unknown[]
  readonly event_ids: readonly string[]
}

/** Resolves when the events are durable. Rejects with the errors of other surfaces. */
export type IngestEvents = (events: AgentEvents) => Promise<AgentReport>
