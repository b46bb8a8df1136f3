/**
 * What search reads from the raw store besides payloads: the segments that the projection may lack,
 * and which part of a range has segments at all.
 *
 * Checkpoints and segments are read in one statement, so in one snapshot: a segment acknowledged
 * before it is either listed, or not past a checkpoint and so in ClickHouse already.
 */
import { MIXED_STREAM } from '../../model/mixed-runs.ts'
import { nodeOfSegment, type SegmentId, segmentIdMs } from '../../model/segment-id.ts'
import type {
  IdRange,
  NodeMarks,
  PendingList,
  PendingSegment,
  SegmentExtent,
} from '../../model/segment-place.ts'
import { type RowColumns, storedRow } from '../../model/stored-row.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Postgres } from '../postgres.ts'
import { ROW_SPAN } from './event-store.ts'
import { streamMarkSql } from './stream-mark.ts'

export interface PendingQuery extends IdRange {
  readonly streamIds: readonly StreamId[]
  readonly newestFirst: boolean
  /** How many rows to look at. */
  readonly limit: number
  /** Of a node's segments those after this one are pending, too. */
  readonly observed?: NodeMarks | undefined
}

/** Segments from which density is estimated. */
const DENSITY_SEGMENTS = 32

const NO_NODES: NodeMarks = new Map()
const MARK = streamMarkSql('c', '$1::integer[]')

export class PendingStore {
  readonly #postgres: Postgres
  readonly #projected: (streamIds: readonly StreamId[]) => NodeMarks

  /**
   * `projected`: up to where some nodes' segments of these streams are known to be in the
   * projection. Checkpoints are recorded later than that.
   */
  constructor(
    postgres: Postgres,
    projected: (streamIds: readonly StreamId[]) => NodeMarks = () => NO_NODES,
  ) {
    this.#postgres = postgres
    this.#projected = projected
  }

  /** Throws `StoreError`. */
  async list(query: PendingQuery): Promise<PendingList> {
    const { streamIds, start, end, newestFirst, limit, observed = NO_NODES } = query
    const { rows } = await this.#postgres.query<ListRow>(
      newestFirst ? NEWEST_FIRST : OLDEST_FIRST,
      [
        streamIds,
        String(start),
        String(end),
        limit,
        ...toColumns(observed),
        ...toColumns(this.#projected(streamIds)),
      ],
    )
    const list = toList(query, rows)
    // Rows that begin before the range and reach into it can fill the list: then list more.
    return list.complete.start < list.complete.end || start >= end
      ? list
      : this.list({ ...query, limit: limit * 4 })
  }

  /**
   * The part of a range that has segments of the streams, undefined when it has none. Throws
   * `StoreError`.
   */
  async readExtent(
    streamIds: readonly StreamId[],
    { start, end, newestFirst }: IdRange & { readonly newestFirst: boolean },
  ): Promise<SegmentExtent | undefined> {
    const { rows } = await this.#postgres.query<ExtentRow>(newestFirst ? EXTENT_DOWN : EXTENT_UP, [
      streamIds,
      String(start),
      String(end),
      String(ROW_SPAN),
    ])
    const [row] = rows
    if (row === undefined || row.oldest === null || row.newest === null) return undefined
    const [oldest, newest] = [BigInt(row.oldest), BigInt(row.newest)]
    const [from, to] = [oldest > start ? oldest : start, newest + 1n < end ? newest + 1n : end]
    if (from >= to) return undefined
    const spanMs = row.first === null || row.last === null ? 0 : msBetween(row.first, row.last)
    const events = Number(row.events ?? 0)
    const eventBytes = Number(row.bytes ?? 0) / Math.max(1, events)
    return { start: from, end: to, eventsPerMs: events / Math.max(1, spanMs), eventBytes }
  }
}

function toColumns(marks: NodeMarks): [nodes: number[], ids: string[]] {
  return [[...marks.keys()], [...marks.values()].map(String)]
}

function msBetween(first: string, last: string): number {
  return segmentIdMs(BigInt(last) as SegmentId) - segmentIdMs(BigInt(first) as SegmentId)
}

interface ListRow extends RowColumns {
  /** Of `projected` the stream is a node. */
  readonly kind: 'segment' | 'edge' | 'aside' | 'removed' | 'projected'
}

interface ExtentRow {
  readonly oldest: string | null
  readonly newest: string | null
  readonly first: string | null
  readonly last: string | null
  readonly events: string | null
  readonly bytes: string | null
}

/**
 * Streams are $1, the range $2 and $3, rows $4; $5 and $6 are nodes and how far they have learned,
 * $7 and $8 nodes and how far they are projected at least.
 *
 * Each node's rows are found by the index on the node in their ids, so a node that died long ago
 * costs only what it left behind, not what others stored since. Downwards, merged rows that begin
 * below the last listed one and reach above it are listed too.
 */
function listSql(direction: 'ASC' | 'DESC'): string {
  const columns = 's.stream_id, s.segment_id, s.event_count, s.members'
  const isPending = `${nodeOfSegment('s.segment_id')} = m.node_id AND s.segment_id > m.passed
        AND (s.stream_id = ANY ($1::integer[]) OR s.stream_id = ${MIXED_STREAM})`
  return `
  WITH marks AS (
    SELECT n.node_id,
      LEAST(GREATEST(COALESCE(${MARK}, 0), p.segment_id), o.segment_id) AS passed
    FROM nodes n LEFT JOIN checkpoints c ON c.node_id = n.node_id
    LEFT JOIN unnest($7::integer[], $8::bigint[]) AS p (node_id, segment_id)
      ON p.node_id = n.node_id
    LEFT JOIN unnest($5::integer[], $6::bigint[]) AS o (node_id, segment_id)
      ON o.node_id = n.node_id
  ), listed AS (
    SELECT l.* FROM marks m CROSS JOIN LATERAL (
      SELECT ${columns} FROM segments s
      WHERE ${isPending} AND s.segment_id < $3::bigint
        AND (s.segment_id >= $2::bigint
          OR (s.last_segment_id >= $2::bigint AND s.segment_id >= $2::bigint - ${ROW_SPAN}))
      ORDER BY s.segment_id ${direction} LIMIT $4::integer
    ) l ORDER BY l.segment_id ${direction} LIMIT $4::integer
  ), low AS (
    SELECT min(segment_id) AS id FROM listed
  ), aside AS (
    SELECT stream_id, segment_id FROM set_aside_segments
    WHERE stream_id = ANY ($1::integer[]) AND segment_id >= $2::bigint AND segment_id < $3::bigint
    ORDER BY segment_id ${direction} LIMIT $4::integer
  )
  SELECT 'segment' AS kind, s.* FROM listed s
  UNION ALL
  SELECT 'edge', ${columns} FROM low, marks m, segments s
  WHERE ${direction === 'DESC'} AND s.last_segment_id >= low.id AND s.segment_id < low.id
    AND s.segment_id >= low.id - ${ROW_SPAN} AND s.last_segment_id IS NOT NULL AND ${isPending}
  UNION ALL
  SELECT 'aside', stream_id, segment_id, 0, NULL FROM aside
  UNION ALL
  SELECT 'removed', stream_id, removed_before, 0, NULL FROM stream_storage
  WHERE stream_id = ANY ($1::integer[])
  UNION ALL
  SELECT 'projected', node_id, passed, 0, NULL FROM marks`
}

const NEWEST_FIRST = listSql('DESC')
const OLDEST_FIRST = listSql('ASC')

function toList(query: PendingQuery, rows: readonly ListRow[]): PendingList {
  const { start, end, newestFirst } = query
  const complete = { start, end }
  for (const kind of ['segment', 'aside'] as const) {
    const listed = rows.filter((row) => row.kind === kind)
    if (listed.length < query.limit) continue
    const ids = listed.map(({ segment_id }) => BigInt(segment_id))
    // Downwards nothing is missing from the last row on, upwards up to its own id.
    const last = ids.reduce((a, b) => (a < b === newestFirst ? a : b))
    if (newestFirst && last > complete.start) complete.start = last
    if (!newestFirst && last + 1n < complete.end) complete.end = last + 1n
  }
  const removed = new Map<number, bigint>()
  for (const { kind, stream_id, segment_id } of rows) {
    if (kind === 'removed') removed.set(stream_id, BigInt(segment_id))
  }
  const wanted = new Set<number>(query.streamIds)
  const found = new Map<SegmentId, PendingSegment>()
  for (const segment of rows.flatMap(segmentsOf)) {
    const { streamId, segmentId } = segment
    const isIn = segmentId >= complete.start && segmentId < complete.end
    if (!isIn || !wanted.has(streamId) || segmentId < (removed.get(streamId) ?? 0n)) continue
    const known = found.get(segmentId)
    if (known === undefined || known.eventCount === 0) found.set(segmentId, segment)
  }
  const sign = newestFirst ? -1 : 1
  const segments = [...found.values()].sort((a, b) => (a.segmentId < b.segmentId ? -sign : sign))
  const projected = rows.flatMap(({ kind, stream_id: nodeId, segment_id }) => {
    return kind === 'projected' ? [[nodeId, BigInt(segment_id) as SegmentId] as const] : []
  })
  return { segments, complete, projected: new Map(projected) }
}

function segmentsOf(row: ListRow): readonly PendingSegment[] {
  return row.kind === 'removed' || row.kind === 'projected' ? [] : storedRow(row).segments
}

/** Streams are $1, the range $2 and $3, a row's reach $4. */
function extentSql(direction: 'ASC' | 'DESC'): string {
  const bounds = 'AND s.segment_id >= $2::bigint - $4::bigint AND s.segment_id < $3::bigint'
  const of = 'FROM stream_segments s WHERE s.stream_id = u.stream_id'
  return `
  SELECT min(GREATEST(o.oldest, COALESCE(st.removed_before, 0))) AS oldest,
    max(GREATEST(t.newest, m.reach)) AS newest,
    min(d.first) AS first, max(d.last) AS last, sum(d.events) AS events, sum(d.bytes) AS bytes
  FROM unnest($1::integer[]) AS u (stream_id)
  LEFT JOIN stream_storage st ON st.stream_id = u.stream_id
  CROSS JOIN LATERAL (SELECT min(s.segment_id) AS oldest ${of} ${bounds}) o
  CROSS JOIN LATERAL (SELECT max(s.segment_id) AS newest ${of} ${bounds}) t
  CROSS JOIN LATERAL (
    SELECT max(s.last_segment_id) AS reach FROM segments s
    WHERE s.stream_id = u.stream_id AND s.last_segment_id IS NOT NULL ${bounds}
      AND s.segment_id >= t.newest - $4::bigint
  ) m
  CROSS JOIN LATERAL (
    SELECT min(n.segment_id) AS first, max(COALESCE(n.last_segment_id, n.segment_id)) AS last,
      sum(n.event_count) AS events, sum(n.raw_bytes) AS bytes
    FROM (SELECT s.segment_id, s.last_segment_id, s.event_count, s.raw_bytes ${of} ${bounds}
      ORDER BY s.segment_id ${direction} LIMIT ${DENSITY_SEGMENTS}) n
  ) d
  WHERE o.oldest IS NOT NULL`
}

const EXTENT_DOWN = extentSql('DESC')
const EXTENT_UP = extentSql('ASC')
