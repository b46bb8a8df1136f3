/**
 * Goal: operators can tell what Sluice does and whether it should get traffic, and no secret gets
 * into what they read.
 * Method: the routes on a real server; metrics are judged by their scraped text.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Health } from '../../src/telemetry/health.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { createTelemetryRoutes } from '../../src/telemetry/routes.ts'
import { head, RawClient, startServer } from '../http/raw-client.ts'

const BUILD = { version: '1.2.3', engine: 'test 1' }

describe('metrics', () => {
  test('names follow the house style and rejects and refusals carry a reason', async () => {
    const text = await createMetrics(BUILD).scrape()
    const names = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => ({
      name: name ?? '',
      type: type ?? '',
    }))
    for (const { name, type } of names) {
      if (/^(nodejs|process)_/.test(name)) continue
      assert.match(name, /^ingest_[a-z0-9_]+$/)
      assert.equal(name.endsWith('_total'), type === 'counter', name)
      if (/reject|refus|drop/.test(name)) assert.match(text, new RegExp(`${name}{reason="`))
    }
    assert(names.some(({ name }) => name.startsWith('process_')))
  })

  test('closed label sets are exported from the start, so that rates have a zero', async () => {
    const text = await createMetrics(BUILD).scrape()
    assert.match(text, /^ingest_refusals_total\{reason="overloaded"\} 0$/m)
    assert.match(text, /^ingest_events_rejected_total\{reason="too_deep"\} 0$/m)
    assert.match(text, /^ingest_store_restarts_total\{store="clickhouse"\} 0$/m)
    assert.match(text, /^ingest_build_info\{version="1\.2\.3",engine="test 1",node="[\d.]+"\} 1$/m)
  })

  test('what is counted is scraped, twice the same', async () => {
    const metrics = createMetrics(BUILD)
    metrics.requests.add('bulk', 200)
    metrics.requests.add('bulk', 200)
    metrics.requests.add('rest', 404)
    metrics.refusals.add('plain_text_not_accepted')
    metrics.eventsRejected.add('malformed', 7)
    metrics.eventsAccepted.inc(5)
    metrics.commitSeconds.observe(0.002)
    let inFlight = 1
    metrics.watch('inFlightBytes', () => inFlight)
    await metrics.scrape()
    inFlight = 42
    const text = await metrics.scrape()
    assert.match(text, /^ingest_requests_total\{surface="bulk",status="200"\} 2$/m)
    assert.match(text, /^ingest_requests_total\{surface="rest",status="404"\} 1$/m)
    assert.match(text, /^ingest_refusals_total\{reason="plain_text_not_accepted"\} 1$/m)
    assert.match(text, /^ingest_events_rejected_total\{reason="malformed"\} 7$/m)
    assert.match(text, /^ingest_events_accepted_total 5$/m)
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
    routes: createTelemetryRoutes(health, createMetrics(BUILD)),
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
