/**
 * Days of the projection that are still where new ones are written, and moving them to the last
 * volume of the tables' storage policy: slower disks, or an object store. Everything throws
 * `StoreError`.
 */
import type { StreamId } from '../../model/stream.ts'
import type { ClickHouse } from '../clickhouse.ts'
import { onReplicas, PLACE_NAME } from '../clickhouse-place.ts'
import { StoreError } from '../store-error.ts'
import { projectionTable, streamOfTable, TABLE_PREFIX, tableName } from './table-names.ts'

export interface WarmDay {
  readonly streamId: StreamId
  /** `20260505` */
  readonly id: string
}

const REQUEST_MS_MAX = 30_000
/** What a server says that has no part of the day, or has moved all of them. */
const NOTHING_TO_MOVE: ReadonlySet<number | undefined> = new Set([232, 479])

function hasNothing(cause: unknown): boolean {
  return cause instanceof StoreError && NOTHING_TO_MOVE.has(cause.clickHouseCode)
}

export class ColdParts {
  readonly #clickhouse: ClickHouse
  readonly #servers: () => readonly ClickHouse[]

  /** `servers`: each by itself, as no server of a cluster tells others to move parts. */
  constructor(clickhouse: ClickHouse, servers = (): readonly ClickHouse[] => [clickhouse]) {
    this.#clickhouse = clickhouse
    this.#servers = servers
  }

  /**
   * The last volume of the policy and its disks. A policy of one volume has none to move to, and
   * one without a volume `default` cannot take tables that were made without a policy.
   */
  async findColdVolume(
    policy: string,
  ): Promise<{ readonly volume: string; readonly disks: readonly string[] }> {
    const volumes = await this.#query<{ volume: string; disks: string[] }>(
      `SELECT volume_name AS volume, disks FROM system.storage_policies
       WHERE policy_name = {policy:String} ORDER BY volume_priority`,
      { policy },
    )
    const last = volumes.at(-1)
    const refuse = (text: string) => new StoreError('other', `clickhouse: ${text}`)
    if (last === undefined) throw refuse(`there is no storage policy ${policy}`)
    if (volumes.length < 2) throw refuse(`storage policy ${policy} has no second volume`)
    if (!volumes.some(({ volume }) => volume === 'default')) {
      throw refuse(`storage policy ${policy} has no volume default, where tables are now`)
    }
    if (!PLACE_NAME.test(last.volume)) {
      throw refuse(`the last volume of storage policy ${policy} has not a name of ${PLACE_NAME}`)
    }
    return last
  }

  /** Days before `before` (`20260505`) of which a replica has parts elsewhere, oldest first. */
  async listWarm(before: string, coldDisks: readonly string[]): Promise<WarmDay[]> {
    const { place } = this.#clickhouse
    const rows = await this.#query<{ table: string; id: string }>(
      `SELECT table, partition_id AS id FROM ${onReplicas(place, 'system.parts')}
       WHERE database = {database:String} AND startsWith(table, {prefix:String}) AND active
         AND partition_id < {before:String} AND NOT has({disks:Array(String)}, disk_name)
       GROUP BY table, id ORDER BY id, table`,
      { database: place.database, prefix: TABLE_PREFIX, before, disks: coldDisks },
    )
    return rows.map(({ table, id }) => ({ streamId: streamOfTable(table), id }))
  }

  /** Whether a server moves parts, merges them, or changes them now. */
  async isBusy({ streamId, id }: WarmDay): Promise<boolean> {
    const { place } = this.#clickhouse
    const params = { database: place.database, table: tableName(streamId), id }
    const [row] = await this.#query<{ n: number }>(
      `SELECT toFloat64((SELECT count() FROM ${onReplicas(place, 'system.moves')})
         + (SELECT count() FROM ${onReplicas(place, 'system.merges')}
             WHERE database = {database:String} AND table = {table:String}
               AND partition_id = {id:String})) AS n`,
      params,
    )
    return (row?.n ?? 0) > 0
  }

  /**
   * Begins on each server that has parts of the day; `listWarm` says when it is done. `volume`: of
   * `findColdVolume`.
   */
  async startMove({ streamId, id }: WarmDay, volume: string): Promise<void> {
    const { place } = this.#clickhouse
    const table = projectionTable(place.database, streamId)
    const begun = this.#servers().map((server) =>
      server.command(
        // No parameter may stand for the volume, whose name is checked.
        `ALTER TABLE ${table} MOVE PARTITION ID {id:String} TO VOLUME '${volume}'`,
        { id },
        {
          signal: AbortSignal.timeout(REQUEST_MS_MAX),
          settings: { alter_move_to_space_execute_async: 1 },
        },
      ),
    )
    const failed = (await Promise.allSettled(begun)).filter((one) => {
      return one.status === 'rejected' && !hasNothing(one.reason)
    })
    for (const one of failed) if (one.status === 'rejected') throw one.reason
  }

  #query<Row>(sql: string, params: Record<string, unknown>): Promise<Row[]> {
    const signal = AbortSignal.timeout(REQUEST_MS_MAX)
    return this.#clickhouse.query<Row>(sql, params, {}, { signal })
  }
}
