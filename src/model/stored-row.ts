/**
 * Rows of the raw store, and the segments in them. Most rows hold one segment. A mixed row holds
 * small segments of several streams (`mixed-runs.ts`), a merged one those of a stream that
 * compaction has put together. An event keeps the id it was acknowledged under,
 * `<segment>-<ordinal>`, whichever row its segment is in.
 *
 *   members of a row of several: per segment varuint stream (of mixed rows), varuint id minus the
 *   id before it (of the first: minus the row's), varuint events
 */
import assert from 'node:assert/strict'
import type { SegmentRead } from './batch/segment-read.ts'
import { MIXED_STREAM, type MixedRun } from './mixed-runs.ts'
import type { StreamSegment } from './projection.ts'
import { type SegmentId, segmentIdMs } from './segment-id.ts'
import type { StreamId } from './stream.ts'
import { pushVaruint, readVaruint } from './varuint.ts'

/** A segment, and where its events are in its row. */
export interface RowSegment extends StreamSegment {
  readonly eventCount: number
  /** Events of the row before the segment's first. */
  readonly firstEvent: number
}

export interface StoredRow {
  /** `MIXED_STREAM` when its segments are of several streams. */
  readonly streamId: StreamId
  /** That of its first segment. */
  readonly segmentId: SegmentId
  readonly eventCount: number
  /** In the order of their ids; possibly only those that a reader wants. */
  readonly segments: readonly RowSegment[]
}

/** A row with the events of all its segments. */
export interface LoadedRow extends StoredRow {
  readonly payload: Uint8Array
}

/** A row that may be merged with others or split. */
export interface SizedRow extends StoredRow {
  readonly rawBytes: number
  readonly payloadBytes: number
}

/** As PostgreSQL has a row. */
export interface RowColumns {
  readonly stream_id: number
  readonly segment_id: string
  readonly event_count: number
  readonly members: Uint8Array | null
}

/** A segment with the payload that its events are in. */
export interface FoundSegment extends RowSegment {
  readonly payload: Uint8Array
  /** Mean size of the payload's events, in bytes of JSON. */
  readonly eventBytes: number
}

/** Some events of a payload, which are of several segments with these counts. */
export interface SegmentPart {
  readonly first: number
  readonly counts: readonly number[]
  /** Of a mixed row: whose those segments are. */
  readonly streamIds?: readonly StreamId[]
}

/** The row with its segments. Throws on invalid bytes. */
export function storedRow(columns: RowColumns): StoredRow {
  const { event_count: eventCount, members } = columns
  const streamId = columns.stream_id as StreamId
  const segmentId = BigInt(columns.segment_id) as SegmentId
  const row = { streamId, segmentId, eventCount }
  const segments =
    members === null ? [{ ...row, firstEvent: 0 }] : decodeMembers(members, streamId, segmentId)
  return { ...row, segments }
}

/** Says where the events of each of a row's segments are. */
export function placeSegments(segments: readonly MixedRun[]): RowSegment[] {
  let next = 0
  return segments.map(({ streamId, segmentId, eventCount }) => {
    const firstEvent = next
    next += eventCount
    return { streamId, segmentId, eventCount, firstEvent }
  })
}

/**
 * Up to where a reader has got that has seen the row. A merged row lies among rows of other
 * streams, so reading goes on behind its first segment; all of a mixed one is committed together.
 */
export function lastIdOf({ streamId, segmentId, segments }: StoredRow): SegmentId {
  return streamId === MIXED_STREAM ? segments.at(-1)!.segmentId : segmentId
}

/** Those of a row that lie side by side, together: they are read at once. */
export function sideBySide(segments: readonly RowSegment[]): RowSegment[][] {
  const pieces: RowSegment[][] = []
  let end = -1
  for (const segment of segments) {
    if (segment.firstEvent === end) pieces.at(-1)!.push(segment)
    else pieces.push([segment])
    end = segment.firstEvent + segment.eventCount
  }
  return pieces
}

/** Segments of a row that lie side by side, for a worker. */
export function partOf(
  { streamId }: Pick<StoredRow, 'streamId'>,
  segments: readonly RowSegment[],
): SegmentPart {
  const part = {
    first: segments[0]!.firstEvent,
    counts: segments.map(({ eventCount }) => eventCount),
  }
  if (streamId !== MIXED_STREAM) return part
  return { ...part, streamIds: segments.map((segment) => segment.streamId) }
}

/** Some events of a segment, for a worker. */
export function readOf(
  { segmentId, payload, firstEvent }: Omit<FoundSegment, 'streamId' | 'eventCount' | 'eventBytes'>,
  { fromOrdinal, toOrdinal }: Pick<SegmentRead, 'fromOrdinal' | 'toOrdinal'>,
  newestFirst: boolean,
): SegmentRead {
  return {
    payload,
    segmentId: String(segmentId),
    ingestedAtMs: segmentIdMs(segmentId),
    fromOrdinal,
    toOrdinal,
    firstEvent,
    newestFirst,
  }
}

/** Bounds the gaps between the ids of a row, which are of a window of compaction at most. */
const DELTA_MAX = 2n ** 52n

/** The members of a row of `streamId`, or of `MIXED_STREAM`. Ids must rise. */
export function encodeMembers(streamId: StreamId, segments: readonly MixedRun[]): Uint8Array {
  assert(segments.length > 0)
  const isMixed = streamId === MIXED_STREAM
  const bytes: number[] = []
  let last: bigint = segments[0]!.segmentId
  for (const { streamId: of, segmentId, eventCount } of segments) {
    const delta = segmentId - last
    assert(delta >= 0n && delta < DELTA_MAX && eventCount > 0)
    assert(isMixed ? of !== MIXED_STREAM : of === streamId)
    if (isMixed) pushVaruint(bytes, of)
    pushVaruint(bytes, Number(delta))
    pushVaruint(bytes, eventCount)
    last = segmentId
  }
  return Uint8Array.from(bytes)
}

function decodeMembers(bytes: Uint8Array, ofRow: StreamId, first: SegmentId): RowSegment[] {
  const segments: RowSegment[] = []
  const at = { index: 0 }
  let id: bigint = first
  let firstEvent = 0
  while (at.index < bytes.length) {
    const streamId = ofRow === MIXED_STREAM ? (readVaruint(bytes, at) as StreamId) : ofRow
    id += BigInt(readVaruint(bytes, at))
    const eventCount = readVaruint(bytes, at)
    segments.push({ streamId, segmentId: id as SegmentId, eventCount, firstEvent })
    firstEvent += eventCount
  }
  return segments
}
