/**
 * Every metric of Sluice itself, in one place. Labels are from closed sets, but for the names of
 * surfaces, which are theirs. Counters move once a
 * request, batch or commit, never once an event. Gauges are read when they are scraped: their
 * owners hand a function to `watch` and pay nothing.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { ERRORS, type ErrorCode } from '../errors.ts'
import type { TransformCounts } from '../model/batch/encoded-batch.ts'
import { REJECT_CODES } from '../model/batch/part-result.ts'
import { laneMetrics } from './lane-metrics.ts'
import { readMetrics } from './read-metrics.ts'
import { tailMetrics } from './tail-metrics.ts'
import { StatusTally, Tally } from './tally.ts'

export const REFUSAL_REASONS = [
  ...(Object.keys(ERRORS) as ErrorCode[]),
  'plain_text_not_accepted',
] as const
export type RefusalReason = (typeof REFUSAL_REASONS)[number]

/** What an unknown COMMIT outcome turned out to be. */
export const AMBIGUOUS_OUTCOMES = ['committed', 'absent', 'unresolved'] as const
export const STORES = ['postgres', 'clickhouse'] as const

/** Why events were removed. */
export const REMOVE_REASONS = ['age', 'bytes', 'deleted'] as const
export const TRIM_KINDS = ['table', 'partition', 'rows'] as const
export const RETAIN_PARTS = ['rows', 'projection', 'compaction', 'merge-bounds', 'tables'] as const

/** Name and help of each gauge, by the key it is watched under. */
const GAUGES = {
  connections: ['ingest_connections', 'Open connections; 0 where the HTTP engine cannot tell'],
  listenPaused: [
    'ingest_listen_paused',
    'Whether new connections are refused now, for want of descriptors',
  ],
  listenPauses: [
    'ingest_listen_pauses',
    'How often since the start new connections were refused for want of descriptors',
  ],
  inFlightBytes: ['ingest_in_flight_bytes', 'Bytes received and not yet acknowledged'],
  replyBytes: [
    'ingest_reply_bytes',
    'Large answers of the read side, not yet taken by their readers',
  ],
  inFlightRequests: ['ingest_in_flight_requests', 'Requests received and not yet acknowledged'],
  restBodyBytes: ['ingest_rest_body_bytes', 'Bodies of management and queries, in memory'],
  poolQueueBatches: ['ingest_pool_queue_batches', 'Batches waiting for a worker'],
  observeCacheBytes: ['ingest_observe_cache_bytes', 'What is known of streams, in memory'],
  budgetStreams: ['ingest_budget_streams', 'Streams whose budgets are in memory'],
  liveNodes: ['ingest_live_nodes', 'Nodes that share the budgets of streams'],
  clockLeadSeconds: [
    'ingest_clock_lead_seconds',
    "How far this machine's clock is ahead of PostgreSQL's; below 0 it is behind",
  ],
  materializeBufferBytes: ['ingest_materialize_buffer_bytes', 'Blocks waiting for ClickHouse'],
  projectionLagSeconds: [
    'ingest_projection_lag_seconds',
    'Age of the oldest committed segment that is not in ClickHouse yet',
  ],
  laggingStreams: [
    'ingest_projection_lagging_streams',
    'Streams that are being caught up; the node as a whole counts as one',
  ],
  projectionStalled: [
    'ingest_projection_stalled',
    'Whether ClickHouse refuses what this node sends until somebody mends the cause',
  ],
  segmentsSetAside: [
    'ingest_projection_set_aside_segments',
    'Segments that this node has left out of the projection, until they are tried again',
  ],
  retainWorker: ['ingest_retain_worker', 'Whether this node is the one that enforces retention'],
  projectionWaitingRows: ['ingest_projection_waiting_rows', 'Rows without their indexes yet'],
  storageBytes: [
    'ingest_storage_bytes',
    'Stored bytes of all streams in both stores; read only with --storage-max-bytes',
  ],
  streamsOverCap: ['ingest_streams_over_cap', 'Streams that refuse ingest for their size'],
} as const satisfies Record<string, readonly [name: string, help: string]>
export type GaugeName = keyof typeof GAUGES

/** From a tenth of a millisecond to over ten seconds. */
const SECONDS_BUCKETS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
  30,
]

export type Metrics = ReturnType<typeof createMetrics>

export interface BuildInfo {
  readonly version: string
  /** The HTTP engine and its version. */
  readonly engine: string
}

/** A registry of its own, so that tests and several services in one process do not meet. */
export function createMetrics(build: BuildInfo) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  new Gauge({
    name: 'ingest_build_info',
    help: 'Always 1; the labels say what runs',
    labelNames: ['version', 'engine', 'node'],
    registers: [registry],
  }).set({ ...build, node: process.versions.node }, 1)
  return {
    /** The text to answer a scrape with, and its content type. */
    contentType: registry.contentType,
    scrape: () => registry.metrics(),
    watch: createGauges(registry),
    watchLanes: laneMetrics(registry),
    ...tailMetrics(registry),
    ...readMetrics(registry),
    ...requestMetrics(registry),
    ...commitMetrics(registry),
    ...observeMetrics(registry),
    ...materializeMetrics(registry),
    ...retainMetrics(registry),
  }
}

function requestMetrics(registry: Registry) {
  return {
    requests: new StatusTally({
      name: 'ingest_requests_total',
      help: 'Requests answered, by surface and HTTP status',
      registry,
    }),
    requestBytes: counter(registry, 'ingest_request_bytes_total', 'Bytes of accepted events'),
    eventsAccepted: counter(registry, 'ingest_events_accepted_total', 'Events made durable'),
    eventsRejected: new Tally({
      name: 'ingest_events_rejected_total',
      help: 'Events rejected one by one out of requests that were taken',
      label: 'reason',
      values: REJECT_CODES,
      registry,
    }),
    utf8Repaired: counter(
      registry,
      'ingest_utf8_repaired_events_total',
      'Events whose invalid UTF-8 was replaced by U+FFFD',
    ),
    refusals: new Tally({
      name: 'ingest_refusals_total',
      help: 'Whole requests that were not taken',
      label: 'reason',
      values: REFUSAL_REASONS,
      registry,
    }),
    credentialLookups: counter(
      registry,
      'ingest_credential_lookups_total',
      'Credentials that were not cached and were looked up',
    ),
    credentialQueries: counter(
      registry,
      'ingest_credential_lookup_queries_total',
      'Queries that looked them up',
    ),
    acknowledgeSeconds: new Histogram({
      name: 'ingest_acknowledge_seconds',
      help: 'From the first byte of an ingest request to its acknowledgement',
      labelNames: ['surface'],
      buckets: SECONDS_BUCKETS,
      registers: [registry],
    }),
    batches: counter(registry, 'ingest_batches_total', 'Batches handed to workers'),
    countTransforms: transformCounters(registry),
    workerTaskSeconds: histogram(
      registry,
      'ingest_worker_task_seconds',
      'From handing a batch to a worker to its result',
    ),
    quarantinedBatches: counter(
      registry,
      'ingest_quarantined_batches_total',
      'Batches that killed their worker twice and were put aside',
    ),
  }
}

/** Counts what the transforms did to a batch. */
function transformCounters(registry: Registry): (counts: TransformCounts) => void {
  const extracted = counter(
    registry,
    'ingest_events_extracted_total',
    'Events whose log string was made an object',
  )
  const redacted = counter(registry, 'ingest_events_redacted_total', 'Events redacted in part')
  const userAgents = new Tally({
    name: 'ingest_user_agent_lookups_total',
    help: 'User agent strings: remembered, parsed, or not parsed as the budget was spent',
    label: 'result',
    values: ['hit', 'miss', 'skipped'] as const,
    registry,
  })
  return (counts) => {
    const { eventsExtracted, eventsRedacted, userAgentHits, userAgentMisses } = counts
    if (eventsExtracted > 0) extracted.inc(eventsExtracted)
    if (eventsRedacted > 0) redacted.inc(eventsRedacted)
    if (userAgentHits > 0) userAgents.add('hit', userAgentHits)
    if (userAgentMisses > 0) userAgents.add('miss', userAgentMisses)
    if (counts.userAgentsSkipped > 0) userAgents.add('skipped', counts.userAgentsSkipped)
  }
}

function commitMetrics(registry: Registry) {
  return {
    commitGroups: counter(registry, 'ingest_commit_groups_total', 'Transactions committed'),
    commitSegments: counter(registry, 'ingest_commit_segments_total', 'Segments committed'),
    commitRuns: counter(
      registry,
      'ingest_commit_runs_total',
      "Streams' events in mixed segments, each a segment of its stream",
    ),
    commitBytes: counter(registry, 'ingest_commit_bytes_total', 'Compressed bytes committed'),
    commitSeconds: histogram(registry, 'ingest_commit_seconds', 'One COPY transaction'),
    commitRetries: counter(
      registry,
      'ingest_commit_retries_total',
      'Commits tried again after one that provably stored nothing',
    ),
    commitAmbiguous: new Tally({
      name: 'ingest_commit_ambiguous_total',
      help: 'Commits whose outcome was unknown at first, by what it turned out to be',
      label: 'outcome',
      values: AMBIGUOUS_OUTCOMES,
      registry,
    }),
    nodeLeaseLost: counter(
      registry,
      'ingest_node_lease_lost_total',
      'Times this node lost its number to another',
    ),
    storeRestarts: new Tally({
      name: 'ingest_store_restarts_total',
      help: 'Restarts of an embedded store that had stopped by itself',
      label: 'store',
      values: STORES,
      registry,
    }),
  }
}

function observeMetrics(registry: Registry) {
  return {
    observeWriteSeconds: histogram(
      registry,
      'ingest_observe_write_seconds',
      'One transaction of the field catalog',
    ),
    observeErrors: counter(
      registry,
      'ingest_observe_errors_total',
      'Steps of observe that failed and are tried again',
    ),
    observeReplayedSegments: counter(
      registry,
      'ingest_observe_replayed_segments_total',
      'Segments read again from the raw store for the field catalog',
    ),
    observeSegmentsPassedOver: counter(
      registry,
      'ingest_observe_segments_passed_over_total',
      'Segments that could not be learned from after several tries',
    ),
    observeFieldsSkipped: counter(
      registry,
      'ingest_observe_fields_skipped_total',
      'Times that a new field was skipped because its stream is at the hard cap',
    ),
    observeShapesSkipped: counter(
      registry,
      'ingest_observe_shape_events_skipped_total',
      'Events whose new shape was skipped because of a bound',
    ),
  }
}

function materializeMetrics(registry: Registry) {
  return {
    materializeRows: counter(
      registry,
      'ingest_materialize_rows_total',
      'Events inserted into ClickHouse',
    ),
    materializeInserts: counter(registry, 'ingest_materialize_inserts_total', 'Inserts made'),
    materializeInsertSeconds: histogram(
      registry,
      'ingest_materialize_insert_seconds',
      'One insert into ClickHouse',
    ),
    materializeErrors: counter(
      registry,
      'ingest_materialize_insert_errors_total',
      'Inserts into ClickHouse that failed and will be tried again',
    ),
    replayedSegments: counter(
      registry,
      'ingest_replayed_segments_total',
      'Segments read again from the raw store for ClickHouse',
    ),
    catchUpEvents: counter(
      registry,
      'ingest_catch_up_events_total',
      'Events that catch-up has inserted into ClickHouse',
    ),
    catchUpSeconds: counter(registry, 'ingest_catch_up_seconds_total', 'Time that its steps took'),
    segmentsSetAside: counter(
      registry,
      'ingest_projection_segments_set_aside_total',
      'Segments that could not be projected after several tries; the raw store keeps them',
    ),
    projectionPathsSkipped: counter(
      registry,
      'ingest_projection_paths_skipped_total',
      'Paths left out of a block that had too many; the raw events keep them',
    ),
  }
}

function retainMetrics(registry: Registry) {
  const removed = (name: string, help: string) =>
    new Tally({ name, help, label: 'reason', values: REMOVE_REASONS, registry })
  return {
    removedRows: removed('ingest_removed_segments_total', 'Rows removed from the raw store'),
    removedEvents: removed('ingest_removed_events_total', 'Events removed from the raw store'),
    removedBytes: removed(
      'ingest_removed_bytes_total',
      'Compressed bytes removed from the raw store',
    ),
    projectionTrims: new Tally({
      name: 'ingest_projection_removals_total',
      help: 'Removals from the projection, by what was removed at once',
      label: 'what',
      values: TRIM_KINDS,
      registry,
    }),
    streamsPromoted: counter(registry, 'ingest_streams_promoted_total', 'Streams promoted'),
    compactedRows: counter(
      registry,
      'ingest_compacted_segments_total',
      'Rows of the raw store that were merged with others',
    ),
    compactedMerges: counter(registry, 'ingest_compactions_total', 'Rows that they became'),
    compactedBytesSaved: counter(
      registry,
      'ingest_compacted_bytes_saved_total',
      'Compressed bytes that merging saved',
    ),
    splitMixedRows: counter(
      registry,
      'ingest_split_mixed_rows_total',
      'Mixed rows of the raw store that were split',
    ),
    splitSegments: counter(registry, 'ingest_split_segments_total', 'Segments that were in them'),
    splitRows: counter(registry, 'ingest_split_rows_total', 'Rows that these became'),
    compactSkipped: counter(
      registry,
      'ingest_compactions_skipped_total',
      'Merges and splits that failed; their rows stay as they are',
    ),
    retainErrors: new Tally({
      name: 'ingest_retain_errors_total',
      help: 'Rounds of retention that failed and will be tried again',
      label: 'part',
      values: RETAIN_PARTS,
      registry,
    }),
  }
}

/** Returns `watch`: `read` is called at each scrape and must be quick. */
function createGauges(registry: Registry): (name: GaugeName, read: () => number) => void {
  const readers = new Map<GaugeName, () => number>()
  for (const [key, [name, help]] of Object.entries(GAUGES)) {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(readers.get(key as GaugeName)?.() ?? 0)
      },
    })
  }
  return (name, read) => void readers.set(name, read)
}

function counter(registry: Registry, name: string, help: string): Counter {
  return new Counter({ name, help, registers: [registry] })
}

function histogram(registry: Registry, name: string, help: string): Histogram {
  return new Histogram({ name, help, buckets: SECONDS_BUCKETS, registers: [registry] })
}
