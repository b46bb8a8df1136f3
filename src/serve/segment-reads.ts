/** Events of stored segments, for workers. */
import type { SegmentRead } from '../model/batch.ts'
import { readOf } from '../model/stored-row.ts'
import type { StreamId } from '../model/stream.ts'
import type { EventStore } from '../store/raw/event-store.ts'
import type { SegmentSlice } from './event-page.ts'

/** Segments whose rows are in memory at a time: of a mixed row only little is needed. */
const READ_SEGMENTS_MAX = 64

/** The slices with their payloads, some at a time and in their order, without those removed. */
export async function* fetchSlices(
  events: Pick<EventStore, 'readPayloads'>,
  streamId: StreamId,
  slices: readonly SegmentSlice[],
): AsyncGenerator<readonly SegmentRead[], void> {
  for (let at = 0; at < slices.length; at += READ_SEGMENTS_MAX) {
    const some = slices.slice(at, at + READ_SEGMENTS_MAX)
    const found = await events.readPayloads(some.map(({ segmentId }) => ({ streamId, segmentId })))
    const reads = some.flatMap((slice) => {
      const segment = found.get(slice.segmentId)
      return segment === undefined ? [] : [readOf(segment, slice, true)]
    })
    if (reads.length > 0) yield reads
  }
}
