/**
 * The child process of `startEmbeddedClickHouse`: the engine of `chdb` behind HTTP on a unix
 * socket, nothing else. Started with an IPC channel: it gets its settings there (a password must
 * not be in arguments or environment), says there when it is ready, and ends when the channel
 * closes, which also happens when the parent is killed.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { lowerBackgroundThreads } from './background-priority.ts'
import { configXml, SMALL_SERVER } from './clickhouse-config.ts'
import { ClickHouseEngine, type EngineSettings } from './clickhouse-engine.ts'
import { ClickHouseHttpFront } from './clickhouse-http.ts'

export interface HostSettings {
  /** Holds `data/`, `spool/`, `config.xml` and the socket. */
  readonly directory: string
  /** A socket in the directory, which is the working directory: paths of sockets are short. */
  readonly socketName: string
  readonly user: string
  readonly password: string
}

export type HostMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly code: string | undefined; readonly message: string }

/** Longer than the client's own idle limit, so that the client closes idle sockets, not we. */
const KEEP_ALIVE_MS = 30_000
const DRAIN_MS_MAX = 2_000

/** Of the server's memory: half of it is left to inserts and merges by each read. */
const READ_MEMORY_BYTES_MAX = 400_000_000

const SETTINGS: EngineSettings = {
  defaults: {
    async_insert: 0,
    max_insert_threads: 1,
    max_threads: 2,
    max_memory_usage: 700_000_000,
    max_bytes_before_external_group_by: 300_000_000,
    max_bytes_before_external_sort: 300_000_000,
    // From its fourth run on an expression would be machine code: 50 to 60 ms for the compiler, and
    // no row of bench:query is faster with it.
    compile_expressions: 0,
    compile_aggregate_expressions: 0,
    compile_sort_description: 0,
  },
  bounds: {
    read: {
      max_threads: 2,
      // Else a query gets one thread for each free GiB, and the server has less than one.
      max_threads_min_free_memory_per_thread: 0,
      // The engine keeps no idle threads (see SMALL_SERVER). It would make one for each part, one
      // for each column of JSON in a part and five for a result, and each costs more than it does.
      max_threads_for_indexes: 1,
      merge_tree_use_prefixes_deserialization_thread_pool: 0,
      output_format_parallel_formatting: 0,
      max_memory_usage: READ_MEMORY_BYTES_MAX,
      // When the server has no memory left, a read is ended, never what writes: this is the divisor
      // of what a query holds, and 0 means that it is passed over.
      memory_overcommit_ratio_denominator: 1_000_000,
    },
    write: { memory_overcommit_ratio_denominator: 0 },
    control: { memory_overcommit_ratio_denominator: 0 },
  },
}

function tell(message: HostMessage): void {
  if (process.connected) process.send?.(message)
}

/** What is done when the parent is gone. Until the engine is there, nothing is to be ended well. */
let stop = (): void => void process.kill(process.pid, 'SIGKILL')
process.on('disconnect', () => stop())

async function run(settings: HostSettings): Promise<void> {
  const data = join(settings.directory, 'data')
  const spoolDirectory = join(settings.directory, 'spool')
  const config = join(settings.directory, 'config.xml')
  for (const directory of [data, spoolDirectory]) mkdirSync(directory, { recursive: true })
  writeFileSync(config, configXml(SMALL_SERVER))

  const engine = await ClickHouseEngine.open(data, config, SETTINGS)
  lowerBackgroundThreads()
  const { user, password } = settings
  const front = new ClickHouseHttpFront({ engine, user, password, spoolDirectory })
  const server = createServer((request, response) => front.handle(request, response))
  server.keepAliveTimeout = KEEP_ALIVE_MS
  server.requestTimeout = 0 // The parent is the only client, and it has its own deadlines.

  let stopping = false
  const drain = async () => {
    if (stopping) return
    stopping = true
    server.close()
    await engine.close(DRAIN_MS_MAX)
    // Not `process.exit`: with operations still running its handlers may wait for them.
    process.kill(process.pid, 'SIGKILL')
  }
  stop = () => void drain()
  // Ctrl-C and service managers signal every process of ours; the parent decides when we end.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

  server.on('error', (cause: NodeJS.ErrnoException) => {
    tell({ kind: 'failed', code: cause.code, message: cause.message })
    stop()
  })
  rmSync(settings.socketName, { force: true }) // Of one that was killed.
  server.listen(settings.socketName, () => tell({ kind: 'ready' }))
}

process.once('message', (settings: HostSettings) => {
  run(settings).catch((cause: unknown) => {
    tell({ kind: 'failed', code: undefined, message: String(cause) })
    process.exitCode = 1
    stop = () => undefined
    if (process.connected) process.disconnect()
  })
})
