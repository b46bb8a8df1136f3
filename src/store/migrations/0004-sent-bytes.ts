/**
 * Bytes as sent, beside those of the JSON that is stored: transforms, OTLP and plain text make the
 * two differ. Usage tells the former; pages and compaction go by the latter.
 */
export const sql = `
-- Null in rows from before this column: what they count in stream_usage is raw_bytes.
ALTER TABLE segments ADD COLUMN sent_bytes integer;
ALTER TABLE stream_usage RENAME COLUMN raw_bytes TO sent_bytes;
`
