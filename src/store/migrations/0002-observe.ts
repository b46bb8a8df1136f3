/** What streams have learned: fields, shapes, caps; and the events that were rejected. */
export const sql = `
ALTER TABLE streams
  ADD COLUMN field_soft_cap integer NOT NULL DEFAULT 800,
  ADD COLUMN field_hard_cap integer NOT NULL DEFAULT 1000,
  ADD COLUMN shape_soft_cap integer NOT NULL DEFAULT 500,
  ADD COLUMN shape_hard_cap integer NOT NULL DEFAULT 1000;

-- Whoever writes a stream's fields or shapes holds this row FOR UPDATE; so the counts are right.
CREATE TABLE stream_schemas (
  stream_id integer PRIMARY KEY,
  field_count integer NOT NULL DEFAULT 0,
  shape_count integer NOT NULL DEFAULT 0,
  -- Moves on when something is forgotten: nodes then load the stream anew.
  generation bigint NOT NULL DEFAULT 0
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

CREATE TABLE stream_rejects (
  stream_id integer NOT NULL,
  node_id smallint NOT NULL,
  reason text NOT NULL,
  count bigint NOT NULL,
  last_at timestamptz NOT NULL,
  PRIMARY KEY (stream_id, node_id, reason)
);
`
