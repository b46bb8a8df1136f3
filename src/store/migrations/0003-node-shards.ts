/** On which shards of a ClickHouse cluster a node's segments are. */
export const sql = `
CREATE TABLE node_shards (
  node_id smallint NOT NULL,
  shard text COLLATE "C" NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (node_id, shard)
);
`
