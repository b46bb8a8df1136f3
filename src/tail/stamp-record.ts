/**
 * An event record that was written before its commit, with what that gave it: the segment's id, and
 * the receipt time, which is also the event time of events without one. Texts of the same lengths
 * (`NO_SEGMENT_ID`, `NO_RECEIPT_MS`), so it is written over.
 *
 *   {"id":"<segment>-<ordinal>","ingested_at":"<time>","event_time":"<time>","event_time_source":…
 */
import { NO_SEGMENT_ID } from '../model/batch/sieved-events.ts'
import { type SegmentId, segmentIdMs } from '../model/segment-id.ts'

const ID_AT = '{"id":"'.length
const BEHIND_ORDINAL = '","ingested_at":"'.length
const BEHIND_RECEIPT = '","event_time":"'.length
const FROM_RECEIPT = Buffer.from('","event_time_source":"receipt"')
const QUOTE = 0x22

export interface Stamp {
  readonly id: string
  readonly receivedAt: string
}

export function stampOf(segmentId: SegmentId): Stamp {
  return {
    id: String(segmentId).padStart(NO_SEGMENT_ID.length, '0'),
    receivedAt: new Date(segmentIdMs(segmentId)).toISOString(),
  }
}

/** A copy. */
export function stampRecord(record: Uint8Array, { id, receivedAt }: Stamp): Uint8Array {
  const stamped = Buffer.from(record)
  stamped.write(id, ID_AT, 'latin1')
  const ingestedAt = stamped.indexOf(QUOTE, ID_AT) + BEHIND_ORDINAL
  stamped.write(receivedAt, ingestedAt, 'latin1')
  const eventTime = ingestedAt + receivedAt.length + BEHIND_RECEIPT
  const behind = eventTime + receivedAt.length
  const source = stamped.subarray(behind, behind + FROM_RECEIPT.length)
  if (source.equals(FROM_RECEIPT)) stamped.write(receivedAt, eventTime, 'latin1')
  return stamped
}
