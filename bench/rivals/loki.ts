import type { Rival } from './rival.ts'

/** One process, files on disk, write-ahead log on: Loki's own defaults but for its rate limits. */
export const loki: Rival = {
  name: 'loki',
  title: 'Loki, lines not parsed',
  acknowledges: 'written, not synced',
  surface: 'loki',
  path: undefined,
  configuration: (port, { dataDirectory }) => `auth_enabled: false
server:
  http_listen_address: 127.0.0.1
  http_listen_port: ${port}
  grpc_listen_address: 127.0.0.1
  grpc_listen_port: ${port + 1}
  log_level: error
common:
  instance_addr: 127.0.0.1
  path_prefix: ${dataDirectory}
  replication_factor: 1
  ring:
    kvstore:
      store: inmemory
  storage:
    filesystem:
      chunks_directory: ${dataDirectory}/chunks
      rules_directory: ${dataDirectory}/rules
schema_config:
  configs:
    - from: 2024-01-01
      store: tsdb
      object_store: filesystem
      schema: v13
      index:
        prefix: index_
        period: 24h
limits_config:
  ingestion_rate_mb: 10000
  ingestion_burst_size_mb: 10000
  per_stream_rate_limit: 10GB
  per_stream_rate_limit_burst: 10GB
analytics:
  reporting_enabled: false
`,
  args: ({ configFile }) => [`-config.file=${configFile}`],
  ready: { path: '/ready', status: 200 },
}
