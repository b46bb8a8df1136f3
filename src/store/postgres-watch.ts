/**
 * Watches over one connection of its own whether PostgreSQL answers and takes writes, and which
 * server it is. When another one has taken its place, all connections to the former one are broken
 * at once: a server that vanished with its machine resets none, and its clients would wait for
 * their deadlines, half a minute and more.
 *
 * A server is told by when it was started. Whenever the connection had to be made anew, what a
 * process remembers of the database is compared with it (`whenMoved`): a server that crashed may
 * have lost commits as well, as its operator has set it up.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Postgres, type PostgresClient, type Queryable, toStoreError } from './postgres.ts'
import { socketOf } from './postgres-servers.ts'
import type { StoreLog } from './store-log.ts'

/** How long a server may take to say that it is there. */
export const LOOK_MS_MAX = 3_000

const LOOK = `SELECT pg_postmaster_start_time()::text AS started,
  extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::float8 AS age_s,
  pg_is_in_recovery() AS is_standby,
  current_setting('transaction_read_only') = 'on' AS is_read_only`

interface Looked {
  readonly started: string
  readonly age_s: number
  readonly is_standby: boolean
  readonly is_read_only: boolean
}

interface Listener {
  readonly call: (sql: Queryable) => Promise<void>
  isDue: boolean
}

export interface PostgresWatchOptions {
  /** Makes the connection of the watch. */
  readonly postgres: Postgres
  readonly log: StoreLog
  /** Whose connections are broken. */
  readonly all: () => readonly Postgres[]
}

export class PostgresWatch {
  readonly #options: PostgresWatchOptions
  #client: { readonly client: PostgresClient; readonly openedMs: number } | undefined
  #started: string | undefined
  /** When it was last known which server answers. */
  #askedMs = 0
  #hasMoved = false
  readonly #listeners: Listener[] = []
  #isStopped = false

  constructor(options: PostgresWatchOptions) {
    this.#options = options
  }

  /** What is wrong with PostgreSQL, if anything. Never rejects; ends within some seconds. */
  async look(): Promise<string | undefined> {
    if (this.#client !== undefined) {
      const looked = await this.#ask()
      if (looked !== undefined && !looked.is_read_only) {
        this.#askedMs = performance.now()
        return await this.#tell()
      }
      // It broke, or there may be a better server by now.
      this.#drop()
      this.#options.postgres.suspect()
    }
    await this.#connect()
    const looked = await this.#ask()
    if (looked === undefined) return 'it does not answer'
    if (looked.is_standby) return 'it is a standby and takes no writes'
    if (looked.is_read_only) return 'it is read-only'
    return await this.#take(looked)
  }

  /**
   * Called when the server was away or another one answers, with a connection to it, also when that
   * was before the call; again with the next look when it rejects.
   */
  whenMoved(listener: (sql: Queryable) => Promise<void>): void {
    this.#listeners.push({ call: listener, isDue: this.#hasMoved })
  }

  stop(): void {
    this.#isStopped = true
    this.#drop()
  }

  async #connect(): Promise<void> {
    const openedMs = performance.now()
    const { postgres } = this.#options
    const client = await postgres.connect({ queryMsMax: LOOK_MS_MAX }).catch(() => undefined)
    if (client === undefined) return
    this.#client = { client, openedMs }
    if (this.#isStopped) this.#drop()
  }

  /** Undefined when there is no answer. */
  async #ask(): Promise<Looked | undefined> {
    const client = this.#client?.client
    if (client === undefined) return undefined
    const ended = new AbortController()
    const late = sleep(LOOK_MS_MAX, undefined, { signal: ended.signal }).catch(() => undefined)
    const answered = client.query<Looked>(LOOK).then(
      ({ rows }) => rows[0],
      () => undefined,
    )
    const looked = await Promise.race([answered, late])
    ended.abort()
    if (looked === undefined) this.#drop()
    return looked
  }

  /** A new connection is to a server that takes writes. */
  async #take({ started, age_s: ageS }: Looked): Promise<string | undefined> {
    const { all, log } = this.#options
    const former = this.#started
    this.#started = started
    const askedMs = this.#askedMs
    this.#askedMs = performance.now()
    if (former === undefined) return undefined
    if (former !== started) {
      log.warn({ started }, 'PostgreSQL was restarted, or another server has taken its place')
      // Of a server that has just started, connections that are younger than it are to it.
      const startedMs = this.#askedMs - ageS * 1_000
      const openedMs = startedMs > askedMs ? startedMs : (this.#client?.openedMs ?? 0)
      for (const postgres of all()) postgres.dropOpenedBefore(openedMs)
    }
    this.#hasMoved = true
    for (const listener of this.#listeners) listener.isDue = true
    return await this.#tell()
  }

  async #tell(): Promise<string | undefined> {
    try {
      for (const listener of this.#listeners) {
        if (!listener.isDue) continue
        await listener.call(this.#sql)
        listener.isDue = false
      }
      return undefined
    } catch (cause) {
      return toStoreError(cause).message
    }
  }

  /** The watch's connection; any failure ends it. */
  readonly #sql: Queryable = {
    query: async <Row>(text: string, values: readonly unknown[] = []) => {
      try {
        const client = this.#client?.client
        if (client === undefined) throw new Error('socket was closed')
        const { rows, rowCount } = await client.query(text, [...values])
        return { rows: rows as Row[], rowCount: rowCount ?? 0 }
      } catch (cause) {
        this.#drop()
        throw toStoreError(cause)
      }
    },
  }

  #drop(): void {
    const client = this.#client?.client
    this.#client = undefined
    if (client !== undefined) socketOf(client).destroy()
  }
}
