/** What tells requests under one Idempotency-Key apart, and how much is kept under a stream's. */
export const sql = `
-- Null while the claiming request is under way, and in answers from before this column.
ALTER TABLE idempotency_keys ADD COLUMN fingerprint bytea;

-- Bytes that were kept under a stream's keys in each hour since 1970. A row a node, so that commits
-- of different nodes do not wait for each other.
CREATE TABLE idempotency_bytes (
  stream_id integer NOT NULL,
  hour integer NOT NULL,
  node_id smallint NOT NULL,
  bytes bigint NOT NULL,
  PRIMARY KEY (stream_id, hour, node_id)
);
`
