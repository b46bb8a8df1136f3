/** What becomes of what an OTLP record says beside a structured body: see `model/stream.ts`. */
export const sql = `
ALTER TABLE streams ADD COLUMN otlp_context text NOT NULL DEFAULT 'drop'
  CHECK (otlp_context IN ('drop', 'keep'));
`
