/** Browsers that are signed in, and what tells installations under one host apart. */
export const sql = `
-- In the name of the cookie: browsers keep one jar for all ports of a host.
ALTER TABLE control_version ADD COLUMN installation uuid NOT NULL DEFAULT gen_random_uuid();

-- A browser that is signed in with a token. Of the secret there is only its hash. A token that is
-- revoked ends its sessions by being so; rows past their time go when somebody signs in.
CREATE TABLE sessions (
  session_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  token_id integer NOT NULL REFERENCES access_tokens,
  prefix text NOT NULL UNIQUE,
  secret_sha256 bytea NOT NULL,
  -- Of the page that it was begun from; empty where none was told.
  origin text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_used_at timestamptz NOT NULL DEFAULT now(),
  -- Not after the token's.
  expires_at timestamptz NOT NULL
);
CREATE INDEX sessions_by_token ON sessions (token_id, last_used_at);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
`
