/** `_cluster/health`: whether reads work, and whether they see everything. */

import { ElasticReplies, elasticJson } from '../http/elastic-reply.ts'
import type { Route } from '../http/exchange.ts'
import type { HttpRequest } from '../http/guard.ts'
import { ELASTIC_LAG_MS_MAX, READ_STREAMS_MAX } from '../limits.ts'
import { listVisibleStreams, type StreamSource } from '../read/find-streams.ts'
import type { OpenStreams } from '../read/read-deps.ts'
import { type ElasticGuard, elasticRoutes } from './elastic-guard.ts'

export interface HealthRoutesDeps extends ElasticGuard {
  readonly streams: StreamSource
  readonly openStreams: OpenStreams
  readonly nowMs: () => number
  /** `no`: reads fail. `partly`: some of the events are not in their answers. */
  readonly canRead: () => 'yes' | 'partly' | 'no'
}

export function healthRoutes(deps: HealthRoutesDeps): Route[] {
  return ['/_cluster/health', '/_cluster/health/:index'].flatMap((pattern) => {
    return elasticRoutes(deps, {
      method: 'GET',
      pattern,
      summary: 'Tells whether reads work',
      // What writes asks whether writes do, and is answered.
      answerKey: (exchange) => {
        const replies = new ElasticReplies(exchange)
        return () => replies.json(200, clusterHealth('green'))
      },
      run: async (request) => {
        const status = await statusOf(deps, request)
        const code = status === 'red' ? 503 : 200
        return elasticJson(request.accept, code, clusterHealth(status))
      },
    })
  })
}

async function statusOf(
  { streams, openStreams, nowMs, canRead }: HealthRoutesDeps,
  { principal }: HttpRequest,
): Promise<'green' | 'yellow' | 'red'> {
  const reads = canRead()
  if (reads === 'no') return 'red'
  const some = await listVisibleStreams(streams, principal, { after: 0, limit: READ_STREAMS_MAX })
  if (reads === 'partly') return 'yellow'
  if (some.length === 0) return 'green'
  const { asOfMs } = await openStreams(some)
  return nowMs() - asOfMs > ELASTIC_LAG_MS_MAX ? 'yellow' : 'green'
}

function clusterHealth(status: string): unknown {
  return {
    cluster_name: 'sluice',
    status,
    timed_out: false,
    number_of_nodes: 1,
    number_of_data_nodes: 1,
    active_primary_shards: 1,
    active_shards: 1,
    relocating_shards: 0,
    initializing_shards: 0,
    unassigned_shards: 0,
    delayed_unassigned_shards: 0,
    number_of_pending_tasks: 0,
    number_of_in_flight_fetch: 0,
    task_max_waiting_in_queue_millis: 0,
    active_shards_percent_as_number: 100,
  }
}
