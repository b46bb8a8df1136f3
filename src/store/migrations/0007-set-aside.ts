/** Segments that could not be brought into the projection, until somebody asks to try again. */
export const sql = `
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
`
