/**
 * Writes the items of a bulk reply, one per action, as bytes: those fields of Elasticsearch's
 * answer that are asked for. Bytes that are the same for all items of an operation are made once.
 *
 * Our ids contain the segment's id, which is known only at commit: 19 zero digits are written
 * instead, and their offset is noted. `accept/surfaces/bulk-reply.ts` fills them in.
 */

import { BULK_INDEX_BYTES_MAX, BULK_REPLY_BYTES_MAX, SEGMENT_EVENTS_MAX } from '../../src/limits.ts'
import {
  type BulkItemFields,
  type BulkItems,
  COMPACT_ITEMS,
  ITEM_ALL,
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
} from '../../src/model/batch/bulk-items.ts'
import {
  BULK_CREATE,
  BULK_DELETE,
  BULK_INDEX,
  BULK_OPERATIONS,
  BULK_UPDATE,
} from '../../src/model/bulk-action.ts'
import { allocateOutside, ByteWriter } from '../kernel/byte-writer.ts'

/** Room for the items of a bulk reply that a worker keeps between parts. */
export const BULK_ITEM_BYTES_KEPT = 1024 * 1024

/** The error types of items. Clients decide by them whether to retry an action: never. */
export type BulkErrorType = 'document_parsing_exception' | 'illegal_argument_exception'

/** What an action's line says about its item; ranges are JSON string contents, -1 for none. */
export interface BulkItemMeta {
  readonly operation: number
  readonly indexStart: number
  readonly indexEnd: number
  readonly idStart: number
  readonly idEnd: number
}

const ID_ZEROS = '0000000000000000000'
const COMMA = 0x2c
const ASCII_0 = 0x30
const ORDINAL_DIGITS_MAX = String(SEGMENT_EVENTS_MAX - 1).length
const FIRST_BYTES = 64 * 1024

/** The item of one operation around what differs between its actions. */
interface ItemTemplate {
  readonly hasIndex: boolean
  readonly hasId: boolean
  /** Up to the index; from there to the id, sent or ours; from there to the end. */
  readonly head: Uint8Array
  readonly beforeSentId: Uint8Array
  readonly beforeOwnId: Uint8Array
  readonly tail: Uint8Array
}

const TYPE_FIELD = '"_type":"_doc"'

/** In Elasticsearch's order, but for the type, which stood before the id. */
const SUCCESS_FIELDS = [
  [ITEM_TYPE, TYPE_FIELD],
  [ITEM_VERSION, '"_version":1'],
  [ITEM_RESULT, '"result":"created"'],
  [ITEM_SHARDS, '"_shards":{"total":1,"successful":1,"failed":0}'],
  [ITEM_SEQ_NO, '"_seq_no":0'],
  [ITEM_PRIMARY_TERM, '"_primary_term":1'],
  [ITEM_STATUS, '"status":201'],
] as const

const OPERATIONS = [0, BULK_INDEX, BULK_CREATE, BULK_UPDATE, BULK_DELETE]
const TEMPLATES = new Map<number, ItemTemplate>()

/** Kept for as long as the worker lives: there are no more than 4 times 2^9. */
function templateOf(operation: number, fields: number): ItemTemplate {
  const key = operation * (ITEM_ALL + 1) + fields
  let template = TEMPLATES.get(key)
  if (template === undefined) {
    template = createTemplate(operation, fields)
    TEMPLATES.set(key, template)
  }
  return template
}

function createTemplate(operation: number, fields: number): ItemTemplate {
  const hasIndex = (fields & ITEM_INDEX) !== 0
  const hasId = (fields & ITEM_ID) !== 0
  const rest = SUCCESS_FIELDS.filter(([bit]) => (fields & bit) !== 0).map(([, json]) => json)
  const id = hasId ? `${hasIndex ? ',' : ''}"_id":"` : ''
  const separator = (hasIndex || hasId) && rest.length > 0 ? ',' : ''
  return {
    hasIndex,
    hasId,
    head: Buffer.from(`{"${BULK_OPERATIONS[operation]}":{${hasIndex ? '"_index":"' : ''}`),
    beforeSentId: Buffer.from(`${hasIndex ? '"' : ''}${id}`),
    beforeOwnId: Buffer.from(`${hasIndex ? '"' : ''}${id}${hasId ? `${ID_ZEROS}-` : ''}`),
    tail: Buffer.from(`${hasId ? '"' : ''}${separator}${rest.join(',')}}}`),
  }
}

/** The end of an error's item, and what it was made of. */
interface ErrorTail {
  readonly named: number
  readonly fields: number
  readonly type: BulkErrorType
  readonly reason: string
  readonly tail: Uint8Array
}

const SUCCESS_MASK = SUCCESS_FIELDS.reduce((mask, [bit]) => mask | bit, ITEM_INDEX | ITEM_ID)

/** Of errors, beside index and id. */
const FAILURE_MASK = ITEM_TYPE | ITEM_STATUS | ITEM_ERROR_TYPE | ITEM_ERROR_REASON

export class BulkItemWriter {
  #out = new ByteWriter(FIRST_BYTES, allocateOutside)
  #places = new Uint32Array(2_048)
  #placesLength = 0
  #hasErrors = false
  #fields = COMPACT_ITEMS
  /** Of stored actions, by operation. */
  #templates: readonly (ItemTemplate | undefined)[] = []
  /** Contents of the JSON string for an index that the client did not name. */
  #defaultIndex: Uint8Array = new Uint8Array(0)
  #lastError: ErrorTail | undefined
  #bytes: Uint8Array = new Uint8Array(0)

  /** Starts the items of a part of `bytes`. */
  begin(bytes: Uint8Array, fields = COMPACT_ITEMS, defaultIndex = ''): void {
    this.#out.length = 0
    this.#placesLength = 0
    this.#hasErrors = false
    this.#fields = fields
    this.#templates = OPERATIONS.map((operation) => {
      const wanted = fieldsOf(fields, operation) & SUCCESS_MASK
      return wanted === 0 ? undefined : templateOf(operation, wanted)
    })
    this.#bytes = bytes
    const index = Buffer.from(JSON.stringify(defaultIndex).slice(1, -1))
    this.#defaultIndex = index.length <= BULK_INDEX_BYTES_MAX ? index : index.subarray(0, 0)
  }

  /**
   * Adds the item of an action that was stored. `streamEvent` and `partEvent` number its event
   * among those that its stream has in the batch and those of the part. Hot.
   */
  stored(meta: BulkItemMeta, streamEvent: number, partEvent: number): void {
    const template = this.#templates[meta.operation]
    if (template === undefined || this.#isFull) return // Nothing of the item is wanted.
    const { hasIndex, hasId, head, tail } = template
    const hasOwnId = hasId && meta.idStart < 0
    const middle = hasOwnId ? template.beforeOwnId : template.beforeSentId
    this.#reserve(meta, head.length + middle.length + tail.length + ORDINAL_DIGITS_MAX)
    const out = this.#out
    this.#separate()
    this.#copy(head)
    if (hasIndex) this.#index(meta)
    this.#copy(middle)
    if (hasOwnId) {
      this.#place(out.length - ID_ZEROS.length - 1, partEvent)
      this.#ordinal(streamEvent % SEGMENT_EVENTS_MAX)
    } else if (hasId) {
      this.#range(meta.idStart, meta.idEnd)
    }
    this.#copy(tail)
  }

  /** Adds the item of an action that was not stored. `reason` names no contents. */
  failed(meta: BulkItemMeta, type: BulkErrorType, reason: string): void {
    this.#hasErrors = true
    const fields = fieldsOf(this.#fields, meta.operation)
    const idMask = meta.idStart < 0 ? 0 : ITEM_ID
    const named = fields & (ITEM_INDEX | idMask)
    if ((named | (fields & FAILURE_MASK)) === 0 || this.#isFull) return
    const { hasIndex, hasId, head, beforeSentId } = templateOf(meta.operation, named)
    const tail = this.#errorTail(named, fields, type, reason)
    this.#reserve(meta, head.length + beforeSentId.length + tail.length)
    this.#separate()
    this.#copy(head)
    if (hasIndex) this.#index(meta)
    this.#copy(beforeSentId)
    if (hasId) this.#range(meta.idStart, meta.idEnd)
    this.#copy(tail)
  }

  /** The part's items, in `into` if they fit, else in memory of their own. */
  take(into?: Uint8Array): BulkItems {
    const items = {
      json: this.#out.take(into),
      idPlaces: this.#places.slice(0, this.#placesLength),
      hasErrors: this.#hasErrors,
    }
    // A part of nothing but tiny actions needs many times its own size; that is not kept.
    if (this.#out.bytes.length > BULK_ITEM_BYTES_KEPT) {
      this.#out = new ByteWriter(FIRST_BYTES, allocateOutside)
      this.#places = new Uint32Array(2_048)
    }
    return items
  }

  /** No more are written when the request will be refused for what is there. */
  get #isFull(): boolean {
    return this.#out.length > BULK_REPLY_BYTES_MAX
  }

  /** The end of an error's item, rebuilt only when it differs from the last one's. */
  #errorTail(named: number, fields: number, type: BulkErrorType, reason: string): Uint8Array {
    const last = this.#lastError
    const isSame = last?.reason === reason && last.type === type
    if (isSame && last.named === named && last.fields === fields) return last.tail
    const parts: string[] = []
    if ((fields & ITEM_TYPE) !== 0) parts.push(TYPE_FIELD)
    if ((fields & ITEM_STATUS) !== 0) parts.push('"status":400')
    if ((fields & (ITEM_ERROR_TYPE | ITEM_ERROR_REASON)) !== 0) {
      parts.push(`"error":${errorJson(fields, type, reason)}`)
    }
    const quote = (named & ITEM_ID) !== 0 ? '"' : ''
    const separator = named !== 0 && parts.length > 0 ? ',' : ''
    const tail = Buffer.from(`${quote}${separator}${parts.join(',')}}}`)
    this.#lastError = { named, fields, type, reason, tail }
    return tail
  }

  #reserve(meta: BulkItemMeta, bytes: number): void {
    const index = Math.max(this.#defaultIndex.length, meta.indexEnd - meta.indexStart)
    this.#out.reserve(1 + bytes + index + meta.idEnd - meta.idStart)
  }

  #separate(): void {
    const out = this.#out
    if (out.length > 0) out.bytes[out.length++] = COMMA
  }

  #copy(bytes: Uint8Array): void {
    this.#out.bytes.set(bytes, this.#out.length)
    this.#out.length += bytes.length
  }

  #index(meta: BulkItemMeta): void {
    if (meta.indexStart < 0) this.#copy(this.#defaultIndex)
    else this.#range(meta.indexStart, meta.indexEnd)
  }

  /** Copies from the part. Names and ids are short: a loop is faster than a view and a call. */
  #range(start: number, end: number): void {
    const from = this.#bytes
    const to = this.#out.bytes
    let at = this.#out.length
    for (let i = start; i < end; i++) to[at++] = from[i]!
    this.#out.length = at
  }

  #place(at: number, partEvent: number): void {
    if (this.#placesLength === this.#places.length) {
      const grown = new Uint32Array(this.#places.length * 2)
      grown.set(this.#places)
      this.#places = grown
    }
    this.#places[this.#placesLength++] = at
    this.#places[this.#placesLength++] = partEvent
  }

  #ordinal(ordinal: number): void {
    const { bytes } = this.#out
    let digits = 1
    for (let rest = ordinal; rest >= 10; rest = (rest / 10) | 0) digits++
    let rest = ordinal
    for (let at = this.#out.length + digits - 1; at >= this.#out.length; at--) {
      bytes[at] = ASCII_0 + (rest % 10)
      rest = (rest / 10) | 0
    }
    this.#out.length += digits
  }
}

function fieldsOf(fields: BulkItemFields, operation: number): number {
  switch (operation) {
    case BULK_INDEX:
      return fields.index
    case BULK_CREATE:
      return fields.create
    case BULK_UPDATE:
      return fields.update
    case BULK_DELETE:
      return fields.delete
    default:
      return 0
  }
}

function errorJson(fields: number, type: BulkErrorType, reason: string): string {
  return JSON.stringify({
    ...((fields & ITEM_ERROR_TYPE) !== 0 && { type }),
    ...((fields & ITEM_ERROR_REASON) !== 0 && { reason }),
  })
}
