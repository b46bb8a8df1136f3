/** Which streams have a projection table of their own; see `promotion-store.ts`. */
export const sql = `
ALTER TABLE streams
  -- Null: the stream's new events go to the table that streams share.
  ADD COLUMN promoted_at timestamptz,
  -- When it last sent much; null when it never did.
  ADD COLUMN busy_at timestamptz;
CREATE INDEX streams_promoted ON streams (stream_id)
  WHERE promoted_at IS NOT NULL AND deleted_at IS NULL;
UPDATE streams SET promoted_at = now() WHERE stream_id IN (
  SELECT stream_id FROM streams WHERE deleted_at IS NULL ORDER BY stream_id LIMIT 8);
`
