/**
 * The data directory of the embedded PostgreSQL: initdb creates it, with a random password. Servers
 * that a killed Sluice left running in it are ended.
 *
 * The server's user may not be able to reach the directory by its path (a data directory below
 * root's 0700 home). So it gets the opened directory as descriptor 3 and is told that its data is
 * at `/proc/self/fd/3`: that link leads to the directory itself, without a walk through its
 * parents.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { isAlive, sendSignal, tryRead, waitUntilGone, worksIn } from '../machine/processes.ts'
import { StoreError } from '../store/store-error.ts'
import type { StoreLog } from '../store/store-log.ts'
import type { PostgresBinaries } from './postgres-binaries.ts'
import type { RunAs } from './postgres-user.ts'

export const SUPERUSER = 'sluice'
/** Part of the socket's name; no port of the machine. */
export const SOCKET_PORT = 5432
export const SOCKET_NAME = `.s.PGSQL.${SOCKET_PORT}`
const PID_FILE = 'postmaster.pid'
const INITDB_MS_MAX = 120_000
const ORPHAN_MS_MAX = 10_000
/**
 * A backend keeps up to 16 MiB that it has freed: the next COPY needs them again. By default glibc
 * gives back everything above 128 KiB, dozens of times per commit. Decision 24.
 */
const KEPT_BYTES = String(16 * 1024 * 1024)
const MALLOC_SETTINGS = {
  MALLOC_TRIM_THRESHOLD_: KEPT_BYTES,
  MALLOC_MMAP_THRESHOLD_: KEPT_BYTES,
}

/** How a server process of this user is told where its data is; see the file header. */
export interface DataAccess {
  readonly argument: string
  /** Goes into `stdio` as descriptor 3. */
  readonly descriptor: number | 'ignore'
  close(): void
}

export function accessData(pgData: string, runAs: RunAs | undefined): DataAccess {
  if (runAs === undefined || process.platform !== 'linux') {
    return { argument: pgData, descriptor: 'ignore', close: () => undefined }
  }
  const descriptor = openSync(pgData, 'r')
  return { argument: '/proc/self/fd/3', descriptor, close: () => closeSync(descriptor) }
}

export interface ClusterOptions {
  readonly dataDir: string
  readonly pgData: string
  readonly binaries: PostgresBinaries
  readonly runAs: RunAs | undefined
  readonly log: StoreLog
}

/** Makes the cluster if there is none, and returns its password. */
export async function ensureCluster(options: ClusterOptions): Promise<string> {
  const { dataDir, pgData, binaries } = options
  const passwordFile = join(dataDir, 'postgres-password')
  const version = tryRead(join(pgData, 'PG_VERSION'))?.trim()
  const known = tryRead(passwordFile)?.trim()
  if (version !== undefined) {
    if (version !== binaries.major) {
      const text = `${pgData} holds data of PostgreSQL ${version}, this is ${binaries.major}`
      throw new StoreError('other', `${text}: export it with the Sluice that wrote it`)
    }
    if (known) return known
    throw new StoreError('other', `${pgData} exists but its password ${passwordFile} does not`)
  }
  if (existsSync(pgData) && readdirSync(pgData).length > 0) {
    throw new StoreError('other', `${pgData} exists, is not empty and holds no PostgreSQL data`)
  }
  const password = known || randomBytes(24).toString('hex')
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 })
  await initCluster(options, password)
  return password
}

/** Runs initdb beside the final path and renames: half a cluster is never taken for one. */
async function initCluster(options: ClusterOptions, password: string): Promise<void> {
  const { dataDir, pgData, runAs, log } = options
  for (const name of readdirSync(dataDir)) {
    if (name.startsWith(FRESH)) rmSync(join(dataDir, name), { recursive: true, force: true })
  }
  log.info({ pgData }, 'making a PostgreSQL data directory')
  const fresh = mkdtempSync(join(dataDir, FRESH))
  chmodSync(fresh, 0o700)
  const passwordCopy = `${fresh}.password`
  writeFileSync(passwordCopy, `${password}\n`, { mode: 0o600 })
  if (runAs !== undefined) {
    chownSync(fresh, runAs.uid, runAs.gid)
    chownSync(passwordCopy, runAs.uid, runAs.gid)
  }
  const descriptor = openSync(passwordCopy, 'r')
  try {
    await runInitdb(options, fresh, { path: passwordCopy, descriptor })
  } finally {
    closeSync(descriptor)
    unlinkSync(passwordCopy)
  }
  rmSync(pgData, { recursive: true, force: true }) // Empty, as was checked.
  renameSync(fresh, pgData)
}

const FRESH = 'postgres-new-'

async function runInitdb(
  { binaries, runAs }: ClusterOptions,
  directory: string,
  passwordFile: { path: string; descriptor: number },
): Promise<void> {
  const access = accessData(directory, runAs)
  const byDescriptor = access.descriptor !== 'ignore'
  const args = [
    `--pgdata=${access.argument}`,
    `--pwfile=${byDescriptor ? '/proc/self/fd/4' : passwordFile.path}`,
    `--username=${SUPERUSER}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--no-instructions',
  ]
  const child = spawn(binaries.initdb, args, {
    ...runAs,
    cwd: '/',
    env: serverEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe', access.descriptor, passwordFile.descriptor],
    timeout: INITDB_MS_MAX,
    killSignal: 'SIGKILL',
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-4_000)
    })
  }
  const code = await new Promise<number | string>((resolve) => {
    child.once('error', (cause) => resolve(cause.message))
    child.once('close', (status, signal) => resolve(status ?? signal ?? 'unknown'))
  })
  access.close()
  if (code !== 0) throw new StoreError('other', `initdb failed (${code}): ${output.trim()}`)
}

/** Little of ours: PG* variables would change what the server does. */
export function serverEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', ...MALLOC_SETTINGS }
}

/**
 * Ends every visible server process that still works in `pgData`: a postmaster that outlived its
 * parent, or children that outlived a killed postmaster. Returns when they are gone.
 */
export async function endOrphans(pgData: string, log: StoreLog): Promise<void> {
  const pid = Number(tryRead(join(pgData, PID_FILE))?.split('\n')[0] ?? 0)
  // The number may be anybody's after a reboot, or mean something in another container only.
  const isOurs = Number.isSafeInteger(pid) && pid > 1 && isAlive(pid) && worksIn(pid, pgData)
  if (isOurs) await endPostmaster(pid, log)
  const children = processesIn(pgData)
  if (children.length > 0) log.warn({ storePids: children }, 'waiting for old PostgreSQL processes')
  for (const child of children) {
    if (await waitUntilGone(child, ORPHAN_MS_MAX)) continue
    sendSignal(child, 'SIGKILL')
    await waitUntilGone(child, ORPHAN_MS_MAX)
  }
}

/**
 * Removes PostgreSQL's own lock files. Only the holder of the store's lock may do this, as it knows
 * that no server is running here. PostgreSQL itself would take a zombie, or another process with
 * the same pid, for a running server. It would take an empty lock file, which a server leaves that
 * was killed before it wrote its pid, for a start under way.
 */
export function clearLockFiles(pgData: string): void {
  for (const name of [PID_FILE, `${SOCKET_NAME}.lock`]) rmSync(join(pgData, name), { force: true })
}

async function endPostmaster(pid: number, log: StoreLog): Promise<void> {
  log.warn(
    { storePid: pid },
    'a PostgreSQL of an earlier process still runs on our data; stopping it',
  )
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
    sendSignal(pid, signal)
    if (await waitUntilGone(pid, ORPHAN_MS_MAX)) return
  }
}

/** Every process whose working directory this is: a server's is its data directory. */
export function processesIn(directory: string): number[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid)
    .filter((pid) => isServer(pid) && worksIn(pid, directory))
}

function isServer(pid: number): boolean {
  return tryRead(`/proc/${pid}/comm`)?.trim() === 'postgres'
}

/** The directory for everything of the embedded stores, only for us. */
export function ensureDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
}
