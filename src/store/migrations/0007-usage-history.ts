/**
 * Who sent how much, and who was refused, by time. Fine steps are added up to coarse ones when they
 * are old, and these go in the end (src/store/raw/usage-history.ts): the tables stay bounded.
 * stream_id 0: no stream is known, as the request had no valid key. key_id 0: no key is.
 */
export const sql = `
CREATE TABLE stream_refusal_history (
  stream_id integer NOT NULL,
  -- The length of the step and its start, in minutes since 1970.
  minutes smallint NOT NULL,
  start integer NOT NULL,
  key_id integer NOT NULL,
  reason text NOT NULL,
  cause text NOT NULL,
  node_id smallint NOT NULL,
  requests bigint NOT NULL,
  -- Null where nobody counted them: the request was refused unread.
  events bigint,
  bytes bigint NOT NULL,
  last_at timestamptz NOT NULL,
  PRIMARY KEY (stream_id, minutes, start, key_id, reason, cause, node_id)
) WITH (fillfactor = 80);
CREATE INDEX stream_refusal_history_age ON stream_refusal_history (minutes, start);

CREATE TABLE stream_key_usage (
  stream_id integer NOT NULL,
  minutes smallint NOT NULL,
  start integer NOT NULL,
  key_id integer NOT NULL,
  node_id smallint NOT NULL,
  requests bigint NOT NULL,
  events bigint NOT NULL,
  bytes bigint NOT NULL,
  PRIMARY KEY (stream_id, minutes, start, key_id, node_id)
) WITH (fillfactor = 80);
CREATE INDEX stream_key_usage_age ON stream_key_usage (minutes, start);
`
