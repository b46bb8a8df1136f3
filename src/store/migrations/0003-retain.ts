/**
 * What retention and compaction remember: how far each stream was removed and compacted, the size
 * of its projection, and which segments a row of `segments` was merged from.
 */
export const sql = `
-- Null for a row that holds one segment. Else the row holds several, from segment_id to
-- last_segment_id, and members tells which, see src/model/segment-members.ts.
ALTER TABLE segments ADD COLUMN last_segment_id bigint;
ALTER TABLE segments ADD COLUMN members bytea;
-- A segment inside a merged row is found by the rows that begin shortly before it.
CREATE INDEX segments_merged ON segments (stream_id, segment_id, last_segment_id)
  WHERE last_segment_id IS NOT NULL;

CREATE TABLE stream_storage (
  stream_id integer PRIMARY KEY,
  -- Every segment below it is removed: readers do not see it any more, whether or not its bytes
  -- are still in a store. Never moves back.
  removed_before bigint NOT NULL DEFAULT 0,
  -- Compaction has been through everything below it.
  compacted_before bigint NOT NULL DEFAULT 0,
  -- As ClickHouse last told.
  projection_rows bigint NOT NULL DEFAULT 0,
  projection_bytes bigint NOT NULL DEFAULT 0
);

-- Nothing of a deleted stream is left in PostgreSQL but its row, which says so.
ALTER TABLE streams ADD COLUMN purged_at timestamptz;
CREATE INDEX streams_to_purge ON streams (stream_id)
  WHERE deleted_at IS NOT NULL AND purged_at IS NULL;
`
