/** Which tables a backup holds, and which it leaves out, and why. */

export interface BackupTable {
  readonly name: string
  /** SQL for the rows that are worth keeping; all when left out. */
  readonly where?: string
}

/** In an order in which their references hold. A test compares them with the schema. */
export const BACKUP_TABLES: readonly BackupTable[] = [
  ...['streams', 'api_keys', 'access_tokens', 'stream_views'].map(named),
  ...['control_version', 'control_changes'].map(named),
  // Ids of segments have the numbers of nodes in them: whose is not known is brought in by nobody.
  named('nodes'),
  ...['segments', 'segment_runs', 'stream_storage'].map(named),
  // A claim without an answer is of a request that was under way: its events are not in the backup.
  { name: 'idempotency_keys', where: 'status IS NOT NULL' },
  named('idempotency_bytes'),
  ...['stream_schemas', 'stream_fields', 'stream_shapes', 'stream_shape_paths'].map(named),
  ...['stream_schema_marks', 'observe_checkpoints'].map(named),
  ...['stream_usage', 'stream_refusals', 'stream_rejects', 'lost_history'].map(named),
  ...['stream_refusal_history', 'stream_key_usage'].map(named),
  ...['alert_channels', 'alert_rules', 'alert_states', 'alert_windows'].map(named),
  ...['alert_transitions', 'alert_outbox', 'alert_notices', 'alert_told'].map(named),
  ...['alert_rule_versions', 'alert_queues', 'alert_silences'].map(named),
  named('alert_acknowledgements'),
]

export const LEFT_OUT_TABLES = [
  // About one ClickHouse: a restored PostgreSQL has another, which is built anew.
  ...['projection_identity', 'checkpoints', 'node_shards', 'set_aside_segments'],
  // Browsers sign in again.
  'sessions',
  // Whether somebody waits at this moment.
  'closing_wanted',
  // Made with the tables.
  'schema_migrations',
] as const

function named(name: string): BackupTable {
  return { name }
}

/** Names of tables and columns of our own schema. */
const IDENTIFIER = /^[a-z_][a-z0-9_]{0,62}$/

/** Quoted for SQL. Throws for what is no name of ours: archives are input. */
export function quoteName(name: string): string {
  if (IDENTIFIER.test(name)) return `"${name}"`
  throw new Error('a name of a table or column has other characters than a-z, 0-9 and _')
}

export function listOf(columns: readonly string[]): string {
  return columns.map(quoteName).join(', ')
}
