/** What a failover of PostgreSQL lost: see src/store/raw/history.ts. */
export const sql = `
CREATE TABLE lost_history (
  loss_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  node_id smallint NOT NULL,
  -- segments, or what else was older than a node had seen it: control, checkpoint, catalog, lease.
  what text NOT NULL,
  -- The node's segments that may be missing are those after the one, up to the other.
  after_segment_id bigint NOT NULL,
  up_to_segment_id bigint NOT NULL,
  -- Acknowledged events in them, as far as they are known.
  event_count bigint NOT NULL,
  found_at timestamptz NOT NULL DEFAULT now(),
  -- Nothing of it is left in the projection.
  settled_at timestamptz
);
CREATE INDEX lost_history_by_node ON lost_history (node_id, up_to_segment_id);
`
