/**
 * `GET /healthz`, `/readyz`, `/ready`, `/metrics`: for orchestrators and scrapers. They need no
 * credential and tell nothing about streams or events.
 */

import { mainTurns } from '../api/main-turns.ts'
import type { Schema } from '../api/schema.ts'
import type { Exchange, Handler, Route } from '../http/exchange.ts'
import { jsonReply } from '../http/problem.ts'
import type { Health } from './health.ts'
import type { Metrics } from './metrics.ts'

export function createTelemetryRoutes(health: Health, metrics: Metrics): Route[] {
  return [
    get('/healthz', 'Whether the process lives', (exchange) => replyHealthz(exchange, health)),
    get('/readyz', 'Whether it can take requests', (exchange) => replyReadyz(exchange, health)),
    // Where Loki says it, for its clients.
    get('/ready', 'Whether it can take requests', (exchange) => replyReadyz(exchange, health)),
    get('/metrics', 'Metrics for Prometheus', (exchange) => replyMetrics(exchange, metrics)),
  ]
}

function get(pattern: string, summary: string, handler: Handler): Route {
  const mediaType = pattern === '/metrics' ? 'text/plain' : 'application/json'
  const content: Readonly<Record<string, Schema>> = { [mediaType]: {} }
  const answers = { 200: { description: summary, content } }
  const operationId = `get${pattern.slice(1)}`
  const description = {
    operationId,
    summary,
    tag: 'Operation',
    credential: 'none',
    answers,
  } as const
  // A probe that answers 404 for a slash too many has a node taken out of service.
  return { method: 'GET', pattern, isLoose: pattern !== '/metrics', description, handler }
}

function replyHealthz(exchange: Exchange, health: Health): void {
  if (health.fatal === undefined) exchange.reply(jsonReply(200, { status: 'ok' }))
  else exchange.reply(jsonReply(503, { status: 'failing', reason: health.fatal }))
}

function replyReadyz(exchange: Exchange, health: Health): void {
  const { ready, stopping, checks } = health.readiness()
  const notReady: Record<string, string> = {}
  const degraded: Record<string, string> = {}
  for (const [name, { ok, importance, reason }] of Object.entries(checks)) {
    if (ok) continue
    const failing = importance === 'required' ? notReady : degraded
    failing[name] = reason ?? 'failing'
  }
  if (stopping) notReady.stopping = 'this node is stopping'
  const status = ready ? 'ready' : 'not_ready'
  exchange.reply(jsonReply(ready ? 200 : 503, { status, not_ready: notReady, degraded }))
}

async function replyMetrics(exchange: Exchange, metrics: Metrics): Promise<void> {
  await mainTurns.next() // Whoever asks needs no credential, however often.
  const body = await metrics.scrape()
  exchange.reply({ status: 200, contentType: metrics.contentType, body })
}
