/** Goal: while ingest is busy, reads of an embedded engine ask for one thread, of a server not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openReadStores } from '../../src/app/read-stores.ts'
import { WaitingSegments } from '../../src/materialize/waiting-segments.ts'
import { ClickHouse, type QuerySettings } from '../../src/store/clickhouse.ts'
import { Postgres } from '../../src/store/postgres.ts'
import { Health } from '../../src/telemetry/health.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { ReadWatch } from '../../src/telemetry/read-watch.ts'
import { recordingLog } from '../store/temporary.ts'

/** A client that is never connected. */
class TellingClickHouse extends ClickHouse {
  defaults: () => QuerySettings = () => ({})

  override setDefaults(settings: () => QuerySettings): void {
    this.defaults = settings
  }
}

for (const isClickHouseEmbedded of [true, false]) {
  test(`threads of a read, ${isClickHouseEmbedded ? 'embedded' : 'on a server'}`, async (t) => {
    const clickhouse = new TellingClickHouse({ url: 'http://u:p@127.0.0.1:1' })
    const postgres = new Postgres({ url: 'postgres://u:p@127.0.0.1:1/d', log: recordingLog() })
    t.after(async () => {
      await clickhouse.close()
      await postgres.end()
    })
    let isBusy = false
    const parts = { reads: { postgres, clickhouse }, clickhouse, isClickHouseEmbedded }
    const health = new Health()
    const metrics = new Metrics({ version: '1', engine: 'test' })
    const watch = new ReadWatch({ metrics, health, log: createLog('silent'), nowMs: () => 0 })
    openReadStores(parts, {
      shouldYieldToIngest: () => isBusy,
      waiting: new WaitingSegments(),
      watch,
    })
    assert.deepEqual(clickhouse.defaults(), {})
    isBusy = true
    assert.deepEqual(clickhouse.defaults(), isClickHouseEmbedded ? { max_threads: 1 } : {})
  })
}
