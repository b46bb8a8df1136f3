import type { SegmentId } from './segment-id.ts'
import type { StreamId } from './stream.ts'

/** Columns of a projection table, in the order of its Native blocks. */
export const PROJECTION_COLUMNS = [
  ['segment_id', 'UInt64'],
  ['ordinal', 'UInt32'],
  ['ingested_at', "DateTime64(3, 'UTC')"],
  ['event_time', "DateTime64(9, 'UTC')"],
  ['shape', 'UInt64'],
  ['level', 'LowCardinality(String)'],
  ['service', 'LowCardinality(String)'],
  // Empty for most events: see `CONTEXT_IDS`.
  ['context', 'String'],
  // Of the event's text, 0 without one: see `patterns/text-pattern.ts`.
  ['pattern', 'UInt64'],
  ['payload', 'JSON(max_dynamic_paths=1024)'],
] as const

/** The payload where many streams share a table: no path has a column of its own. */
export const SHARED_PAYLOAD_TYPE = 'JSON(max_dynamic_paths=0)'

/** Columns that tables of earlier versions lack; their rows have the type's default. */
export const LATER_COLUMNS = [['pattern', 'UInt64', 'context']] as const

/** Columns of the table that small streams share: `events_0`, for `MIXED_STREAM`. */
export const MIXED_PROJECTION_COLUMNS = [
  ['stream_id', 'UInt32'],
  ...PROJECTION_COLUMNS.slice(0, -1),
  ['payload', SHARED_PAYLOAD_TYPE],
] as const

/**
 * The parts of the column `context`: what a protocol's record says of an event beside its JSON.
 * Empty where it says no id and no other service than the event's fields, as for nearly all events.
 * Else the trace's id, the span's, and the service that the event's own fields say, which the
 * column `service` has in all other rows. An id of zeros is none; a single byte stands for no ids
 * and no such service.
 */
export const CONTEXT_IDS = {
  _trace_id: { at: 0, bytes: 16 },
  _span_id: { at: 16, bytes: 8 },
} as const
export const CONTEXT_SERVICE_AT = 24

/** Rows that an index leaves out or keeps together, and that are compressed together. */
export const GRANULE_ROWS = 16_384

/** Consecutive rows of one stream in a block for the shared table. */
export interface StreamRows {
  readonly streamId: StreamId
  readonly count: number
}

/** A segment of a stream; ids are unique over all streams. */
export interface StreamSegment {
  readonly streamId: StreamId
  readonly segmentId: SegmentId
}

/** All segments of a node up to this one are in the projection, but for those of some streams. */
export interface LiveMark {
  readonly segmentId: SegmentId
  /** These streams; with `MIXED_STREAM` any stream may lack some. */
  readonly behind: readonly StreamId[]
}

/**
 * Blocks of one stream on their way to the embedded ClickHouse, in a memory file, so that their
 * original buffers are free again. Ends with `insert` or `release`.
 */
export interface BlockSpool {
  /** Insert it when it has this many rows. */
  readonly rowsMax: number
  /**
   * Copies the bytes; returns where the first of them is. Throws the system's error when there is
   * no room; release it then.
   */
  append(pieces: readonly Uint8Array[]): number
  /** Fills `into` with bytes that were appended, from `start` on; false once it has ended. */
  tryRead(start: number, into: Uint8Array): boolean
  /** Inserts the blocks, which hold `rows` rows, as one part. Throws `StoreError`. */
  insert(rows: number): Promise<void>
  /** Ends it without an insert. */
  release(): void
}
