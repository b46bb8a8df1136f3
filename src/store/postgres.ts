/**
 * PostgreSQL: a pool, transactions and dedicated clients, with every wait bounded and every
 * failure a `StoreError`.
 *
 * `bigint` columns come back as decimal strings (the driver's default): most are counters that the
 * caller turns into `Number`, ids are turned into `BigInt` where they are read.
 */
import pg from 'pg'
import { errorFields, StoreError, UNREACHABLE_CODES } from './store-error.ts'
import type { StoreLog } from './store-log.ts'

export type PostgresClient = pg.Client

export interface QueryResult<Row> {
  readonly rows: Row[]
  readonly rowCount: number
}

/** What both the pool and a transaction offer. */
export interface Queryable {
  query<Row>(text: string, values?: readonly unknown[]): Promise<QueryResult<Row>>
}

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`; never shown in a message. */
  readonly url: string
  readonly log: StoreLog
  readonly connectionsMax?: number
  /** How long one statement may run; the server enforces it, the client a little later. */
  readonly statementMsMax?: number
  readonly connectMsMax?: number
  /**
   * Whether statements with a name are planned once a connection. Not through a pooler: it may give
   * each statement another connection, which does not know the name.
   */
  readonly keepsPlans?: boolean
}

const CONNECTIONS_MAX_DEFAULT = 16
const STATEMENT_MS_MAX_DEFAULT = 30_000
const CONNECT_MS_MAX_DEFAULT = 10_000
/** How much later than the server the client gives up: the server's error is more precise. */
const CLIENT_GRACE_MS = 5_000
const POOL_IDLE_MS_MAX = 30_000
/**
 * When the network loses us, the server closes its end of a connection within a minute. By default
 * it would stay open for hours and keep its locks: no statement timeout ends a COPY that waits for
 * data, and nobody could claim our node number. Over a unix socket these settings have no effect.
 */
const SESSION_OPTIONS =
  '-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3 ' +
  '-c tcp_user_timeout=60000'

export class Postgres implements Queryable {
  readonly #pool: pg.Pool
  readonly #config: pg.ClientConfig
  readonly #log: StoreLog
  readonly #keepsPlans: boolean

  constructor(options: PostgresOptions) {
    const statementMsMax = options.statementMsMax ?? STATEMENT_MS_MAX_DEFAULT
    assertPostgresUrl(options.url)
    this.#log = options.log
    this.#keepsPlans = options.keepsPlans ?? false
    this.#config = {
      ...withSessionOptions(options.url),
      application_name: 'sluice',
      connectionTimeoutMillis: options.connectMsMax ?? CONNECT_MS_MAX_DEFAULT,
      statement_timeout: statementMsMax,
      idle_in_transaction_session_timeout: statementMsMax,
      query_timeout: statementMsMax + CLIENT_GRACE_MS,
      keepAlive: true,
    }
    this.#pool = new pg.Pool({
      ...this.#config,
      max: options.connectionsMax ?? CONNECTIONS_MAX_DEFAULT,
      idleTimeoutMillis: POOL_IDLE_MS_MAX,
    })
    // A connection that breaks while nobody waits on it says so here, and only here. Without a
    // listener the event would end the process; the pool has already dropped the connection.
    this.#pool.on('error', (cause) => this.#reportBroken(cause))
    this.#pool.on('connect', (client) => client.on('error', (cause) => this.#reportBroken(cause)))
  }

  /** Runs one statement. Throws `StoreError`. */
  async query<Row>(text: string, values: readonly unknown[] = []): Promise<QueryResult<Row>> {
    return await this.#query({ text, values: [...values] })
  }

  /**
   * The same of a statement whose plan is worth keeping: one that is asked often and costs more to
   * plan than to run. `name` stands for its text, and for no other.
   */
  async queryOften<Row>(
    name: string,
    text: string,
    values: readonly unknown[],
  ): Promise<QueryResult<Row>> {
    return await this.#query({ ...(this.#keepsPlans && { name }), text, values: [...values] })
  }

  async #query<Row>(query: pg.QueryConfig): Promise<QueryResult<Row>> {
    try {
      return toResult<Row>(await this.#pool.query(query))
    } catch (cause) {
      throw toStoreError(cause)
    }
  }

  /**
   * Runs `fn` between BEGIN and COMMIT; whatever it throws rolls back and is rethrown unchanged.
   * Failures of the store are `StoreError`s, those of its queries too.
   */
  async transaction<T>(fn: (client: Queryable) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect().catch((cause) => Promise.reject(toStoreError(cause)))
    let broken = false
    const run = (text: string) =>
      client.query(text).catch((cause) => Promise.reject(toStoreError(cause)))
    try {
      await run('BEGIN')
      const value = await fn(new TransactionClient(client))
      const { command } = await run('COMMIT')
      // PostgreSQL answers ROLLBACK, without an error, when a statement failed and `fn` hid it.
      if (command !== 'COMMIT') throw new StoreError('other', 'transaction was rolled back')
      return value
    } catch (cause) {
      await client.query('ROLLBACK').catch(() => {
        broken = true // The server rolls back by itself when the connection goes.
      })
      throw cause
    } finally {
      client.release(broken)
    }
  }

  /**
   * A connected client for the caller alone, outside the pool; the caller calls `end()`. Its
   * errors are the driver's: map them with `toStoreError`. The deadlines apply to COPY too.
   */
  async connect(options: { queryMsMax?: number } = {}): Promise<PostgresClient> {
    const { queryMsMax } = options
    const client = new pg.Client({
      ...this.#config,
      ...(queryMsMax !== undefined && {
        statement_timeout: queryMsMax,
        query_timeout: queryMsMax + CLIENT_GRACE_MS,
      }),
    })
    client.on('error', (cause) => this.#reportBroken(cause))
    try {
      await client.connect()
      return client
    } catch (cause) {
      void client.end().catch(() => undefined) // It was never open; there is nothing to lose.
      throw toStoreError(cause)
    }
  }

  /** Resolves when the server answers. */
  async ping(): Promise<void> {
    await this.query('SELECT 1')
  }

  /** Waits for running statements, then closes all pooled connections. Safe to call twice. */
  async end(): Promise<void> {
    if (!this.#pool.ended) await this.#pool.end()
  }

  #reportBroken(cause: Error): void {
    const error = toStoreError(cause)
    this.#log.warn({ code: error.code, reason: error.message }, 'a PostgreSQL connection broke')
  }
}

class TransactionClient implements Queryable {
  readonly #client: pg.PoolClient

  constructor(client: pg.PoolClient) {
    this.#client = client
  }

  async query<Row>(text: string, values: readonly unknown[] = []): Promise<QueryResult<Row>> {
    try {
      return toResult<Row>(await this.#client.query(text, [...values]))
    } catch (cause) {
      throw toStoreError(cause)
    }
  }
}

/** Maps anything the driver threw. Passes a `StoreError` through. */
export function toStoreError(cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause
  const { message, code, constraint } = errorFields(cause)
  const kind = postgresKind(code, message)
  // Class 22 messages quote the offending value: `invalid input syntax for type integer: "…"`.
  const shown = code?.startsWith('22') === true ? 'a value was refused' : message
  return new StoreError(kind, `postgresql: ${shown}${code === undefined ? '' : ` (${code})`}`, {
    code,
    constraint,
  })
}

function postgresKind(code: string | undefined, message: string): StoreError['kind'] {
  if (code === '53100' || code === 'ENOSPC') return 'disk_full'
  if (/no space left on device/i.test(message)) return 'disk_full'
  if (code === '23505') return 'conflict'
  if (code === 'SL001') return 'lease_lost'
  if (code !== undefined) {
    if (UNREACHABLE_CODES.has(code) || UNAVAILABLE_STATES.has(code)) return 'unavailable'
    return code.startsWith('08') ? 'unavailable' : 'other'
  }
  return UNAVAILABLE_MESSAGE.test(message) ? 'unavailable' : 'other'
}

const UNAVAILABLE_STATES: ReadonlySet<string> = new Set([
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '57014', // query_canceled: the statement timeout
  '25P03', // idle_in_transaction_session_timeout
  '53300', // too_many_connections
  '40001', // serialization_failure
  '40P01', // deadlock_detected
])

/** Errors that the driver makes itself carry no code. */
const UNAVAILABLE_MESSAGE =
  /connection terminated|timeout|not queryable|connection error|client was closed|socket/i

function toResult<Row>(result: pg.QueryResult): QueryResult<Row> {
  return { rows: result.rows, rowCount: result.rowCount ?? 0 }
}

/** The driver lets `options` in the URL replace those of its configuration: we want both. */
function withSessionOptions(url: string): { connectionString: string; options: string } {
  const parsed = new URL(url)
  const own = parsed.searchParams.get('options')
  if (own === null) return { connectionString: url, options: SESSION_OPTIONS }
  parsed.searchParams.delete('options')
  // Of settings given twice the last one counts: the operator's.
  return { connectionString: parsed.href, options: `${SESSION_OPTIONS} ${own}` }
}

/** Node's error for a bad URL carries the URL, password included: it must not get out. */
function assertPostgresUrl(url: string): void {
  let protocol: string
  try {
    protocol = new URL(url).protocol
  } catch {
    throw new StoreError('other', 'the PostgreSQL URL is not a valid URL')
  }
  if (protocol !== 'postgres:' && protocol !== 'postgresql:') {
    throw new StoreError('other', 'the PostgreSQL URL must start with postgres://')
  }
}
