/** Which ClickHouse holds the projection; see `projection-identity.ts`. */
export const sql = `
CREATE TABLE projection_identity (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  -- Null: the projection is from before it had an identity.
  identity uuid,
  -- Whether ClickHouse has it too. What is not confirmed binds nobody.
  is_confirmed boolean NOT NULL DEFAULT false,
  -- The identity of the node that chose it, and whether it was the engine embedded in that.
  recorded_by uuid,
  is_embedded boolean NOT NULL DEFAULT false,
  recorded_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO projection_identity (identity) SELECT NULL WHERE EXISTS (SELECT 1 FROM checkpoints);
`
