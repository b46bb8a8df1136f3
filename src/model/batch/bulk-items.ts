/** The items of a bulk reply: what the request asks of the worker, and what it returns. */

/** What the decoder of a bulk part is told. */
export interface BulkPartOptions {
  /** What each item of the reply holds. */
  readonly itemFields?: BulkItemFields | undefined
  /** The index in the request's path, for actions that name none. */
  readonly defaultIndex?: string | undefined
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
