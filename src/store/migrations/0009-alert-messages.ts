/** Messages of alerts hold several, are repeated and silenced. */
export const sql = `
-- Settings of rules as they were when something happened that is told: a message says what the rule
-- was, also when it is another by now, or gone.
CREATE TABLE alert_rule_versions (
  rule_id integer NOT NULL,
  version integer NOT NULL,
  settings text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (rule_id, version)
);

-- A rule and a channel, between which something is to be told, and when that is looked at next;
-- null: nothing is, until something happens.
CREATE TABLE alert_queues (
  rule_id integer NOT NULL,
  channel text NOT NULL,
  owner text NOT NULL,
  rule_name text NOT NULL,
  next_at timestamptz,
  -- When the last message about groups was made.
  grouped_at timestamptz,
  -- Some of it is silenced: a silence that ends may let it go.
  is_held boolean NOT NULL DEFAULT false,
  PRIMARY KEY (rule_id, channel)
);
CREATE INDEX alert_queues_next ON alert_queues (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX alert_queues_held ON alert_queues (owner) WHERE is_held;

-- What a message is about is fixed when it is made: the text, without the number of the try. Of
-- those that are over nobody knows the text any more.
DELETE FROM alert_outbox WHERE delivered_at IS NOT NULL OR dead_at IS NOT NULL;
DROP INDEX alert_outbox_by_group;
CREATE INDEX alert_outbox_by_queue ON alert_outbox (rule_id, channel, message_id)
  WHERE delivered_at IS NULL AND dead_at IS NULL;
ALTER TABLE alert_outbox
  ADD COLUMN rule_name text NOT NULL DEFAULT '',
  -- About groups, or about the rule as a whole: each are sent in the order of their ids.
  ADD COLUMN is_grouped boolean NOT NULL DEFAULT true,
  ADD COLUMN reason text NOT NULL DEFAULT '',
  ADD COLUMN alert_count integer NOT NULL DEFAULT 1,
  ADD COLUMN content text NOT NULL DEFAULT '',
  -- Sample events are in it, or it is known that there will be none.
  ADD COLUMN is_final boolean NOT NULL DEFAULT false;

-- What is to be told. Without a message it waits for one.
CREATE TABLE alert_notices (
  notice_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  rule_id integer NOT NULL,
  channel text NOT NULL,
  transition_id bigint NOT NULL,
  fingerprint text,
  -- As of transitions, and "repeat".
  kind text NOT NULL,
  -- Of what fires: the end of the window with which it began to.
  fired_ms bigint,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- A silence held it back.
  was_held boolean NOT NULL DEFAULT false,
  message_id bigint REFERENCES alert_outbox ON DELETE CASCADE
);
CREATE INDEX alert_notices_by_queue ON alert_notices (rule_id, channel, notice_id);
CREATE INDEX alert_notices_by_message ON alert_notices (message_id)
  WHERE message_id IS NOT NULL;
CREATE INDEX alert_notices_transition ON alert_notices (transition_id);

-- Groups that a channel knows to fire, and rules that it knows to fail (without a fingerprint).
CREATE TABLE alert_told (
  rule_id integer NOT NULL,
  channel text NOT NULL,
  fingerprint text NOT NULL,
  transition_id bigint NOT NULL,
  -- The end of the window with which it began to fire.
  fired_ms bigint NOT NULL,
  -- When a message with it was delivered last; of one that never was, when it was given up.
  told_at timestamptz NOT NULL,
  is_delivered boolean NOT NULL,
  PRIMARY KEY (rule_id, channel, fingerprint)
);

-- What was to be told by then, is.
INSERT INTO alert_rule_versions (rule_id, version, settings)
  SELECT rule_id, version, settings FROM alert_rules;
INSERT INTO alert_notices (rule_id, channel, transition_id, fingerprint, kind, fired_ms)
  SELECT m.rule_id, m.channel, m.transition_id, m.fingerprint, t.kind, t.until_ms
    FROM alert_outbox m JOIN alert_transitions t USING (transition_id) ORDER BY m.message_id;
INSERT INTO alert_queues (rule_id, channel, owner, rule_name, next_at)
  SELECT DISTINCT ON (m.rule_id, m.channel) m.rule_id, m.channel, m.owner, t.rule_name, now()
    FROM alert_outbox m JOIN alert_transitions t USING (transition_id);
-- What fires was told, unless it waits.
INSERT INTO alert_told (rule_id, channel, fingerprint, transition_id, fired_ms, told_at,
  is_delivered)
  SELECT s.rule_id, c.channel, s.fingerprint, 0, s.fired_ms, now(), true
    FROM alert_states s JOIN alert_rules r USING (rule_id)
    CROSS JOIN LATERAL jsonb_array_elements_text(r.settings::jsonb -> 'channels') AS c (channel)
   WHERE s.state = 'firing' AND s.fired_ms IS NOT NULL AND NOT EXISTS (
     SELECT 1 FROM alert_outbox m WHERE m.rule_id = s.rule_id AND m.channel = c.channel
       AND m.fingerprint = s.fingerprint);
INSERT INTO alert_queues (rule_id, channel, owner, rule_name, next_at)
  SELECT DISTINCT t.rule_id, t.channel, r.owner, r.name, now()
    FROM alert_told t JOIN alert_rules r USING (rule_id) ON CONFLICT DO NOTHING;
DELETE FROM alert_outbox;
ALTER TABLE alert_outbox DROP COLUMN fingerprint;

-- Alerts with these labels are not told meanwhile.
CREATE TABLE alert_silences (
  silence_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner text NOT NULL,
  matchers text NOT NULL,
  from_at timestamptz NOT NULL,
  until_at timestamptz NOT NULL,
  comment text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX alert_silences_by_owner ON alert_silences (owner, until_at);

-- Groups of which somebody knows: they are not told until they are resolved.
CREATE TABLE alert_acknowledgements (
  rule_id integer NOT NULL REFERENCES alert_rules ON DELETE CASCADE,
  fingerprint text NOT NULL,
  author text NOT NULL,
  comment text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (rule_id, fingerprint)
);
`
