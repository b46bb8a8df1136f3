/**
 * How many bytes the items of a bulk reply take, and how many they may take.
 *
 * The first is estimated from the body alone, before it is decoded: small requests share batches
 * and commits, so memory for their items is reserved before a worker writes them. The estimate is
 * never too low; an ordinary item, which did not fail, takes about half of it.
 *
 * Lines are classified as the decoder classifies them (`bulk-framing.ts`). Each item is counted
 * with the longest reason it may fail for, and with its whole action line for the names in it.
 */

import { IngestError } from '../../errors.ts'
import { BULK_INDEX_BYTES_MAX, BULK_REASON_BYTES_MAX, BULK_REPLY_BYTES_MAX } from '../../limits.ts'
import {
  type BulkItemFields,
  type BulkPartOptions,
  COMPACT_ITEMS,
  ITEM_ERROR_REASON,
  ITEM_ERROR_TYPE,
  ITEM_ID,
  ITEM_INDEX,
  ITEM_PRIMARY_TERM,
  ITEM_RESULT,
  ITEM_SEQ_NO,
  ITEM_SHARDS,
  ITEM_STATUS,
  ITEM_TYPE,
  ITEM_VERSION,
} from '../../model/batch/bulk-items.ts'
import type { PartResult } from '../../model/batch/part-result.ts'
import {
  BULK_CREATE,
  BULK_DELETE,
  BULK_INDEX,
  BULK_OPERATIONS,
  BULK_UPDATE,
  bulkActionAt,
  bulkOperation,
  skipBlanks,
} from '../../model/bulk-action.ts'

const LINE_FEED = 0x0a
/** This much of an action's line is not repeated in the reply. */
const SHORTEST_ACTION_BYTES = '{"index":{}}'.length

/** What each field adds, with the comma after it. */
const NAMES = [
  [ITEM_INDEX, '"_index":"",'.length],
  [ITEM_TYPE, '"_type":"_doc",'.length],
] as const
const STORED = [
  ...NAMES,
  [ITEM_ID, '"_id":"0000000000000000000-0000",'.length],
  [ITEM_VERSION, '"_version":1,'.length],
  [ITEM_RESULT, '"result":"created",'.length],
  [ITEM_SHARDS, '"_shards":{"total":1,"successful":1,"failed":0},'.length],
  [ITEM_SEQ_NO, '"_seq_no":0,'.length],
  [ITEM_PRIMARY_TERM, '"_primary_term":1,'.length],
  [ITEM_STATUS, '"status":201,'.length],
] as const
const FAILED = [
  ...NAMES,
  [ITEM_ID, '"_id":"",'.length],
  [ITEM_STATUS, '"status":400,'.length],
  [ITEM_ERROR_TYPE | ITEM_ERROR_REASON, '"error":{},'.length],
  [ITEM_ERROR_TYPE, '"type":"illegal_argument_exception",'.length],
  [ITEM_ERROR_REASON, '"reason":"",'.length + BULK_REASON_BYTES_MAX],
] as const

/** `options` are those of the body's part. */
export function bulkItemsBytesMax(bytes: Uint8Array, options: BulkPartOptions = {}): number {
  const fields = options.itemFields ?? COMPACT_ITEMS
  const wanted = fields.index | fields.create | fields.update | fields.delete
  if (wanted === 0) return 0
  const repeatsNames = (wanted & (ITEM_INDEX | ITEM_ID)) !== 0
  const itemBytes = itemBytesByOperation(fields, options.defaultIndex ?? '')
  const largest = Math.max(...itemBytes)
  let total = 0
  let isDocument = false
  let wasAction = true
  for (let at = 0; at < bytes.length; ) {
    const feed = bytes.indexOf(LINE_FEED, at)
    const isSurelyDocument = isDocument && wasAction
    // An unterminated line is not examined: it may be any action.
    if (feed < 0) return isSurelyDocument ? total : total + largest + bytes.length - at
    const start = at
    at = feed + 1
    if (bytes[skipBlanks(bytes, start)] === LINE_FEED) continue
    if (isSurelyDocument) {
      isDocument = false
      continue
    }
    const action = bulkActionAt(bytes, start)
    if (isDocument && action < 0) {
      isDocument = false
      continue
    }
    const operation = action < 0 ? BULK_INDEX : bulkOperation(action)
    total += itemBytes[operation]!
    if (repeatsNames && action >= 0) total += Math.max(0, feed - start - SHORTEST_ACTION_BYTES)
    wasAction = action >= 0
    isDocument = operation !== BULK_DELETE
  }
  return total
}

/** Bytes that the items of these parts take in a reply, with a comma for each part. */
export function bulkItemBytes(parts: readonly PartResult[]): number {
  let bytes = 0
  for (const { bulkItems } of parts) {
    const length = bulkItems?.json.length ?? 0
    if (length > 0) bytes += length + 1
  }
  return bytes
}

/**
 * Why a reply with that many bytes is refused; called before anything is committed. A reply over
 * `inFlightBytesMax` can never be made, so it is rejected for good, not only for now.
 */
export function judgeBulkReply(
  itemBytes: number,
  inFlightBytesMax = BULK_REPLY_BYTES_MAX,
): IngestError | undefined {
  const bytesMax = Math.min(BULK_REPLY_BYTES_MAX, inFlightBytesMax)
  if (itemBytes <= bytesMax) return undefined
  const limit = `over ${bytesMax} bytes (BULK_REPLY_BYTES_MAX, --in-flight-bytes-max)`
  return new IngestError(
    'too_large',
    `the reply's items are ${limit}: send fewer actions per request, or use filter_path`,
  )
}

/** Without the names that the actions give. */
function itemBytesByOperation(fields: BulkItemFields, defaultIndex: string): number[] {
  const index = Buffer.byteLength(JSON.stringify(defaultIndex)) - '""'.length
  const indexBytes = index <= BULK_INDEX_BYTES_MAX ? index : 0
  const bytesOf = (operation: number, wanted: number) => {
    if (wanted === 0) return 0
    const frame = `{"${BULK_OPERATIONS[operation]}":{}},`.length
    const named = (wanted & ITEM_INDEX) === 0 ? 0 : indexBytes
    return frame + named + Math.max(sum(STORED, wanted), sum(FAILED, wanted))
  }
  const items = [0, 0, 0, 0, 0]
  items[BULK_CREATE] = bytesOf(BULK_CREATE, fields.create)
  // `op_type` may turn it into a create.
  items[BULK_INDEX] = Math.max(bytesOf(BULK_INDEX, fields.index), items[BULK_CREATE])
  items[BULK_UPDATE] = bytesOf(BULK_UPDATE, fields.update)
  items[BULK_DELETE] = bytesOf(BULK_DELETE, fields.delete)
  return items
}

function sum(table: readonly (readonly [number, number])[], wanted: number): number {
  let bytes = 0
  for (const [bit, length] of table) if ((wanted & bit) !== 0) bytes += length
  return bytes
}
