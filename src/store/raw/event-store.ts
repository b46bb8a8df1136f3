/**
 * Reading segments of the raw store for the event list. Their payloads are fetched separately.
 *
 * Small batches of several streams share a row, and compaction merges rows. Segments are listed
 * nevertheless, each under the id that its events were acknowledged with, and with its position in
 * the row that now holds it. Segments that retention removed are not listed, even when their row
 * still exists.
 */
import { COMPACT_WINDOW_MS } from '../../limits.ts'
import { MIXED_STREAM } from '../../model/mixed-runs.ts'
import { SEGMENT_ID_MS_SHIFT, type SegmentId } from '../../model/segment-id.ts'
import { decodeMembers } from '../../model/segment-members.ts'
import {
  placeOf,
  rowKeyText,
  type SegmentInfo,
  type SegmentPlace,
} from '../../model/segment-place.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Postgres } from '../postgres.ts'

/** Segments with `start <= id < end`. */
export interface SegmentRange {
  readonly streamId: StreamId
  readonly start: bigint
  readonly end: bigint
  readonly newestFirst: boolean
  /**
   * The list has this many segments, or all that exist; or else it suffices to find the first
   * `limit - 2` events and to know that there are more.
   */
  readonly limit: number
}

/** Merged rows begin at most this far before the last segment they hold. */
export const ROW_SPAN = BigInt(COMPACT_WINDOW_MS) << BigInt(SEGMENT_ID_MS_SHIFT)

export class EventStore {
  readonly #postgres: Postgres

  constructor(postgres: Postgres) {
    this.#postgres = postgres
  }

  /** The first segments of a range. Reads no payload: those are stored out of line. */
  async listSegments({ streamId, ...range }: SegmentRange): Promise<SegmentInfo[]> {
    const listed = await this.listSegmentsOf([streamId], range)
    return listed.get(streamId) ?? []
  }

  /** The same of each of several streams; those without any are absent. */
  async listSegmentsOf(
    streamIds: readonly StreamId[],
    range: Omit<SegmentRange, 'streamId'>,
  ): Promise<Map<StreamId, SegmentInfo[]>> {
    const { rows } = await this.#postgres.query<ListedRow>(
      range.newestFirst ? NEWEST_FIRST : OLDEST_FIRST,
      [streamIds, String(range.start), String(range.end), range.limit, String(ROW_SPAN)],
    )
    const byStream = new Map<StreamId, ListedRow[]>()
    for (const row of rows) {
      const others = byStream.get(row.stream_id)
      if (others === undefined) byStream.set(row.stream_id, [row])
      else others.push(row)
    }
    return new Map([...byStream].map(([id, own]) => [id, toSegments(range, own)]))
  }

  /** One segment's payload, undefined when it is gone. */
  async readSegment(
    streamId: StreamId,
    segmentId: SegmentId,
  ): Promise<StoredSegmentPayload | undefined> {
    const range = { start: segmentId, end: segmentId + 1n, newestFirst: true, limit: 1 }
    const [segment] = await this.listSegments({ streamId, ...range })
    if (segment === undefined) return undefined
    const place = placeOf(segment)
    const payload = (await this.readPayloads(streamId, [place])).get(rowKeyText(place))
    if (payload === undefined) return undefined // Merged or removed just now.
    if (segment.place === undefined) return { payload }
    return { payload, part: { first: place.firstEvent, counts: [segment.eventCount] } }
  }

  /**
   * Payloads of rows in which segments of the stream were listed, by `rowKeyText`. Those of rows
   * that were removed or merged in the meantime are absent.
   */
  async readPayloads(
    streamId: StreamId,
    places: readonly SegmentPlace[],
  ): Promise<Map<string, Uint8Array>> {
    const byKey = new Map(places.map((place) => [rowKeyText(place), place]))
    const ids = (isMixed: boolean) => {
      return [...byKey.values()].flatMap((place) => {
        return place.isMixed === isMixed ? [String(place.row)] : []
      })
    }
    const { rows } = await this.#postgres.query<PayloadRow>(
      `SELECT stream_id, segment_id, event_count, payload FROM segments
       WHERE stream_id = $1 AND segment_id = ANY ($2::bigint[])
       UNION ALL
       SELECT stream_id, segment_id, event_count, payload FROM segments
       WHERE stream_id = ${MIXED_STREAM} AND segment_id = ANY ($3::bigint[])`,
      [streamId, ids(false), ids(true)],
    )
    const payloads = new Map<string, Uint8Array>()
    for (const { stream_id, segment_id, event_count, payload } of rows) {
      const isMixed = stream_id === MIXED_STREAM
      const key = rowKeyText({ row: BigInt(segment_id) as SegmentId, isMixed })
      if (isMixed || event_count === byKey.get(key)?.rowEventCount) payloads.set(key, payload)
    }
    return payloads
  }
}

/** A segment's payload, and which of its events are the segment's if not all are. */
export interface StoredSegmentPayload {
  readonly payload: Uint8Array
  readonly part?: { readonly first: number; readonly counts: readonly number[] }
}

interface ListedRow {
  readonly stream_id: StreamId
  readonly segment_id: string
  readonly event_count: number
  readonly raw_bytes: number
  readonly members: Uint8Array | null
  /** The row to read. */
  readonly row_id: string
  readonly is_mixed: boolean
  /** In a mixed row. */
  readonly first_event: number
  /** Where the range begins once removed segments are left out. */
  readonly start: string
  /** The next row in reading order, null when that is unknown or there is none. */
  readonly next_id: string | null
  /** There are more rows than those listed. */
  readonly is_cut: boolean
  /** It begins before the listed range but reaches into it; only listed for that reason. */
  readonly is_edge: boolean
}

/**
 * For each stream ($1): rows up to `limit` ($4), but no more than needed for that many events,
 * counting only events that are in the range ($2, $3) for certain. In addition the merged rows ($5:
 * how far they reach) that begin below the lowest listed one and reach above it.
 *
 * Upwards, a row may reach past the start of the next row, and the list is not complete past that
 * start (`completeBounds`). So rows are left out only where no earlier row reaches into them.
 */
function listSql(direction: 'ASC' | 'DESC'): string {
  const columns =
    'segment_id, last_segment_id, event_count, raw_bytes, members, row_id, is_mixed, first_event'
  const low =
    direction === 'ASC'
      ? 'listed.start'
      : 'CASE WHEN cut.is_cut THEN cut.lowest ELSE listed.start END'
  const isWhole = direction === 'ASC' ? 'reach < next_id' : 'true'
  return `
  SELECT wanted.stream_id, found.* FROM unnest($1::integer[]) AS wanted (stream_id)
  CROSS JOIN LATERAL (
  WITH listed AS (
    SELECT GREATEST($2::bigint, COALESCE((SELECT removed_before FROM stream_storage AS removed
      WHERE removed.stream_id = wanted.stream_id), 0)) AS start
  ), candidates AS (
    SELECT ${columns} FROM stream_segments AS own
    WHERE own.stream_id = wanted.stream_id
      AND segment_id >= (SELECT start FROM listed) AND segment_id < $3::bigint
    ORDER BY segment_id ${direction} LIMIT $4::integer
  ), added AS (
    SELECT *, lead(segment_id) OVER reading AS next_id,
      max(COALESCE(last_segment_id, segment_id)) OVER reading AS reach,
      sum(CASE WHEN segment_id > (SELECT start FROM listed)
                AND COALESCE(last_segment_id, segment_id) < $3::bigint - 1
               THEN event_count ELSE 0 END) OVER reading AS events
    FROM candidates
    WINDOW reading AS (ORDER BY segment_id ${direction})
  ), counted AS (
    SELECT *, max(CASE WHEN ${isWhole} THEN events END)
        OVER (ORDER BY segment_id ${direction} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
        AS events_before
    FROM added
  ), rows AS (
    SELECT * FROM counted WHERE COALESCE(events_before, 0) <= $4::integer
  ), cut AS (
    SELECT (SELECT count(*) FROM candidates) = $4::integer
        OR (SELECT count(*) FROM rows) < (SELECT count(*) FROM candidates) AS is_cut,
      (SELECT min(segment_id) FROM rows) AS lowest
  )
  SELECT segment_id, event_count, raw_bytes, members, row_id, is_mixed, first_event,
    start, next_id, is_cut, false AS is_edge
  FROM rows, listed, cut
  UNION ALL
  SELECT s.segment_id, s.event_count, s.raw_bytes, s.members, s.segment_id, false, 0,
    start, NULL, is_cut, true
  FROM listed, cut, segments s
  WHERE s.stream_id = wanted.stream_id AND s.last_segment_id IS NOT NULL
    AND s.segment_id >= ${low} - $5::bigint AND s.segment_id < ${low}
    AND s.segment_id < $3::bigint AND s.last_segment_id >= ${low}
  ) AS found`
}

const NEWEST_FIRST = listSql('DESC')
const OLDEST_FIRST = listSql('ASC')

/** A stream's, in reading order. */
function toSegments(
  range: Omit<SegmentRange, 'streamId'>,
  rows: readonly ListedRow[],
): SegmentInfo[] {
  const bounds = completeBounds(range, rows)
  const segments = rows.flatMap(expandRow).filter(({ segmentId }) => {
    return segmentId >= bounds.start && segmentId < bounds.end
  })
  const sign = range.newestFirst ? -1 : 1
  return segments.sort((a, b) => (a.segmentId < b.segmentId ? -sign : sign))
}

/**
 * The part of the range in which nothing is missing from `rows`. Rows that were left out for
 * `limit` may hold segments beyond the last row that was listed, but none before it.
 */
function completeBounds(
  range: Omit<SegmentRange, 'streamId'>,
  rows: readonly ListedRow[],
): { readonly start: bigint; readonly end: bigint } {
  const start = BigInt(rows[0]?.start ?? range.start)
  const sign = range.newestFirst ? -1n : 1n
  let last: ListedRow | undefined
  for (const row of rows) {
    if (row.is_edge) continue
    const isFurther = (BigInt(row.segment_id) - BigInt(last?.segment_id ?? 0)) * sign > 0n
    if (last === undefined || isFurther) last = row
  }
  if (last === undefined || !last.is_cut) return { start, end: range.end }
  if (range.newestFirst) return { start: BigInt(last.segment_id), end: range.end }
  // Whatever was left out begins at the next row, or if that is unknown, after this row's start.
  const next = last.next_id === null ? BigInt(last.segment_id) + 1n : BigInt(last.next_id)
  return { start, end: next < range.end ? next : range.end }
}

function expandRow(row: ListedRow): SegmentInfo[] {
  const segmentId = BigInt(row.segment_id) as SegmentId
  const { event_count: rowEventCount, raw_bytes: rawBytes } = row
  if (row.is_mixed) {
    const rowId = BigInt(row.row_id) as SegmentId
    const place = {
      row: rowId,
      isMixed: true,
      rowEventCount: undefined,
      firstEvent: row.first_event,
    }
    return [{ segmentId, eventCount: rowEventCount, rawBytes, place }]
  }
  if (row.members === null) return [{ segmentId, eventCount: rowEventCount, rawBytes }]
  let firstEvent = 0
  return decodeMembers(row.members, segmentId).map((member) => {
    const place = { row: segmentId, isMixed: false, rowEventCount, firstEvent }
    firstEvent += member.eventCount
    return { ...member, rawBytes: (rawBytes * member.eventCount) / rowEventCount, place }
  })
}

interface PayloadRow {
  readonly stream_id: number
  readonly segment_id: string
  readonly event_count: number
  readonly payload: Uint8Array
}
