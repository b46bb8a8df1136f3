/**
 * The reply to a bulk request, as Elasticsearch writes it: compact, `errors` directly before
 * `items`, one item per action in request order. Clients search these bytes for literals or count
 * items (docs/elastic.md), so the workers' output is joined here unchanged, except for the ids of
 * segments, which are known only now.
 */
import assert from 'node:assert/strict'
import type { ReplyBuffers } from '../../../bytes/reply-buffers.ts'
import { SEGMENT_EVENTS_MAX } from '../../../limits.ts'
import { bulkItemBytes } from '../../admission/bulk-items-bytes.ts'
import type { CommittedPart } from '../../dialect.ts'
import type { BulkFilter } from './filter-path.ts'

/** Digits that stand for a segment's id in what the workers write. */
const ID_DIGITS = 19
const COMMA = 0x2c

export interface BulkReplyOptions {
  /** Where the reply's memory comes from. */
  readonly buffers: Pick<ReplyBuffers, 'take'>
  readonly filter: BulkFilter
  /** Milliseconds since the request's beginning. */
  readonly tookMs: number
}

/** The body of the 200 answer; `parts` are all of the request's, in order. */
export function encodeBulkReply(
  parts: readonly CommittedPart[],
  options: BulkReplyOptions,
): Uint8Array {
  const { buffers, filter, tookMs } = options
  const fields: string[] = []
  if (filter.took) fields.push(`"took":${tookMs}`)
  if (filter.errors) fields.push(`"errors":${hasErrors(parts)}`)
  const itemBytes = bulkItemBytes(parts.map(({ result }) => result))
  // As in Elasticsearch, a filter that leaves nothing of any item also removes the list of items.
  const hasItems = itemBytes > 0 || filter.emptyItems
  if (hasItems) fields.push('"items":[')
  const head = `{${fields.join(',')}`
  const tail = hasItems ? ']}' : '}'
  const reply = buffers.take(head.length + itemBytes + tail.length)
  let length = reply.write(head, 'latin1')
  const before = length
  for (const part of parts) {
    if (part.result.bulkItems === undefined || part.result.bulkItems.json.length === 0) continue
    if (length > before) reply[length++] = COMMA
    length = placeItems(reply, length, part)
  }
  length += reply.write(tail, length, 'latin1')
  return reply.subarray(0, length)
}

function hasErrors(parts: readonly CommittedPart[]): boolean {
  return parts.some(({ result }) => result.bulkItems?.hasErrors === true)
}

/** Copies a part's items to `reply` from `at`, with ids filled in; returns where they end. */
function placeItems(reply: Buffer, at: number, part: CommittedPart): number {
  const { bulkItems } = part.result
  if (bulkItems === undefined) return at
  const { json, idPlaces } = bulkItems
  const ids = part.segmentIds.map((id) => Buffer.from(String(id)))
  assert(ids.length > 0 || idPlaces.length === 0)
  if (ids.some((id) => id.length !== ID_DIGITS)) return placeShortIds(reply, at, part, ids)
  reply.set(json, at)
  for (let i = 0; i < idPlaces.length; i += 2) {
    const segment = Math.floor((part.firstEvent + idPlaces[i + 1]!) / SEGMENT_EVENTS_MAX)
    const id = ids[segment]!
    const place = at + idPlaces[i]!
    for (let digit = 0; digit < ID_DIGITS; digit++) reply[place + digit] = id[digit]!
  }
  return at + json.length
}

/** For ids of other lengths than today's: what follows an id moves. */
function placeShortIds(
  reply: Buffer,
  at: number,
  part: CommittedPart,
  ids: readonly Buffer[],
): number {
  const { json, idPlaces } = part.result.bulkItems!
  let from = 0
  let to = at
  for (let i = 0; i < idPlaces.length; i += 2) {
    const place = idPlaces[i]!
    const segment = Math.floor((part.firstEvent + idPlaces[i + 1]!) / SEGMENT_EVENTS_MAX)
    const id = ids[segment]!
    reply.set(json.subarray(from, place), to)
    to += place - from
    reply.set(id, to)
    to += id.length
    from = place + ID_DIGITS
  }
  reply.set(json.subarray(from), to)
  return to + json.length - from
}
