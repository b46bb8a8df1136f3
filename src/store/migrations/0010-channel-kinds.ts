/** Channels of several kinds. */
export const sql = `
-- What a channel is, and what its kind needs beside its URL and secret, as JSON. Channels that
-- are there already are webhooks. The secret is a password, a token or a key for other kinds.
ALTER TABLE alert_channels
  ADD COLUMN kind text NOT NULL DEFAULT 'webhook',
  ADD COLUMN options text NOT NULL DEFAULT '{}';

-- Dead messages are counted again and again.
CREATE INDEX alert_outbox_dead ON alert_outbox (message_id) WHERE dead_at IS NOT NULL;
`
