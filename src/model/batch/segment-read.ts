/** Reads of stored segments, and how events are written. */

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
