/**
 * Settings of statements that drop a table or a partition of the projection. By its configuration
 * ClickHouse refuses to drop more than 50 GB at once, as it might be by mistake; retention would
 * stop at a day of that size. Of these statements no size is a mistake: whatever they drop was
 * removed before, by a mark in PostgreSQL.
 */
export const DROPS_ANY_SIZE = {
  max_table_size_to_drop: '0',
  max_partition_size_to_drop: '0',
} as const
