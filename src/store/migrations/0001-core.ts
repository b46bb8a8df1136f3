/** The core tables. Tables per stream lead their key with `stream_id`, to be distributed by it. */
export const sql = `
CREATE TABLE streams (
  stream_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  owner text NOT NULL,
  retention_ms bigint NOT NULL,
  max_stored_bytes bigint,
  parse_user_agents boolean NOT NULL,
  redact_sensitive boolean NOT NULL,
  redact_fields text[] NOT NULL,
  rate_budget bigint,
  byte_budget bigint,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Deleting hides the stream at once; its data is removed in the background.
  deleted_at timestamptz
);
CREATE UNIQUE INDEX streams_owner_name ON streams (owner, name) WHERE deleted_at IS NULL;

CREATE TABLE api_keys (
  key_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  stream_id integer NOT NULL REFERENCES streams,
  prefix text NOT NULL UNIQUE,
  secret_sha256 bytea NOT NULL,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_used_at timestamptz,
  revoked_at timestamptz
);
CREATE INDEX api_keys_stream ON api_keys (stream_id);

CREATE TABLE access_tokens (
  token_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  prefix text NOT NULL UNIQUE,
  secret_sha256 bytea NOT NULL,
  owner text NOT NULL,
  name text NOT NULL,
  scopes text[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz
);

-- Moves on with every change to streams, keys or tokens; nodes poll it and forget what they cached.
CREATE TABLE control_version (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  version bigint NOT NULL
);
INSERT INTO control_version (version) VALUES (1);

-- A node number belongs to one living process; see src/store/node-lease.ts.
CREATE TABLE nodes (
  node_id smallint PRIMARY KEY,
  identity uuid NOT NULL,
  epoch bigint NOT NULL,
  lease_until timestamptz NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now()
);

-- Fails the transaction of a node that lost its number, and holds off whoever would take it
-- until this transaction has ended. That also makes an unknown COMMIT outcome knowable: whoever
-- gets the row FOR UPDATE knows that no commit of this node is under way any more.
-- KEY SHARE and not SHARE: renewing the lease and committing must not wait for each other.
CREATE PROCEDURE assert_node_lease(node smallint, expected_epoch bigint)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM nodes WHERE node_id = node AND epoch = expected_epoch FOR KEY SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'node % lost its lease (epoch %)', node, expected_epoch USING ERRCODE = 'SL001';
  END IF;
END $$;

CREATE TABLE segments (
  stream_id integer NOT NULL,
  segment_id bigint NOT NULL,
  ingested_at timestamptz NOT NULL,
  event_count integer NOT NULL,
  raw_bytes integer NOT NULL,
  payload bytea NOT NULL,
  PRIMARY KEY (stream_id, segment_id)
);
-- What a node has committed past its checkpoint, in order, over all streams. The node number is
-- part of the id; queries must write the expression just so (src/store/checkpoint-store.ts).
CREATE INDEX segments_by_node ON segments (((segment_id >> 12) & 511), segment_id);
-- Already compressed: PostgreSQL must not try again.
ALTER TABLE segments ALTER COLUMN payload SET STORAGE EXTERNAL;

-- Every segment of the node up to segment_id is in ClickHouse.
CREATE TABLE checkpoints (
  node_id smallint PRIMARY KEY,
  segment_id bigint NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- Counters per node, so that nodes do not wait for each other's row locks.
CREATE TABLE stream_usage (
  stream_id integer NOT NULL,
  node_id smallint NOT NULL,
  segment_count bigint NOT NULL,
  event_count bigint NOT NULL,
  raw_bytes bigint NOT NULL,
  stored_bytes bigint NOT NULL,
  PRIMARY KEY (stream_id, node_id)
);

CREATE TABLE stream_refusals (
  stream_id integer NOT NULL,
  node_id smallint NOT NULL,
  reason text NOT NULL,
  count bigint NOT NULL,
  last_at timestamptz NOT NULL,
  PRIMARY KEY (stream_id, node_id, reason)
);

-- An Idempotency-Key is claimed before work starts and completed in the data's own transaction.
CREATE TABLE idempotency_keys (
  stream_id integer NOT NULL,
  key_sha256 bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  node_id smallint NOT NULL,
  epoch bigint NOT NULL,
  -- Null while the claiming request is under way.
  status smallint,
  response text,
  PRIMARY KEY (stream_id, key_sha256)
);
CREATE INDEX idempotency_keys_created ON idempotency_keys (created_at);
`
