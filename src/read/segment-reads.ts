/**
 * Payloads of listed segments. Between listing segments and reading their rows, compaction may have
 * merged them; the rows then hold other events or are gone, so readers list again.
 */
import { placeOf, rowKeyText, type SegmentInfo } from '../model/segment-place.ts'
import type { StreamId } from '../model/stream.ts'
import type { EventStore } from '../store/raw/event-store.ts'
import type { SegmentSlice } from './event-page.ts'

/** Events of a stored segment from `fromOrdinal` up to, not including, `toOrdinal`. */
export interface SegmentRead extends SegmentSlice {
  readonly payload: Uint8Array
  readonly newestFirst: boolean
  /** Events in the payload before the segment's first: a payload may hold several segments. */
  readonly firstEvent?: number
}

/** What a page asks for, and the segments that were listed for it. */
export interface ListedSlices {
  readonly slices: readonly SegmentSlice[]
  readonly segments: readonly SegmentInfo[]
}

/** How often a read is repeated because rows were merged in the meantime. */
export const READ_TRIES_MAX = 8
/** Segments whose mixed rows are in memory at a time: only little of each row is needed. */
const READ_SEGMENTS_MAX = 64
const NO_PAYLOADS: ReadonlyMap<string, Uint8Array> = new Map()

/**
 * The slices with their payloads, some at a time and in their order. Ends with undefined when a row
 * is no longer what was listed.
 */
export async function* fetchSlices(
  events: EventStore,
  streamId: StreamId,
  { slices, segments }: ListedSlices,
): AsyncGenerator<readonly SegmentRead[] | undefined, void> {
  const places = new Map(segments.map((segment) => [segment.segmentId, placeOf(segment)]))
  const wanted = slices.flatMap((slice) => {
    const place = places.get(slice.segmentId)
    return place === undefined ? [] : [{ slice, place }]
  })
  const read = (isMixed: boolean, some: typeof wanted) => {
    const rows = some.flatMap(({ place }) => (place.isMixed === isMixed ? [place] : []))
    return rows.length === 0 ? NO_PAYLOADS : events.readPayloads(streamId, rows)
  }
  // All at once: the sooner rows are read after the listing, the fewer were merged meanwhile.
  const own = await read(false, wanted)
  for (let at = 0; at < wanted.length; at += READ_SEGMENTS_MAX) {
    const some = wanted.slice(at, at + READ_SEGMENTS_MAX)
    const mixed = await read(true, some)
    const reads: SegmentRead[] = []
    for (const { slice, place } of some) {
      const key = rowKeyText(place)
      const payload = own.get(key) ?? mixed.get(key)
      if (payload === undefined) {
        yield undefined
        return
      }
      reads.push({ ...slice, payload, newestFirst: true, firstEvent: place.firstEvent })
    }
    yield reads
  }
}
