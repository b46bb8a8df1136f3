/**
 * ClickHouse over HTTP: the embedded engine, a server or a cluster, all the same to us. Every
 * request has a deadline and every failure is a `StoreError` with ClickHouse's own number. A query
 * that says how long it may take (`max_execution_time`) has that from us, too: a server that hangs
 * does not look at its own clock.
 */
import { Readable } from 'node:stream'
import { setImmediate as immediate } from 'node:timers/promises'
import {
  type ClickHouseClient,
  ClickHouseError,
  ClickHouseLogLevel,
  type ClickHouseSettings,
  createClient,
} from '@clickhouse/client'
import { parseClickHouseUrl } from './clickhouse-address.ts'
import { BAD_DATA_CODES, DISK_FULL_CODES, UNAVAILABLE_CODES } from './clickhouse-codes.ts'
import { EmbeddedQueries } from './embedded-query.ts'
import { DATA_FILE_HEADER, type MemoryFile, type MemoryFiles } from './memory-files.ts'
import { parseAnswer, type QueryAnswer } from './query-answer.ts'
import { QueryDeadline } from './query-deadline.ts'
import { SERVER_SETTINGS } from './server-settings.ts'
import { errorFields, StoreError, UNREACHABLE_CODES } from './store-error.ts'
import { LANE_HEADER, type StoreLane } from './store-lane.ts'

export type QueryParams = Readonly<Record<string, unknown>>
export type QuerySettings = ClickHouseSettings

export interface ClickHouseOptions {
  /** See `clickhouse-address.ts`; never shown in a message. */
  readonly url: string
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
  /** Where the projection's tables are; a name that needs no quotes. */
  readonly database: string
  readonly #client: ClickHouseClient
  /** Of the embedded engine. */
  readonly #embedded: EmbeddedQueries | undefined
  readonly #dataFiles: MemoryFiles | undefined
  readonly #requestMsMax: number
  #settings: () => QuerySettings = () => ({})

  constructor(options: ClickHouseOptions) {
    const connectionsMax = options.connectionsMax ?? CONNECTIONS_MAX_DEFAULT
    const { url, agent, database, socket } = parseClickHouseUrl(options.url, connectionsMax)
    const { lane } = options
    this.database = database
    this.#embedded = socket && new EmbeddedQueries(socket, { connectionsMax, lane })
    this.#dataFiles = options.dataFiles
    this.#requestMsMax = options.requestMsMax ?? REQUEST_MS_MAX_DEFAULT
    this.#client = createClient({
      url,
      ...(agent && { http_agent: agent }),
      request_timeout: this.#requestMsMax,
      max_open_connections: connectionsMax,
      application: 'sluice',
      ...(socket === undefined && { clickhouse_settings: SERVER_SETTINGS }),
      // Parameters go into the URL when they are short, else into the body: URLs have a bound.
      use_multipart_params_auto: true,
      ...(lane && { http_headers: { [LANE_HEADER]: lane } }),
      log: { level: ClickHouseLogLevel.OFF },
    })
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
      ...this.#settings(),
      ...settings,
      ...options?.settings,
    }
    const deadline = new QueryDeadline(all, options?.signal)
    try {
      const { data, statistics } = await this.#ask<Row>(sql, params ?? {}, {
        settings: all,
        queryId: options?.queryId,
        deadline,
      })
      options?.onStats?.(toStats(statistics))
      return data
    } catch (cause) {
      throw deadline.error ?? toStoreError(cause)
    } finally {
      deadline.end()
    }
  }

  async #ask<Row>(sql: string, params: QueryParams, call: QueryCall): Promise<QueryAnswer<Row>> {
    const { settings, queryId, deadline } = call
    const { signal } = deadline
    if (this.#embedded !== undefined) {
      const requestMsMax = this.#requestMsMax
      return this.#embedded.run({ sql, params, settings, queryId, signal, requestMsMax })
    }
    const isLong = Buffer.byteLength(sql) > FORM_STATEMENT_BYTES_MAX
    const result = await this.#client.query({
      query: sql,
      ...(isLong && { use_multipart_params_auto: false }),
      format: 'JSON',
      query_params: { ...params },
      clickhouse_settings: settings,
      ...requestFields({ queryId, signal }),
    })
    deadline.watch(result)
    return parseAnswer(await result.text())
  }

  /** Runs a statement that returns no rows; resolves when it has taken effect. */
  async command(sql: string, params?: QueryParams, options?: RequestOptions): Promise<void> {
    try {
      await this.#client.command({
        query: sql,
        ...(params && { query_params: params }),
        clickhouse_settings: { wait_end_of_query: 1, ...options?.settings },
        ...requestFields(options),
      })
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
    options?: RequestOptions,
  ): Promise<void> {
    const isSpooled = chunks instanceof InsertSpool
    const spool = isSpooled ? chunks : await tryFill(this.tryOpenSpool(), chunks)
    const file = spool?.finish()
    try {
      const values = isSpooled || spool !== undefined ? [] : bufferViews(joinSmall(chunks))
      const { stream } = await this.#client.exec({
        query: sql,
        values: Readable.from(values, { objectMode: false }),
        // Servers' defaults for this differ: we want one part, stored before the answer comes.
        clickhouse_settings: { async_insert: 0, ...options?.settings },
        ...(file && { http_headers: { [DATA_FILE_HEADER]: file.sharedPath } }),
        ...requestFields(options),
      })
      // The connection is returned only when the answer (it is empty) was read to its end.
      for await (const _chunk of stream);
    } catch (cause) {
      spool?.abandon()
      throw toStoreError(cause, true)
    }
    spool?.release()
  }

  /** Resolves when the server answers and accepts our credentials. */
  async ping(): Promise<void> {
    await this.query('SELECT 1 AS one')
  }

  async close(): Promise<void> {
    this.#embedded?.close()
    await this.#client.close()
    this.#dataFiles?.close()
  }
}

/** The data of one INSERT, in a file that the embedded engine reads. */
export class InsertSpool {
  readonly #files: MemoryFiles
  readonly #file: MemoryFile
  #isBroken = false
  #isOver = false

  constructor(files: MemoryFiles, file: MemoryFile) {
    this.#files = files
    this.#file = file
  }

  get bytes(): number {
    return this.#file.bytes
  }

  /**
   * Returns where the first piece begins. Throws the system's error when there is no space; the
   * spool is then unusable.
   */
  append(pieces: readonly Uint8Array[]): number {
    const start = this.#file.bytes
    try {
      this.#file.appendAll(pieces)
      return start
    } catch (cause) {
      this.#isBroken = true
      throw cause
    }
  }

  /** Fills `into` with what was appended, from `start` on; false when the spool has ended. */
  tryRead(start: number, into: Uint8Array): boolean {
    if (this.#isOver) return false
    this.#file.read(start, into)
    return true
  }

  finish(): MemoryFile {
    this.#file.finish()
    return this.#file
  }

  /** Precondition: nobody reads it any more. */
  release(): void {
    if (this.#isBroken) return this.abandon()
    this.#isOver = true
    this.#files.give(this.#file)
  }

  /** Ends it where the engine may still be reading the file, which must not be used again. */
  abandon(): void {
    this.#isOver = true
    this.#file.close()
  }
}

/** Bytes that are copied before other work gets a turn. */
const FILL_BYTES = 2 * 1024 * 1024

/** The spool with the chunks in it; undefined when there is no space, so they must be sent. */
async function tryFill(
  spool: InsertSpool | undefined,
  chunks: readonly Uint8Array[],
): Promise<InsertSpool | undefined> {
  if (spool === undefined) return undefined
  try {
    let first = 0
    let unseen = 0
    for (const [i, chunk] of chunks.entries()) {
      unseen += chunk.length
      if (unseen < FILL_BYTES) continue
      spool.append(chunks.slice(first, i + 1))
      first = i + 1
      unseen = 0
      await immediate()
    }
    spool.append(chunks.slice(first))
    return spool
  } catch {
    spool.release()
    return undefined
  }
}

/** Pieces of an insert up to SMALL are joined before they are sent, up to JOINED at a time. */
const SMALL_BYTES_MAX = 64 * 1024
const JOINED_BYTES_MAX = 1024 * 1024

/** Small pieces together: each chunk would be a write to the socket. Large ones are not copied. */
function* joinSmall(pieces: readonly Uint8Array[]): Generator<Uint8Array> {
  let small: Uint8Array[] = []
  let bytes = 0
  for (const piece of pieces) {
    const isSmall = piece.length <= SMALL_BYTES_MAX
    if (!isSmall || bytes + piece.length > JOINED_BYTES_MAX) {
      if (bytes > 0) yield copied(small, bytes)
      small = []
      bytes = 0
    }
    if (isSmall) {
      small.push(piece)
      bytes += piece.length
    } else {
      yield piece
    }
  }
  if (bytes > 0) yield copied(small, bytes)
}

/** Not `Buffer.concat`, which copies shared memory byte by byte. */
function copied(pieces: readonly Uint8Array[], bytes: number): Uint8Array {
  if (pieces.length === 1) return pieces[0]!
  const copy = Buffer.allocUnsafe(bytes)
  let at = 0
  for (const piece of pieces) {
    if (piece.length > 0) copy.fill(piece, at, at + piece.length)
    at += piece.length
  }
  return copy
}

function* bufferViews(chunks: Iterable<Uint8Array>): Generator<Buffer> {
  for (const chunk of chunks) yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
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
    const kind = isInsert && BAD_DATA_CODES.has(number) ? 'bad_data' : clickHouseKind(number)
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

const UNAVAILABLE_MESSAGE = /timeout|socket hang up|aborted|premature close|request was closed/i
