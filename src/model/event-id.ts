/** An event's public id, `<segment>-<ordinal>`: it sorts by time, then by place in its segment. */
import { type SegmentId, tryParseSegmentId } from './segment-id.ts'

export interface EventId {
  readonly segmentId: SegmentId
  /** Place in the segment, from 0. */
  readonly ordinal: number
}

export const ORDINAL_MAX = 2 ** 31 - 1 // The event count of a segment is a signed 32-bit integer.

export function tryParseEventId(text: string): EventId | undefined {
  const match = /^([0-9]{1,19})-(0|[1-9][0-9]{0,9})$/.exec(text)
  if (match === null) return undefined
  const segmentId = tryParseSegmentId(match[1] ?? '')
  const ordinal = Number(match[2])
  if (segmentId === undefined || ordinal > ORDINAL_MAX) return undefined
  return { segmentId, ordinal }
}

export function formatEventId(id: EventId): string {
  return `${id.segmentId}-${id.ordinal}`
}
