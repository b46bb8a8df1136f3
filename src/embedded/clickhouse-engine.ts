/**
 * The ClickHouse engine of `chdb`, in this process: one connection per request, so settings and
 * parameters never leak from one to the next, and bounded concurrency, with separate slots for
 * reads, writes and control: a long query does not hold up an insert. Only inserts with the same
 * settings reuse connections: opening, preparing and closing one costs as much as parsing a small
 * block. Reads run on threads of their own, below everything else (`read-threads.ts`).
 *
 * We use the addon below chdb's API. Its parameter API races across connections and can abort
 * the engine, so parameters are `SET param_x = '…'` on the request's own connection. Its raw
 * insert silently cuts the data at the first empty line ("\n\n", any two bytes 0x0a of a binary
 * block), so data of an INSERT goes through a file: `FROM INFILE`, tested up to 100 MB.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ENGINE_CONTROLS_MAX, ENGINE_READS_MAX, ENGINE_WRITES_MAX } from '../limits.ts'
import type { StoreLane } from '../store/store-lane.ts'
import { type Addon, type Connection, loadAddon } from './chdb-addon.ts'
import { type Read, type Reads, ReadThreads } from './read-threads.ts'

interface Running {
  readonly lane: StoreLane
  /** It asks for one thread. */
  readonly isSingleThreaded: boolean
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

const WAITING_MAX = 256

/** What the engine answers when its queues are full; the form is that of its own errors. */
const TOO_BUSY =
  'Code: 202. DB::Exception: Too many simultaneous queries. (TOO_MANY_SIMULTANEOUS_QUERIES)'

const TIME_SETTING = 'max_execution_time'

/** For statements that name no format of their own. */
const FORMAT = 'TabSeparated'

const SHUTTING_DOWN = 'Code: 236. DB::Exception: Server is shutting down. (ABORTED)'
const CANCEL_AGAIN_MS = 100
const CANCELLED = 'Code: 394. DB::Exception: Query was cancelled. (QUERY_WAS_CANCELLED)'

export class ClickHouseEngine {
  readonly #addon: Addon
  readonly #path: string
  /** Keeps the engine up while no request runs, and serves cancellations. */
  readonly #anchor: Connection
  readonly #reads: Reads
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
  #tagCount = 0
  #closed = false

  private constructor(addon: Addon, path: string, anchor: Connection, start: EngineStart) {
    this.#addon = addon
    this.#path = path
    this.#anchor = anchor
    this.#reads = start.reads
    this.#settings = start.settings
    this.version = start.version
  }

  /** `configPath`: server configuration. */
  static async open(
    path: string,
    configPath: string,
    settings: EngineSettings,
    { addon, openReads }: EngineParts = { addon: loadAddon(), openReads: ReadThreads.open },
  ): Promise<ClickHouseEngine> {
    const anchor = addon.CreateConnection(path, [`--config-file=${configPath}`])
    const { bytes } = await addon.QueryAsyncConnection(anchor, 'SELECT version()', FORMAT)
    const version = Buffer.from(bytes).toString().trim()
    const reads = await openReads(path)
    return new ClickHouseEngine(addon, path, anchor, { version, settings, reads })
  }

  /** Runs a statement and returns its whole result. Rejects with the engine's own message. */
  async run(statement: Statement): Promise<Uint8Array> {
    const { sql } = statement
    return await this.#inPlace(statement, async (tag) => {
      if (isTextRead(statement)) {
        return await this.#reads.run({ ...this.#preparation(statement, tag), sql })
      }
      return await this.#inSession(statement, tag, async (connection) => {
        return (await this.#addon.QueryAsyncConnection(connection, sql, FORMAT)).bytes
      })
    })
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
    await this.#reads.close()
    for (const { connection } of this.#idle.splice(0)) this.#addon.CloseConnection(connection)
    this.#addon.CloseConnection(this.#anchor)
  }

  /** Runs `fn` once its lane has a place; `tag` marks what to cancel when nobody waits for it. */
  async #inPlace<T>(statement: Statement, fn: (tag: string) => Promise<T>): Promise<T> {
    const { signal, lane } = statement
    const places = this.#places[lane]
    await places.take(signal)
    if (this.#closed) {
      places.give()
      throw new Error(SHUTTING_DOWN)
    }
    const tag = tagOf(++this.#tagCount, statement.queryId)
    const cancel = () => this.#cancel(tag)
    const isSingleThreaded = statement.settings.get('max_threads') === '1'
    this.#running.set(tag, { lane, isSingleThreaded })
    signal.addEventListener('abort', cancel)
    try {
      return await fn(tag)
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
      const preparation = this.#preparation(statement, tag)
      const statements = [...(prepared ? [] : preparation.session), ...preparation.own]
      for (const sql of statements) await this.#addon.QueryAsyncConnection(connection, sql, 'Null')
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

  /** What is run before the statement, on its connection: for its session, and for it alone. */
  #preparation(statement: Statement, tag: string): Pick<Read, 'session' | 'own'> {
    const { database } = statement
    const { defaults, bounds } = this.#settings
    const session = new Map([...textOf(defaults), ...statement.settings])
    for (const [name, most] of textOf(bounds[statement.lane] ?? {})) {
      const asked = session.get(name)
      // 0 is no bound at all.
      const isLess = asked !== undefined && Number(asked) > 0 && Number(asked) < Number(most)
      if (!isLess) session.set(name, most)
    }
    const own = new Map([['log_comment', tag]])
    // What is left of a request's time is different each time.
    const seconds = session.get(TIME_SETTING)
    if (seconds !== undefined && session.delete(TIME_SETTING)) own.set(TIME_SETTING, seconds)
    // Several reads share the cores as it is: more threads of each would take them from ingest.
    const reads = [...this.#running.values()].filter(({ lane }) => lane === 'read')
    const isOneOfMany = reads.filter(({ isSingleThreaded }) => !isSingleThreaded).length > 1
    if (statement.lane === 'read' && isOneOfMany) own.set('max_threads', '1')
    for (const [name, value] of statement.params) own.set(`param_${name}`, value)
    const use = database === undefined ? [] : [`USE ${quoteName(database)}`]
    const set = session.size === 0 ? [] : [setStatement(session)]
    return { session: [...use, ...set], own: [setStatement(own)] }
  }
}

/**
 * A read that a thread of reads can run: its result is UTF-8, as that of our client's, and no NUL
 * would end its statement.
 */
function isTextRead({ lane, sql }: Statement): boolean {
  return lane === 'read' && /\sFORMAT\s+JSON(?:EachRow)?\s*$/.test(sql) && !sql.includes('\0')
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

interface EngineParts {
  readonly addon: Addon
  readonly openReads: (path: string) => Promise<Reads>
}

interface EngineStart {
  readonly reads: Reads
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

function setStatement(settings: ReadonlyMap<string, string>): string {
  const assignments = [...settings].map(([name, value]) => {
    if (!/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name)) {
      throw new Error(`Code: 115. DB::Exception: Unknown setting ${quote(name)}. (UNKNOWN_SETTING)`)
    }
    return `${name} = ${quote(value)}`
  })
  return `SET ${assignments.join(', ')}`
}

/** NUL, too: a thread of reads would end its statement there. */
export function quote(text: string): string {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\0', '\\0')
  return `'${escaped}'`
}

function quoteName(name: string): string {
  return `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``
}
