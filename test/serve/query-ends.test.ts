/**
 * Goal: a query ends when its time is over or when its client goes away, and nothing of it is left
 * in ClickHouse.
 * Method: a table that takes the real engine seconds to read with a regular expression.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { QUERY_MS_MAX } from '../../src/limits.ts'
import { type QueryHarness, useQueryHarness } from './query-harness.ts'

const harness = useQueryHarness()
const ROWS = 2_000_000
/** Its field marks our statements among those that others run at the same time. */
const SLOW = { query: 'slow_v:/(a|b)*z[0-9]+x/', from: '-1d', group_by: 'slow_v' }

async function fillSlow({ clickhouse, table, fill }: QueryHarness): Promise<void> {
  await fill.call(harness(), [])
  await clickhouse.command(`INSERT INTO ${table}
    (segment_id, ordinal, ingested_at, event_time, shape, payload)
    SELECT 1, number, now64(3), now64(9), 0,
      concat('{"slow_v":"', repeat('ab', 60), toString(number % 1000), '"}') FROM numbers(${ROWS})`)
}

async function running(): Promise<number> {
  const sql = `SELECT count() AS queries FROM system.processes WHERE query LIKE '%slow_v%'
    AND query NOT LIKE '%system.processes%'`
  const rows = await harness().clickhouse.query<{ queries: string | number }>(sql)
  return Number(rows[0]?.queries)
}

/** Whether so many came to run within `msMax`. */
async function until(count: (queries: number) => boolean, msMax: number): Promise<boolean> {
  const end = performance.now() + msMax
  while (performance.now() < end) {
    if (count(await running())) return true
    await sleep(10)
  }
  return false
}

test('a client that goes away takes its query along', async () => {
  await fillSlow(harness())
  const gone = new AbortController()
  const path = `/v1/streams/${harness().streamId}/query`
  const asked = harness().rest.call('POST', path, { body: SLOW, signal: gone.signal })
  const refused = assert.rejects(asked, { name: 'AbortError' })
  assert.ok(await until((queries) => queries > 0, 5_000), 'it is running')
  gone.abort()
  await refused
  assert.ok(await until((queries) => queries === 0, 2_000), 'nothing is left')
})

test('a query whose time is over says so, and nothing of it is left', async () => {
  await fillSlow(harness())
  const startMs = performance.now()
  const { status, json } = await harness().ask({ ...SLOW, timeout_ms: 200 })
  assert.deepEqual([status, json.code, json.reason], [503, 'unavailable', 'timeout'])
  // What was left of it when the engine was asked.
  const [, ms] = /took over (\d+) ms; narrow its time range/.exec(json.detail) ?? []
  assert.ok(Number(ms) > 0 && Number(ms) <= 200, json.detail)
  assert.ok(performance.now() - startMs < 3_000, `${performance.now() - startMs} ms`)
  assert.ok(await until((queries) => queries === 0, 2_000), 'nothing is left')
  assert.equal((await harness().ask({ ...SLOW, timeout_ms: QUERY_MS_MAX })).status, 200)
})
