/** Events of stored segments, for workers. */
import type { SegmentRead } from '../model/batch/segment-read.ts'
import { readOf } from '../model/stored-row.ts'
import type { StreamId } from '../model/stream.ts'
import type { EventStore } from '../store/raw/event-store.ts'
import type { SegmentSlice } from './event-page.ts'

/**
 * Segments whose rows are read at once, and are in memory twice: of a mixed row only little is
 * needed.
 */
const READ_SEGMENTS_MAX = 128

/**
 * The slices with their payloads, some at a time and in their order, without those removed. The
 * next ones are read while some are worked on.
 */
export async function* fetchSlices(
  events: Pick<EventStore, 'readPayloads'>,
  streamId: StreamId,
  slices: readonly SegmentSlice[],
): AsyncGenerator<readonly SegmentRead[], void> {
  const read = (at: number) => {
    const some = slices.slice(at, at + READ_SEGMENTS_MAX)
    const found = events.readPayloads(some.map(({ segmentId }) => ({ streamId, segmentId })))
    found.catch(() => undefined) // It is awaited when its turn comes, or nobody waits any more.
    return { some, found }
  }
  let next = read(0)
  for (let at = 0; at < slices.length; ) {
    const { some, found } = next
    const payloads = await found
    at += some.length
    next = read(at)
    const reads = some.flatMap((slice) => {
      const segment = payloads.get(slice.segmentId)
      return segment === undefined ? [] : [readOf(segment, slice, true)]
    })
    if (reads.length > 0) yield reads
  }
}
