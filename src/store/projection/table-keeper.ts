/**
 * Brings the tables of streams into the form that they should have, and reports the progress.
 * Settings and indexes are changed by ALTER, which touches no part; then the indexes are made for
 * the parts that lack them, a day of a table at a time. Queries answer the same meanwhile: a part
 * that lacks an index is read. Everything throws `StoreError`.
 */
import { MIXED_STREAM } from '../../model/mixed-runs.ts'
import type { StreamId } from '../../model/stream.ts'
import type { TableNeeds } from '../../model/table-needs.ts'
import type { ClickHouse } from '../clickhouse.ts'
import { type ClickHousePlace, onCluster, onShards, placeSettings } from '../clickhouse-place.ts'
import { countsSql, isOutdatedCounts, OWN_COUNTS, SHARED_COUNTS } from './counts.ts'
import { RefusedSettings } from './refused-settings.ts'
import {
  addIndexSql,
  COMPACT_SETTINGS,
  formSettings,
  IS_BARE,
  IS_NARROW,
  otherSettings,
  settingsSql,
  tryParseIndexName,
  WIDE_MARK,
  wantedIndexes,
} from './table-form.ts'
import { IS_OWN_TABLE, projectionTable, streamOfTable, tableName } from './table-names.ts'

/** A table as it is. */
export interface TableForm {
  readonly streamId: StreamId
  readonly engineFull: string
  /** Ours. */
  readonly indexes: readonly { readonly name: string; readonly key: string; since: bigint }[]
  /** Names of the counts that are kept beside its parts: see `counts.ts`. */
  readonly counts: readonly string[]
}

/** A day of a table. */
export interface FormPartition {
  readonly streamId: StreamId
  /** `20260505` */
  readonly id: string
  readonly parts: number
  readonly rows: number
  /** The lowest block number of a part: that of its insert, or of its last change. */
  readonly firstBlock: bigint
  /**
   * Rows of parts from before an index was there, which merges may have made for some of them, and
   * of large parts without any.
   */
  readonly unindexedRows: number
  /** Of these, the latter. */
  readonly bareRows: number
  /** The day is over: few rows are still to come. */
  readonly isOver: boolean
  /** Compact parts that should be wide, and will be when they are merged with others. */
  readonly narrowParts: number
  /** Of both kinds. */
  readonly waitingRows: number
}

const REQUEST_MS_MAX = 30_000
/** We poll for the end of a mutation; the statement that starts it does not wait. */
const STARTS = { mutations_sync: '0' } as const
/** How far the clocks of a cluster's servers may be apart. */
const CLOCKS_S_MAX = 60

export class TableKeeper {
  readonly #clickhouse: ClickHouse
  /** Of tables that are made or altered. */
  readonly refused: RefusedSettings

  constructor(clickhouse: ClickHouse, onRefused?: (setting: string) => void) {
    this.#clickhouse = clickhouse
    this.refused = new RefusedSettings(onRefused, async () => {
      const sql = "SELECT value FROM system.settings WHERE name = 'cloud_mode'"
      const [row] = await this.#query<{ value: string }>(sql, {})
      return row?.value === '1'
    })
  }

  /** All streams' own tables, or that of one stream. */
  async listForms(only?: StreamId): Promise<TableForm[]> {
    const params = {
      database: this.#clickhouse.database,
      only: only === undefined ? '' : tableName(only),
    }
    const isMeant = (column: string) => `({only:String} = '' OR ${column} = {only:String})`
    const [tables, indexes, counts] = await Promise.all([
      this.#query<{ name: string; engine_full: string }>(
        `SELECT name, engine_full FROM system.tables WHERE ${IS_OWN_TABLE} AND ${isMeant('name')}`,
        params,
      ),
      this.#query<{ table: string; name: string }>(
        `SELECT table, name FROM system.data_skipping_indices
         WHERE database = {database:String} AND ${isMeant('table')}`,
        params,
      ),
      this.#query<{ table: string; names: string[] }>(
        `SELECT table, groupArray(name) AS names FROM system.projections
         WHERE database = {database:String} AND ${isMeant('table')} GROUP BY table`,
        params,
      ),
    ])
    const counted = new Map(counts.map(({ table, names }) => [table, names]))
    const ours = new Map<string, TableForm['indexes'][number][]>()
    for (const { table, name } of indexes) {
      const parsed = tryParseIndexName(name)
      if (parsed === undefined) continue
      const others = ours.get(table)
      if (others === undefined) ours.set(table, [{ name, ...parsed }])
      else others.push({ name, ...parsed })
    }
    return tables.map(({ name, engine_full: engineFull }) => ({
      streamId: streamOfTable(name),
      engineFull,
      indexes: ours.get(name) ?? [],
      counts: counted.get(name) ?? [],
    }))
  }

  /**
   * Changes whatever differs from what `needs` asks for. Resolves with whether there was anything
   * to change. All statements are tried even if one fails; then the first failure is thrown.
   */
  async alter(form: TableForm, needs: TableNeeds): Promise<boolean> {
    const { streamId, engineFull, indexes, counts } = form
    const wanted = wantedIndexes(needs)
    const failures: unknown[] = []
    const change = async (sql: string) => {
      await this.#change(streamId, sql).catch((cause) => failures.push(cause))
    }
    const { storagePolicy } = this.#clickhouse.place
    const wantedSettings = {
      ...formSettings(needs),
      ...(storagePolicy !== undefined && { storage_policy: `'${storagePolicy}'` }),
    }
    const others = Object.entries(otherSettings(engineFull, wantedSettings))
    const settings = settingsSql(
      Object.fromEntries(others.filter(([name]) => !this.refused.has(name))),
    )
    if (settings !== '') await change(`MODIFY SETTING ${settings}`)
    const unwanted = indexes.filter(({ key }) => !wanted.some((index) => index.key === key))
    for (const { name } of unwanted) await change(`DROP INDEX IF EXISTS ${name}`)
    const missing = wanted.filter(({ key }) => !indexes.some((index) => index.key === key))
    // Dropping an index takes a block number, too. The last number is read after that, or old parts
    // would look new.
    const since = missing.length > 0 ? await this.#lastBlock(streamId) : 0n
    for (const index of missing) await change(addIndexSql(index, since))
    // Of a table from before there were counts: parts without them are counted row by row.
    const uncounted = OWN_COUNTS.filter(({ name }) => !counts.includes(name))
    for (const unit of uncounted) await change(`ADD ${countsSql(unit, false)}`)
    const outdated = counts.filter((name) => isOutdatedCounts(name, OWN_COUNTS))
    for (const name of outdated) await change(`DROP PROJECTION IF EXISTS ${name}`)
    if (failures.length > 0) throw failures[0]
    return [settings, unwanted, missing, uncounted, outdated].some(({ length }) => length > 0)
  }

  /** For the table that streams share, which may be from before it had counts. */
  async bringSharedIntoForm(): Promise<void> {
    const ofPlace = placeSettings(this.#clickhouse.place)
    await this.#change(MIXED_STREAM, `MODIFY SETTING ${COMPACT_SETTINGS}${ofPlace}`)
    for (const unit of SHARED_COUNTS) {
      await this.#change(MIXED_STREAM, `ADD ${countsSql(unit, true, 'IF NOT EXISTS ')}`)
    }
  }

  /** For a table whose wide parts take more memory than there is. */
  async makeCompact(streamId: StreamId): Promise<void> {
    await this.#change(streamId, `MODIFY SETTING ${COMPACT_SETTINGS}`)
  }

  /** How far each day of the tables has its form, the newest day first. */
  async listPartitions(forms: readonly TableForm[]): Promise<FormPartition[]> {
    if (forms.length === 0) return []
    const { place } = this.#clickhouse
    const rows = await this.#query<PartitionRow>(
      `SELECT table, partition_id AS id, toFloat64(count()) AS parts,
         toFloat64(sum(d.rows)) AS all_rows, toString(min(version)) AS first_block,
         toFloat64(sumIf(d.rows, is_late OR is_bare)) AS unindexed_rows,
         toFloat64(sumIf(d.rows, is_bare AND NOT is_late)) AS bare_rows,
         partition_id < formatDateTime(now(), '%Y%m%d', 'UTC') AS is_over,
         toFloat64(countIf(is_narrow)) AS narrow_parts,
         toFloat64(sumIf(d.rows, is_narrow OR is_late OR is_bare)) AS waiting_rows
       FROM (
         SELECT table, partition_id, p.rows AS rows, ${versionSql(place)} AS version,
           transform(table, {tables:Array(String)}, {sinces:Array(Int64)}, -1) AS since,
           version <= since AS is_late, since >= 0 AND ${IS_BARE} AS is_bare,
           has({wide:Array(String)}, table) AND ${IS_NARROW} AS is_narrow
         FROM ${onShards(place, 'system.parts')} AS p
         WHERE database = {database:String} AND active AND p.rows > 0
           AND has({tables:Array(String)}, table)
       ) AS d
       GROUP BY table, partition_id ORDER BY partition_id DESC, table`,
      {
        database: this.#clickhouse.database,
        tables: forms.map(({ streamId }) => tableName(streamId)),
        // Block numbers begin with 1.
        sinces: forms.map(({ indexes }) => latest(indexes.map(({ since }) => since))),
        wide: forms.filter(isWide).map(({ streamId }) => tableName(streamId)),
      },
    )
    return rows.map((row) => ({
      streamId: streamOfTable(row.table),
      id: row.id,
      parts: row.parts,
      rows: row.all_rows,
      firstBlock: BigInt(row.first_block),
      unindexedRows: row.unindexed_rows,
      bareRows: row.bare_rows,
      isOver: row.is_over === 1,
      narrowParts: row.narrow_parts,
      waitingRows: row.waiting_rows,
    }))
  }

  /**
   * The share, 0 to 1, of the rows in the stream's own table whose part has its form: all indexes,
   * and wide if it is large. 1 without rows.
   */
  async readReadyShare(streamId: StreamId): Promise<number> {
    const partitions = await this.listPartitions(await this.listForms(streamId))
    const rows = partitions.reduce((sum, partition) => sum + partition.rows, 0)
    const waiting = partitions.reduce((sum, partition) => sum + partition.waitingRows, 0)
    return rows === 0 ? 1 : (rows - waiting) / rows
  }

  /** Starts making the indexes of a day that may lack them; a part that has one keeps it. */
  async startIndexing(
    { streamId, indexes }: TableForm,
    { id, firstBlock, bareRows }: Pick<FormPartition, 'id' | 'firstBlock' | 'bareRows'>,
  ): Promise<void> {
    const missing = indexes.filter(({ since }) => since >= firstBlock || bareRows > 0)
    const made = missing.map(({ name }) => `MATERIALIZE INDEX ${name} IN PARTITION ID {id:String}`)
    await this.#change(streamId, made.join(', '), { id })
  }

  /** Whether a mutation runs in any table: a deletion, or the making of an index. */
  async isChanging(): Promise<boolean> {
    const rows = await this.#query<{ n: number }>(
      `SELECT toFloat64(count()) AS n FROM ${onShards(this.#clickhouse.place, 'system.mutations')}
       WHERE database = {database:String} AND NOT is_done`,
      { database: this.#clickhouse.database },
    )
    return (rows[0]?.n ?? 0) > 0
  }

  /**
   * Ends mutations that make indexes and fail: the engine would retry them for ever, and deletions
   * wait for them. Returns the streams and the reasons.
   */
  async endFailing(): Promise<{ readonly streamId: StreamId; readonly reason: string }[]> {
    const { place } = this.#clickhouse
    const failing = await this.#query<{ table: string; id: string; reason: string }>(
      `SELECT table, mutation_id AS id, latest_fail_reason AS reason
       FROM ${onShards(place, 'system.mutations')}
       WHERE database = {database:String} AND NOT is_done AND latest_fail_reason != ''
         AND match(command, 'MATERIALIZE INDEX')`,
      { database: this.#clickhouse.database },
    )
    for (const { table, id } of failing) {
      await this.#command(
        `KILL MUTATION${onCluster(place)}
         WHERE database = {database:String} AND table = {table:String}
           AND mutation_id = {id:String} AND match(command, 'MATERIALIZE INDEX')`,
        { database: this.#clickhouse.database, table, id },
      )
    }
    return failing.map(({ table, reason }) => ({ streamId: streamOfTable(table), reason }))
  }

  /**
   * The block number that was given last to a part or to a change of parts. The shards of a cluster
   * number theirs apart: there it is the time.
   */
  async #lastBlock(streamId: StreamId): Promise<bigint> {
    if (this.#clickhouse.place.cluster !== undefined) {
      const [row] = await this.#query<{ now: number }>('SELECT toUnixTimestamp(now()) AS now', {})
      return BigInt(row?.now ?? 0)
    }
    const rows = await this.#query<{ last: string }>(
      `SELECT toString(max(block)) AS last FROM (
         SELECT greatest(max_block_number, toInt64(data_version)) AS block FROM system.parts
         WHERE database = {database:String} AND table = {table:String} AND active
         UNION ALL
         SELECT arrayMax(block_numbers.number) AS block FROM system.mutations
         WHERE database = {database:String} AND table = {table:String})`,
      { database: this.#clickhouse.database, table: tableName(streamId) },
    )
    return BigInt(rows[0]?.last ?? 0)
  }

  async #change(streamId: StreamId, sql: string, params: Params = {}): Promise<void> {
    const table = projectionTable(this.#clickhouse.database, streamId)
    const run = (all: string) => this.#command(all, params)
    await this.refused.run(`ALTER TABLE ${table} ${sql}`, run)
  }

  #query<Row>(sql: string, params: Params): Promise<Row[]> {
    const signal = AbortSignal.timeout(REQUEST_MS_MAX)
    return this.#clickhouse.query<Row>(sql, params, {}, { signal })
  }

  #command(sql: string, params: Params): Promise<void> {
    const signal = AbortSignal.timeout(REQUEST_MS_MAX)
    return this.#clickhouse.command(sql, params, { signal, settings: STARTS })
  }
}

type Params = Readonly<Record<string, unknown>>

/** Of `system.parts`: since when a part is as it is, to be compared with `#lastBlock`. */
function versionSql({ cluster }: ClickHousePlace): string {
  if (cluster === undefined) return 'data_version'
  return `toInt64(toUnixTimestamp(modification_time)) - ${CLOCKS_S_MAX}`
}

interface PartitionRow {
  readonly table: string
  readonly id: string
  readonly parts: number
  readonly all_rows: number
  readonly first_block: string
  readonly unindexed_rows: number
  readonly bare_rows: number
  readonly is_over: number
  readonly narrow_parts: number
  readonly waiting_rows: number
}

/** Whether large inserts become wide parts. */
export function isWide({ engineFull }: Pick<TableForm, 'engineFull'>): boolean {
  return engineFull.includes(WIDE_MARK)
}

function latest(blocks: readonly bigint[]): bigint {
  return blocks.toSorted((a, b) => (a < b ? -1 : 1)).at(-1) ?? -1n
}
