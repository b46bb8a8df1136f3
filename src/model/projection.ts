/** Columns of a projection table, in the order of its Native blocks. */
export const PROJECTION_COLUMNS = [
  ['segment_id', 'UInt64'],
  ['ordinal', 'UInt32'],
  ['ingested_at', "DateTime64(3, 'UTC')"],
  ['event_time', "DateTime64(9, 'UTC')"],
  ['shape', 'UInt64'],
  ['payload', 'JSON(max_dynamic_paths=1024)'],
] as const

/** Of the table that small streams share: `events_0`, for `MIXED_STREAM`. */
export const MIXED_PROJECTION_COLUMNS = [['stream_id', 'UInt32'], ...PROJECTION_COLUMNS] as const
