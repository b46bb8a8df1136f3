/**
 * The embedded ClickHouse: `clickhouse-host.ts` as a supervised child process, at a unix socket in
 * its directory. It ends when we do, whatever the reason, because its IPC channel closes.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { ENGINE_PLACES_MAX } from '../limits.ts'
import type { FileLock } from '../machine/file-lock.ts'
import {
  commandLine,
  isAlive,
  sendSignal,
  tryRead,
  waitUntilGone,
  worksIn,
} from '../machine/processes.ts'
import { unixClickHouseUrl } from '../store/clickhouse-address.ts'
import { StoreError } from '../store/store-error.ts'
import type { StoreLog } from '../store/store-log.ts'
import type { HostMessage, HostSettings } from './clickhouse-host.ts'
import { openSocketDirectory } from './socket-directory.ts'
import { takeStoreLock } from './store-lock.ts'
import { type EmbeddedStore, type OnStateChange, type Running, Supervisor } from './supervisor.ts'

export interface EmbeddedClickHouseOptions {
  /** The service's data directory; the engine lives in `clickhouse/` below it. */
  readonly dataDir: string
  readonly log: StoreLog
  readonly onStateChange?: OnStateChange
}

const USER = 'sluice'
const START_MS_MAX = 60_000
const STOP_MS_MAX = 8_000
/** How long an orphan gets to end by itself: it does when its channel closes. */
const ORPHAN_MS_MAX = 5_000
const SOCKET_NAME = 'http.sock'
const LOG_LINES_KEPT = 20
const LINE_CHARS_KEPT = 500
/** Every engine operation that may run, some for cancellations, four for file work. */
const THREADS = ENGINE_PLACES_MAX + 6
/**
 * jemalloc's settings (the engine's prefix): it gives freed pages back after a minute instead of
 * 5 s, as the next insert asks for them again, and has one arena instead of one per core: memory
 * that one thread frees is available to all. A fresh page costs a fault and zeroing. Decision 24.
 */
const ENGINE_MEMORY = 'dirty_decay_ms:60000,percpu_arena:disabled,narenas:1'

/** Resolves when the engine answers. Throws `StoreError` when it cannot be started. */
export async function startEmbeddedClickHouse(
  options: EmbeddedClickHouseOptions,
): Promise<EmbeddedStore> {
  const { dataDir, log, onStateChange } = options
  const directory = join(dataDir, 'clickhouse')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const host = new Host(realpathSync(directory), log)
  const supervisor = new Supervisor({
    name: 'embedded ClickHouse',
    start: (signal) => host.start(signal),
    log,
    onStateChange,
  })
  const socket = openSocketDirectory(host.directory, SOCKET_NAME)
  try {
    await supervisor.start()
  } catch (cause) {
    socket.close()
    throw cause
  }
  log.info({ storePid: supervisor.pid }, 'embedded ClickHouse is up')
  return {
    url: unixClickHouseUrl(USER, host.password, join(socket.path, SOCKET_NAME)),
    pid: () => supervisor.pid,
    restartCount: () => supervisor.restartCount,
    stop: async () => {
      await supervisor.stop()
      socket.close()
    },
  }
}

class Host {
  readonly password = randomBytes(24).toString('hex')
  readonly directory: string
  readonly #log: StoreLog

  constructor(directory: string, log: StoreLog) {
    this.directory = directory
    this.#log = log
  }

  async start(signal: AbortSignal): Promise<Running> {
    await this.#endOrphan()
    const options = { name: 'ClickHouse', log: this.#log, signal }
    return await this.#startOnce(await takeStoreLock(this.directory, options), signal)
  }

  async #startOnce(lock: FileLock, signal: AbortSignal): Promise<Running> {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
    const entry = fileURLToPath(new URL(`./clickhouse-host.${extension}`, import.meta.url))
    const child = fork(entry, [], {
      cwd: this.directory,
      env: hostEnvironment(),
      execArgv: [],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc', lock.descriptor],
    })
    lock.close() // It is the child's from here on.
    const exited = whenExited(child)
    const giveUp = () => child.kill('SIGKILL')
    signal.addEventListener('abort', giveUp)
    const lines = this.#forwardOutput(child)
    try {
      await this.#whenReady(child, exited)
    } catch (cause) {
      child.kill('SIGKILL')
      await exited
      if (!(cause instanceof StoreError)) throw cause
      const detail = [cause.message, ...lines].join('\n')
      throw new StoreError('unavailable', detail, { code: cause.code })
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
    const pid = child.pid ?? 0
    writeFileSync(join(this.directory, 'host.pid'), `${pid}\n`, { mode: 0o600 })
    return { pid, exited, stop: () => stopChild(child, exited) }
  }

  /** Sends the settings and waits for `ready`. */
  async #whenReady(child: ChildProcess, exited: Promise<string>): Promise<void> {
    const { directory, password } = this
    const settings: HostSettings = { directory, socketName: SOCKET_NAME, user: USER, password }
    let timer: NodeJS.Timeout | undefined
    const answer = new Promise<HostMessage>((resolve) => {
      child.once('message', (message: HostMessage) => resolve(message))
      const late = `no answer within ${START_MS_MAX} ms`
      const failed = { kind: 'failed', code: undefined } as const
      timer = setTimeout(() => resolve({ ...failed, message: late }), START_MS_MAX)
      void exited.then((reason) => resolve({ ...failed, message: reason }))
    })
    child.send(settings, () => undefined) // A failure to send is seen as its exit.
    const message = await answer
    clearTimeout(timer)
    if (message.kind === 'ready') return
    const text = `embedded ClickHouse did not start: ${message.message}`
    throw new StoreError('unavailable', text, { code: message.code })
  }

  /** Output goes to our log; the last lines are returned, live, for the error message. */
  #forwardOutput(child: ChildProcess): readonly string[] {
    const last: string[] = []
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue
      createInterface({ input: stream }).on('line', (whole) => {
        const line = whole.slice(0, LINE_CHARS_KEPT)
        this.#log.warn({ line }, 'embedded ClickHouse says')
        last.push(line)
        if (last.length > LOG_LINES_KEPT) last.shift()
      })
    }
    return last
  }

  /** Waits for a host that outlived its parent, and ends it when it does not go by itself. */
  async #endOrphan(): Promise<void> {
    const pid = Number(tryRead(join(this.directory, 'host.pid')) ?? 0)
    if (!Number.isSafeInteger(pid) || pid <= 1 || !isAlive(pid)) return
    const isHost = commandLine(pid)?.some((part) => part.includes('clickhouse-host')) === true
    if (!isHost || !worksIn(pid, this.directory)) return
    this.#log.warn(
      { storePid: pid },
      'an embedded ClickHouse of an earlier process still runs; ending it',
    )
    if (await waitUntilGone(pid, ORPHAN_MS_MAX)) return
    sendSignal(pid, 'SIGKILL')
    await waitUntilGone(pid, ORPHAN_MS_MAX)
  }
}

function whenExited(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (cause) => resolve(cause.message))
    child.once('exit', (code, signal) => resolve(`it ended with ${signal ?? `code ${code}`}`))
  })
}

/** Closes the channel, on which the host ends by itself; signals are not for it to act on. */
async function stopChild(child: ChildProcess, exited: Promise<string>): Promise<void> {
  if (child.connected) child.disconnect()
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
  await exited
  clearTimeout(timer)
}

/** What is set for the memory of our own process is not meant for the engine's. */
function hostEnvironment(): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('MALLOC_'))
  return {
    JE_MALLOC_CONF: ENGINE_MEMORY,
    ...Object.fromEntries(inherited),
    UV_THREADPOOL_SIZE: String(THREADS),
  }
}
