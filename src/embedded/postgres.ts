/**
 * The embedded PostgreSQL: the real server as a supervised child process, with its data in
 * `<dataDir>/postgres`, and a unix socket there in place of a port. It gets SIGINT, its fast
 * shutdown, when we die (`setpriv`); where that is missing, the next start ends it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, realpathSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FileLock } from '../machine/file-lock.ts'
import { sendSignal, tryRead } from '../machine/processes.ts'
import { Postgres } from '../store/postgres.ts'
import { StoreError } from '../store/store-error.ts'
import type { StoreLog } from '../store/store-log.ts'
import { type PostgresBinaries, preparePostgresBinaries } from './postgres-binaries.ts'
import {
  accessData,
  clearLockFiles,
  endOrphans,
  ensureCluster,
  ensureDirectory,
  processesIn,
  SOCKET_NAME,
  SOCKET_PORT,
  SUPERUSER,
  serverEnvironment,
} from './postgres-cluster.ts'
import { choosePostgresUser, type RunAs } from './postgres-user.ts'
import { openSocketDirectory, type SocketDirectory } from './socket-directory.ts'
import { takeStoreLock } from './store-lock.ts'
import { type EmbeddedStore, type OnStateChange, type Running, Supervisor } from './supervisor.ts'

export interface EmbeddedPostgresOptions {
  /** The service's data directory. */
  readonly dataDir: string
  readonly log: StoreLog
  readonly onStateChange?: OnStateChange
  /** For tests: where a copy of the binaries may go. */
  readonly copyParents?: readonly string[]
}

const DATABASE = 'sluice'
/** Crash recovery replays up to `max_wal_size`; that takes a while on a slow disk. */
const START_MS_MAX = 600_000
const PROBE_PAUSE_MS = 25
const FAST_SHUTDOWN_MS_MAX = 15_000
const IMMEDIATE_SHUTDOWN_MS_MAX = 5_000
const LOG_LINES_KEPT = 50
/** The write-ahead log: a checkpoint every 100 MB or so. Decision 26. */
const LOG_MB = 192
const LOG_FILE_MB = 16
/** Below this much free disk the log files are left to be made when they are needed. */
const LOG_FREE_BYTES_MIN = 4 * LOG_MB * 1024 * 1024

const SETTINGS = {
  listen_addresses: '',
  // The working directory, which is the data directory: so the socket's path is never too long.
  unix_socket_directories: '.',
  unix_socket_permissions: '0700',
  port: SOCKET_PORT,
  max_connections: 50,
  // What makes an acknowledgement true.
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  shared_buffers: '128MB',
  wal_buffers: '16MB',
  wal_compression: 'off', // Payloads are compressed already.
  // Log files are used again after a checkpoint; commits wait while a new one is filled with zeros.
  // So: all that are ever needed are made at first (`makeLogFiles`), none is given up.
  max_wal_size: `${LOG_MB}MB`,
  min_wal_size: `${LOG_MB}MB`,
  checkpoint_completion_target: 0.9,
  jit: 'off',
  // Dynamic shared memory is scarce in containers, and so are cores here.
  max_parallel_workers_per_gather: 0,
  autovacuum: 'on',
  // Not because rows were added: it reads every payload once more, and logs its page. Decision 27.
  autovacuum_vacuum_insert_threshold: -1,
  timezone: 'UTC',
  log_timezone: 'UTC',
  logging_collector: 'off',
  log_destination: 'stderr',
  // Statements and details hold values; our logs never do. See also `showsValues`.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_line_prefix: '%m [%p] %b: ',
} as const

/** Resolves when it takes connections. Throws `StoreError` when it cannot be started. */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedStore> {
  const { log, onStateChange } = options
  ensureDirectory(options.dataDir)
  const dataDir = realpathSync(options.dataDir)
  const pgData = join(dataDir, 'postgres')
  const runAs = choosePostgresUser(pgData)
  const binaries = preparePostgresBinaries(runAs, log, options.copyParents)
  const password = await ensureCluster({ dataDir, pgData, binaries, runAs, log })
  const server = new Server({ pgData, binaries, runAs, password, log })
  const supervisor = new Supervisor({
    name: 'embedded PostgreSQL',
    start: (signal) => server.start(signal),
    log,
    onStateChange,
  })
  const stop = async () => {
    await supervisor.stop()
    server.close()
  }
  try {
    await supervisor.start()
    await ensureDatabase(server, options)
  } catch (cause) {
    await stop()
    throw cause
  }
  log.info({ storePid: supervisor.pid }, 'embedded PostgreSQL is up')
  return {
    url: server.url(DATABASE),
    pid: () => supervisor.pid,
    restartCount: () => supervisor.restartCount,
    stop,
  }
}

/**
 * Where the embedded PostgreSQL of a running service answers. Throws `StoreError` when its password
 * cannot be read; `close` ends what the URL needs.
 */
export function runningPostgresUrl(given: string): { url: string; close(): void } {
  const dataDir = realpathSync(given)
  const password = tryRead(join(dataDir, 'postgres-password'))?.trim()
  if (!password) {
    const text = `cannot read ${join(dataDir, 'postgres-password')}: run this as the service's user`
    throw new StoreError('other', text)
  }
  const socket = openSocketDirectory(join(dataDir, 'postgres'), SOCKET_NAME)
  return { url: urlOf(socket, password, DATABASE), close: () => socket.close() }
}

function urlOf({ path }: SocketDirectory, password: string, database: string): string {
  const host = encodeURIComponent(path)
  return `postgres://${SUPERUSER}:${password}@${host}:${SOCKET_PORT}/${database}`
}

interface ServerOptions {
  readonly pgData: string
  readonly binaries: PostgresBinaries
  readonly runAs: RunAs | undefined
  readonly password: string
  readonly log: StoreLog
}

class Server {
  readonly #options: ServerOptions
  readonly #socket: SocketDirectory

  constructor(options: ServerOptions) {
    this.#options = options
    this.#socket = openSocketDirectory(options.pgData, SOCKET_NAME)
  }

  url(database: string): string {
    return urlOf(this.#socket, this.#options.password, database)
  }

  async start(signal: AbortSignal): Promise<Running> {
    return await this.#startOnce(await this.#takeOver(signal), signal)
  }

  close(): void {
    this.#socket.close()
  }

  /** Resolves when no process works on our data any more, in whatever container. */
  async #takeOver(signal: AbortSignal): Promise<FileLock> {
    const { pgData, log } = this.#options
    await endOrphans(pgData, log)
    const lock = await takeStoreLock(pgData, { name: 'PostgreSQL', log, signal })
    clearLockFiles(pgData)
    return lock
  }

  async #startOnce(lock: FileLock, signal: AbortSignal): Promise<Running> {
    const { child, lines } = this.#spawn(lock)
    const exited = whenExited(child)
    let ended: string | undefined
    void exited.then((reason) => {
      ended = reason
    })
    try {
      await this.#whenReady(() => (signal.aborted ? 'it is being stopped' : ended))
    } catch (cause) {
      child.kill('SIGQUIT')
      await exited
      const reason = cause instanceof Error ? cause.message : String(cause)
      const text = [`embedded PostgreSQL did not start: ${reason}`, ...lines].join('\n')
      throw new StoreError('unavailable', text)
    }
    return { pid: child.pid ?? 0, exited, stop: () => this.#stop(child, exited) }
  }

  /** The lock is the server's from here on, and that of every process it makes. */
  #spawn(lock: FileLock): { child: ChildProcess; lines: readonly string[] } {
    const { pgData, binaries, runAs, log } = this.#options
    const access = accessData(pgData, runAs)
    const settings = Object.entries(SETTINGS)
    const args = ['-D', access.argument, ...settings.flatMap(([k, v]) => ['-c', `${k}=${v}`])]
    const setpriv = findSetpriv()
    const command = setpriv ?? binaries.postgres
    const child = spawn(
      command,
      setpriv === undefined ? args : ['--pdeathsig', 'INT', binaries.postgres, ...args],
      {
        ...runAs,
        cwd: '/',
        env: serverEnvironment(),
        stdio: ['ignore', 'ignore', 'pipe', access.descriptor, lock.descriptor],
        // Ctrl-C in a terminal is for us; we stop the server when nobody needs it any more.
        detached: true,
      },
    )
    access.close()
    lock.close()
    const lines: string[] = []
    if (child.stderr === null) return { child, lines }
    let isHidden = false
    createInterface({ input: child.stderr }).on('line', (line) => {
      // The lines of one message after its first start with a tab.
      isHidden = line.startsWith('\t') ? isHidden : showsValues(line)
      if (isHidden) return
      log.debug({ line }, 'embedded PostgreSQL says')
      lines.push(line)
      if (lines.length > LOG_LINES_KEPT) lines.shift()
    })
    return { child, lines }
  }

  /** Tries to connect until it works, the server ends, or it takes too long. */
  async #whenReady(ended: () => string | undefined): Promise<void> {
    const { log } = this.#options
    const deadline = performance.now() + START_MS_MAX
    const postgres = new Postgres({ url: this.url('postgres'), log, connectionsMax: 1 })
    try {
      for (;;) {
        const reason = ended()
        if (reason !== undefined) throw new StoreError('unavailable', reason)
        try {
          return await postgres.ping()
        } catch (cause) {
          if (!(cause instanceof StoreError) || cause.kind !== 'unavailable') throw cause
          if (performance.now() > deadline) throw cause
          await sleep(PROBE_PAUSE_MS)
        }
      }
    } finally {
      await postgres.end()
    }
  }

  async #stop(child: ChildProcess, exited: Promise<string>): Promise<void> {
    const isOver = async (ms: number) => {
      const timer = new AbortController()
      const late = sleep(ms, false, { signal: timer.signal }).catch(() => false)
      const over = await Promise.race([exited.then(() => true), late])
      timer.abort()
      return over
    }
    child.kill('SIGINT')
    if (await isOver(FAST_SHUTDOWN_MS_MAX)) return
    child.kill('SIGQUIT')
    if (await isOver(IMMEDIATE_SHUTDOWN_MS_MAX)) return
    child.kill('SIGKILL')
    await exited
    for (const pid of processesIn(this.#options.pgData)) sendSignal(pid, 'SIGKILL')
  }
}

async function ensureDatabase(
  server: Server,
  { dataDir, log }: EmbeddedPostgresOptions,
): Promise<void> {
  const postgres = new Postgres({ url: server.url('postgres'), log, connectionsMax: 1 })
  try {
    const text = 'SELECT 1 FROM pg_database WHERE datname = $1'
    const { rowCount } = await postgres.query(text, [DATABASE])
    if (rowCount !== 0) return
    await makeLogFiles(postgres, dataDir)
    await postgres.query(`CREATE DATABASE ${DATABASE}`)
  } finally {
    await postgres.end()
  }
}

/**
 * Makes the server create its log files before the first commit needs one: a commit waits 60 to 130
 * ms for a file on an idle disk, and up to a second on a busy one.
 */
async function makeLogFiles(postgres: Postgres, dataDir: string): Promise<void> {
  const { bavail, bsize } = statfsSync(dataDir)
  if (bavail * bsize < LOG_FREE_BYTES_MIN) return
  // Until all are there none may be used again, as a checkpoint in between would have it.
  await postgres.query("SELECT pg_create_physical_replication_slot('log_files', true, true)")
  for (let i = 0; i < LOG_MB / LOG_FILE_MB; i++) {
    // A file that nothing was written to is not left.
    await postgres.query("SELECT pg_logical_emit_message(false, 'sluice', '')")
    await postgres.query('SELECT pg_switch_wal()')
  }
  await postgres.query("SELECT pg_drop_replication_slot('log_files')")
  await postgres.query('CHECKPOINT')
}

/** Errors of statements quote values; the sender of the statement gets the error anyway. */
function showsValues(line: string): boolean {
  return line.includes(' client backend: ') && !/ client backend: (?:LOG|FATAL|PANIC):/.test(line)
}

function findSetpriv(): string | undefined {
  if (process.platform !== 'linux') return undefined
  return ['/usr/bin/setpriv', '/bin/setpriv'].find((path) => existsSync(path))
}

function whenExited(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (cause) => resolve(cause.message))
    child.once('exit', (code, signal) => resolve(`it ended with ${signal ?? `code ${code}`}`))
  })
}
