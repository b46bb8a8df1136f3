/**
 * Two PostgreSQL servers with real streaming replication, on ports of the loopback: a primary and
 * its standby, synchronous or not. The primary is killed, the standby promoted, and the former
 * primary made a standby anew, from a copy of the files, as often as a test likes.
 *
 * The binaries are those of the embedded server, which have neither pg_basebackup nor pg_rewind. A
 * kill here takes the processes and leaves the machine, so the files are written without fsync.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { listProcesses } from '../../bench/e2e/procfs.ts'
import {
  type PostgresBinaries,
  preparePostgresBinaries,
} from '../../src/embedded/postgres-binaries.ts'
import { ensureCluster, SUPERUSER, serverEnvironment } from '../../src/embedded/postgres-cluster.ts'
import { choosePostgresUser, type RunAs } from '../../src/embedded/postgres-user.ts'
import { sendSignal, waitUntilGone } from '../../src/machine/processes.ts'
import { makeDirectory, recordingLog, removeDirectory } from '../store/temporary.ts'

const START_MS_MAX = 30_000
const DATABASE = 'sluice'
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 60,
  fsync: 'off',
  full_page_writes: 'off',
  shared_buffers: '32MB',
  wal_keep_size: '256MB',
  max_wal_size: '256MB',
  wal_sender_timeout: '5s',
  wal_retrieve_retry_interval: '100ms',
  max_parallel_workers_per_gather: 0,
  jit: 'off',
} as const
/** Of a copy: what belongs to the running server, and log that the copy gets from it. */
const NOT_COPIED = ['postmaster.pid', 'postmaster.opts', 'pg_wal', 'pg_replslot', 'pg_stat_tmp']

class Server {
  readonly name: string
  readonly data: string
  readonly port: number
  child: ChildProcess | undefined
  output = ''

  constructor(name: string, data: string, port: number) {
    this.name = name
    this.data = data
    this.port = port
  }
}

export class PostgresPair {
  readonly #dir: string
  readonly #binaries: PostgresBinaries
  readonly #runAs: RunAs | undefined
  readonly #password: string
  #primary: Server
  #standby: Server

  private constructor(options: {
    readonly dir: string
    readonly binaries: PostgresBinaries
    readonly runAs: RunAs | undefined
    readonly password: string
    readonly servers: readonly [Server, Server]
  }) {
    this.#dir = options.dir
    this.#binaries = options.binaries
    this.#runAs = options.runAs
    this.#password = options.password
    ;[this.#primary, this.#standby] = options.servers
  }

  /** `isSynchronous`: whether commits wait for the standby. */
  static async start({ isSynchronous = true } = {}): Promise<PostgresPair> {
    const dir = makeDirectory()
    chmodSync(dir, 0o755)
    const data = join(dir, 'a')
    const runAs = choosePostgresUser(data)
    const log = recordingLog()
    const binaries = preparePostgresBinaries(runAs, log)
    const password = await ensureCluster({ dataDir: dir, pgData: data, binaries, runAs, log })
    const [a, b] = await freePorts()
    const servers = [new Server('a', data, a), new Server('b', join(dir, 'b'), b)] as const
    const pair = new PostgresPair({ dir, binaries, runAs, password, servers })
    const lines = Object.entries(SETTINGS).map(([name, value]) => `${name} = '${value}'\n`)
    writeFileSync(join(data, 'postgresql.conf'), lines.join(''))
    await pair.#start(servers[0])
    await pair.sql('CREATE DATABASE sluice', 'primary', 'postgres')
    await pair.rebuildStandby(isSynchronous)
    return pair
  }

  /** Both servers, as an operator writes them. */
  get url(): string {
    const [a, b] = [this.#primary.port, this.#standby.port].toSorted((x, y) => x - y)
    return `postgres://${SUPERUSER}:${this.#password}@127.0.0.1:${a},127.0.0.1:${b}/${DATABASE}`
  }

  get password(): string {
    return this.#password
  }

  portOf(which: 'primary' | 'standby'): number {
    return this.#serverOf(which).port
  }

  #serverOf(which: 'primary' | 'standby'): Server {
    return which === 'primary' ? this.#primary : this.#standby
  }

  /** Runs one statement on a connection of its own. */
  async sql<Row extends object>(
    text: string,
    which: 'primary' | 'standby' = 'primary',
    database = DATABASE,
  ): Promise<Row[]> {
    const client = this.#client(this.portOf(which), database)
    await client.connect()
    try {
      return (await client.query<Row>(text)).rows
    } finally {
      await client.end()
    }
  }

  /** kill -9 of all processes of the primary, as if its machine had lost power. */
  async killPrimary(): Promise<void> {
    await this.#kill(this.#primary)
  }

  /** All its processes stop where they are: connections stay, and get no answer. */
  freeze(which: 'primary' | 'standby'): void {
    for (const pid of processesOf(this.#serverOf(which))) sendSignal(pid, 'SIGSTOP')
  }

  thaw(which: 'primary' | 'standby'): void {
    for (const pid of processesOf(this.#serverOf(which))) sendSignal(pid, 'SIGCONT')
  }

  /** The standby becomes the primary. The other one is to be rebuilt. */
  async promote(): Promise<void> {
    await this.sql('SELECT pg_promote(true)', 'standby')
    ;[this.#primary, this.#standby] = [this.#standby, this.#primary]
  }

  /** From now on the standby gets nothing any more of what is committed. */
  async cutReplication(): Promise<void> {
    await this.sql("ALTER SYSTEM SET primary_conninfo = ''", 'standby')
    await this.sql('SELECT pg_reload_conf()', 'standby')
    const sql = 'SELECT 1 FROM pg_stat_replication'
    await until('the standby lets go', async () => (await this.sql(sql)).length === 0)
  }

  /** Makes a standby of a copy of the primary, in the place of the server that is down. */
  async rebuildStandby(isSynchronous = true): Promise<void> {
    const standby = this.#standby
    await this.#kill(standby)
    rmSync(standby.data, { recursive: true, force: true })
    await this.#copy(standby)
    await this.#start(standby)
    const state = isSynchronous ? 'sync' : 'async'
    const names = isSynchronous ? standby.name : ''
    await this.sql(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
    await this.sql('SELECT pg_reload_conf()')
    const sql = `SELECT 1 FROM pg_stat_replication
      WHERE state = 'streaming' AND sync_state = '${state}'`
    await until(`a standby that is ${state}`, async () => (await this.sql(sql)).length === 1)
  }

  async close(): Promise<void> {
    await Promise.all([this.#kill(this.#primary), this.#kill(this.#standby)])
    removeDirectory(this.#dir)
  }

  /** A backup as PostgreSQL's manual has it, by its low-level interface. */
  async #copy(standby: Server): Promise<void> {
    const from = this.#primary
    const client = this.#client(from.port, 'postgres')
    await client.connect()
    try {
      await client.query("SELECT pg_backup_start('copy', true)")
      const names = NOT_COPIED.map((name) => `--exclude=./${name}`)
      mkdirSync(standby.data, { mode: 0o700 })
      const pipe = `tar -cf - ${names.join(' ')} . | tar -xpf - -C '${standby.data}'`
      execFileSync('sh', ['-c', pipe], { cwd: from.data })
      const { rows } = await client.query<{ labelfile: string }>(
        'SELECT labelfile FROM pg_backup_stop(false)',
      )
      const conninfo =
        `host=127.0.0.1 port=${from.port} user=${SUPERUSER} password=${this.#password} ` +
        `application_name=${standby.name}`
      for (const name of ['pg_wal', 'pg_replslot', 'pg_stat_tmp']) {
        mkdirSync(join(standby.data, name), { mode: 0o700 })
      }
      writeFileSync(join(standby.data, 'backup_label'), rows[0]?.labelfile ?? '')
      writeFileSync(join(standby.data, 'standby.signal'), '')
      writeFileSync(
        join(standby.data, 'postgresql.auto.conf'),
        `primary_conninfo = '${conninfo}'\n`,
      )
    } finally {
      await client.end()
    }
    const { uid, gid } = this.#runAs ?? {}
    if (uid === undefined || gid === undefined) return
    chownSync(standby.data, uid, gid)
    execFileSync('chown', ['-R', `${uid}:${gid}`, standby.data])
  }

  async #start(server: Server): Promise<void> {
    const args = ['-D', server.data, '-p', String(server.port)]
    const child = spawn(this.#binaries.postgres, args, {
      ...this.#runAs,
      cwd: '/',
      env: serverEnvironment(),
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    server.child = child
    server.output = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      server.output = (server.output + text).slice(-8_192)
    })
    const killAtExit = () => child.kill('SIGKILL')
    process.once('exit', killAtExit)
    child.once('close', () => process.off('exit', killAtExit))
    await until(`server ${server.name}`, async () => {
      if (child.exitCode !== null) throw new Error(server.output)
      const client = this.#client(server.port, 'postgres')
      try {
        await client.connect()
        return true
      } finally {
        await client.end()
      }
    })
  }

  #client(port: number, database: string): pg.Client {
    const client = new pg.Client({
      host: '127.0.0.1',
      port,
      user: SUPERUSER,
      password: this.#password,
      database,
      connectionTimeoutMillis: 10_000,
    })
    client.on('error', () => undefined)
    return client
  }

  async #kill(server: Server): Promise<void> {
    const pids = processesOf(server)
    server.child = undefined
    for (const pid of pids) sendSignal(pid, 'SIGKILL')
    for (const pid of pids) await waitUntilGone(pid, 10_000)
  }
}

/** The first process before its children. */
function processesOf(server: Server): number[] {
  const first = server.child?.pid
  if (first === undefined) return []
  const children = listProcesses().filter(({ ppid }) => ppid === first)
  return [first, ...children.map(({ pid }) => pid)]
}

async function until(what: string, check: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + START_MS_MAX
  let last: unknown
  while (performance.now() < deadline) {
    try {
      if (await check()) return
    } catch (cause) {
      last = cause
    }
    await sleep(20)
  }
  throw new Error(`not within ${START_MS_MAX} ms: ${what}`, { cause: last })
}

async function freePorts(): Promise<[number, number]> {
  const servers = [createServer(), createServer()]
  const ports: number[] = []
  for (const server of servers) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    ports.push((server.address() as { port: number }).port)
  }
  for (const server of servers) await new Promise((resolve) => server.close(resolve))
  return ports as [number, number]
}
