/**
 * Reading segments of the raw store: which a stream has, and their payloads.
 *
 * Small batches of several streams share a row, and compaction merges rows. Segments are listed and
 * read nevertheless each under the id that its events were acknowledged with. Segments that
 * retention removed are neither listed nor read, even when their row still exists.
 */
import { COMPACT_WINDOW_MS } from '../../limits.ts'
import { MIXED_STREAM } from '../../model/mixed-runs.ts'
import type { StreamSegment } from '../../model/projection.ts'
import { SEGMENT_ID_MS_SHIFT, type SegmentId } from '../../model/segment-id.ts'
import type { SegmentInfo } from '../../model/segment-place.ts'
import { type FoundSegment, type RowColumns, storedRow } from '../../model/stored-row.ts'
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

  /**
   * The segments with the payloads of their rows, which those in one row share. Segments that
   * retention has removed, or that are of another stream, are absent. Which row holds a segment and
   * that row's payload come from one statement, so from one snapshot: nothing can be merged, split
   * or removed between two reads.
   */
  async readPayloads(keys: readonly StreamSegment[]): Promise<Map<SegmentId, FoundSegment>> {
    if (keys.length === 0) return new Map()
    const { rows } = await this.#postgres.query<FoundRow>(PAYLOADS, [
      keys.map(({ streamId }) => streamId),
      keys.map(({ segmentId }) => String(segmentId)),
    ])
    const found = new Map<SegmentId, FoundSegment>()
    for (const row of rows) {
      const { payload } = row
      const wanted = row.wanted && new Set<bigint>(row.wanted.map(BigInt))
      const eventBytes = row.raw_bytes / Math.max(1, row.event_count)
      for (const segment of storedRow(row).segments) {
        // A merged row that reaches over a wanted segment need not hold it.
        if (wanted?.has(segment.segmentId) === false) continue
        found.set(segment.segmentId, { ...segment, payload, eventBytes })
      }
    }
    return found
  }
}

interface FoundRow extends RowColumns {
  readonly raw_bytes: number
  readonly payload: Uint8Array
  /** The segments of it that were asked for; null: it has no other. */
  readonly wanted: readonly string[] | null
}

const FOUND = 's.stream_id, s.segment_id, s.event_count, s.raw_bytes, s.members, s.payload'
/** Rows of one segment by their keys; and each row of several once, for the segments left. */
const PAYLOADS = `
  WITH wanted AS (
    SELECT w.stream_id, w.segment_id
    FROM unnest($1::integer[], $2::bigint[]) AS w (stream_id, segment_id)
    LEFT JOIN stream_storage st ON st.stream_id = w.stream_id
    WHERE w.segment_id >= COALESCE(st.removed_before, 0)
  ), own AS MATERIALIZED (
    SELECT ${FOUND} FROM wanted w JOIN segments s ON s.stream_id = w.stream_id
      AND s.segment_id = w.segment_id AND s.last_segment_id IS NULL
  ), shared AS MATERIALIZED (
    SELECT stream_id, segment_id FROM wanted EXCEPT SELECT stream_id, segment_id FROM own
  ), places AS (
    SELECT w.segment_id AS wanted, s.stream_id, s.segment_id
    FROM shared w JOIN segments s ON s.stream_id = w.stream_id
      AND s.last_segment_id IS NOT NULL AND s.segment_id <= w.segment_id
      AND s.segment_id >= w.segment_id - ${ROW_SPAN} AND s.last_segment_id >= w.segment_id
    UNION ALL
    SELECT w.segment_id, ${MIXED_STREAM}, r.row_id
    FROM shared w JOIN segment_runs r ON r.stream_id = w.stream_id AND r.segment_id = w.segment_id
  )
  SELECT *, NULL::bigint[] AS wanted FROM own
  UNION ALL
  SELECT ${FOUND}, g.wanted FROM (
    SELECT stream_id, segment_id, array_agg(wanted) AS wanted
    FROM places GROUP BY stream_id, segment_id
  ) AS g JOIN segments s ON s.stream_id = g.stream_id AND s.segment_id = g.segment_id`

interface ListedRow extends RowColumns {
  readonly stream_id: StreamId
  readonly raw_bytes: number
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
  const columns = 'segment_id, last_segment_id, event_count, raw_bytes, members'
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
  SELECT segment_id, event_count, raw_bytes, members, start, next_id, is_cut, false AS is_edge
  FROM rows, listed, cut
  UNION ALL
  SELECT s.segment_id, s.event_count, s.raw_bytes, s.members, start, NULL, is_cut, true
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
  const segments = rows.flatMap(toInfos).filter(({ segmentId }) => {
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

function toInfos(row: ListedRow): SegmentInfo[] {
  const { event_count: events, raw_bytes: rawBytes } = row
  return storedRow(row).segments.map(({ segmentId, eventCount }) => {
    return { segmentId, eventCount, rawBytes: (rawBytes * eventCount) / events }
  })
}
