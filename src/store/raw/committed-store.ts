/**
 * What nodes have committed since a cursor, for live tails: which segments, and in which rows. Ids
 * rise in commit order on a node, so the newest id seen of a node is a cursor that skips nothing.
 * Reads only rows that compaction has not merged yet (COMPACT_AGE_MS).
 */
import { MIXED_STREAM } from '../../model/mixed-runs.ts'
import {
  nodeOfSegment,
  SEGMENT_ID_MS_SHIFT,
  type SegmentId,
  segmentIdNode,
} from '../../model/segment-id.ts'
import type { CommittedEntry } from '../../model/segment-place.ts'
import { type RowColumns, storedRow } from '../../model/stored-row.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Postgres } from '../postgres.ts'

export interface CommittedList {
  /** In id order for each node. */
  readonly entries: readonly CommittedEntry[]
  /** Some node may have more. */
  readonly hasMore: boolean
}

export interface CommittedQuery {
  /** By node: after which id. A node that is missing is read from its first id on. */
  readonly after: ReadonlyMap<number, SegmentId>
  /** All nodes but this one. */
  readonly except: number | undefined
  /** How many rows of a node to look at. */
  readonly limit: number
}

/** What one stream's tail has missed. */
export interface MissedQuery {
  readonly streamId: StreamId
  /** By node, exclusive and inclusive. */
  readonly ranges: readonly {
    readonly node: number
    readonly after: SegmentId
    readonly upTo: SegmentId
  }[]
  readonly limit: number
}

/** The ids of a mixed row are given out together, within less than a second. */
const ROW_SPAN = 1_000n << BigInt(SEGMENT_ID_MS_SHIFT)
const COLUMNS = 's.stream_id, s.segment_id, s.event_count, s.members'
const OF_NODE = `${nodeOfSegment('s.segment_id')} = n.node_id`

export class CommittedStore {
  readonly #postgres: Postgres

  constructor(postgres: Postgres) {
    this.#postgres = postgres
  }

  /** The newest id of every node that ever existed, 0 where it has none. */
  async readNewest(): Promise<Map<number, bigint>> {
    const { rows } = await this.#postgres.query<{ node_id: number; newest: string }>(
      `SELECT node_id, COALESCE((
         SELECT COALESCE(CASE WHEN s.stream_id = ${MIXED_STREAM} THEN s.last_segment_id END,
           s.segment_id)
         FROM segments s WHERE ${OF_NODE} ORDER BY s.segment_id DESC LIMIT 1
       ), 0) AS newest FROM nodes n`,
    )
    return new Map(rows.map((row) => [row.node_id, BigInt(row.newest)]))
  }

  /** Throws `StoreError`. */
  async readAfter({ after, except, limit }: CommittedQuery): Promise<CommittedList> {
    const { rows } = await this.#postgres.query<Row>(
      `SELECT n.node_id, s.* FROM nodes n
         LEFT JOIN unnest($1::integer[], $2::bigint[]) AS a (node_id, after) USING (node_id)
         CROSS JOIN LATERAL (
           SELECT ${COLUMNS} FROM segments s
           WHERE ${OF_NODE} AND s.segment_id > COALESCE(a.after, 0)
           ORDER BY s.segment_id LIMIT $4::integer
         ) s
       WHERE n.node_id IS DISTINCT FROM $3::integer
       ORDER BY n.node_id, s.segment_id`,
      [[...after.keys()], [...after.values()].map(String), except ?? null, limit],
    )
    const counts = new Map<number, number>()
    for (const { node_id } of rows) counts.set(node_id, (counts.get(node_id) ?? 0) + 1)
    const hasMore = [...counts.values()].some((count) => count === limit)
    return { entries: rows.flatMap(toEntries), hasMore }
  }

  /** The stream's newest segments within the ranges, newest first. Throws `StoreError`. */
  async readMissed({ streamId, ranges, limit }: MissedQuery): Promise<CommittedEntry[]> {
    const { rows } = await this.#postgres.query<Row>(
      `SELECT n.node_id, s.*
       FROM unnest($2::integer[], $3::bigint[], $4::bigint[]) AS n (node_id, after, up_to)
         CROSS JOIN LATERAL (
           SELECT ${COLUMNS} FROM segments s
           WHERE ${OF_NODE} AND s.segment_id <= n.up_to
             AND (s.segment_id > n.after
               OR (s.stream_id = ${MIXED_STREAM} AND s.last_segment_id > n.after
                 AND s.segment_id > n.after - ${ROW_SPAN}))
             AND (s.stream_id = $1 OR (s.stream_id = ${MIXED_STREAM} AND EXISTS (
               SELECT 1 FROM segment_runs r
               WHERE r.stream_id = $1 AND r.row_id = s.segment_id)))
           ORDER BY s.segment_id DESC LIMIT $5::integer
         ) s
       ORDER BY s.segment_id DESC LIMIT $5`,
      [
        streamId,
        ranges.map(({ node }) => node),
        ranges.map(({ after }) => String(after)),
        ranges.map(({ upTo }) => String(upTo)),
        limit,
      ],
    )
    const bounds = new Map(ranges.map((range) => [range.node, range]))
    return rows.flatMap(toEntries).filter((entry) => {
      const { after, upTo } = bounds.get(entry.node)!
      return entry.streamId === streamId && entry.segmentId > after && entry.segmentId <= upTo
    })
  }
}

interface Row extends RowColumns {
  readonly node_id: number
}

/** Of a merged row only those of its node: others count their own segments in it. */
function toEntries(row: Row): CommittedEntry[] {
  const node = row.node_id
  const own = storedRow(row).segments.filter(({ segmentId }) => segmentIdNode(segmentId) === node)
  return own.map((segment) => ({ ...segment, node }))
}
