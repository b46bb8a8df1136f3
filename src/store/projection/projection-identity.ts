/**
 * One PostgreSQL has one projection: all nodes must insert into, and query, the same ClickHouse. So
 * the projection has an identity, a UUID, recorded in PostgreSQL and kept in ClickHouse as the
 * comment of a small table, which is made in one step. A node starts only where the two agree.
 *
 * An empty ClickHouse is taken when no identity is recorded; when one is, this is another one, or
 * one that lost its data. A projection is rebuilt without being asked only where no other node can
 * miss it; see docs/decisions/0038-projection-identity.md.
 *
 * Two stores cannot be changed in one transaction. An advisory lock lets one node at a time do it;
 * the identity is recorded first, then written, then confirmed. An unconfirmed identity binds
 * nobody: the next node chooses a new one, and a node whose ClickHouse has the old one is refused.
 */
import { randomUUID } from 'node:crypto'
import type { ClickHouse } from '../clickhouse.ts'
import { type Postgres, type PostgresClient, toStoreError } from '../postgres.ts'
import { StoreError } from '../store-error.ts'
import type { StoreLog } from '../store-log.ts'
import { TABLE_PREFIX } from './projection-store.ts'

export interface IdentityOptions {
  readonly postgres: Postgres
  readonly clickhouse: ClickHouse
  /** `DataDirectory.nodeIdentity`. */
  readonly nodeIdentity: string
  readonly isEmbedded: boolean
  /** The operator says that an empty ClickHouse is the right one. */
  readonly mayRebuild: boolean
  readonly log: StoreLog
}

/** What PostgreSQL has recorded. Undefined: nothing. */
export interface RecordedIdentity {
  readonly identity: string
  readonly isConfirmed: boolean
  /** It was the engine embedded in this node. */
  readonly isOwn: boolean
}

/** What ClickHouse has. */
export interface FoundIdentity {
  readonly identity: string | undefined
  /** There are tables of events. */
  readonly hasEvents: boolean
}

export interface Surroundings {
  /** Other nodes with a lease. */
  readonly liveNodes: number
  /** Other nodes that ever were. */
  readonly otherNodes: number
  readonly isEmbedded: boolean
  readonly mayRebuild: boolean
}

export type IdentityVerdict =
  | { readonly kind: 'same' }
  /** It is empty: the projection is built in it. */
  | { readonly kind: 'adopt' }
  | { readonly kind: 'refuse'; readonly text: string }

const TABLE = 'projection_identity'
/** Like the keys of migrations, of node numbers and of retention. */
const LOCK_KEY = '126943966294888'
const LOCK_MS_MAX = 60_000
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const PAGE = '"Rebuild the projection" in docs/operations.md'

export class ProjectionIdentity {
  readonly #postgres: Postgres
  readonly #clickhouse: ClickHouse
  readonly #identity: string

  private constructor({ postgres, clickhouse }: IdentityOptions, identity: string) {
    this.#postgres = postgres
    this.#clickhouse = clickhouse
    this.#identity = identity
  }

  /** Throws `StoreError`, saying what to do, when this ClickHouse is not the projection's. */
  static async claim(options: IdentityOptions): Promise<ProjectionIdentity> {
    const client = await options.postgres.connect()
    try {
      await client.query(`SET lock_timeout = ${LOCK_MS_MAX}`)
      await client.query('SELECT pg_advisory_lock($1)', [LOCK_KEY])
      return new ProjectionIdentity(options, await claimLocked(client, options))
    } catch (cause) {
      throw toStoreError(cause)
    } finally {
      // Ends the session, and the lock with it.
      await client.end().catch(() => undefined)
    }
  }

  /**
   * To be called once this node has its lease: a node that rebuilds the projection looks for leases
   * first, so either it has seen ours or we see what it did.
   */
  async assertRecorded(): Promise<void> {
    const { rows } = await this.#postgres.query<{ identity: string }>(
      `SELECT identity FROM ${TABLE}`,
    )
    if (rows[0]?.identity !== this.#identity) throw foreign('the projection moved meanwhile')
  }

  /** Throws `StoreError` when the ClickHouse that answers now is not the one of the start. */
  async assertSame(): Promise<void> {
    const { identity } = await readFound(this.#clickhouse)
    if (identity === this.#identity) return
    throw foreign('the ClickHouse that answers now is not the projection; restart the node')
  }
}

function foreign(text: string): StoreError {
  return new StoreError('other', text, { code: 'foreign_projection' })
}

async function claimLocked(client: PostgresClient, options: IdentityOptions): Promise<string> {
  const { clickhouse, log } = options
  const recorded = await readRecorded(client, options.nodeIdentity)
  const found = await readFound(clickhouse)
  const verdict = judgeIdentity(recorded, found, await lookAround(client, options))
  if (verdict.kind === 'refuse') throw foreign(verdict.text)
  if (verdict.kind === 'same') {
    if (!recorded?.isConfirmed) await confirm(client)
    return found.identity as string
  }
  const identity = randomUUID()
  await client.query('BEGIN')
  await client.query(
    `INSERT INTO ${TABLE} (identity, recorded_by, is_embedded) VALUES ($1, $2, $3)
     ON CONFLICT (only_row) DO UPDATE SET identity = excluded.identity, is_confirmed = false,
       recorded_by = excluded.recorded_by, is_embedded = excluded.is_embedded,
       recorded_at = now()`,
    [identity, options.nodeIdentity, options.isEmbedded],
  )
  await client.query('DELETE FROM checkpoints')
  await client.query('DELETE FROM set_aside_segments')
  await client.query('DELETE FROM node_shards')
  await client.query('COMMIT')
  await writeFound(clickhouse, identity)
  await confirm(client)
  if (recorded !== undefined) {
    log.warn(
      { identity },
      'ClickHouse is empty: the projection is built anew, from the first event',
    )
  } else {
    log.info({ identity }, 'this ClickHouse holds the projection from now on')
  }
  return identity
}

/** The rules alone. */
export function judgeIdentity(
  recorded: RecordedIdentity | undefined,
  found: FoundIdentity,
  { liveNodes, otherNodes, isEmbedded, mayRebuild }: Surroundings,
): IdentityVerdict {
  const refuse = (text: string) => ({ kind: 'refuse', text }) as const
  if (found.identity !== undefined) {
    if (found.identity === recorded?.identity) return { kind: 'same' }
    return refuse(
      'this ClickHouse holds another projection than that of this PostgreSQL: set ' +
        `SLUICE_CLICKHOUSE_URL and SLUICE_POSTGRES_URL to a pair; if both are right, see ${PAGE}`,
    )
  }
  if (recorded?.isConfirmed !== true) {
    if (!found.hasEvents) return { kind: 'adopt' }
    return refuse(
      'this ClickHouse has events that this PostgreSQL knows nothing of: set ' +
        `SLUICE_CLICKHOUSE_URL to another; if they are not needed, see ${PAGE}`,
    )
  }
  if (found.hasEvents) {
    return refuse(
      'this ClickHouse has events and is not the one that holds the projection: set ' +
        `SLUICE_CLICKHOUSE_URL to the one that the other nodes use; if it is right, see ${PAGE}`,
    )
  }
  const isAlone = isEmbedded && recorded.isOwn && otherNodes === 0
  if (liveNodes === 0 && (mayRebuild || isAlone)) return { kind: 'adopt' }
  const what = isEmbedded ? 'the ClickHouse embedded in this node' : 'this ClickHouse'
  const others = liveNodes === 0 ? '' : `, which ${liveNodes} running node(s) use`
  const anew =
    liveNodes === 0
      ? 'start with --rebuild-projection true to build it anew here'
      : `stop them to build it anew here, see ${PAGE}`
  return refuse(
    `${what} is empty, and the projection is in another one${others}: all nodes share one, set ` +
      `SLUICE_CLICKHOUSE_URL to it; if that one is lost, ${anew}`,
  )
}

async function readRecorded(
  client: PostgresClient,
  nodeIdentity: string,
): Promise<RecordedIdentity | undefined> {
  const { rows } = await client.query<{
    readonly identity: string
    readonly is_confirmed: boolean
    readonly is_own: boolean
  }>(`SELECT identity, is_confirmed, is_embedded AND recorded_by = $1 AS is_own FROM ${TABLE}`, [
    nodeIdentity,
  ])
  const [row] = rows
  if (row === undefined) return undefined
  return { identity: row.identity, isConfirmed: row.is_confirmed, isOwn: row.is_own }
}

async function lookAround(
  client: PostgresClient,
  { nodeIdentity, isEmbedded, mayRebuild }: IdentityOptions,
): Promise<Surroundings> {
  const { rows } = await client.query<{ readonly live: number; readonly others: number }>(
    `SELECT (count(*) FILTER (WHERE lease_until > clock_timestamp()))::integer AS live,
       count(*)::integer AS others FROM nodes WHERE identity <> $1`,
    [nodeIdentity],
  )
  const { live: liveNodes = 0, others: otherNodes = 0 } = rows[0] ?? {}
  return { liveNodes, otherNodes, isEmbedded, mayRebuild }
}

async function confirm(client: PostgresClient): Promise<void> {
  await client.query(`UPDATE ${TABLE} SET is_confirmed = true, recorded_at = now()`)
}

async function readFound(clickhouse: ClickHouse): Promise<FoundIdentity> {
  const rows = await clickhouse.query<{ readonly name: string; readonly comment: string }>(
    `SELECT name, comment FROM system.tables
      WHERE database = {database:String}
        AND (name = {table:String} OR startsWith(name, {prefix:String}))
      ORDER BY name = {table:String} DESC LIMIT 2`,
    { database: clickhouse.database, table: TABLE, prefix: TABLE_PREFIX },
  )
  const own = rows.find(({ name }) => name === TABLE)
  if (own !== undefined && !UUID.test(own.comment))
    throw foreign(`${clickhouse.database}.${TABLE} has no identity`)
  return { identity: own?.comment, hasEvents: rows.some(({ name }) => name !== TABLE) }
}

/** Whoever makes the table first decides: one of two PostgreSQLs that meet here is refused. */
async function writeFound(clickhouse: ClickHouse, identity: string): Promise<void> {
  await clickhouse.command(
    `CREATE TABLE IF NOT EXISTS {database:Identifier}.{table:Identifier}
       (written_at DateTime DEFAULT now()) ENGINE = MergeTree ORDER BY tuple()
     COMMENT '${identity}'`,
    { database: clickhouse.database, table: TABLE },
  )
  const found = await readFound(clickhouse)
  if (found.identity === identity) return
  throw foreign(
    'another Sluice has taken this database of ClickHouse just now; each needs one of its own',
  )
}
