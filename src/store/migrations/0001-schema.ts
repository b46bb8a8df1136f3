/**
 * The schema of 0.1.0, all of it: the control plane, nodes, events, requests under a key, the
 * projection, what streams have learned, usage. Tables per stream lead their key with `stream_id`,
 * to be distributed by it.
 */
export const sql = `
-- Control plane: what clients set. ----------------------------------------------------------------

-- A stream and its settings; see src/model/stream.ts.
CREATE TABLE streams (
  stream_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  owner text NOT NULL,
  retention_ms bigint NOT NULL,
  max_stored_bytes bigint,
  parse_user_agents boolean NOT NULL,
  redact_sensitive boolean NOT NULL,
  redact_fields text[] NOT NULL,
  -- Names of the fields that are searched word by word; see src/model/text-fields.ts.
  text_fields text[] NOT NULL,
  -- What becomes of what an OTLP record says beside a structured body.
  otlp_context text NOT NULL CHECK (otlp_context IN ('drop', 'keep')),
  rate_budget bigint,
  byte_budget bigint,
  field_soft_cap integer NOT NULL,
  field_hard_cap integer NOT NULL,
  shape_soft_cap integer NOT NULL,
  shape_hard_cap integer NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- When it last sent much; null when it never did.
  busy_at timestamptz,
  -- Since when it has a projection table of its own. Null: new events go to the one that streams
  -- share; see promotion-store.ts.
  promoted_at timestamptz,
  -- Deleting hides the stream at once; its data is removed in the background.
  deleted_at timestamptz,
  -- Nothing of a deleted stream is left in PostgreSQL but this row, which says so.
  purged_at timestamptz
);
CREATE UNIQUE INDEX streams_owner_name ON streams (owner, name) WHERE deleted_at IS NULL;
CREATE INDEX streams_promoted ON streams (stream_id)
  WHERE promoted_at IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX streams_to_purge ON streams (stream_id)
  WHERE deleted_at IS NOT NULL AND purged_at IS NULL;

-- What may send to a stream. Of the secret there is only its hash.
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

-- Who may read and manage, and what.
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

-- Saved views: see src/model/view.ts. The API knows what settings hold, SQL does not. A name is
-- taken only to those who see the view, which the store checks: a constraint over all views of a
-- stream would tell of views that are hidden.
CREATE TABLE stream_views (
  view_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  stream_id integer NOT NULL REFERENCES streams (stream_id) ON DELETE CASCADE,
  name text NOT NULL,
  shared boolean NOT NULL,
  settings text NOT NULL,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  version integer NOT NULL DEFAULT 1
);
CREATE INDEX stream_views_by_name ON stream_views (stream_id, name);

-- Moves on with every change to streams, keys or tokens; nodes poll it and forget what they cached.
CREATE TABLE control_version (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  version bigint NOT NULL
);
INSERT INTO control_version (version) VALUES (1);

-- What the last changes were about, by the version that control_version moved to, so that nodes
-- forget that and nothing else. Neither stream nor prefix: nothing that anybody may have cached. A
-- version without a row here: everything may have changed.
CREATE TABLE control_changes (
  version bigint PRIMARY KEY,
  -- This stream, with all its keys.
  changed_stream integer,
  -- The key or token of this prefix, made or revoked.
  prefix text
);

-- Nodes. ------------------------------------------------------------------------------------------

-- A node number belongs to one living process; see node-lease.ts.
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

-- Events: the truth. ------------------------------------------------------------------------------

-- A row is one segment of one stream; or several that compaction merged; or, with stream_id 0, a
-- mixed one: small batches of many streams, so that a thousand streams cost about what one does.
CREATE TABLE segments (
  stream_id integer NOT NULL,
  segment_id bigint NOT NULL,
  ingested_at timestamptz NOT NULL,
  event_count integer NOT NULL,
  -- Of the JSON that is stored: pages and compaction go by them.
  raw_bytes integer NOT NULL,
  -- As sent, which usage tells: transforms, OTLP and plain text make the two differ.
  sent_bytes integer NOT NULL,
  payload bytea NOT NULL,
  -- Null for a row that holds one segment. Else the row goes to this one, and members tells which
  -- it holds: src/model/segment-members.ts, of a mixed row src/model/mixed-runs.ts.
  last_segment_id bigint,
  members bytea,
  PRIMARY KEY (stream_id, segment_id)
);
-- What a node has committed past its checkpoint, in order, over all streams. The node number is
-- part of the id; queries must write the expression just so: nodeOfSegment in segment-id.ts.
CREATE INDEX segments_by_node ON segments (((segment_id >> 12) & 511), segment_id);
-- A segment inside a merged row is found by the rows that begin shortly before it.
CREATE INDEX segments_merged ON segments (stream_id, segment_id, last_segment_id)
  WHERE last_segment_id IS NOT NULL;
-- Already compressed: PostgreSQL must not try again.
ALTER TABLE segments ALTER COLUMN payload SET STORAGE EXTERNAL;

-- Runs of mixed rows: each is a segment of its stream. Compaction moves them to rows of their own.
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

-- What a stream has, wherever it is. row_id with is_mixed tells the row of segments to read, and
-- first_event where in it.
CREATE VIEW stream_segments AS
  SELECT stream_id, segment_id, last_segment_id, event_count, raw_bytes,
    sent_bytes, octet_length(payload) AS stored_bytes, members,
    segment_id AS row_id, 0 AS first_event, false AS is_mixed
  FROM segments
  UNION ALL
  SELECT stream_id, segment_id, NULL::bigint, event_count, raw_bytes,
    sent_bytes, stored_bytes, NULL::bytea,
    row_id, first_event, true
  FROM segment_runs;

-- How far retention and compaction are with a stream, and the size of its projection.
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

-- Requests under an Idempotency-Key. --------------------------------------------------------------

-- A key is claimed before work starts and completed in the data's own transaction.
CREATE TABLE idempotency_keys (
  stream_id integer NOT NULL,
  key_sha256 bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  node_id smallint NOT NULL,
  epoch bigint NOT NULL,
  -- The answer, and what tells the request from others under the key. Null while the claiming
  -- request is under way.
  status smallint,
  response text,
  fingerprint bytea,
  PRIMARY KEY (stream_id, key_sha256)
);
CREATE INDEX idempotency_keys_created ON idempotency_keys (created_at);

-- Bytes that were kept under a stream's keys in each hour since 1970. A row a node, so that commits
-- of different nodes do not wait for each other.
CREATE TABLE idempotency_bytes (
  stream_id integer NOT NULL,
  hour integer NOT NULL,
  node_id smallint NOT NULL,
  bytes bigint NOT NULL,
  PRIMARY KEY (stream_id, hour, node_id)
);

-- The projection: what ClickHouse has. ------------------------------------------------------------

-- Which ClickHouse holds it; see projection-identity.ts.
CREATE TABLE projection_identity (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  identity uuid NOT NULL,
  -- Whether ClickHouse has it too. What is not confirmed binds nobody.
  is_confirmed boolean NOT NULL DEFAULT false,
  -- The identity of the node that chose it, and whether it was the engine embedded in that.
  recorded_by uuid NOT NULL,
  is_embedded boolean NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT now()
);

-- Every segment of the node up to segment_id is in ClickHouse. A stream that is behind holds that
-- back; but up to live_segment_id all others are there, see stream-mark.ts.
CREATE TABLE checkpoints (
  node_id smallint PRIMARY KEY,
  segment_id bigint NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now(),
  live_segment_id bigint,
  behind integer[]
);

-- Segments that could not be brought into the projection, until somebody asks to try again.
CREATE TABLE set_aside_segments (
  stream_id integer NOT NULL,
  segment_id bigint NOT NULL,
  -- Who set it aside, and tries it again.
  node_id smallint NOT NULL,
  -- Never holds event contents.
  reason text NOT NULL,
  tries integer NOT NULL,
  set_aside_at timestamptz NOT NULL DEFAULT now(),
  retry boolean NOT NULL DEFAULT false,
  PRIMARY KEY (stream_id, segment_id)
);
CREATE INDEX set_aside_by_node ON set_aside_segments (node_id, segment_id);

-- The catalog: what streams have learned. ---------------------------------------------------------

-- Whoever writes a stream's fields or shapes holds this row FOR UPDATE; so the counts are right.
CREATE TABLE stream_schemas (
  stream_id integer PRIMARY KEY,
  field_count integer NOT NULL DEFAULT 0,
  shape_count integer NOT NULL DEFAULT 0,
  -- Moves on when something is forgotten: nodes then load the stream anew.
  generation bigint NOT NULL DEFAULT 0,
  -- Fields with integers that fit 64 bits only without a sign.
  large_paths text[] NOT NULL DEFAULT '{}',
  -- Events may have fields that are not here. Else queries read which types a path may have.
  is_partial boolean NOT NULL DEFAULT false
);

-- Times are milliseconds of receipt since 1970, 0 for never: they come from segment ids.
CREATE TABLE stream_fields (
  stream_id integer NOT NULL,
  path text COLLATE "C" NOT NULL,
  first_seen_ms bigint NOT NULL,
  last_seen_ms bigint NOT NULL,
  -- When each type was seen last.
  seen_null_ms bigint NOT NULL DEFAULT 0,
  seen_boolean_ms bigint NOT NULL DEFAULT 0,
  seen_integer_ms bigint NOT NULL DEFAULT 0,
  seen_float_ms bigint NOT NULL DEFAULT 0,
  seen_string_ms bigint NOT NULL DEFAULT 0,
  seen_array_ms bigint NOT NULL DEFAULT 0,
  seen_object_ms bigint NOT NULL DEFAULT 0,
  -- JSON values, the newest first.
  samples text[] NOT NULL,
  -- Types that were seen up to then do not count.
  resolved_ms bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (stream_id, path)
) WITH (fillfactor = 80);

-- Of both lists the first ones, each once, at most max.
CREATE FUNCTION first_samples(newer text[], older text[], max integer) RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT COALESCE(array_agg(sample ORDER BY place), '{}')
  FROM (
    SELECT sample, min(place) AS place
    FROM unnest(newer || older) WITH ORDINALITY AS all_samples (sample, place)
    GROUP BY sample ORDER BY min(place) LIMIT max
  ) AS firsts
$$;

-- A shape is a set of paths and types that events have.
CREATE TABLE stream_shapes (
  stream_id integer NOT NULL,
  shape text COLLATE "C" NOT NULL,
  first_seen_ms bigint NOT NULL,
  last_seen_ms bigint NOT NULL,
  event_count bigint NOT NULL,
  example_segment_id bigint NOT NULL,
  example_ordinal integer NOT NULL,
  PRIMARY KEY (stream_id, shape)
) WITH (fillfactor = 80);

-- Apart from the shapes, whose rows change every second. A JSON array of [path, type].
CREATE TABLE stream_shape_paths (
  stream_id integer NOT NULL,
  shape text COLLATE "C" NOT NULL,
  paths text NOT NULL,
  PRIMARY KEY (stream_id, shape)
);

-- Every segment of the node up to segment_id is counted in the stream's shapes. Written with them,
-- so a segment counts once, however often it is learned.
CREATE TABLE stream_schema_marks (
  stream_id integer NOT NULL,
  node_id smallint NOT NULL,
  segment_id bigint NOT NULL,
  PRIMARY KEY (stream_id, node_id)
);

-- Every segment of the node up to segment_id has been learned from.
CREATE TABLE observe_checkpoints (
  node_id smallint PRIMARY KEY,
  segment_id bigint NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- Usage: counters per node, so that nodes do not wait for each other's row locks. -----------------

-- A row is updated with each commit that has something of its stream: room beside it keeps the
-- new version on its page, and out of the index.
CREATE TABLE stream_usage (
  stream_id integer NOT NULL,
  node_id smallint NOT NULL,
  segment_count bigint NOT NULL,
  event_count bigint NOT NULL,
  sent_bytes bigint NOT NULL,
  stored_bytes bigint NOT NULL,
  PRIMARY KEY (stream_id, node_id)
) WITH (fillfactor = 20);

-- Whole requests that were not taken, by reason.
CREATE TABLE stream_refusals (
  stream_id integer NOT NULL,
  node_id smallint NOT NULL,
  reason text NOT NULL,
  count bigint NOT NULL,
  last_at timestamptz NOT NULL,
  PRIMARY KEY (stream_id, node_id, reason)
);

-- Events that were wrong, by reason.
CREATE TABLE stream_rejects (
  stream_id integer NOT NULL,
  node_id smallint NOT NULL,
  reason text NOT NULL,
  count bigint NOT NULL,
  last_at timestamptz NOT NULL,
  PRIMARY KEY (stream_id, node_id, reason)
);
`
