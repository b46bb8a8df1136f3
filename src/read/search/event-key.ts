/** Events as search knows them: their ids, which sort by time over all nodes and streams. */
import { type EventId, ORDINAL_MAX } from '../../model/event-id.ts'
import { SEGMENT_ID_MAX, type SegmentId } from '../../model/segment-id.ts'
import type { StreamId } from '../../model/stream.ts'

export interface EventKey extends EventId {
  readonly streamId: StreamId
}

/** In ascending order. */
export function compareEvents(a: EventId, b: EventId): number {
  if (a.segmentId !== b.segmentId) return a.segmentId < b.segmentId ? -1 : 1
  return a.ordinal - b.ordinal
}

/** In reading order, each once: both sources may know an event. */
export function mergeEvents(
  sources: readonly (readonly EventKey[])[],
  newestFirst: boolean,
): EventKey[] {
  const sign = newestFirst ? -1 : 1
  const sorted = sources.flat().sort((a, b) => sign * compareEvents(a, b))
  return sorted.filter((key, index) => index === 0 || compareEvents(key, sorted[index - 1]!) !== 0)
}

/** The cursor behind which, in reading order, are the segments beyond `bound`. */
export function boundaryCursor(bound: bigint, newestFirst: boolean): EventId {
  if (newestFirst) return { segmentId: clamp(bound), ordinal: 0 }
  return { segmentId: clamp(bound - 1n), ordinal: ORDINAL_MAX }
}

function clamp(id: bigint): SegmentId {
  const inRange = id < 0n ? 0n : id > SEGMENT_ID_MAX ? SEGMENT_ID_MAX : id
  return inRange as SegmentId
}
