/**
 * The records of events that were found, in their order: payloads of some segments at a time, which
 * workers decode. Events never pass through this thread as parsed values.
 */
import { EVENTS_PAGE_BYTES_MAX, SEARCH_PAYLOADS_MAX } from '../../limits.ts'
import type { DamagedRead, RecordFormat, SegmentRead } from '../../model/batch.ts'
import type { EventKey } from '../../model/event-id.ts'
import type { StreamSegment } from '../../model/projection.ts'
import { type FoundSegment, readOf } from '../../model/stored-row.ts'
import type { ReadPayloads } from './store-sources.ts'

export interface RecordReaders {
  readonly readPayloads: ReadPayloads
  /** Renders events of stored segments, in the pool. */
  readonly renderRecords: (
    reads: readonly SegmentRead[],
    format: RecordFormat,
  ) => Promise<{ readonly json: Uint8Array; readonly damaged: readonly DamagedRead[] }>
}

export interface RecordOptions {
  readonly format: RecordFormat
  /** The order of records within a piece; not that of the events when they come against it. */
  readonly newestFirst: boolean
  /** Each record names its stream. */
  readonly tellsStream: boolean
}

export interface RecordPiece {
  readonly bytes: Uint8Array
  /** The last event that it is about; those before it are in this piece or an earlier one. */
  readonly last: EventKey
  readonly damaged: readonly DamagedSegment[]
  /** Events before `last`, since the piece before, whose segment is gone. */
  readonly gone: number
}

export interface DamagedSegment {
  readonly segmentId: string
  readonly events: number
}

/** A page is two of them. */
const PIECE_BYTES = EVENTS_PAGE_BYTES_MAX / 2

/** Events of one segment that were found, and the bytes that they will take. */
interface Group extends StreamSegment {
  readonly keys: EventKey[]
}

/**
 * Pieces of at most about PIECE_BYTES, estimated by the mean event of each segment, but of at least
 * one event. Events of a segment that was removed meanwhile are left out.
 */
export async function* readRecords(
  readers: RecordReaders,
  events: readonly EventKey[],
  options: RecordOptions,
): AsyncGenerator<RecordPiece, void> {
  const groups = groupBySegment(events)
  for (let at = 0; at < groups.length; at += SEARCH_PAYLOADS_MAX) {
    const some = groups.slice(at, at + SEARCH_PAYLOADS_MAX)
    const payloads = await readers.readPayloads(some)
    let reads: SegmentRead[] = []
    let bytes = 0
    let gone = 0
    let last: EventKey | undefined
    for (const group of some) {
      const segment = payloads.get(group.segmentId)
      for (const keys of affordable(group.keys, segment?.eventBytes ?? 0)) {
        const size = keys.length * (segment?.eventBytes ?? 0)
        if (bytes > 0 && bytes + size > PIECE_BYTES && last !== undefined) {
          yield { ...(await render(readers, reads, options, last)), gone }
          reads = []
          bytes = 0
          gone = 0
        }
        if (segment === undefined) gone += keys.length
        else reads.push(chosenOf(segment, keys, options))
        bytes += size
        last = keys.at(-1)
      }
    }
    if (last !== undefined) yield { ...(await render(readers, reads, options, last)), gone }
  }
}

function groupBySegment(events: readonly EventKey[]): Group[] {
  const groups: Group[] = []
  for (const key of events) {
    const { streamId, segmentId } = key
    const group = groups.at(-1)
    if (group?.segmentId === segmentId) group.keys.push(key)
    else groups.push({ streamId, segmentId, keys: [key] })
  }
  return groups
}

/** Runs of events of which none takes more than a piece, but for a single event. */
function* affordable(keys: readonly EventKey[], eventBytes: number) {
  const count = Math.max(1, Math.floor(PIECE_BYTES / Math.max(1, eventBytes)))
  for (let at = 0; at < keys.length; at += count) yield keys.slice(at, at + count)
}

function chosenOf(
  segment: FoundSegment,
  keys: readonly EventKey[],
  { newestFirst, tellsStream }: RecordOptions,
): SegmentRead {
  const all = { fromOrdinal: 0, toOrdinal: segment.eventCount }
  return {
    ...readOf(segment, all, newestFirst),
    ordinals: Uint32Array.from(keys, ({ ordinal }) => ordinal).sort(),
    ...(tellsStream && { streamId: String(segment.streamId) }),
  }
}

async function render(
  { renderRecords }: RecordReaders,
  reads: readonly SegmentRead[],
  { format }: RecordOptions,
  last: EventKey,
): Promise<Omit<RecordPiece, 'gone'>> {
  if (reads.length === 0) return { bytes: new Uint8Array(0), last, damaged: [] }
  const [first, second] = [reads[0]!, reads.at(-1)!]
  const isRising = BigInt(first.segmentId) < BigInt(second.segmentId)
  const isAgainst = reads.length > 1 && isRising === first.newestFirst
  const ordered = isAgainst ? reads.toReversed() : reads
  const { json, damaged } = await renderRecords(ordered, format)
  const lost = damaged.map(({ index }) => {
    const { segmentId, ordinals } = ordered[index]!
    return { segmentId, events: ordinals?.length ?? 0 }
  })
  return { bytes: json, last, damaged: lost }
}
