/** Which node does the work of one that is gone, and until when; see node-claims.ts. */
export const sql = `
ALTER TABLE nodes ADD COLUMN taken_by uuid, ADD COLUMN taken_until timestamptz;
`
