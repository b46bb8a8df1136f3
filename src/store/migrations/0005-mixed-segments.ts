/**
 * Mixed segments: small batches of many streams in one row, so that a thousand streams cost about
 * what one does. Each run of one stream's events is a segment of that stream.
 */
export const sql = `
-- A row of segments with stream_id 0 is mixed. last_segment_id is its last run's id, and members
-- tells the runs, see src/model/mixed-runs.ts. Compaction moves them to rows of their streams.
CREATE TABLE segment_runs (
  stream_id integer NOT NULL,
  segment_id bigint NOT NULL,
  -- The mixed row, and how many of its events come before the run's.
  row_id bigint NOT NULL,
  first_event integer NOT NULL,
  event_count integer NOT NULL,
  raw_bytes integer NOT NULL,
  sent_bytes integer NOT NULL,
  -- The run's share of the row's payload.
  stored_bytes integer NOT NULL,
  PRIMARY KEY (stream_id, segment_id)
);

-- A row is updated with each commit that has something of its stream: room beside it keeps the
-- new version on its page, and out of the index.
ALTER TABLE stream_usage SET (fillfactor = 20);

-- What a stream has, wherever it is. row_id with is_mixed tells the row of segments to read, and
-- first_event where in it.
CREATE VIEW stream_segments AS
  SELECT stream_id, segment_id, last_segment_id, event_count, raw_bytes,
    COALESCE(sent_bytes, raw_bytes) AS sent_bytes, octet_length(payload) AS stored_bytes, members,
    segment_id AS row_id, 0 AS first_event, false AS is_mixed
  FROM segments
  UNION ALL
  SELECT stream_id, segment_id, NULL::bigint, event_count, raw_bytes,
    sent_bytes, stored_bytes, NULL::bytea,
    row_id, first_event, true
  FROM segment_runs;
`
