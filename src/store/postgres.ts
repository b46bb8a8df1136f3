/**
 * PostgreSQL: a pool, transactions and dedicated clients, with every wait bounded and every
 * failure a `StoreError`. All connections are to the server that takes writes
 * (`postgres-servers.ts`); one that says it is read-only is not used again.
 *
 * `bigint` columns come back as decimal strings (the driver's default): most are counters that the
 * caller turns into `Number`, ids are turned into `BigInt` where they are read.
 */
import pg from 'pg'
import { READ_ONLY, toStoreError } from './postgres-error.ts'
import { PostgresServers } from './postgres-servers.ts'
import { type PostgresUrl, parsePostgresUrl } from './postgres-url.ts'
import { StoreError } from './store-error.ts'
import type { StoreLog } from './store-log.ts'

export { toStoreError } from './postgres-error.ts'

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
  /** Of one server or several, see `postgres-url.ts`; never shown in a message. */
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
 * A server that vanished without a word, with its machine, sends no reset. The kernel asks for a
 * sign of life after this long, then every second, and gives up after ten.
 */
const KEEP_ALIVE_MS = 5_000
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
  readonly #servers: PostgresServers
  readonly #log: StoreLog
  readonly #keepsPlans: boolean

  constructor(options: PostgresOptions) {
    const statementMsMax = options.statementMsMax ?? STATEMENT_MS_MAX_DEFAULT
    const url = parsePostgresUrl(options.url)
    this.#log = options.log
    this.#keepsPlans = options.keepsPlans ?? false
    this.#config = {
      ...withSessionOptions(url.url),
      application_name: 'sluice',
      connectionTimeoutMillis: options.connectMsMax ?? connectMsMaxOf(url),
      statement_timeout: statementMsMax,
      idle_in_transaction_session_timeout: statementMsMax,
      query_timeout: statementMsMax + CLIENT_GRACE_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    }
    this.#servers = new PostgresServers(url, this.#config)
    this.#pool = new pg.Pool({
      ...this.#config,
      Client: this.#servers.Client,
      max: options.connectionsMax ?? CONNECTIONS_MAX_DEFAULT,
      idleTimeoutMillis: POOL_IDLE_MS_MAX,
    })
    // A connection that breaks while nobody waits on it says so to the pool, which drops it, and to
    // us. Without listeners for both the event would end the process.
    this.#pool.on('error', () => undefined)
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
      throw this.#toError(cause)
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
      client.query(text).catch((cause) => Promise.reject(this.#toError(cause)))
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
      if (isReadOnly(cause)) {
        broken = true
        this.#servers.suspect()
      }
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
    const client = new this.#servers.Client({
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

  /** The server in use does not answer: the next connection looks for the right one anew. */
  suspect(): void {
    this.#servers.suspect()
  }

  /**
   * Breaks every connection that was opened before, by `performance.now()`: its server is not the
   * right one any more, or gone without a word. Who waits for an answer there hears of it now.
   */
  dropOpenedBefore(ms: number): void {
    this.#servers.suspect()
    this.#servers.dropOpenedBefore(ms)
  }

  /** Waits for running statements, then closes all pooled connections. Safe to call twice. */
  async end(): Promise<void> {
    if (!this.#pool.ended) await this.#pool.end()
  }

  #toError(cause: unknown): StoreError {
    if (isReadOnly(cause)) this.#servers.suspect()
    return toStoreError(cause)
  }

  #reportBroken(cause: Error): void {
    this.#servers.suspect()
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

/** Of an error of the driver or of our own. */
function isReadOnly(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === READ_ONLY
}

function toResult<Row>(result: pg.QueryResult): QueryResult<Row> {
  return { rows: result.rows, rowCount: result.rowCount ?? 0 }
}

/** Of several servers the right one is looked for, and then connected to. */
function connectMsMaxOf({ servers, connectMsMax }: PostgresUrl): number {
  if (servers.length === 0) return connectMsMax ?? CONNECT_MS_MAX_DEFAULT
  return Math.max(CONNECT_MS_MAX_DEFAULT, 3 * (connectMsMax ?? 0))
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
