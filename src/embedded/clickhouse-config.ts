/** The configuration of a ClickHouse as the XML that it reads. */

export interface ConfigTree {
  readonly [name: string]: number | string | boolean | ConfigTree
}

/** Server configuration, sized for a small machine. `system.*_log` tables stay off (default). */
export const SMALL_SERVER = {
  max_server_memory_usage: 1_000_000_000,
  mark_cache_size: 64 * 1024 * 1024,
  index_mark_cache_size: 16 * 1024 * 1024,
  uncompressed_cache_size: 0,
  index_uncompressed_cache_size: 0,
  // Their defaults add up to more than the memory of this server.
  text_index_header_cache_size: 16 * 1024 * 1024,
  text_index_tokens_cache_size: 32 * 1024 * 1024,
  query_condition_cache_size: 16 * 1024 * 1024,
  // A thread that worked for a read stays lowered: it must not work for an insert after it.
  max_thread_pool_free_size: 0,
  background_pool_size: 2,
  background_common_pool_size: 2,
  background_schedule_pool_size: 4,
  background_fetches_pool_size: 1,
  background_move_pool_size: 1,
  // The defaults of these are larger than our pool, and tables would be refused.
  merge_tree: {
    number_of_free_entries_in_pool_to_execute_mutation: 2,
    number_of_free_entries_in_pool_to_lower_max_size_of_merge: 2,
    number_of_free_entries_in_pool_to_execute_optimize_entire_partition: 2,
  },
} as const satisfies ConfigTree

/** Texts in it have no character that means something in XML. */
export function configXml(tree: ConfigTree): string {
  return toXml('clickhouse', tree)
}

function toXml(name: string, value: ConfigTree[string]): string {
  if (typeof value !== 'object') return `<${name}>${value}</${name}>\n`
  const inner = Object.entries(value).map(([key, part]) => toXml(key, part))
  return `<${name}>\n${inner.join('')}</${name}>\n`
}
