/**
 * Which of a PostgreSQL's servers takes writes, and connections to that one only.
 *
 * All of the URL's servers are asked at once, each for a bounded time; the first that takes writes
 * is remembered, until a connection to it fails or it says that it is read-only. What a server is,
 * it says by itself when a connection begins (`in_hot_standby`, since PostgreSQL 14), so asking
 * costs no round trip; behind a pooler, which does not pass that on, a query asks.
 *
 * Subtle: the driver chooses server and socket when a client is made, but uses them when it
 * connects. So our client looks for the server in `connect`, and the driver's pool knows nothing.
 */
import pg from 'pg'
import { toStoreError } from './postgres-error.ts'
import {
  nameOfServer,
  type PostgresServer,
  type PostgresUrl,
  type SessionAttrs,
} from './postgres-url.ts'
import { StoreError } from './store-error.ts'

/** How long one of several servers may take to answer. */
export const SERVER_MS_MAX = 3_000

type Connected = (error: Error | null) => void

export class PostgresServers {
  readonly #url: PostgresUrl
  readonly #config: pg.ClientConfig
  readonly #serverMsMax: number
  /** Connections and since when they are open, by the monotonic clock. */
  readonly #open = new Map<pg.Client, number>()
  #good: PostgresServer | undefined
  #finding: Promise<PostgresServer> | undefined

  /** `config`: what connections are made with. */
  constructor(url: PostgresUrl, config: pg.ClientConfig) {
    this.#url = url
    this.#config = config
    this.#serverMsMax = url.connectMsMax ?? SERVER_MS_MAX
  }

  /** How long a connection to one server of several may take; undefined for the only one. */
  get connectMsMax(): number | undefined {
    return this.#url.servers.length > 0 ? this.#serverMsMax : undefined
  }

  /** The driver's client, which connects to the server that takes writes. */
  get Client(): typeof pg.Client {
    return clientOf(this)
  }

  /** The remembered server may not be the right one any more: the next connection looks anew. */
  suspect(): void {
    this.#good = undefined
  }

  /** Breaks connections that were opened before, whatever they wait for. */
  dropOpenedBefore(ms: number): void {
    for (const [client, openedMs] of this.#open) {
      if (openedMs < ms) socketOf(client).destroy()
    }
  }

  /** Points a client to the server, lets it connect, and checks that the server is right. */
  async enter(client: pg.Client, connect: () => Promise<unknown>): Promise<void> {
    const openedMs = performance.now()
    try {
      if (this.#url.servers.length > 0) Object.assign(client, await this.#find())
      // The pool gave up meanwhile; a socket that was destroyed would connect all the same.
      if (socketOf(client).destroyed) throw new Error('timeout expired')
      await connectTo(client, this.#url.sessionAttrs, connect)
    } catch (cause) {
      this.suspect()
      void client.end().catch(() => undefined) // There is nothing to lose.
      throw cause
    }
    this.#open.set(client, openedMs)
    client.once('end', () => this.#open.delete(client))
  }

  #find(): Promise<PostgresServer> {
    if (this.#good !== undefined) return Promise.resolve(this.#good)
    this.#finding ??= this.#search().finally(() => {
      this.#finding = undefined
    })
    return this.#finding
  }

  async #search(): Promise<PostgresServer> {
    const refusals = new Map<PostgresServer, StoreError>()
    const probes = this.#url.servers.map(async (server) => {
      await this.#probe(server).catch((cause: unknown) => {
        refusals.set(server, toStoreError(cause))
        throw cause
      })
      return server
    })
    try {
      this.#good = await Promise.any(probes)
      return this.#good
    } catch {
      throw noneOf(this.#url.servers, refusals)
    }
  }

  async #probe(server: PostgresServer): Promise<void> {
    const ms = this.#serverMsMax
    const limits = { connectionTimeoutMillis: ms, statement_timeout: ms, query_timeout: ms }
    const client = new pg.Client({ ...this.#config, ...limits })
    client.on('error', () => undefined) // It reaches whoever waits; later nobody does.
    Object.assign(client, server)
    try {
      await connectTo(client, this.#url.sessionAttrs, () => client.connect())
    } finally {
      void client.end().catch(() => undefined)
    }
  }
}

/** An error that no other server would cure, such as a wrong password, counts more. */
function noneOf(
  servers: readonly PostgresServer[],
  refusals: ReadonlyMap<PostgresServer, StoreError>,
): StoreError {
  const reasons = servers.map((server) => {
    const reason = refusals.get(server)?.message.replace(/^postgresql: /, '')
    return `${nameOfServer(server)}: ${reason}`
  })
  const isAway = [...refusals.values()].every(({ retryable }) => retryable)
  const text = `postgresql: no server takes connections to write (${reasons.join('; ')})`
  return new StoreError(isAway ? 'unavailable' : 'other', text)
}

function clientOf(servers: PostgresServers): typeof pg.Client {
  return class extends pg.Client {
    constructor(config: pg.ClientConfig) {
      const { connectMsMax = config.connectionTimeoutMillis } = servers
      super({ ...config, connectionTimeoutMillis: connectMsMax })
      // Between the driver's connect and the end of ours nobody else listens.
      this.on('error', () => undefined)
    }

    override connect(): Promise<pg.Client>
    override connect(callback: Connected): void
    override connect(callback?: Connected): Promise<pg.Client> | undefined {
      const entered = servers.enter(this, () => super.connect())
      if (callback === undefined) return entered.then(() => this)
      entered.then(() => callback(null), callback)
      return undefined
    }
  }
}

/** What a server says about itself when a connection begins. */
interface Told {
  in_hot_standby?: string
  default_transaction_read_only?: string
}

async function connectTo(
  client: pg.Client,
  attrs: SessionAttrs,
  connect: () => Promise<unknown>,
): Promise<void> {
  const told: Told = {}
  connectionOf(client).on('parameterStatus', ({ parameterName, parameterValue }) => {
    Object.assign(told, { [parameterName]: parameterValue })
  })
  await connect()
  if (attrs === 'any') return
  const reason = await reasonAgainst(client, attrs, told)
  if (reason !== undefined) throw new StoreError('unavailable', `postgresql: ${reason}`)
}

async function reasonAgainst(
  client: pg.Client,
  attrs: SessionAttrs,
  { in_hot_standby: standby, default_transaction_read_only: readOnly }: Told,
): Promise<string | undefined> {
  let [isStandby, isReadOnly] = [standby === 'on', readOnly === 'on']
  if (standby === undefined || readOnly === undefined) {
    const { rows } = await client.query<{ standby: boolean; read_only: boolean }>(
      `SELECT pg_is_in_recovery() AS standby,
        current_setting('transaction_read_only') = 'on' AS read_only`,
    )
    isStandby = rows[0]?.standby === true
    isReadOnly = rows[0]?.read_only === true
  }
  if (isStandby) return 'it is a standby'
  return isReadOnly && attrs === 'read-write' ? 'it is read-only' : undefined
}

interface DriverConnection {
  readonly stream: { destroy(): void; readonly destroyed: boolean }
  on(
    event: 'parameterStatus',
    listener: (message: { parameterName: string; parameterValue: string }) => void,
  ): void
}

/** Private by documentation only. */
function connectionOf(client: pg.Client): DriverConnection {
  return (client as unknown as { connection: DriverConnection }).connection
}

/** The socket of a client, to end it at once. */
export function socketOf(client: pg.Client): DriverConnection['stream'] {
  return connectionOf(client).stream
}
