/**
 * The service as a process of a test's own: started on a free port, stopped, killed, looked at.
 * With TEST_SHOW_SERVICE set, what it prints goes to stderr.
 *
 * Whatever it leaves behind is found by its working directory, which lies in its data directory.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { listProcesses, readCommandLine, tryReadWorkingDirectory } from '../../bench/e2e/procfs.ts'
import { isAlive, sendSignal } from '../../src/machine/processes.ts'
import { realClickHouseFor } from './real-clickhouse.ts'
import { timed } from './times.ts'

export const ENTRY = fileURLToPath(new URL('../../src/main.js', import.meta.url))
const START_MS_MAX = 90_000
const STOP_MS_MAX = 60_000
const OUTPUT_CHARS_MAX = 256 * 1024
const LISTENS = /^Sluice \S+ listens on (\S+)$/m
const LISTENS_FOR_GRPC = /"port":(\d+)[^\n]*OTLP over gRPC/

/** A new directory for data; `removeDataDir` takes it away. */
export function makeDataDir(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), 'sluice-e2e-')))
}

/** Removes it, or a store's directory in it, after ending whatever still works there. */
export async function removeDataDir(path: string): Promise<void> {
  for (const pid of processesUnder(path)) sendSignal(pid, 'SIGKILL')
  await untilNoneUnder(path, 10_000)
  rmSync(path, { recursive: true, force: true, maxRetries: 5 })
}

/** Processes whose working directory is `path` or in it: stores of a service with that data. */
export function processesUnder(path: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && isAlive(pid))
    .filter((pid) => `${tryReadWorkingDirectory(pid)}/`.startsWith(`${path}/`))
}

/** Those that are left after `waitMs`. */
export async function untilNoneUnder(path: string, waitMs: number): Promise<number[]> {
  const deadline = performance.now() + waitMs
  for (;;) {
    const left = processesUnder(path)
    if (left.length === 0 || performance.now() > deadline) return left
    await sleep(50)
  }
}

export interface ServiceOptions {
  readonly dataDir: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** For a node on stores whose admin token another node has made. */
  readonly token?: string
  /** A program, with its arguments, that runs the service: `unshare` and the like. */
  readonly via?: readonly string[]
}

/** Of the run, or a test file's own. */
export interface SharedService {
  readonly url: string
  readonly token: string
  readonly port: number
  /** When the tests of the file are over. */
  close(): Promise<void>
}

/**
 * A service for tests that kill nothing, change no option, and count and list only what is of their
 * own streams: that of the whole run, where there is one (`run-stores.ts`).
 */
export async function shareService(): Promise<SharedService> {
  const [url, token] = process.env.TEST_SERVICE?.split(' ') ?? []
  if (url !== undefined && token !== undefined) {
    return { url, token, port: Number(new URL(url).port), close: () => Promise.resolve() }
  }
  const dataDir = makeDataDir()
  const service = await Service.start({ dataDir })
  const close = async () => {
    await service.kill()
    await removeDataDir(dataDir)
  }
  return { url: service.url, token: service.token, port: service.port, close }
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface StoreProcesses {
  /** PostgreSQL's first process. */
  readonly postmaster: number | undefined
  readonly backends: readonly number[]
  readonly clickHouseHost: number | undefined
}

export class Service {
  readonly dataDir: string
  url = ''
  /** Where it listens for gRPC, with the option for that. */
  grpcUrl = ''
  /** The first admin token. */
  token = ''
  readonly exited: Promise<Exit>
  readonly #child: ChildProcess
  #output = ''
  #exit: Exit | undefined
  #isAsked = false

  private constructor(options: ServiceOptions) {
    this.dataDir = options.dataDir
    const args = ['--data', options.dataDir, '--port', '0', ...(options.args ?? [])]
    this.#child = spawn(...commandOf(args, options.via), {
      env: { ...cleanEnvironment(), ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-OUTPUT_CHARS_MAX)
        if (process.env.TEST_SHOW_SERVICE) process.stderr.write(text)
      })
    }
    const killAtExit = () => this.#child.kill('SIGKILL')
    process.once('exit', killAtExit)
    this.exited = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => {
        process.off('exit', killAtExit)
        this.#exit = { code, signal }
        // By itself, in the midst of a test: what it said last is all that tells why.
        if (code !== null && !this.#isAsked && this.url !== '') {
          console.error(`the service ended with ${code}:\n${this.#output.slice(-8_000)}`)
        }
        resolve(this.#exit)
      })
    })
  }

  /** Resolves when it listens; throws with its output when it ends before. */
  static start(options: ServiceOptions): Promise<Service> {
    return timed('start service', Service.#start(options))
  }

  static async #start(given: ServiceOptions): Promise<Service> {
    if (mayCopy(given)) copyTemplate(given.dataDir)
    const options = await withRealClickHouse(given)
    const service = new Service(options)
    const deadline = performance.now() + START_MS_MAX
    for (;;) {
      const url = LISTENS.exec(service.output)?.[1]
      if (url !== undefined) {
        service.url = url
        const [, grpcPort] = LISTENS_FOR_GRPC.exec(service.output) ?? []
        service.grpcUrl = `http://127.0.0.1:${grpcPort}`
        const tokenFile = join(options.dataDir, 'admin-token')
        service.token = options.token ?? readFileSync(tokenFile, 'utf8').trim()
        return service
      }
      if (service.#exit !== undefined || performance.now() > deadline) {
        await service.kill()
        throw new Error(`the service did not start:\n${service.output}`)
      }
      await sleep(20)
    }
  }

  /** Runs it with these arguments alone until it ends by itself. */
  static async runToEnd(
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    via: readonly string[] = [],
  ): Promise<Exit & { readonly stdout: string; readonly stderr: string }> {
    const child = spawn(...commandOf(args, via), {
      env: { ...cleanEnvironment(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: START_MS_MAX,
    })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    return await new Promise((resolve) => {
      child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }))
    })
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  /** What it has printed so far, to both streams, or the end of that. */
  get output(): string {
    return this.#output
  }

  get isRunning(): boolean {
    return this.#exit === undefined
  }

  signal(signal: NodeJS.Signals): void {
    this.#isAsked = true
    this.#child.kill(signal)
  }

  /** kill -9. */
  async kill(): Promise<void> {
    this.signal('SIGKILL')
    await this.exited
  }

  /** SIGTERM, and SIGKILL after a while. Resolves with how it ended. */
  stop(): Promise<Exit> {
    return timed('stop service', this.#stop())
  }

  async #stop(): Promise<Exit> {
    this.signal('SIGTERM')
    const timer = setTimeout(() => this.signal('SIGKILL'), STOP_MS_MAX)
    const exit = await this.exited
    clearTimeout(timer)
    return exit
  }

  /** Its embedded stores, as far as they run now. */
  stores(): StoreProcesses {
    const all = listProcesses()
    const children = all.filter((one) => one.ppid === this.pid)
    const postmaster = children.find((one) => one.comm === 'postgres')?.pid
    return {
      postmaster,
      backends: all
        .filter((one) => one.ppid === postmaster && isBackend(one.pid))
        .map((one) => one.pid),
      clickHouseHost: children.find((one) => readCommandLine(one.pid).includes('clickhouse-host'))
        ?.pid,
    }
  }
}

function mayCopy(options: ServiceOptions): boolean {
  return (
    readdirSync(options.dataDir).length === 0 && !names(options, /(postgres|clickhouse)[-_]url/i)
  )
}

/** Whether an option is given. */
function names({ args = [], env = {} }: ServiceOptions, option: RegExp): boolean {
  return [...args, ...Object.keys(env)].some((text) => option.test(text))
}

async function withRealClickHouse(options: ServiceOptions): Promise<ServiceOptions> {
  if (names(options, /clickhouse[-_]url/i)) return options
  return { ...options, env: { ...(await realClickHouseFor(options.dataDir)), ...options.env } }
}

/**
 * To make a data directory takes longer than to start on it. The run of all tests has one where a
 * service has been started and stopped: copies it into `dataDir`. Without such a run nothing.
 */
export function copyTemplate(dataDir: string): void {
  const from = process.env.TEST_DATA
  if (from === undefined) return
  // With owners and modes: PostgreSQL's files are another user's where we are root.
  execFileSync('cp', ['-a', '--reflink=auto', `${from}/.`, dataDir])
}

function commandOf(args: readonly string[], via: readonly string[] = []): [string, string[]] {
  const [command = '', ...rest] = [...via, process.execPath, ENTRY, ...args]
  return [command, rest]
}

/** A backend shows its user, database and client: `postgres: sluice sluice [local] idle`. */
function isBackend(pid: number): boolean {
  return /^postgres: sluice /.test(readCommandLine(pid))
}

/** Ours, without what would configure a service. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env)
  return Object.fromEntries(
    entries.filter(([name]) => !/^(SLUICE_|PG|NODE_TEST|NODE_OPTIONS$)/.test(name)),
  )
}
