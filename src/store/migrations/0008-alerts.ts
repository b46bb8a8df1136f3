/** Closing marks of nodes; rules of alerts, what they decided, and what is to be sent. */
export const sql = `
-- Up to where each node will commit nothing any more; see src/commit/closing-mark.ts. Of a number
-- that is closed nobody commits anything until it is claimed anew.
ALTER TABLE nodes
  ADD COLUMN closed_ms bigint NOT NULL DEFAULT 0,
  ADD COLUMN is_closed boolean NOT NULL DEFAULT false;

-- Nodes whose mark is below this publish it at once.
CREATE TABLE closing_wanted (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  wanted_ms bigint NOT NULL
);
INSERT INTO closing_wanted (wanted_ms) VALUES (0);

-- A rule, and how far it is decided. The API knows what settings hold, SQL only what it looks at.
CREATE TABLE alert_rules (
  rule_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner text NOT NULL,
  name text NOT NULL,
  -- The rights that it was made with: of an admin, or of a token that is limited to streams.
  as_admin boolean NOT NULL,
  stream_ids integer[],
  settings text NOT NULL,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  paused boolean NOT NULL,
  every_ms bigint NOT NULL,
  -- How long after its end a window may be decided.
  delay_ms bigint NOT NULL,
  -- All windows that end up to here are decided or given up.
  cursor_ms bigint NOT NULL,
  -- Failures in a row, the last one's reason, and when it is tried again.
  failures integer NOT NULL DEFAULT 0,
  problem text,
  retry_at timestamptz,
  -- That it fails has been told.
  is_told boolean NOT NULL DEFAULT false
);
CREATE UNIQUE INDEX alert_rules_name ON alert_rules (owner, name);

-- Of groups of which something has to be remembered.
CREATE TABLE alert_states (
  rule_id integer NOT NULL REFERENCES alert_rules ON DELETE CASCADE,
  -- The SHA-256 of the group's values, which are a JSON array.
  fingerprint text NOT NULL,
  group_json text NOT NULL,
  state text NOT NULL CHECK (state IN ('inactive', 'pending', 'firing')),
  -- Whether the condition held in the last windows, the newest last: 0 and 1.
  breaches text NOT NULL,
  -- Windows since enough of them did; null for never.
  unmet integer,
  -- The end of the window that brought the state, and of the one with which it began to fire.
  since_ms bigint NOT NULL,
  fired_ms bigint,
  -- The end of the last window with events of the group.
  seen_ms bigint NOT NULL,
  value double precision,
  PRIMARY KEY (rule_id, fingerprint)
);

-- Each window that was decided, once; a gap is a row for all windows in it.
CREATE TABLE alert_windows (
  rule_id integer NOT NULL,
  until_ms bigint NOT NULL,
  from_ms bigint NOT NULL,
  rule_version integer NOT NULL,
  outcome text NOT NULL CHECK (outcome IN ('clear', 'breach', 'no_data', 'gap')),
  event_count bigint NOT NULL,
  -- Groups, those past the bound, and those in which the condition held.
  group_count integer NOT NULL,
  uncounted integer NOT NULL,
  breach_count integer NOT NULL,
  value double precision,
  decided_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Of event time: it is to be looked at once more, and how many events had come by then.
  is_open boolean NOT NULL DEFAULT false,
  late_events bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (rule_id, until_ms)
);
CREATE INDEX alert_windows_open ON alert_windows (rule_id, until_ms) WHERE is_open;
CREATE INDEX alert_windows_decided ON alert_windows (decided_at);

-- What happened to a group, or to the rule as a whole: then without a group.
CREATE TABLE alert_transitions (
  transition_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  rule_id integer NOT NULL,
  rule_name text NOT NULL,
  owner text NOT NULL,
  rule_version integer NOT NULL,
  fingerprint text,
  group_json text,
  kind text NOT NULL,
  -- Why, where the kind does not say it.
  reason text,
  from_ms bigint NOT NULL,
  until_ms bigint NOT NULL,
  value double precision,
  event_count bigint,
  -- The same for all of one decision.
  decided_at timestamptz NOT NULL DEFAULT now(),
  -- It is an event in the owner's stream of alerts.
  is_published boolean NOT NULL DEFAULT false
);
CREATE INDEX alert_transitions_by_rule ON alert_transitions (rule_id, transition_id);
CREATE INDEX alert_transitions_decided ON alert_transitions (decided_at);
CREATE INDEX alert_transitions_to_publish ON alert_transitions (transition_id)
  WHERE NOT is_published;

-- Where messages are sent: webhooks. URL and secret are never shown again.
CREATE TABLE alert_channels (
  channel_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner text NOT NULL,
  name text NOT NULL,
  url text NOT NULL,
  secret text,
  -- An admin allowed it to be an address that only the inside reaches.
  allows_private boolean NOT NULL,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX alert_channels_name ON alert_channels (owner, name);

-- Messages to a channel. Those of one rule and group are sent in the order of their ids.
CREATE TABLE alert_outbox (
  message_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  transition_id bigint NOT NULL,
  rule_id integer NOT NULL,
  owner text NOT NULL,
  fingerprint text,
  channel text NOT NULL,
  -- The same for each try to send it.
  idempotency_key text NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  attempts integer NOT NULL DEFAULT 0,
  next_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- At most one of the two; null: it waits.
  delivered_at timestamptz,
  dead_at timestamptz,
  last_error text
);
CREATE INDEX alert_outbox_waiting ON alert_outbox (next_at)
  WHERE delivered_at IS NULL AND dead_at IS NULL;
CREATE INDEX alert_outbox_by_group ON alert_outbox (rule_id, fingerprint, message_id);
`
