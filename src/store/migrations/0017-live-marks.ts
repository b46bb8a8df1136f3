/**
 * A stream that is behind holds back its node's checkpoint, but not what the projection has of
 * other streams: see `store/raw/stream-mark.ts`.
 */
export const sql = `
ALTER TABLE checkpoints
  ADD COLUMN live_segment_id bigint,
  ADD COLUMN behind integer[];
`
