/** Watches the processes of one service: CPU through the ledger, memory now and at its highest. */
import { CpuLedger, type CpuMicros, ROLES, type Role, selectMembers } from './cpu-ledger.ts'
import {
  listProcesses,
  type ProcessMemory,
  type ProcessStat,
  readCommandLine,
  tryReadMainThreadMicros,
  tryReadMemory,
  tryReadWorkingDirectory,
} from './procfs.ts'

/** Often enough that an orphan's unseen last moments do not matter; a look costs some 5 ms. */
const SAMPLE_MS = 500

export interface WatchTarget {
  readonly pids: readonly number[]
  /** Processes that work in here belong to the service even when they left its tree. */
  readonly dataDirectory: string | undefined
}

export interface CpuSample {
  readonly atMs: number
  readonly cpu: CpuMicros
  /** Event loops of the given pids alone: what cannot be spread over more cores. */
  readonly mainThreadMicros: number
}

export interface MemoryUse {
  readonly bytes: number
  readonly peakBytes: number
}

export class ProcessWatch {
  readonly #target: WatchTarget
  readonly #ledger = new CpuLedger()
  readonly #peakBytes = { node: 0, postgres: 0, clickhouse: 0, other: 0, all: 0 }
  #members: readonly ProcessStat[] = []
  #roles = new Map<number, Role>()
  #timer: NodeJS.Timeout | undefined

  constructor(target: WatchTarget) {
    this.#target = target
  }

  start(): void {
    this.#timer = setInterval(() => this.sample(), SAMPLE_MS)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  sample(): CpuSample {
    const { pids, dataDirectory } = this.#target
    const isMember = (stat: ProcessStat) =>
      dataDirectory !== undefined && stat.ppid === 1 && worksIn(stat.pid, dataDirectory)
    this.#members = selectMembers(listProcesses(), pids, isMember)
    this.#ledger.update(this.#members, (stat) => this.#roleOf(stat))
    this.#memory()
    const mainThreads = pids.map((pid) => tryReadMainThreadMicros(pid) ?? 0)
    return {
      atMs: performance.now(),
      cpu: this.#ledger.totals(),
      mainThreadMicros: mainThreads.reduce((sum, micros) => sum + micros, 0),
    }
  }

  /** `all` at once: less than the sum of peaks that come at different times. */
  memory(): Record<Role | 'all', MemoryUse> {
    const bytes = this.#memory()
    const use = (role: Role | 'all') => ({ bytes: bytes[role], peakBytes: this.#peakBytes[role] })
    return {
      node: use('node'),
      postgres: use('postgres'),
      clickhouse: use('clickhouse'),
      other: use('other'),
      all: use('all'),
    }
  }

  #memory(): Record<Role | 'all', number> {
    const bytes = { node: 0, postgres: 0, clickhouse: 0, other: 0, all: 0 }
    for (const role of ROLES) {
      const memories = this.#members.flatMap(({ pid }) =>
        this.#roles.get(pid) === role ? (tryReadMemory(pid) ?? []) : [],
      )
      bytes[role] = sumMemory(memories)
      // The kernel knows the peak of one process exactly; of several, only what we sampled.
      const exactPeak = memories.length === 1 ? memories[0]!.peakRssBytes : 0
      this.#peakBytes[role] = Math.max(this.#peakBytes[role], bytes[role], exactPeak)
      bytes.all += bytes[role]
    }
    this.#peakBytes.all = Math.max(this.#peakBytes.all, bytes.all)
    return bytes
  }

  #roleOf(stat: ProcessStat): Role {
    const role = this.#target.pids.includes(stat.pid) ? 'node' : classify(stat)
    this.#roles.set(stat.pid, role)
    return role
  }
}

function classify(stat: ProcessStat): Role {
  if (stat.comm.startsWith('postgres')) return 'postgres'
  const commandLine = readCommandLine(stat.pid)
  if (/clickhouse|chdb/i.test(`${stat.comm} ${commandLine}`)) return 'clickhouse'
  return /^postgres/.test(commandLine) ? 'postgres' : 'other'
}

function worksIn(pid: number, directory: string): boolean {
  return tryReadWorkingDirectory(pid)?.startsWith(directory) ?? false
}

/** Counts pages that processes share once, as near as `/proc/<pid>/status` can tell. */
function sumMemory(memories: readonly ProcessMemory[]): number {
  let anonymous = 0
  let file = 0
  let shared = 0
  for (const memory of memories) {
    anonymous += memory.anonymousBytes
    file = Math.max(file, memory.fileBytes)
    shared = Math.max(shared, memory.sharedBytes)
  }
  return anonymous + file + shared
}
