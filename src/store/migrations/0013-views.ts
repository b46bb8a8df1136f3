/** Saved views of streams: see `model/view.ts`. What they show is told by the API, not by SQL. */
export const sql = `
CREATE TABLE stream_views (
  view_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  stream_id integer NOT NULL REFERENCES streams (stream_id) ON DELETE CASCADE,
  name text NOT NULL,
  shared boolean NOT NULL,
  settings text NOT NULL,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  version integer NOT NULL DEFAULT 1,
  UNIQUE (stream_id, name)
);
`
