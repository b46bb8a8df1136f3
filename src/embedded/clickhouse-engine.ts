/**
 * The ClickHouse engine of `chdb`, in this process: one connection per request, so settings and
 * parameters never leak from one to the next, and bounded concurrency, with separate slots for
 * reads, writes and control: a long query does not hold up an insert. Only inserts with the same
 * settings reuse connections: opening, preparing and closing one costs as much as parsing a small
 * block.
 *
 * We use the addon below chdb's API. Its parameter API races across connections and can abort
 * the engine, so parameters are `SET param_x = '…'` on the request's own connection. Its raw
 * insert silently cuts the data at the first empty line ("\n\n", any two bytes 0x0a of a binary
 * block), so data of an INSERT goes through a file: `FROM INFILE`, tested up to 100 MB.
 */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ENGINE_CONTROLS_MAX, ENGINE_READS_MAX, ENGINE_WRITES_MAX } from '../limits.ts'
import type { StoreLane } from '../store/store-lane.ts'

declare const connectionBrand: unique symbol
declare const streamBrand: unique symbol
export type Connection = { readonly [connectionBrand]: true }
type StreamHandle = { readonly [streamBrand]: true }

interface Running {
  readonly lane: StoreLane
  readonly startedAt: number
  /** It asks for one thread. */
  readonly isThin: boolean
}

interface NativeResult {
  readonly bytes: Uint8Array
}

/** chdb's native part, as much of it as we use. */
export interface Addon {
  CreateConnection(path: string, args?: readonly string[]): Connection
  CloseConnection(connection: Connection): void
  QueryAsyncConnection(connection: Connection, sql: string, format: string): Promise<NativeResult>
  StreamQuery(connection: Connection, sql: string, format: string): StreamHandle
  StreamFetch(stream: StreamHandle): Promise<{ bytes: Uint8Array; numRows: number; done: boolean }>
  StreamCancel(stream: StreamHandle): void
}

export interface Statement {
  readonly sql: string
  readonly database: string | undefined
  /** Applied before the statement, values as text. */
  readonly settings: ReadonlyMap<string, string>
  readonly params: ReadonlyMap<string, string>
  readonly lane: StoreLane
  /** An INSERT with data: it leaves nothing behind in its session, which another may use. */
  readonly isInsert: boolean
  /** The client's own name for it; see `tagOf`. */
  readonly queryId: string
  /** Aborts when nothing waits for the result any more: the statement leaves the line, or stops. */
  readonly signal: AbortSignal
}

/** Takes one piece of a streamed result; resolves when the next may come, false to stop. */
export type TakeChunk = (bytes: Uint8Array) => Promise<boolean>

const WAITING_MAX = 256

/** What the engine answers when its queues are full; the form is that of its own errors. */
const TOO_BUSY =
  'Code: 202. DB::Exception: Too many simultaneous queries. (TOO_MANY_SIMULTANEOUS_QUERIES)'

/** For statements that name no format of their own. */
const FORMAT = 'TabSeparated'

const SHUTTING_DOWN = 'Code: 236. DB::Exception: Server is shutting down. (ABORTED)'
const CANCEL_AGAIN_MS = 100
/** For this long after an insert, the next insert is expected. */
const INSERTING_MS = 2_500
const CANCELLED = 'Code: 394. DB::Exception: Query was cancelled. (QUERY_WAS_CANCELLED)'

export class ClickHouseEngine {
  readonly #addon: Addon
  readonly #path: string
  /** Keeps the engine up while no request runs, and serves cancellations. */
  readonly #anchor: Connection
  /** For looking at what runs, without waiting behind cancellations. */
  readonly #observer: Connection
  readonly #places: Readonly<Record<StoreLane, Places>> = {
    read: new Places(ENGINE_READS_MAX),
    write: new Places(ENGINE_WRITES_MAX),
    control: new Places(ENGINE_CONTROLS_MAX),
  }
  readonly #settings: EngineSettings
  readonly version: string
  /** Statements under way, by the mark that finds them in `system.processes`. */
  readonly #running = new Map<string, Running>()
  readonly #cancelling = new Set<string>()
  /** Prepared connections of inserts that are over, the longest unused first. */
  readonly #idle: { readonly session: string; readonly connection: Connection }[] = []
  #killing: Promise<void> | undefined
  /** The last look at what runs. */
  #looking: Promise<unknown> | undefined
  /** When the last insert began. */
  #insertedAt = Number.NEGATIVE_INFINITY
  #tagCount = 0
  #closed = false

  private constructor(addon: Addon, path: string, anchor: Connection, start: EngineStart) {
    this.#addon = addon
    this.#path = path
    this.#anchor = anchor
    this.#observer = addon.CreateConnection(path)
    this.#settings = start.settings
    this.version = start.version
  }

  /** `configPath`: server configuration. */
  static async open(
    path: string,
    configPath: string,
    settings: EngineSettings,
    addon = loadAddon(),
  ): Promise<ClickHouseEngine> {
    const anchor = addon.CreateConnection(path, [`--config-file=${configPath}`])
    const { bytes } = await addon.QueryAsyncConnection(anchor, 'SELECT version()', FORMAT)
    const version = Buffer.from(bytes).toString().trim()
    return new ClickHouseEngine(addon, path, anchor, { version, settings })
  }

  /** Runs a statement and returns its whole result. Rejects with the engine's own message. */
  async run(statement: Statement): Promise<NativeResult> {
    return await this.#withConnection(statement, async (connection) => {
      return await this.#addon.QueryAsyncConnection(connection, statement.sql, FORMAT)
    })
  }

  /** Runs a SELECT piece by piece; a piece is computed when the one before was taken. */
  async stream(statement: Statement, take: TakeChunk): Promise<void> {
    await this.#withConnection(statement, async (connection) => {
      const handle = this.#addon.StreamQuery(connection, statement.sql, FORMAT)
      try {
        for (;;) {
          const { bytes, done } = await this.#addon.StreamFetch(handle)
          if (done || !(await take(bytes))) return
        }
      } finally {
        this.#addon.StreamCancel(handle) // No fetch is under way here: they are awaited.
      }
    })
  }

  /** Ids of the threads that work on reads: of one read on an idle engine only after `ms`. */
  async threadsOfReads(ms: number): Promise<number[]> {
    const reads = this.#reads()
    const now = performance.now()
    const isAlone = reads.length === 1 && now - this.#insertedAt > INSERTING_MS
    const before = isAlone ? now - ms : now
    const slow = reads.flatMap(([tag, { startedAt }]) => (startedAt <= before ? [quote(tag)] : []))
    if (slow.length === 0 || this.#closed) return []
    const sql = `SELECT arrayJoin(thread_ids) FROM system.processes
      WHERE Settings['log_comment'] IN (${slow.join(', ')})`
    const look = this.#addon.QueryAsyncConnection(this.#observer, sql, FORMAT)
    this.#looking = look
    const { bytes } = await look
    return Buffer.from(bytes).toString().trim().split('\n').filter(Boolean).map(Number)
  }

  #reads() {
    return [...this.#running].filter(([, { lane }]) => lane === 'read')
  }

  /** Cancels what runs, waits up to `waitMs` for it, and shuts the engine down. */
  async close(waitMs: number): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    for (const tag of this.#running.keys()) this.#cancel(tag)
    const deadline = performance.now() + waitMs
    while (this.#running.size > 0 && performance.now() < deadline) await sleep(20)
    // Closing under a running operation aborts the engine: then dying is the cleaner end, and
    // what was acknowledged is on disk already.
    if (this.#running.size > 0) return
    await this.#killing
    await this.#looking?.catch(() => undefined)
    for (const { connection } of this.#idle.splice(0)) this.#addon.CloseConnection(connection)
    this.#addon.CloseConnection(this.#observer)
    this.#addon.CloseConnection(this.#anchor)
  }

  async #withConnection<T>(
    statement: Statement,
    fn: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    const { signal } = statement
    const places = this.#places[statement.lane]
    await places.take(signal)
    if (this.#closed) {
      places.give()
      throw new Error(SHUTTING_DOWN)
    }
    const tag = tagOf(++this.#tagCount, statement.queryId)
    const cancel = () => this.#cancel(tag)
    const startedAt = performance.now()
    const isThin = statement.settings.get('max_threads') === '1'
    this.#running.set(tag, { lane: statement.lane, startedAt, isThin })
    if (statement.isInsert) this.#insertedAt = startedAt
    signal.addEventListener('abort', cancel)
    try {
      return await this.#inSession(statement, tag, fn)
    } finally {
      signal.removeEventListener('abort', cancel)
      this.#running.delete(tag)
      this.#cancelling.delete(tag)
      places.give()
    }
  }

  /** On a connection that is prepared for the statement, and that is left or closed after it. */
  async #inSession<T>(
    statement: Statement,
    tag: string,
    fn: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    const { signal } = statement
    const session = sessionOf(statement)
    const prepared = this.#takeIdle(session)
    const connection = prepared ?? this.#addon.CreateConnection(this.#path)
    let isOver = false
    try {
      if (prepared === undefined) await this.#prepare(connection, statement, tag)
      else await this.#runSilently(prepared, setStatement(new Map([['log_comment', tag]])))
      if (signal.aborted) throw new Error(CANCELLED)
      const result = await fn(connection)
      isOver = !signal.aborted
      return result
    } finally {
      this.#leave(connection, isOver ? session : undefined)
    }
  }

  #takeIdle(session: string | undefined): Connection | undefined {
    const index = this.#idle.findIndex((idle) => idle.session === session)
    return index === -1 ? undefined : this.#idle.splice(index, 1)[0]?.connection
  }

  /** Keeps a connection for the next insert of its `session`, or closes it. */
  #leave(connection: Connection, session: string | undefined): void {
    if (session === undefined || this.#closed) return this.#addon.CloseConnection(connection)
    this.#idle.push({ session, connection })
    const unused = this.#idle.length > ENGINE_WRITES_MAX ? this.#idle.shift() : undefined
    if (unused !== undefined) this.#addon.CloseConnection(unused.connection)
  }

  #cancel(tag: string): void {
    this.#cancelling.add(tag)
    this.#killing ??= this.#kill()
  }

  /**
   * Cancels queries, again and again until each has ended: the first attempt may come before the
   * engine knows the query. One at a time: calls on a connection wait for each other on pool
   * threads, and enough of them would leave none for anything else.
   */
  async #kill(): Promise<void> {
    while (this.#cancelling.size > 0) {
      const tags = [...this.#cancelling].map(quote).join(', ')
      const sql = `KILL QUERY WHERE Settings['log_comment'] IN (${tags}) ASYNC`
      await this.#addon.QueryAsyncConnection(this.#anchor, sql, 'Null').catch(() => undefined)
      await sleep(CANCEL_AGAIN_MS)
    }
    this.#killing = undefined
  }

  async #prepare(connection: Connection, statement: Statement, tag: string): Promise<void> {
    const { database } = statement
    if (database !== undefined) await this.#runSilently(connection, `USE ${quoteName(database)}`)
    const { defaults, bounds } = this.#settings
    const settings = new Map([...textOf(defaults), ...statement.settings])
    for (const [name, most] of textOf(bounds[statement.lane] ?? {})) {
      const asked = settings.get(name)
      // 0 is no bound at all.
      const isLess = asked !== undefined && Number(asked) > 0 && Number(asked) < Number(most)
      if (!isLess) settings.set(name, most)
    }
    // Several reads share the cores as it is: more threads of each would take them from ingest.
    const isOneOfMany = this.#reads().filter(([, { isThin }]) => !isThin).length > 1
    if (statement.lane === 'read' && isOneOfMany) settings.set('max_threads', '1')
    settings.set('log_comment', tag)
    for (const [name, value] of statement.params) settings.set(`param_${name}`, value)
    await this.#runSilently(connection, setStatement(settings))
  }

  async #runSilently(connection: Connection, sql: string): Promise<void> {
    await this.#addon.QueryAsyncConnection(connection, sql, 'Null')
  }
}

/** What a connection is prepared with, for those that may be used again. */
function sessionOf(statement: Statement): string | undefined {
  const { isInsert, params, database, settings, lane } = statement
  if (!isInsert || params.size > 0) return undefined
  return JSON.stringify([lane, database, ...settings])
}

/**
 * The `log_comment` that `system.processes` shows for a statement. The engine gives every query an
 * id of its own and accepts none from us, so the client's id is looked up here. The number before
 * it distinguishes statements that came with the same id.
 */
function tagOf(number: number, queryId: string): string {
  return `sluice-${number}/${queryId}`
}

type Settings = Readonly<Record<string, number>>

export interface EngineSettings {
  /** What every request starts with; its own settings replace them. */
  readonly defaults: Settings
  /** The most that a request of a lane gets, whatever it asks for. */
  readonly bounds: Partial<Readonly<Record<StoreLane, Settings>>>
}

interface EngineStart {
  readonly version: string
  readonly settings: EngineSettings
}

function textOf(settings: Settings): [string, string][] {
  return Object.entries(settings).map(([name, value]) => [name, String(value)])
}

/** Lets a bounded number of statements run at a time; others wait in a queue, up to a bound. */
class Places {
  #free: number
  readonly #waiting = new Set<() => void>()

  constructor(count: number) {
    this.#free = count
  }

  async take(signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw new Error(CANCELLED)
    if (this.#free > 0) {
      this.#free--
      return
    }
    if (this.#waiting.size >= WAITING_MAX) throw new Error(TOO_BUSY)
    await new Promise<void>((resolve, reject) => {
      const onAbort = () => {
        this.#waiting.delete(enter)
        reject(new Error(CANCELLED))
      }
      const enter = () => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      }
      signal.addEventListener('abort', onAbort)
      this.#waiting.add(enter)
    })
  }

  give(): void {
    const [next] = this.#waiting // A set keeps the order of arrival.
    if (next === undefined) {
      this.#free++
      return
    }
    this.#waiting.delete(next)
    next()
  }
}

/** Finds the platform's addon the way chdb does; its own entry file would install exit hooks. */
function loadAddon(): Addon {
  const require = createRequire(import.meta.url)
  const loader = join(dirname(require.resolve('chdb')), 'dist', 'loader.js')
  return require(loader).loadNative()
}

function setStatement(settings: ReadonlyMap<string, string>): string {
  const assignments = [...settings].map(([name, value]) => {
    if (!/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name)) {
      throw new Error(`Code: 115. DB::Exception: Unknown setting ${quote(name)}. (UNKNOWN_SETTING)`)
    }
    return `${name} = ${quote(value)}`
  })
  return `SET ${assignments.join(', ')}`
}

export function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

function quoteName(name: string): string {
  return `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``
}
