/**
 * A ClickHouse cluster of real processes: shards with replicas that fetch parts from each other,
 * Replicated databases and ON CLUSTER, each of which can be killed, frozen and started again.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ConfigTree, configXml, SMALL_SERVER } from '../../src/embedded/clickhouse-config.ts'
import { makeDirectory, removeDirectory } from '../store/temporary.ts'
import { clusterGrants } from './cluster-grants.ts'
import { type LabTools, prepareLab } from './lab-tools.ts'
import { endChild, ZooKeeper } from './zookeeper.ts'

export const CLUSTER = 'lab'
const START_MS_MAX = 60_000
/** How long a silent server's session lasts. */
export const SESSION_MS = 6_000

/** One server. */
export interface ClusterNode {
  /** `s1r2` */
  readonly name: string
  readonly shard: string
  readonly replica: string
  readonly tcp: number
  readonly http: number
  child?: ChildProcess
}

export interface ClusterOptions {
  /** How many replicas each shard has. */
  readonly shards: readonly number[]
  /** A storage policy `hot_cold` of two volumes, `default` and `cold`. */
  readonly hasColdVolume?: boolean
  readonly database?: string
}

export class ClickHouseCluster {
  readonly nodes: readonly ClusterNode[]
  readonly keeper: ZooKeeper
  readonly #tools: LabTools
  readonly #dir: string
  readonly #options: ClusterOptions
  readonly #password = randomBytes(12).toString('hex')

  private constructor(
    tools: LabTools,
    dir: string,
    ports: readonly number[],
    options: ClusterOptions,
  ) {
    this.#tools = tools
    this.#dir = dir
    this.#options = options
    this.keeper = new ZooKeeper(tools, join(dir, 'keeper'), ports[0]!)
    const names = options.shards.flatMap((replicas, shard) => {
      return Array.from({ length: replicas }, (_, replica) => [`s${shard + 1}`, `r${replica + 1}`])
    })
    this.nodes = names.map(([shard = '', replica = ''], at) => {
      const [tcp = 0, http = 0] = ports.slice(1 + 2 * at)
      return { name: shard + replica, shard, replica, tcp, http }
    })
  }

  static async start(options: ClusterOptions): Promise<ClickHouseCluster> {
    const servers = options.shards.reduce((sum, replicas) => sum + replicas, 0)
    const ports = await freePorts(1 + 2 * servers)
    const cluster = new ClickHouseCluster(prepareLab(), makeDirectory(), ports, options)
    try {
      await cluster.keeper.start()
      await Promise.all(cluster.nodes.map((node) => cluster.#start(node)))
      return cluster
    } catch (cause) {
      await cluster.close()
      throw cause
    }
  }

  /** Of the service's user, with all servers, those of `first` before others. */
  url(first = '', user = 'sluice'): string {
    const hosts = this.nodes
      .toSorted((a, b) => Number(b.name.startsWith(first)) - Number(a.name.startsWith(first)))
      .map(({ http }) => `127.0.0.2:${http}`)
    const password = user === 'sluice' ? `:${this.#password}` : ''
    return `http://${user}${password}@${hosts.join(',')}/${this.#options.database ?? 'sluice'}`
  }

  node(name: string): ClusterNode {
    const found = this.nodes.find((node) => node.name === name)
    if (found === undefined) throw new Error(`no server ${name}`)
    return found
  }

  /** Asks one server, as a user that may do everything. Throws with its text. */
  async query(name: string, sql: string, settings: Record<string, unknown> = {}): Promise<string> {
    const url = new URL(`http://127.0.0.2:${this.node(name).http}/`)
    for (const [key, value] of Object.entries(settings)) url.searchParams.set(key, String(value))
    // Not a connection from before it was killed.
    const headers = { connection: 'close' }
    const answer = await fetch(url, { method: 'POST', headers, body: sql })
    const text = (await answer.text()).trimEnd()
    if (!answer.ok || /^Code: \d+\. /m.test(text)) throw new Error(text.slice(0, 800))
    return text
  }

  async kill(name: string): Promise<void> {
    await endChild(this.node(name).child)
  }

  freeze(name: string): void {
    this.node(name).child?.kill('SIGSTOP')
  }

  thaw(name: string): void {
    this.node(name).child?.kill('SIGCONT')
  }

  /** After `kill`. */
  async startAgain(name: string): Promise<void> {
    await this.#start(this.node(name))
  }

  /** Starts servers that have ended by themselves, as a supervisor would. What they printed. */
  async revive(): Promise<string[]> {
    const ended = this.nodes.filter(({ child }) => {
      return child !== undefined && (child.exitCode ?? child.signalCode) !== null
    })
    const texts = ended.map(({ name, child }) => {
      const log = readFileSync(join(this.#dir, name, 'log.txt'), 'utf8')
      const fatal = log.split('\n').filter((line) => line.includes('<Fatal>'))
      const why = fatal.slice(0, 5).join('\n') || log.slice(-600)
      return `${name} ended with ${child?.exitCode ?? child?.signalCode}: ${why}`
    })
    await Promise.all(ended.map((node) => this.#start(node)))
    return texts
  }

  /** At the end of a process, which waits for nothing. */
  killAll(): void {
    for (const { child } of this.nodes) child?.kill('SIGKILL')
    this.keeper.killNow()
    removeDirectory(this.#dir)
  }

  /** Lets this process end while the servers run. */
  unref(): void {
    for (const { child } of this.nodes) child?.unref()
    this.keeper.unref()
  }

  async close(): Promise<void> {
    await Promise.all(this.nodes.map(({ child }) => endChild(child)))
    await this.keeper.kill()
    removeDirectory(this.#dir)
  }

  async #start(node: ClusterNode): Promise<void> {
    const dir = join(this.#dir, node.name)
    mkdirSync(dir, { recursive: true })
    writeFileSync(join(dir, 'config.xml'), this.#config(node, dir), { mode: 0o600 })
    writeFileSync(join(dir, 'users.xml'), this.#users(), { mode: 0o600 })
    // The last statement keeps it up: it sleeps.
    const sql =
      'SYSTEM START LISTEN TCP; SYSTEM START LISTEN HTTP; ' +
      'SELECT sleepEachRow(3) FROM numbers(100000000) FORMAT Null ' +
      'SETTINGS max_block_size = 1, function_sleep_max_microseconds_per_block = 0'
    const args = [
      ...[this.#tools.library, '127.0.0.1', String(node.http)],
      ...['-C', join(dir, 'config.xml'), '--path', join(dir, 'data')],
      ...['--tcp_port', String(node.tcp), '--http_port', String(node.http), '--query', sql],
    ]
    const output = openSync(join(dir, 'output.txt'), 'a')
    const child = spawn(this.#tools.host, args, { cwd: dir, stdio: ['ignore', output, output] })
    node.child = child
    const deadline = performance.now() + START_MS_MAX
    while (!(await answers(node))) {
      const isOver = child.exitCode !== null || child.signalCode !== null
      if (isOver || performance.now() > deadline) {
        await endChild(child)
        const text = readFileSync(join(dir, 'output.txt'), 'utf8')
        throw new Error(`${node.name} did not start: ${text.slice(-2_000)}`)
      }
      await sleep(20)
    }
  }

  #config({ name, shard, replica }: ClusterNode, dir: string): string {
    const names = [...new Set(this.nodes.map((node) => node.shard))]
    const servers = names.map((shardName) => {
      const replicas = this.nodes
        .filter((node) => node.shard === shardName)
        .map(({ tcp }) => `<replica><host>127.0.0.1</host><port>${tcp}</port></replica>`)
      return `<shard><internal_replication>true</internal_replication>${replicas.join('')}</shard>`
    })
    const own = configXml({
      ...SMALL_SERVER,
      ...{ background_schedule_pool_size: 8, background_fetches_pool_size: 2 },
      ...{ max_table_size_to_drop: 1, max_partition_size_to_drop: 1 },
      ...{ users_config: 'users.xml', macros: { shard, replica } },
      logger: { level: 'information', log: join(dir, 'log.txt') },
      zookeeper: {
        node: { host: '127.0.0.1', port: this.keeper.port },
        session_timeout_ms: SESSION_MS,
        // Sessions apart: the processes have no UUID of a server, and would end each other's.
        sessions_path: `/clickhouse/sessions/${name}`,
      },
      distributed_ddl: { path: '/clickhouse/task_queue/ddl' },
      ...(this.#options.hasColdVolume && { storage_configuration: coldVolume(dir) }),
    })
    // The second listener is for other servers. They look for themselves at 127.0.0.1.
    const rest = `<listen_host>127.0.0.2</listen_host><listen_host>127.0.0.1</listen_host>
      <remote_servers><${CLUSTER}><secret>between servers</secret>${servers.join('')}
      </${CLUSTER}></remote_servers>`
    return own.replace('</clickhouse>', `${rest}</clickhouse>`)
  }

  #users(): string {
    const digest = createHash('sha256').update(this.#password).digest('hex')
    const grants = clusterGrants(this.#options.database ?? 'sluice')
      .map((grant) => `<query>${grant}</query>`)
      .join('')
    const rest =
      '<networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota>'
    return `<clickhouse><profiles><default></default></profiles><quotas><default></default></quotas>
      <users>
        <default><password></password>${rest}<access_management>1</access_management></default>
        <sluice><password_sha256_hex>${digest}</password_sha256_hex>${rest}
          <grants>${grants}</grants></sluice>
      </users></clickhouse>`
  }
}

function coldVolume(dir: string): ConfigTree {
  const volumes = { default: { disk: 'default' }, cold: { disk: 'cold' } }
  return {
    disks: { cold: { type: 'local', path: `${join(dir, 'cold')}/` } },
    policies: { hot_cold: { volumes } },
  }
}

async function answers({ http }: ClusterNode): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(1_000)
    return (await fetch(`http://127.0.0.2:${http}/ping`, { signal })).ok
  } catch {
    return false
  }
}

/** All at once, so that they differ. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer())
  const ports: number[] = []
  for (const server of servers) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    ports.push((server.address() as { port: number }).port)
  }
  for (const server of servers) await new Promise((resolve) => server.close(resolve))
  return ports
}
