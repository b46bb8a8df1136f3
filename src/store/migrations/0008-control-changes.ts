/** What each change of the control plane was about, so that nodes forget that and nothing else. */
export const sql = `
-- The last ones, by the version that control_version moved to. Neither stream nor prefix: nothing
-- that anybody may have cached. A version without a row here: everything may have changed.
CREATE TABLE control_changes (
  version bigint PRIMARY KEY,
  -- This stream, with all its keys.
  changed_stream integer,
  -- The key or token of this prefix, made or revoked.
  prefix text
);
`
