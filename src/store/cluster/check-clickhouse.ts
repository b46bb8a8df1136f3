/**
 * Tries on an operator's ClickHouse what the projection needs: makes a database of its own with a
 * table as streams have it, writes, reads, changes and removes, on each shard and replica, and
 * drops it. What holds and what does not is said line by line; later steps are tried all the same
 * where they can be.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { MIXED_STREAM } from '../../model/mixed-runs.ts'
import { makeSegmentId, type SegmentId } from '../../model/segment-id.ts'
import type { StreamId } from '../../model/stream.ts'
import { ClickHouse } from '../clickhouse.ts'
import { ClickHouseHosts, splitHosts } from '../clickhouse-hosts.ts'
import { onCluster, onShards, rowsOf } from '../clickhouse-place.ts'
import { ensureClickHouse } from '../migrations/run.ts'
import { COUNTS_BY_MINUTE, countsAlone, OWN_COUNTS } from '../projection/counts.ts'
import { DROPS_ANY_SIZE } from '../projection/drop-settings.ts'
import { createTableSql } from '../projection/projection-store.ts'
import { tableName } from '../projection/table-names.ts'
import { ClusterLayout } from './cluster-layout.ts'
import { ShardReplicas } from './shard-replicas.ts'

export interface CheckOptions {
  readonly url: string
  readonly cluster: string | undefined
  readonly storagePolicy: string | undefined
  readonly say: (line: string) => void
}

const STREAM = 1 as StreamId
const TABLE = tableName(STREAM)
const ROWS = 1_000
/** When they were received, as far as the table knows. */
const RECEIVED = '2026-01-01T10:00:00Z'
/** How long a change may take to reach all servers. */
const REACH_MS_MAX = 30_000

/** Resolves with how many steps failed. Never throws. */
export async function checkClickHouse(options: CheckOptions): Promise<number> {
  return new Check(options).run()
}

class Check {
  readonly #options: CheckOptions
  #failures = 0
  #isMade = false

  constructor(options: CheckOptions) {
    this.#options = options
  }

  async run(): Promise<number> {
    const { cluster, storagePolicy, say } = this.#options
    const urls = splitHosts(this.#options.url)
    const hosts = new ClickHouseHosts(urls)
    let layout: ClusterLayout | undefined
    const url = checkUrl(urls[0]!)
    await this.#step('the servers answer, and are the cluster', async () => {
      if (cluster === undefined) return
      layout = await ClusterLayout.read({ url, cluster, storagePolicy, hosts })
      for (const { name, replicas } of layout.shards) {
        for (const { host } of replicas) say(`     ${host.name}: shard ${name}`)
      }
      const named = layout.clients.length
      if (named < urls.length) throw new Error(`${named} of ${urls.length} servers answer`)
    })
    if (cluster !== undefined && layout === undefined) {
      hosts.stop()
      return this.#failures
    }
    const clickhouse = new ClickHouse({ url, hosts, cluster, storagePolicy })
    try {
      await this.#tryAll(clickhouse, layout)
    } finally {
      if (this.#isMade) await this.#step('it is dropped again', () => drop(clickhouse))
      await clickhouse.close()
      await layout?.close()
      hosts.stop()
    }
    return this.#failures
  }

  async #tryAll(clickhouse: ClickHouse, layout: ClusterLayout | undefined): Promise<void> {
    const { place } = clickhouse
    const { database } = place
    const servers = layout?.clients ?? [clickhouse]
    const isThere = await this.#step(`a database of its own, ${database}`, async () => {
      const [found] = await clickhouse.query(
        'SELECT 1 FROM system.databases WHERE name = {database:String}',
        { database },
      )
      if (found !== undefined) throw new Error('it is there already: drop it, if it is not needed')
      await ensureClickHouse(clickhouse, layout?.clients)
    })
    if (!isThere) return
    this.#isMade = true
    const isMade = await this.#step('tables, on each server', async () => {
      for (const stream of [STREAM, MIXED_STREAM]) {
        await clickhouse.command(createTableSql(database, stream, place))
      }
      const made = `SELECT count() = 1 FROM system.tables WHERE ${ofTable(database)}`
      await untilEach(servers, 'the table', made)
    })
    if (!isMade) return
    await this.#tryInserts(clickhouse, layout)
    await this.#tryReads(clickhouse, layout)
    await this.#tryChanges(clickhouse, servers)
  }

  async #tryInserts(clickhouse: ClickHouse, layout: ClusterLayout | undefined): Promise<void> {
    const table = `${clickhouse.database}.${TABLE}`
    await this.#step('inserts into each shard, on each replica', async () => {
      if (layout === undefined) return clickhouse.command(insertSql(table, 0, rowsOfShard(0)))
      for (const [at, shard] of layout.shards.entries()) {
        const { options } = layout
        const inserts = new ShardReplicas({ ...options, shard, recorded: [shard], replicasMin: 1 })
        try {
          await inserts.clickhouse.command(insertSql(table, at, rowsOfShard(at)), undefined, {
            settings: inserts.settings(),
          })
          await inserts.stored(TABLE)
          const segments = [{ streamId: STREAM, segmentId: segmentOf(at) }]
          const present = await inserts.findPresent(segments)
          if (present.size !== 1) throw new Error(`shard ${shard.name} does not have its insert`)
          await inserts.findRunning('none')
        } finally {
          await inserts.clickhouse.close()
        }
      }
    })
  }

  async #tryReads(clickhouse: ClickHouse, layout: ClusterLayout | undefined): Promise<void> {
    const { place } = clickhouse
    const shards = layout?.shards.length ?? 1
    const all = Array.from({ length: shards }, (_, at) => rowsOfShard(at)).reduce((a, b) => a + b)
    await this.#step('a count over all shards', () => {
      return expectCount(clickhouse, `SELECT count() AS n FROM ${rowsOf(place, TABLE)}`, all)
    })
    await this.#step('counts beside the rows', () => {
      const { from, events } = countsAlone(place, TABLE, COUNTS_BY_MINUTE)
      return expectCount(clickhouse, `SELECT toUInt64(${events}) AS n FROM ${from}`, all)
    })
    await this.#step('what servers know of parts, changes and statements', async () => {
      for (const source of ['system.parts', 'system.mutations', 'system.processes']) {
        await clickhouse.query(`SELECT count() AS n FROM ${onShards(place, source)}`)
      }
      await clickhouse.query(`SELECT count() AS n FROM system.data_skipping_indices`)
    })
  }

  async #tryChanges(clickhouse: ClickHouse, servers: readonly ClickHouse[]): Promise<void> {
    const { place } = clickhouse
    const { database } = place
    const table = `${database}.${TABLE}`
    const each = (what: string, sql: string) => untilEach(servers, what, sql)
    await this.#step('settings and indexes of tables, on each server', async () => {
      await clickhouse.command(`ALTER TABLE ${table} MODIFY SETTING merge_max_block_size = 4096`)
      await clickhouse.command(
        `ALTER TABLE ${table} ADD INDEX IF NOT EXISTS tried event_time TYPE minmax GRANULARITY 1`,
      )
      const index = `SELECT count() = 1 FROM system.data_skipping_indices WHERE name = 'tried'
        AND database = '${database}'`
      await each('the index', index)
      const setting = `SELECT countIf(position(engine_full, 'merge_max_block_size = 4096') > 0) = 1
        FROM system.tables WHERE ${ofTable(database)}`
      await each('the setting', setting)
      await clickhouse.command(`ALTER TABLE ${table} DROP PROJECTION ${OWN_COUNTS[0]!.name}`)
    })
    await this.#step('deleting rows, on all shards', async () => {
      await clickhouse.command(`ALTER TABLE ${table} DELETE WHERE ordinal < ${ROWS / 2}`)
      await each('the deletion', `SELECT max(ordinal < ${ROWS / 2}) = 0 FROM ${table}`)
    })
    await this.#step('dropping a day of any size, on all shards', async () => {
      await clickhouse.command(
        `ALTER TABLE ${table}${onCluster(place)} DROP PARTITION ID '20260101'`,
        undefined,
        { settings: DROPS_ANY_SIZE },
      )
      await each('the removal', `SELECT count() = 0 FROM ${table}`)
    })
  }

  /** Whether it held. */
  async #step(what: string, run: () => Promise<unknown>): Promise<boolean> {
    const { say } = this.#options
    try {
      await run()
      say(`ok   ${what}`)
      return true
    } catch (cause) {
      this.#failures++
      say(`FAIL ${what}: ${cause instanceof Error ? cause.message : String(cause)}`)
      return false
    }
  }
}

/** The same with a database beside the projection's. */
function checkUrl(url: string): string {
  const parsed = new URL(url)
  parsed.pathname = `/${parsed.pathname.slice(1) || 'sluice'}_check`
  return parsed.href
}

async function drop(clickhouse: ClickHouse): Promise<void> {
  const { place } = clickhouse
  await clickhouse.command(
    `DROP DATABASE IF EXISTS ${place.database}${onCluster(place)} SYNC`,
    undefined,
    { settings: DROPS_ANY_SIZE },
  )
}

/** Of a `_check` database, whose name needs no quotes. */
function ofTable(database: string): string {
  return `database = '${database}' AND name = '${TABLE}'`
}

function segmentOf(counter: number): SegmentId {
  return makeSegmentId({ ms: Date.parse(RECEIVED), node: 1, counter })
}

/** Other numbers for each, so that one shard read twice does not look like two. */
function rowsOfShard(at: number): number {
  return ROWS + at
}

function insertSql(table: string, counter: number, rows: number): string {
  const at = `parseDateTime64BestEffort('${RECEIVED}', 3, 'UTC')`
  return `INSERT INTO ${table}
      (segment_id, ordinal, ingested_at, event_time, shape, level, service, context, payload)
    SELECT ${segmentOf(counter)}, number, ${at}, ${at}, 1, 'info', 'check',
      '', '{"message":"tried"}' FROM numbers(${rows})`
}

async function expectCount(clickhouse: ClickHouse, sql: string, count: number): Promise<void> {
  const [row] = await clickhouse.query<{ n: number }>(sql)
  if (Number(row?.n) !== count) throw new Error(`${row?.n} rows in place of ${count}`)
}

/** `sql` gives one number, 1 where it holds. */
async function untilEach(servers: readonly ClickHouse[], what: string, sql: string): Promise<void> {
  const deadline = performance.now() + REACH_MS_MAX
  for (const [at, server] of servers.entries()) {
    for (;;) {
      const [row] = await server.query<Record<string, number>>(sql)
      if (Number(Object.values(row ?? {})[0]) === 1) break
      if (performance.now() > deadline) throw new Error(`server ${at + 1} does not have ${what}`)
      await sleep(100)
    }
  }
}
