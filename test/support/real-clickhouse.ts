/**
 * A ClickHouse server of a test's own: the engine's own HTTP server on a port of the loopback, for
 * what an embedded one hides behind our front. It is `clickhouse-local` of the library that the
 * embedded engine is in, called in a child process (`real-clickhouse-host.ts`).
 *
 * As `clickhouse-local` it has a client of its own, which is the user `default` without a password:
 * that user may start to listen, and nothing else. The service's user has the rights that
 * docs/operations.md asks for. The client reads statements from a file, and then from a pipe that
 * we hold open: so the server ends with us, however we end.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type ConfigTree, configXml, SMALL_SERVER } from '../../src/embedded/clickhouse-config.ts'
import { DROPS_ANY_SIZE } from '../../src/store/projection/drop-settings.ts'
import { makeDirectory, removeDirectory } from '../store/temporary.ts'
import { timed } from './times.ts'

const HOST = fileURLToPath(new URL('real-clickhouse-host.js', import.meta.url))
const START_MS_MAX = 60_000
/** The pipe's name. */
const HELD = 'statements'
const PACKAGES: Readonly<Record<string, string>> = {
  'linux-x64': '@chdb/lib-linux-x64-gnu',
  'linux-arm64': '@chdb/lib-linux-arm64-gnu',
  'darwin-arm64': '@chdb/lib-darwin-arm64',
  'darwin-x64': '@chdb/lib-darwin-x64',
}

/** A drop of any size meets the guard that the service sets aside. */
const CONFIG = {
  ...SMALL_SERVER,
  logger: { level: 'warning', console: false },
  users_config: 'users.xml',
  listen_host: '127.0.0.1',
  timezone: 'America/St_Johns', // Servers are not always in UTC.
  query_log: { database: 'system', table: 'query_log', flush_interval_milliseconds: 500 },
  max_table_size_to_drop: 1,
  max_partition_size_to_drop: 1,
  access_control_improvements: {
    select_from_system_db_requires_grant: true,
    select_from_information_schema_requires_grant: true,
    table_engines_require_grant: true,
  },
} as const satisfies ConfigTree

/** What an operator may have set for all users, and what would make other things of statements. */
const ODD_PROFILE = {
  aggregate_functions_null_for_empty: 1,
  async_insert: 1,
  cast_keep_nullable: 1,
  data_type_default_nullable: 1,
  empty_result_for_aggregation_by_empty_set: 1,
  group_by_use_nulls: 1,
  join_use_nulls: 1,
  max_result_rows: 500,
  output_format_json_quote_64bit_integers: 1,
  read_overflow_mode: 'break',
  result_overflow_mode: 'break',
  session_timezone: 'Asia/Kolkata',
  timeout_overflow_mode: 'break',
  transform_null_in: 1,
  wait_for_async_insert: 0,
} as const

/** What docs/operations.md tells an operator to grant, for these databases. */
export function documentedGrants(database: string): string[] {
  const page = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8')
  const grants = [...page.matchAll(/^(GRANT .+) TO sluice;$/gm)].map(([, grant = '']) => grant)
  if (grants.length === 0) throw new Error('docs/operations.md has no grants')
  return grants.map((grant) => grant.replaceAll('sluice.', `${database}.`))
}

/** Why there can be no such server here, for `skip`; false where there can. */
export function noRealClickHouse(): string | false {
  const { platform, arch } = process
  return findLibrary() === undefined && `no libchdb for ${platform}-${arch} is installed`
}

/** Why a test of what only the embedded engine has is skipped, where it is. */
export const NOT_EMBEDDED =
  process.env.TEST_REAL_CLICKHOUSE !== undefined && 'the stores are on a ClickHouse server'

function findLibrary(): string | undefined {
  const name = PACKAGES[`${process.platform}-${process.arch}`]
  if (name === undefined) return undefined
  try {
    const folder = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))
    return ['libchdb.so', 'libchdb.dylib'].map((file) => join(folder, file)).find(existsSync)
  } catch {
    return undefined
  }
}

/**
 * With TEST_REAL_CLICKHOUSE=1 all services and stores of tests are on such a server: that of the
 * run (`run-stores.ts`), or of this process. Databases of services there are `test_…`.
 */
export async function shareRealClickHouse(): Promise<RunningClickHouse | undefined> {
  const asked = process.env.TEST_REAL_CLICKHOUSE
  if (asked === undefined) return undefined
  if (asked !== '1') return JSON.parse(asked) as RunningClickHouse
  ours ??= RealClickHouse.start({ databases: ['test_*'] })
  const server = await ours
  const { url, watcherUrl, pid } = server
  if (process.env.TEST_REAL_CLICKHOUSE === '1') server.unref()
  process.env.TEST_REAL_CLICKHOUSE = JSON.stringify({ url, watcherUrl, pid })
  return { url, watcherUrl, pid }
}

let ours: Promise<RealClickHouse> | undefined

/**
 * What a service is told to be there, in a database that belongs to the data directory; undefined
 * where stores are embedded. A copied template knows an embedded one: the projection is built anew.
 */
export async function realClickHouseFor(
  dataDir: string,
): Promise<({ readonly SLUICE_CLICKHOUSE_URL: string } & Record<string, string>) | undefined> {
  if (process.env.TEST_CLICKHOUSE_CLUSTER !== undefined) return onCluster(databaseOf(dataDir))
  const shared = await shareRealClickHouse()
  if (shared === undefined) return undefined
  const url = shared.url + databaseOf(dataDir)
  return { SLUICE_CLICKHOUSE_URL: url, SLUICE_REBUILD_PROJECTION: 'true' }
}

function databaseOf(dataDir: string): string {
  return `test_${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}`
}

/**
 * With TEST_CLICKHOUSE_CLUSTER=1 services of tests have their projection on a cluster, of each test
 * file's own.
 */
async function onCluster(database: string) {
  // It takes what this file has.
  const { CLUSTER, ClickHouseCluster } = await import('../cluster/clickhouse-cluster.ts')
  cluster ??= ClickHouseCluster.start({ shards: [2, 1], database: 'test_*' })
  const { url, kill, unref } = await cluster.then((one) => ({
    url: one.url().replace(/\/[^/]*$/, `/${database}`),
    kill: () => one.killAll(),
    unref: () => one.unref(),
  }))
  unref()
  process.once('exit', kill)
  return {
    SLUICE_CLICKHOUSE_URL: url,
    SLUICE_CLICKHOUSE_CLUSTER: CLUSTER,
    SLUICE_REBUILD_PROJECTION: 'true',
  }
}

let cluster: Promise<import('../cluster/clickhouse-cluster.ts').ClickHouseCluster> | undefined

export interface RunningClickHouse {
  /** Of the service's user, without a database. */
  readonly url: string
  /** Of a user that may do everything. */
  readonly watcherUrl: string
  readonly pid: number
}

export class RealClickHouse implements RunningClickHouse {
  readonly url: string
  readonly watcherUrl: string
  readonly #dir: string
  readonly #port: number
  #child: ChildProcess | undefined
  #closed: Promise<unknown> = Promise.resolve()
  #output = ''
  /** Of the pipe: the server ends when it is closed. */
  #held: number | undefined

  private constructor(dir: string, port: number, passwords: Readonly<Record<string, string>>) {
    this.#dir = dir
    this.#port = port
    const urlOf = (user: string) => {
      return `http://${user}:${encodeURIComponent(passwords[user] ?? '')}@127.0.0.1:${port}/`
    }
    ;[this.url, this.watcherUrl] = [urlOf('sluice'), urlOf('watcher')]
  }

  /** `databases`: where the service may work, as a GRANT names them. */
  static async start({ databases = ['sluice'] } = {}): Promise<RealClickHouse> {
    const dir = makeDirectory()
    const port = await freePort()
    const passwords = { sluice: `${newPassword()}@:/?%é 1`, watcher: newPassword() }
    const users = {
      profiles: { default: {}, odd: ODD_PROFILE, watcher: DROPS_ANY_SIZE },
      quotas: { default: {} },
      users: {
        default: userOf('', ['GRANT SYSTEM LISTEN ON *.*']),
        sluice: userOf(passwords.sluice, databases.flatMap(documentedGrants), 'odd'),
        watcher: userOf(passwords.watcher, ['GRANT ALL ON *.*'], 'watcher'),
      },
    }
    for (const [name, tree] of Object.entries({ config: { ...CONFIG, http_port: port }, users })) {
      writeFileSync(join(dir, `${name}.xml`), configXml(tree), { mode: 0o600 })
    }
    writeFileSync(join(dir, 'listen.sql'), 'SYSTEM START LISTEN HTTP;\n')
    mkdirSync(join(dir, 'data'))
    execFileSync('mkfifo', [join(dir, HELD)])
    const server = new RealClickHouse(dir, port, passwords)
    await server.startAgain()
    return server
  }

  /** After `kill`: on the same port and data. */
  startAgain(): Promise<void> {
    return timed('start real clickhouse', this.#start())
  }

  async #start(): Promise<void> {
    const dir = this.#dir
    this.#held ??= openSync(join(dir, HELD), 'r+')
    const files = ['--queries-file', join(dir, 'listen.sql'), join(dir, HELD)]
    const args = ['--path', join(dir, 'data'), '-C', join(dir, 'config.xml'), ...files]
    const child = spawn(process.execPath, [HOST, findLibrary() ?? '', ...args], {
      cwd: dir,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child = child
    this.#closed = new Promise((resolve) => child.once('close', resolve))
    this.#output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-8_192)
      })
    }
    const deadline = performance.now() + START_MS_MAX
    while (!(await this.#answers())) {
      const isOver = child.exitCode !== null || child.signalCode !== null
      if (isOver || performance.now() > deadline) {
        await this.kill()
        throw new Error(`the ClickHouse server did not start:\n${this.#output}`)
      }
      await sleep(20)
    }
  }

  async #answers(): Promise<boolean> {
    try {
      return (await fetch(`http://127.0.0.1:${this.#port}/ping`)).ok
    } catch {
      return false
    }
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** Lets this process end while the server runs, which ends with it. */
  unref(): void {
    this.#child?.unref()
    for (const stream of [this.#child?.stdout, this.#child?.stderr]) (stream as Socket).unref()
    process.once('exit', () => {
      this.#child?.kill('SIGKILL')
      removeDirectory(this.#dir)
    })
  }

  /** kill -9. */
  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL')
    await this.#closed
  }

  async close(): Promise<void> {
    await this.kill()
    if (this.#held !== undefined) closeSync(this.#held)
    removeDirectory(this.#dir)
  }
}

function userOf(password: string, grants: readonly string[], profile = 'default'): ConfigTree {
  return {
    password_sha256_hex: createHash('sha256').update(password).digest('hex'),
    networks: { ip: '127.0.0.1' },
    profile,
    quota: 'default',
    grants: { query: grants.join('</query><query>') },
  }
}

function newPassword(): string {
  return randomBytes(24).toString('base64url')
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
