/** A Native block of ClickHouse, as a worker makes it. */

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
