/**
 * ClickHouse over HTTP: the embedded engine, a server or a cluster, all the same to us. Every
 * request has a deadline and every failure is a `StoreError` with ClickHouse's own number. A query
 * that says how long it may take (`max_execution_time`) has that from us, too: a server that hangs
 * does not look at its own clock.
 */
import { Readable } from 'node:stream'
import {
  type ClickHouseClient,
  ClickHouseError,
  ClickHouseLogLevel,
  type ClickHouseSettings,
  createClient,
} from '@clickhouse/client'
import { parseClickHouseUrl } from './clickhouse-address.ts'
import { BAD_DATA_CODES, DISK_FULL_CODES, THROW_IF, UNAVAILABLE_CODES } from './clickhouse-codes.ts'
import { type ClickHouseHost, ClickHouseHosts } from './clickhouse-hosts.ts'
import type { ClickHousePlace } from './clickhouse-place.ts'
import { chooseReplicas } from './clickhouse-replicas.ts'
import { EmbeddedQueries } from './embedded-query.ts'
import { bufferViews, InsertSpool, joinSmall, tryFillSpool } from './insert-spool.ts'
import { DATA_FILE_HEADER, type MemoryFiles } from './memory-files.ts'
import { parseAnswer, type QueryAnswer } from './query-answer.ts'
import { QueryDeadline } from './query-deadline.ts'
import { CLUSTER_SETTINGS, SERVER_SETTINGS } from './server-settings.ts'
import { errorFields, StoreError, UNREACHABLE_CODES } from './store-error.ts'
import { LANE_HEADER, type StoreLane } from './store-lane.ts'

export type QueryParams = Readonly<Record<string, unknown>>
export type QuerySettings = ClickHouseSettings

export interface ClickHouseOptions {
  /** See `clickhouse-address.ts`; never shown in a message. */
  readonly url: string
  /** Where there are several servers: any of them is asked. Else the URL's own one. */
  readonly hosts?: ClickHouseHosts | undefined
  /** The projection is on the shards of this cluster. */
  readonly cluster?: string | undefined
  /** Of tables that are made. */
  readonly storagePolicy?: string | undefined
  /** All hosts are replicas of one shard, which alone is meant. */
  readonly isOneShard?: boolean
  readonly requestMsMax?: number
  readonly connectionsMax?: number
  /** The lane of its requests; without one, each request's statement decides. */
  readonly lane?: StoreLane
  /**
   * For the embedded engine, which can read our files: the data of an INSERT is handed over in a
   * file and not sent.
   */
  readonly dataFiles?: MemoryFiles | undefined
}

export interface InsertOptions extends RequestOptions {
  /** Called with the connection in hand, before the first byte: what it throws ends the insert. */
  readonly beforeSend?: (() => Promise<void>) | undefined
}

export interface RequestOptions {
  readonly queryId?: string
  readonly settings?: QuerySettings
  readonly signal?: AbortSignal
  /** Receives the server's statistics about its work, when it sends them. */
  readonly onStats?: (stats: EngineStats) => void
}

interface QueryCall {
  readonly settings: QuerySettings
  readonly queryId: string | undefined
  readonly deadline: QueryDeadline
}

export interface EngineStats {
  readonly rowsRead: number
  /** The engine's own time. */
  readonly engineMs: number
}

const REQUEST_MS_MAX_DEFAULT = 60_000
const CONNECTIONS_MAX_DEFAULT = 8
/**
 * Of a statement that is a field of a form, beside long parameters: a server takes fields of up to
 * `http_max_field_value_size`, 128 KiB by default. A longer one is the body itself, and its
 * parameters are in the URL, where a megabyte has room.
 */
const FORM_STATEMENT_BYTES_MAX = 127 * 1024

export class ClickHouse {
  readonly place: ClickHousePlace
  readonly #hosts: ClickHouseHosts
  readonly #clients = new Map<ClickHouseHost, ClickHouseClient>()
  readonly #makeClient: (url: string) => ClickHouseClient
  /** Of the embedded engine. */
  readonly #embedded: EmbeddedQueries | undefined
  readonly #dataFiles: MemoryFiles | undefined
  readonly #requestMsMax: number
  #settings: () => QuerySettings = () => ({})

  constructor(options: ClickHouseOptions) {
    const connectionsMax = options.connectionsMax ?? CONNECTIONS_MAX_DEFAULT
    const { url, agent, database, socket } = parseClickHouseUrl(options.url, connectionsMax)
    const { lane, cluster, storagePolicy, isOneShard = false } = options
    this.place = { database, cluster, storagePolicy, isOneShard }
    this.#hosts = options.hosts ?? new ClickHouseHosts([url])
    this.#embedded = socket && new EmbeddedQueries(socket, { connectionsMax, lane })
    this.#dataFiles = options.dataFiles
    this.#requestMsMax = options.requestMsMax ?? REQUEST_MS_MAX_DEFAULT
    const clusterSettings = cluster === undefined ? {} : CLUSTER_SETTINGS
    const settings = socket === undefined ? { ...SERVER_SETTINGS, ...clusterSettings } : undefined
    this.#makeClient = (hostUrl) => {
      return createClient({
        url: parseClickHouseUrl(hostUrl, connectionsMax).url,
        ...(agent && { http_agent: agent }),
        request_timeout: this.#requestMsMax,
        max_open_connections: connectionsMax,
        application: 'sluice',
        ...(settings && { clickhouse_settings: settings }),
        // Parameters go into the URL when they are short, else into the body: URLs have a bound.
        use_multipart_params_auto: true,
        ...(lane && { http_headers: { [LANE_HEADER]: lane } }),
        log: { level: ClickHouseLogLevel.OFF },
      })
    }
  }

  /** Where the projection's tables are; a name that needs no quotes. */
  get database(): string {
    return this.place.database
  }

  /** What queries from now on begin with, asked for each; their own settings replace it. */
  setDefaults(settings: () => QuerySettings): void {
    this.#settings = settings
  }

  /**
   * Rows of a SELECT written without FORMAT; `params` fill `{name:Type}`. 64-bit integers are
   * strings or numbers as `output_format_json_quote_64bit_integers` says (default: numbers; ask
   * for `toString` or that setting when they may pass 2^53).
   */
  async query<Row>(
    sql: string,
    params?: QueryParams,
    settings?: QuerySettings,
    options?: RequestOptions,
  ): Promise<Row[]> {
    // The server sends nothing until the answer is complete, so a failure half-way is an error with
    // a code and not a broken body. Our results are small.
    const all: QuerySettings = {
      wait_end_of_query: 1,
      ...chooseReplicas(this.#hosts.hosts).settings,
      ...this.#settings(),
      ...settings,
      ...options?.settings,
    }
    const deadline = new QueryDeadline(all, options?.signal)
    try {
      const call = { settings: all, queryId: options?.queryId, deadline }
      const ask = (host: ClickHouseHost) => this.#ask<Row>(host, sql, params ?? {}, call)
      const { data, statistics } = await this.#onAnyHost(ask, deadline.signal)
      options?.onStats?.(toStats(statistics))
      return data
    } catch (cause) {
      throw deadline.error ?? toStoreError(cause)
    } finally {
      deadline.end()
    }
  }

  /** Asks the next host where one is away: for what may be asked twice. */
  async #onAnyHost<T>(
    ask: (host: ClickHouseHost) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const [first, ...others] = [this.#hosts.first, ...this.#hosts.others]
    for (let host = first; ; ) {
      try {
        return await ask(host)
      } catch (cause) {
        const isGone = this.#judge(host, cause) || host.isAway
        const next = isGone && signal?.aborted !== true ? others.shift() : undefined
        if (next === undefined) throw cause
        host = next
      }
    }
  }

  /** Whether it was not reached. One that refuses connections is away until it answers a probe. */
  #judge(host: ClickHouseHost, cause: unknown): boolean {
    const { code = '' } = errorFields(cause)
    if (host.isWatched && code === 'ECONNREFUSED') host.report(true)
    return UNREACHABLE_CODES.has(code)
  }

  #client(host: ClickHouseHost): ClickHouseClient {
    const known = this.#clients.get(host)
    if (known !== undefined) return known
    const client = this.#makeClient(host.url)
    this.#clients.set(host, client)
    return client
  }

  /** `run` gets a signal that ends with the given one, and when the host is found away. */
  async #within<T>(
    host: ClickHouseHost,
    given: AbortSignal | undefined,
    run: (signal: AbortSignal | undefined) => Promise<T>,
  ): Promise<T> {
    if (!host.isWatched || host.isAway) return await run(given)
    const { signal, release } = host.signalWith(given)
    try {
      return await run(signal)
    } finally {
      release()
    }
  }

  async #ask<Row>(
    host: ClickHouseHost,
    sql: string,
    params: QueryParams,
    call: QueryCall,
  ): Promise<QueryAnswer<Row>> {
    const { settings, queryId, deadline } = call
    if (this.#embedded !== undefined) {
      const [requestMsMax, { signal }] = [this.#requestMsMax, deadline]
      return this.#embedded.run({ sql, params, settings, queryId, signal, requestMsMax })
    }
    const isLong = Buffer.byteLength(sql) > FORM_STATEMENT_BYTES_MAX
    return this.#within(host, deadline.signal, async (signal) => {
      const result = await this.#client(host).query({
        query: sql,
        ...(isLong && { use_multipart_params_auto: false }),
        format: 'JSON',
        query_params: { ...params },
        clickhouse_settings: settings,
        ...requestFields({ queryId, ...(signal && { signal }) }),
      })
      deadline.watch(result)
      return parseAnswer(await result.text())
    })
  }

  /** Runs a statement that returns no rows; resolves when it has taken effect. */
  async command(sql: string, params?: QueryParams, options?: RequestOptions): Promise<void> {
    const run = (host: ClickHouseHost) => {
      return this.#within(host, options?.signal, async (signal) => {
        await this.#client(host).command({
          query: sql,
          ...(params && { query_params: params }),
          clickhouse_settings: { wait_end_of_query: 1, ...options?.settings },
          ...requestFields({ ...options, ...(signal && { signal }) }),
        })
      })
    }
    try {
      await this.#onAnyHost(run, options?.signal)
    } catch (cause) {
      throw toStoreError(cause)
    }
  }

  /** A file for the data of one `insertNative`; undefined where data has to be sent. */
  tryOpenSpool(): InsertSpool | undefined {
    const files = this.#dataFiles
    const file = files?.tryTake()
    return files && file && new InsertSpool(files, file)
  }

  /**
   * Sends Native blocks with `sql` (`INSERT INTO db.t (…) FORMAT Native`). The chunks are
   * streamed one after another, small ones copied together as they are sent. Resolves when
   * ClickHouse has stored them; on an `unavailable` error it may or may not have.
   */
  async insertNative(
    sql: string,
    chunks: readonly Uint8Array[] | InsertSpool,
    options?: InsertOptions,
  ): Promise<void> {
    const isSpooled = chunks instanceof InsertSpool
    const spool = isSpooled ? chunks : await tryFillSpool(this.tryOpenSpool(), chunks)
    const file = spool?.finish()
    const host = this.#hosts.first
    const send = async (signal: AbortSignal | undefined) => {
      const values = isSpooled || spool !== undefined ? [] : bufferViews(joinSmall(chunks))
      const { stream } = await this.#client(host).exec({
        query: sql,
        // The client asks for the first piece once it has a connection, and sends nothing before.
        values: Readable.from(piecesAfter(options?.beforeSend, values), { objectMode: false }),
        // Servers' defaults for this differ: we want one part, stored before the answer comes.
        clickhouse_settings: { async_insert: 0, ...options?.settings },
        ...(file && { http_headers: { [DATA_FILE_HEADER]: file.sharedPath } }),
        ...requestFields({ ...options, ...(signal && { signal }) }),
      })
      // The connection is returned only when the answer (it is empty) was read to its end.
      for await (const _chunk of stream);
    }
    try {
      await this.#within(host, options?.signal, send)
    } catch (cause) {
      spool?.abandon()
      this.#judge(host, cause)
      throw toStoreError(cause, true)
    }
    spool?.release()
  }

  /** Throws `StoreError` while rows cannot be read without a replica that may lack some. */
  assertSettled(): void {
    const chosen = chooseReplicas(this.#hosts.hosts)
    if (chosen.settings !== undefined) return
    const text = `${chosen.behind} has just come back, or has no session with Keeper`
    throw new StoreError('unavailable', `clickhouse: ${text}: it may lack events`)
  }

  /** Resolves when the server answers and accepts our credentials. */
  async ping(): Promise<void> {
    await this.query('SELECT 1 AS one')
  }

  async close(): Promise<void> {
    this.#embedded?.close()
    for (const client of this.#clients.values()) await client.close()
    this.#dataFiles?.close()
  }
}

async function* piecesAfter(
  isReady: (() => Promise<void>) | undefined,
  pieces: Iterable<Buffer>,
): AsyncGenerator<Buffer> {
  await isReady?.()
  yield* pieces
}

function toStats({
  rows_read: rowsRead = 0,
  elapsed = 0,
}: QueryAnswer<unknown>['statistics'] = {}) {
  return { rowsRead, engineMs: elapsed * 1_000 }
}

function requestFields(options: RequestOptions | undefined) {
  return {
    ...(options?.queryId !== undefined && { query_id: options.queryId }),
    ...(options?.signal && { abort_signal: options.signal }),
  }
}

function toStoreError(cause: unknown, isInsert = false): StoreError {
  if (cause instanceof StoreError) return cause
  const { message, code } = errorFields(cause)
  if (cause instanceof ClickHouseError) {
    const number = Number(cause.code)
    const kind = isInsert ? insertKind(number) : clickHouseKind(number)
    // ClickHouse's text quotes the value that it could not store.
    const text = kind === 'bad_data' ? 'the data cannot be stored' : message.trim()
    const shown = `clickhouse: ${text} (${number} ${cause.type ?? ''})`
    return new StoreError(kind, shown, {
      code,
      clickHouseCode: number,
      clickHouseName: cause.type,
    })
  }
  const away = code !== undefined ? UNREACHABLE_CODES.has(code) : UNAVAILABLE_MESSAGE.test(message)
  return new StoreError(away ? 'unavailable' : 'other', `clickhouse: ${message}`, { code })
}

function clickHouseKind(number: number): StoreError['kind'] {
  if (DISK_FULL_CODES.has(number)) return 'disk_full'
  return UNAVAILABLE_CODES.has(number) ? 'unavailable' : 'other'
}

function insertKind(number: number): StoreError['kind'] {
  if (BAD_DATA_CODES.has(number)) return 'bad_data'
  return number === THROW_IF ? 'unavailable' : clickHouseKind(number) // It came too late.
}

const UNAVAILABLE_MESSAGE = /timeout|socket hang up|aborted|premature close|request was closed/i
