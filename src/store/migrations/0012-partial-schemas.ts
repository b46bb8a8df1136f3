/**
 * Whether a stream's catalog has all that its events have: queries then read by it which types a
 * path may have. Of streams that learned before this was kept, those are taken for partial that may
 * have met a bound: a cap, or 256 shapes in one batch.
 */
export const sql = `
ALTER TABLE stream_schemas ADD COLUMN is_partial boolean NOT NULL DEFAULT false;
UPDATE stream_schemas AS s SET is_partial = true FROM streams
  WHERE streams.stream_id = s.stream_id
    AND (field_count >= field_hard_cap OR shape_count >= LEAST(shape_hard_cap, 256));
`
