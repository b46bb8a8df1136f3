/**
 * Goal: operators can tell what Sluice does and whether it should get traffic, and no secret gets
 * into what they read.
 * Method: the routes on a real server; metrics are judged by their scraped text.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Health } from '../../src/telemetry/health.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { createTelemetryRoutes } from '../../src/telemetry/routes.ts'
import { head, RawClient, startServer } from '../http/raw-client.ts'

const BUILD = { version: '1.2.3', engine: 'test 1' }

describe('metrics', () => {
  test('closed label sets are exported from the start, so that rates have a zero', async () => {
    const metrics = new Metrics(BUILD)
    metrics.tally('ingest_a_total', 'By one', 'reason', ['late', 'full'])
    metrics.pairTally('ingest_b_total', 'By two', ['read', 'reason'], [['search', 'away']])
    const text = await metrics.scrape()
    assert.match(text, /^ingest_a_total\{reason="late"\} 0$/m)
    assert.match(text, /^ingest_a_total\{reason="full"\} 0$/m)
    assert.match(text, /^ingest_b_total\{read="search",reason="away"\} 0$/m)
    assert.match(text, /^ingest_build_info\{version="1\.2\.3",engine="test 1",node="[\d.]+"\} 1$/m)
    assert.match(text, /^process_/m)
  })

  test('what is counted is scraped, twice the same', async () => {
    const metrics = new Metrics(BUILD)
    const requests = metrics.pairTally('ingest_requests_total', 'By two', ['surface', 'status'])
    requests.add('bulk', '200')
    requests.add('bulk', '200')
    requests.add('text', '404')
    const rejected = metrics.tally('ingest_rejected_total', 'By one', 'reason', ['malformed'])
    rejected.add('malformed', 7)
    metrics.counter('ingest_accepted_total', 'Plain').inc(5)
    metrics.histogram('ingest_commit_seconds', 'Seconds').observe(0.002)
    let inFlight = 1
    metrics.gauge('ingest_in_flight_bytes', 'Read late', () => inFlight)
    await metrics.scrape()
    inFlight = 42
    const text = await metrics.scrape()
    assert.match(text, /^ingest_requests_total\{surface="bulk",status="200"\} 2$/m)
    assert.match(text, /^ingest_requests_total\{surface="text",status="404"\} 1$/m)
    assert.match(text, /^ingest_rejected_total\{reason="malformed"\} 7$/m)
    assert.match(text, /^ingest_accepted_total 5$/m)
    assert.match(text, /^ingest_commit_seconds_bucket\{le="0\.0025"\} 1$/m)
    assert.match(text, /^ingest_in_flight_bytes 42$/m)
  })
})

describe('health', () => {
  test('ready needs the required checks, not the degraded ones', () => {
    const health = new Health()
    health.declare('postgres', 'required')
    health.declare('clickhouse', 'degraded')
    assert.equal(health.readiness().ready, false)
    health.report('postgres')
    assert.equal(health.readiness().ready, true)
    health.report('postgres', 'connection refused')
    assert.equal(health.readiness().checks.postgres?.reason, 'connection refused')
    assert.equal(health.readiness().ready, false)
    assert.throws(() => health.report('redis'), /never declared/)
  })

  test('a stopping node is alive and not ready', () => {
    const health = new Health()
    health.stop()
    assert.equal(health.readiness().ready, false)
    assert.equal(health.fatal, undefined)
  })
})

test('the routes answer without a credential', async () => {
  const health = new Health()
  health.declare('postgres', 'required')
  health.declare('clickhouse', 'degraded')
  const { server, port } = await startServer({
    routes: createTelemetryRoutes(health, new Metrics(BUILD)),
  })
  const get = async (path: string, expected: RegExp) => {
    const client = await RawClient.connect(port)
    client.write(head('GET', path))
    await client.until(expected)
    client.destroy()
  }
  await get('/healthz', /200 OK.*\{"status":"ok"\}$/s)
  await get('/readyz', /503 Service Unavailable.*"not_ready":\{"postgres":"starting"\}/s)
  health.report('postgres')
  await get('/readyz', /200 OK.*"degraded":\{"clickhouse":"starting"\}/s)
  health.stop()
  await get('/readyz', /503 .*"not_ready":\{"stopping":/s)
  await get('/healthz', /200 OK/)
  health.fail('the data directory vanished')
  await get('/healthz', /503 .*the data directory vanished/s)
  await get('/metrics', /200 OK.*text\/plain; version=0\.0\.4.*ingest_build_info/s)
  server.close()
})

test('credentials that get into a log line by mistake are redacted', () => {
  const lines: string[] = []
  const log = createLog('info', { write: (line: string) => void lines.push(line) })
  log.info({ headers: { authorization: 'Bearer hush', 'x-api-key': 'hush' } }, 'nested')
  log.info({ request: { headers: { authorization: 'hush' } }, token: 'hush' }, 'deeper')
  log.debug('not at this level')
  assert.equal(lines.length, 2)
  for (const line of lines) {
    assert.doesNotMatch(line, /hush/)
    assert.equal(JSON.parse(line).level, 'info')
  }
})
