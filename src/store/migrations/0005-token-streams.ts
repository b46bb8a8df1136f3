/**
 * The streams that a token is limited to; null: all that it would see without. An admin sees every
 * stream, so a limit would promise what does not hold.
 */
export const sql = `
ALTER TABLE access_tokens ADD COLUMN stream_ids integer[],
  ADD CONSTRAINT admin_sees_all CHECK (stream_ids IS NULL OR NOT 'admin' = ANY (scopes));
`
