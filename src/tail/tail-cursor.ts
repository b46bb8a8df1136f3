/**
 * Where a tail is: for each node, the newest segment that it is done with, since ids rise in commit
 * order on each node, but not across nodes. In the middle of a segment also the event.
 *
 *   cursor = [ ordinal in base 36 ] "." base64url(ids of 8 bytes, the segment of the ordinal first)
 *
 * Each node has one id in it, which names the node. A node that is missing had committed nothing.
 */
import { ORDINAL_MAX } from '../model/event-id.ts'
import {
  makeSegmentId,
  SEGMENT_COUNTER_MAX,
  SEGMENT_ID_MAX,
  type SegmentId,
  segmentIdMs,
  segmentIdNode,
} from '../model/segment-id.ts'

/** By node: everything of it up to this id, and nothing after it. */
export type NodePositions = ReadonlyMap<number, SegmentId>

export interface TailCursor {
  readonly places: NodePositions
  /** Of this segment, which is after its node's id above, the events up to the ordinal too. */
  readonly partial?: { readonly segmentId: SegmentId; readonly ordinal: number }
}

const ID_BYTES = 8

/** The text after the ordinal's, which is the same for all events of a segment. */
export function encodePositions(places: NodePositions, segmentId?: SegmentId): string {
  const node = segmentId === undefined ? -1 : segmentIdNode(segmentId)
  const ids = segmentId === undefined ? [] : [segmentId]
  for (const [other, id] of places) if (other !== node) ids.push(id)
  const bytes = Buffer.allocUnsafe(ids.length * ID_BYTES)
  for (const [index, id] of ids.entries()) bytes.writeBigUInt64BE(id, index * ID_BYTES)
  return `.${bytes.toString('base64url')}`
}

/** The cursor after the event `ordinal` of the segment that `places` was encoded with. */
export function cursorAt(ordinal: number, places: string): string {
  return ordinal.toString(36) + places
}

/** Undefined for what `encodePositions` and `cursorAt` did not write. */
export function tryParseCursor(text: string): TailCursor | undefined {
  const [, ordinalText = '', base64] = /^([0-9a-z]{0,6})\.([\w-]+)$/.exec(text) ?? []
  if (base64 === undefined) return undefined
  const bytes = Buffer.from(base64, 'base64url')
  if (bytes.length % ID_BYTES !== 0 || bytes.toString('base64url') !== base64) return undefined
  const places = new Map<number, SegmentId>()
  let first: SegmentId | undefined
  for (let at = 0; at < bytes.length; at += ID_BYTES) {
    const id = bytes.readBigUInt64BE(at) as SegmentId
    if (id > SEGMENT_ID_MAX || places.has(segmentIdNode(id))) return undefined
    places.set(segmentIdNode(id), id)
    first ??= id
  }
  if (first === undefined) return undefined
  if (ordinalText === '') return { places }
  const ordinal = Number.parseInt(ordinalText, 36)
  if (ordinal > ORDINAL_MAX) return undefined
  places.set(segmentIdNode(first), placeBelow(first, segmentIdNode(first)))
  return { places, partial: { segmentId: first, ordinal } }
}

/** The place of a node with nothing of it. */
export function noPosition(node: number): SegmentId {
  return makeSegmentId({ ms: 0, node, counter: 0 })
}

/** The newest id that a node may have below `id`, which may be another node's. */
export function placeBelow(id: bigint, node: number): SegmentId {
  const ms = segmentIdMs(id as SegmentId)
  const here = makeSegmentId({ ms, node, counter: 0 })
  if (here >= id) {
    return ms === 0
      ? noPosition(node)
      : makeSegmentId({ ms: ms - 1, node, counter: SEGMENT_COUNTER_MAX })
  }
  const last = makeSegmentId({ ms, node, counter: SEGMENT_COUNTER_MAX })
  return last < id ? last : ((id - 1n) as SegmentId)
}
