/**
 * One worker over all nodes: a session of PostgreSQL that holds an advisory lock.
 *
 * The worker changes PostgreSQL only within this session, so the lock and a transaction under way
 * end together: the next holder of the lock never meets a transaction of its predecessor.
 */
import { type Postgres, type PostgresClient, type Queryable, toStoreError } from './postgres.ts'

export interface WorkerLockOptions {
  /** Any number that nothing else of ours locks. */
  readonly key: string
  readonly statementMsMax: number
}

export class WorkerLock {
  readonly #postgres: Postgres
  readonly #options: WorkerLockOptions
  #client: PostgresClient | undefined
  #isHeld = false

  constructor(postgres: Postgres, options: WorkerLockOptions) {
    this.#postgres = postgres
    this.#options = options
  }

  /** Whether this process was the worker when it last looked. */
  get isHeld(): boolean {
    return this.#isHeld
  }

  /** True when this process is the worker now. Never waits for another one. Throws `StoreError`. */
  async tryHold(): Promise<boolean> {
    if (this.#isHeld) return true
    const client = await this.#connected()
    try {
      const { rows } = await client.query<{ got: boolean }>(
        'SELECT pg_try_advisory_lock($1) AS got',
        [this.#options.key],
      )
      this.#isHeld = rows[0]?.got === true && this.#client === client
      return this.#isHeld
    } catch (cause) {
      this.#drop(client)
      throw toStoreError(cause)
    }
  }

  /**
   * The session that holds the lock. After any failure the session is given up, and the lock with
   * it: only `tryHold` makes this process the worker again.
   */
  readonly session: Queryable = {
    query: async <Row>(text: string, values: readonly unknown[] = []) => {
      const client = this.#client
      if (client === undefined || !this.#isHeld) throw toStoreError(new Error('socket was closed'))
      try {
        const result = await client.query(text, [...values])
        return { rows: result.rows as Row[], rowCount: result.rowCount ?? 0 }
      } catch (cause) {
        this.#drop(client)
        throw toStoreError(cause)
      }
    },
  }

  /** Gives the lock up; another node gets it within its next round. */
  async stop(): Promise<void> {
    const client = this.#client
    this.#client = undefined
    this.#isHeld = false
    await client?.end().catch(() => undefined)
  }

  async #connected(): Promise<PostgresClient> {
    if (this.#client !== undefined) return this.#client
    const client = await this.#postgres.connect({ queryMsMax: this.#options.statementMsMax })
    client.on('end', () => this.#forget(client))
    this.#client = client
    return client
  }

  #forget(client: PostgresClient): void {
    if (this.#client !== client) return
    this.#client = undefined
    this.#isHeld = false
  }

  #drop(client: PostgresClient): void {
    this.#forget(client)
    void client.end().catch(() => undefined)
  }
}
