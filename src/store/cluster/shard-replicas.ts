/**
 * The shards that a node's segments are on, seen as one place. Inserts go to the first replica that
 * answers of the node's current shard. They count when every replica that answers has them, so that
 * reads may go to any: each is told to fetch what the others have. The engine's own quorum is not
 * asked for: a part that misses it can be dropped later, by a replica that was away.
 *
 * What an insert of unknown outcome has brought can only be known once it is over. It is over on a
 * replica that answers and does not run it. It is over on one that is silent when Keeper has ended
 * its session and the insert's own time is over. Then each replica that answers is asked, after it
 * has fetched what the others have. One that has a segment which another lacks may hold a part that
 * Keeper does not know, which the server drops after five minutes: so that is not known yet.
 */

import { MIXED_STREAM } from '../../model/mixed-runs.ts'
import type { StreamSegment } from '../../model/projection.ts'
import type { SegmentId } from '../../model/segment-id.ts'
import type { StreamId } from '../../model/stream.ts'
import type { ClickHouse, QuerySettings } from '../clickhouse.ts'
import { UNKNOWN_STATUS_OF_INSERT, UNKNOWN_TABLE } from '../clickhouse-codes.ts'
import {
  findRunningInserts,
  type InsertColumns,
  type InsertPlace,
} from '../projection/insert-place.ts'
import { PresentSegments } from '../projection/present-segments.ts'
import { syncDatabase } from '../projection/sync-database.ts'
import { tableName } from '../projection/table-names.ts'
import { StoreError } from '../store-error.ts'
import {
  type ClusterOptions,
  type ClusterShard,
  type ShardReplica,
  shardClient,
} from './cluster-layout.ts'

export interface ShardReplicasOptions
  extends Pick<ClusterOptions, 'url' | 'cluster' | 'storagePolicy'> {
  /** Where the node inserts from now on. */
  readonly shard: ClusterShard
  /** Where it ever did, that one among them. */
  readonly recorded: readonly ClusterShard[]
  /** Replicas that must store an insert at least. */
  readonly replicasMin: number
  /** For tests. */
  readonly insertMsMax?: number
  readonly unknownPartMs?: number
}

/** How long an insert may take, and which share of that until it begins, by the server's clock. */
const INSERT_MS_MAX = 60_000
const BEGIN_SHARE = 0.25
const ASK_MS_MAX = 10_000
const SYNC_S_MAX = 10
const SYNC_GRACE_S = 5
/** ClickHouse looks after so long whether Keeper knows a part, and drops it where it does not. */
const UNKNOWN_PART_MS = 330_000

export class ShardReplicas implements InsertPlace {
  readonly clickhouse: ClickHouse
  readonly #options: ShardReplicasOptions
  readonly #insertMsMax: number
  readonly #unknownPartMs: number
  /** When the last insert may have begun; at first that of an earlier run. */
  #lastInsertAtMs = performance.now()
  readonly #startedMs = performance.now()
  /** Until then a replica that answers alone may not know what an insert of ours brought. */
  #unsureUntilMs = 0

  constructor(options: ShardReplicasOptions) {
    const { shard, insertMsMax = INSERT_MS_MAX, unknownPartMs = UNKNOWN_PART_MS } = options
    this.#options = options
    this.#insertMsMax = insertMsMax
    this.#unknownPartMs = unknownPartMs
    this.clickhouse = shardClient({ ...options, hosts: shard.hosts })
  }

  settings(): QuerySettings {
    this.#lastInsertAtMs = performance.now()
    return {
      insert_quorum: '0',
      max_execution_time: (this.#insertMsMax * (1 - BEGIN_SHARE)) / 1_000,
      // What is there is asked for, by its ids. Tokens of earlier inserts would make a segment
      // that was lost look stored.
      insert_deduplicate: 0,
    }
  }

  /**
   * A server that hangs with the insert unread in its socket would do it when it wakes up, with all
   * of its time before it. So the statement says when it must have begun, by that server's clock.
   */
  insertSql(table: string, columns: InsertColumns): string {
    const names = columns.map(([name]) => name).join(', ')
    const types = columns.map(([name, type]) => `${name} ${type.replaceAll("'", "\\'")}`)
    const { aheadMs } = this.#options.shard.hosts.first
    const untilMs = Math.floor(Date.now() + aheadMs + this.#insertMsMax * BEGIN_SHARE)
    const isLate = `now64(3) >= fromUnixTimestamp64Milli(${untilMs})`
    return `INSERT INTO ${table} (${names}) SELECT ${names} FROM input('${types.join(', ')}')
      WHERE throwIf(${isLate}, 'the insert comes too late') = 0 FORMAT Native`
  }

  /** A replica that is found away meanwhile fetches it when it is back. */
  async stored(table: string): Promise<void> {
    const { shard, replicasMin } = this.#options
    const { answers: having, failures } = await askEach(shard.replicas, (replica) => {
      return sync(replica.clickhouse, table)
    })
    for (const { replica, reason } of failures) if (!replica.host.isAway) throw reason
    const stored = having.length
    if (stored > 0 && stored < shard.replicas.length) {
      // While Keeper has its session it may be read, and lacks this.
      const known = await readReplicas(having.map(({ replica }) => replica.clickhouse))
      if (!known.isKnown || known.active > stored) {
        throw unknown(`a replica of shard ${shard.name} is silent, and may be read`)
      }
    }
    if (stored >= Math.min(replicasMin, shard.replicas.length)) return
    throw unknown(`${stored} replica(s) of shard ${shard.name} store an insert, of ${replicasMin}`)
  }

  failed(cause: unknown): void {
    if (isOfUnknownPart(cause)) this.#unsureUntilMs = performance.now() + this.#unknownPartMs
  }

  async findPresent(segments: readonly StreamSegment[]): Promise<ReadonlySet<SegmentId>> {
    const present = new Set<SegmentId>()
    for (const shard of this.#options.recorded) {
      for (const id of await this.#presentIn(shard, segments)) present.add(id)
    }
    return present
  }

  async findRunning(prefix: string): Promise<string[]> {
    const running = await Promise.all(
      this.#options.recorded.map((shard) => this.#runningIn(shard, prefix)),
    )
    return running.flat()
  }

  async #presentIn(
    { name, replicas }: ClusterShard,
    segments: readonly StreamSegment[],
  ): Promise<ReadonlySet<SegmentId>> {
    const { answers, failures } = await askEach(replicas, ({ clickhouse }) => {
      return presentOn(clickhouse, segments)
    })
    const [first, ...others] = answers
    if (first === undefined) {
      throw failures[0]?.reason ?? unknown(`no replica of shard ${name} answers`)
    }
    if (others.length === 0 && performance.now() < this.#unsureOf(replicas)) {
      throw unknown(`${first.replica.host.name} answers alone, and may not know yet what it has`)
    }
    const isSame = ({ value: present }: typeof first) => {
      return present.size === first.value.size && [...present].every((id) => first.value.has(id))
    }
    if (others.every(isSame)) return first.value
    throw unknown(`the replicas of shard ${name} do not have the same yet`)
  }

  /** What an earlier process did not get to know matters where others may answer later. */
  #unsureOf(replicas: readonly ShardReplica[]): number {
    const ofEarlier = replicas.length > 1 ? this.#startedMs + this.#unknownPartMs : 0
    return Math.max(ofEarlier, this.#unsureUntilMs)
  }

  async #runningIn({ name, replicas }: ClusterShard, prefix: string): Promise<string[]> {
    const { answers } = await askEach(replicas, ({ clickhouse }) => {
      return findRunningInserts(clickhouse, prefix, AbortSignal.timeout(ASK_MS_MAX))
    })
    if (answers.length === 0) throw unknown(`no replica of shard ${name} answers`)
    const known = await readReplicas(answers.map(({ replica }) => replica.clickhouse))
    const isSilent = Math.max(known.all, replicas.length) > answers.length
    if (isSilent && !known.isKnown) {
      throw unknown(`no replica of shard ${name} that answers knows of the others by Keeper`)
    }
    if (known.active > answers.length) {
      throw unknown(`a replica of shard ${name} is silent, and may still be inserting`)
    }
    if (isSilent && performance.now() < this.#lastInsertAtMs + this.#insertMsMax) {
      throw unknown(`an insert on a replica of shard ${name} that went away may not be over yet`)
    }
    return answers.flatMap(({ value }) => value)
  }
}

/** After the replica has fetched what the shard's others have. */
async function presentOn(
  clickhouse: ClickHouse,
  segments: readonly StreamSegment[],
): Promise<ReadonlySet<SegmentId>> {
  await syncDatabase(clickhouse, ASK_MS_MAX)
  const present = new PresentSegments(clickhouse)
  const streams = new Set<StreamId>(segments.map(({ streamId }) => streamId))
  const tables = await present.findTables([MIXED_STREAM, ...streams])
  for (const streamId of tables) await sync(clickhouse, tableName(streamId))
  return present.find(segments)
}

/** Fetches what the shard's other replicas have of the table by now. */
async function sync(clickhouse: ClickHouse, table: string): Promise<void> {
  try {
    const sql = `SYSTEM SYNC REPLICA ${clickhouse.database}.${table} LIGHTWEIGHT`
    await clickhouse.command(sql, undefined, {
      settings: { receive_timeout: SYNC_S_MAX },
      signal: AbortSignal.timeout((SYNC_S_MAX + SYNC_GRACE_S) * 1_000),
    })
  } catch (cause) {
    // What is not there yet has nothing.
    if (!(cause instanceof StoreError && cause.clickHouseCode === UNKNOWN_TABLE)) throw cause
  }
}

interface Answers<T> {
  readonly answers: readonly { readonly replica: ShardReplica; readonly value: T }[]
  readonly failures: readonly { readonly replica: ShardReplica; readonly reason: unknown }[]
}

/** Asks those that are not known to be away, side by side. */
async function askEach<T>(
  replicas: readonly ShardReplica[],
  ask: (replica: ShardReplica) => Promise<T>,
): Promise<Answers<T>> {
  const asked = replicas.filter(({ host }) => !host.isAway)
  const answers: { replica: ShardReplica; value: T }[] = []
  const failures: { replica: ShardReplica; reason: unknown }[] = []
  for (const [at, one] of (await Promise.allSettled(asked.map(ask))).entries()) {
    const replica = asked[at]!
    if (one.status === 'fulfilled') answers.push({ replica, value: one.value })
    else failures.push({ replica, reason: one.reason })
  }
  return { answers, failures }
}

/** Whether the replica may have a part of which it does not know whether Keeper has it. */
function isOfUnknownPart(cause: unknown): boolean {
  if (!(cause instanceof StoreError) || cause.kind !== 'unavailable') return false
  const { clickHouseCode, code } = cause
  // Else the server has said how it ended; or we did not hear of it.
  return clickHouseCode === UNKNOWN_STATUS_OF_INSERT || (!clickHouseCode && code !== 'ECONNREFUSED')
}

interface KnownReplicas {
  readonly all: number
  /** With a session with Keeper. */
  readonly active: number
  /** Whether Keeper told, and there is a table to ask about. */
  readonly isKnown: boolean
}

/** Of the shard, by any of its tables: the most that any of these servers knows of. */
async function readReplicas(servers: readonly ClickHouse[]): Promise<KnownReplicas> {
  const asked = await Promise.allSettled(servers.map(readReplicasOf))
  const known = asked.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
  return {
    all: Math.max(0, ...known.map(({ all }) => all)),
    active: Math.max(0, ...known.map(({ active }) => active)),
    isKnown: known.some(({ all }) => all > 0),
  }
}

/** Without a session of its own a server says 0 of 0. */
async function readReplicasOf(clickhouse: ClickHouse): Promise<{ all: number; active: number }[]> {
  return clickhouse.query<{ all: number; active: number }>(
    `SELECT toUInt32(max(total_replicas)) AS all, toUInt32(max(active_replicas)) AS active
     FROM system.replicas
     WHERE database = {database:String} AND NOT is_session_expired AND table IN (
       SELECT name FROM system.tables
       WHERE database = {database:String} AND engine = 'ReplicatedMergeTree'
       ORDER BY name LIMIT 1)`,
    { database: clickhouse.database },
    {},
    { signal: AbortSignal.timeout(ASK_MS_MAX) },
  )
}

function unknown(text: string): StoreError {
  return new StoreError('unavailable', `clickhouse: ${text}`)
}
