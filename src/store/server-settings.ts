/** What a server is told with every statement. */
import type { ClickHouseSettings } from '@clickhouse/client'

/**
 * Of every statement to a server, whose users have a profile that we do not know: what would make
 * something else of our statements, or end an answer early without a word, is as it is by default.
 */
export const SERVER_SETTINGS: ClickHouseSettings = {
  aggregate_functions_null_for_empty: 0,
  cast_keep_nullable: 0,
  data_type_default_nullable: 0,
  empty_result_for_aggregation_by_empty_set: 0,
  group_by_use_nulls: 0,
  join_use_nulls: 0,
  max_result_rows: '0',
  read_overflow_mode: 'throw',
  result_overflow_mode: 'throw',
  timeout_overflow_mode: 'throw',
  transform_null_in: 0,
}

/**
 * Of every statement to a cluster. A shard that is away is an error, never fewer rows; so is one of
 * which no replica has what was inserted some seconds ago, which by default would answer without
 * it. A statement that changes tables does not wait for servers that are away.
 */
export const CLUSTER_SETTINGS: ClickHouseSettings = {
  skip_unavailable_shards: 0,
  max_replica_delay_for_distributed_queries: '2',
  fallback_to_stale_replicas_for_distributed_queries: 0,
  load_balancing: 'in_order',
  // The client's types know fewer values of it.
  ...({ distributed_ddl_output_mode: 'none_only_active' } as object),
  distributed_ddl_task_timeout: '20',
}
