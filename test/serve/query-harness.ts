/** The read side's routes over real stores, with one stream whose table tests fill. */
import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import type { Route } from '../../src/http/exchange.ts'
import { SCHEMA_CAPS_DEFAULT } from '../../src/model/schema.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { queryRoutes } from '../../src/serve/query-routes.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { ensureClickHouse } from '../../src/store/migrations/run.ts'
import type { Postgres } from '../../src/store/postgres.ts'
import { createTableSql } from '../../src/store/projection/projection-store.ts'
import { openTestClickHouse } from '../support/stores.ts'
import { readingDeps } from './reading-deps.ts'
import { RestHarness, startDatabase } from './rest-harness.ts'

const STREAM_SETTINGS = {
  name: 'web',
  retentionMs: 1e9,
  maxStoredBytes: null,
  rateBudget: null,
  byteBudget: null,
  schemaCaps: SCHEMA_CAPS_DEFAULT,
  parseUserAgents: false,
  redactSensitive: false,
  redactFields: [],
  textFields: [],
  otlpContext: 'drop' as const,
}

export class QueryHarness {
  readonly clickhouse: ClickHouse
  readonly rest: RestHarness
  /** The same over a ClickHouse that is not there. */
  readonly away: RestHarness
  /** Of `ann`. */
  readonly streamId: string

  constructor(parts: Pick<QueryHarness, 'clickhouse' | 'rest' | 'away' | 'streamId'>) {
    this.clickhouse = parts.clickhouse
    this.rest = parts.rest
    this.away = parts.away
    this.streamId = parts.streamId
  }

  get table(): string {
    return `${this.clickhouse.database}.events_${this.streamId}`
  }

  /** Replaces what the table holds; each event is received and made at `atMs`, or at its own. */
  async fill(
    events: readonly string[],
    atMs: number | readonly number[] = Date.now(),
  ): Promise<void> {
    await this.clickhouse.command(
      createTableSql(this.clickhouse.database, Number(this.streamId) as StreamId),
    )
    await this.clickhouse.command(`TRUNCATE TABLE ${this.table}`)
    const rows = events.map((payload, ordinal) => {
      const escaped = payload.replace(/[\\\t\n]/g, (c) => `\\${c}`)
      const seconds = (typeof atMs === 'number' ? atMs : atMs[ordinal]!) / 1_000
      return `${[1, ordinal, seconds, seconds, 0, escaped].join('\t')}\n`
    })
    const types = { input_format_try_infer_dates: 0, input_format_try_infer_datetimes: 0 } as const
    const columns = '(segment_id, ordinal, ingested_at, event_time, shape, payload)'
    const sql = `INSERT INTO ${this.table} ${columns} FORMAT TSV`
    await this.clickhouse.insertNative(sql, [Buffer.from(rows.join(''))], { settings: types })
  }

  ask(body: unknown) {
    return this.rest.call('POST', `/v1/streams/${this.streamId}/query`, { body })
  }
}

type MakeRoutes = (harness: RestHarness, postgres: Postgres, clickhouse: ClickHouse) => Route[]

const ourRoutes: MakeRoutes = (harness, postgres, clickhouse) => {
  const reading = readingDeps(postgres, clickhouse)
  return queryRoutes({ ...harness, streams: harness.control, ...reading })
}

/** Starts it before the tests of the file and stops it after them. */
export function useQueryHarness(routes: MakeRoutes = ourRoutes): () => QueryHarness {
  const closers: (() => Promise<void>)[] = []
  let harness: QueryHarness | undefined
  before(async () => {
    harness = await start(closers, routes)
  })
  after(async () => {
    // All of them, whatever fails: a store left running would keep the test process alive.
    const failures: unknown[] = []
    for (const close of closers.reverse()) {
      await close().catch((cause: unknown) => failures.push(cause))
    }
    assert.deepEqual(failures, [])
  })
  return () => {
    assert.ok(harness, 'it is started')
    return harness
  }
}

async function start(closers: (() => Promise<void>)[], routes: MakeRoutes): Promise<QueryHarness> {
  const database = await startDatabase()
  closers.push(() => database.close())
  const engine = await openTestClickHouse()
  closers.push(() => engine.close())
  const connect = (url: string) => {
    const clickhouse = new ClickHouse({ url })
    closers.push(() => clickhouse.close())
    return clickhouse
  }
  const serve = async (clickhouse: ClickHouse) => {
    const rest = await RestHarness.start(database.postgres, (harness) =>
      routes(harness, database.postgres, clickhouse),
    )
    closers.push(() => rest.close())
    return rest
  }
  const clickhouse = connect(engine.url)
  await ensureClickHouse(clickhouse)
  const rest = await serve(clickhouse)
  const away = await serve(connect('http://127.0.0.1:1/'))
  const { streamId } = await rest.control.createStream('ann', STREAM_SETTINGS)
  return new QueryHarness({ clickhouse, rest, away, streamId: String(streamId) })
}
