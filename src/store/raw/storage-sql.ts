/** What a stream holds, as SQL: one rule for both removing under a cap and refusing ingest. */

import type { StreamId } from '../../model/stream.ts'
import type { CappedStream } from '../stream-directory.ts'

/** The node number of retention's own rows in `stream_usage`, so that commits never wait for it. */
export const REMOVED_NODE_ID = -1

/**
 * Streams with a cap, given by `$1` (ids) and `$2` (bytes), with what they hold: compressed bytes
 * of the raw store, and the share of the projection that is of events still held. Rows that wait
 * to be deleted from ClickHouse do not count: removing more from the raw store would not delete
 * them sooner.
 */
export const HELD_STREAMS = `
  SELECT s.stream_id, s.max_stored_bytes, held.projection_bytes_per_event,
    held.raw_bytes + held.projection_bytes_per_event
      * LEAST(held.events, held.projection_rows) AS held_bytes
  FROM unnest($1::integer[], $2::float8[]) AS s (stream_id, max_stored_bytes), LATERAL (
    SELECT COALESCE(sum(u.stored_bytes), 0)::float8 AS raw_bytes,
      COALESCE(sum(u.event_count), 0)::float8 AS events,
      COALESCE(max(p.projection_rows), 0)::float8 AS projection_rows,
      COALESCE(max(p.projection_bytes::float8 / NULLIF(p.projection_rows, 0)), 0)
        AS projection_bytes_per_event
    FROM stream_usage u LEFT JOIN stream_storage p ON p.stream_id = u.stream_id
    WHERE u.stream_id = s.stream_id
  ) AS held`

/** The parameters of `HELD_STREAMS`. */
export function heldParams(streams: readonly CappedStream[]): [StreamId[], number[]] {
  return [
    streams.map(({ streamId }) => streamId),
    streams.map(({ maxStoredBytes }) => maxStoredBytes),
  ]
}
