/**
 * The data directory: made for us alone, used by one process at a time, and home of the node's
 * identity. It is locked before anything in it is touched. The process that holds the lock may end
 * what an earlier process left behind, since that process is gone, whatever container it ran in.
 */
import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { StoreError } from '../store/store-error.ts'
import type { StoreLog } from '../store/store-log.ts'
import { type FileLock, tryLockDirectory, tryLockFile } from './file-lock.ts'
import { isAlive, tryRead } from './processes.ts'

export interface DataDirectory {
  /** Absolute, without links. */
  readonly path: string
  /** A UUID that stays with the directory and identifies this node, see `node-lease.ts`. */
  readonly nodeIdentity: string
  /** Releases the directory for another process. Safe to call twice. */
  close(): Promise<void>
}

const IDENTITY = 'node-identity'
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Creates `path` if needed, closes it to others, and locks it. Throws `StoreError` when another
 * process has it, or when it cannot be ours alone.
 */
export async function openDataDirectory(path: string, log?: StoreLog): Promise<DataDirectory> {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const real = realpathSync(path)
  const owner = otherOwner(real)
  if (owner !== undefined) {
    log?.warn(
      { path: real, owner },
      'the data directory belongs to another user, who can change it',
    )
  }
  if (closeToOthers(real)) log?.warn({ path: real }, 'the data directory was open to others')
  const pidFile = join(real, 'sluice.pid')
  const locks = await takeLocks(real)
  if (locks === undefined) throw inUse(real, pidFile)
  writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 })
  let closed = false
  return {
    path: real,
    nodeIdentity: readOrMakeIdentity(join(real, IDENTITY)),
    close: async () => {
      if (closed) return
      closed = true
      rmSync(pidFile, { force: true })
      for (const lock of locks) lock.close()
    },
  }
}

/**
 * The user id of a directory's owner, or undefined when it is ours. Root could open any user's
 * directory, but the owner can read the tokens in it and put links where root writes. So root does
 * not accept a directory that a user put there before us, only one that an earlier start as that
 * user made, or a volume that an administrator mounted there for us.
 */
function otherOwner(path: string): number | undefined {
  const { uid } = statSync(path)
  if (process.geteuid?.() !== 0 || uid === 0) return undefined
  const identity = lstatSync(join(path, IDENTITY), { throwIfNoEntry: false })
  const isKnown = identity?.isFile() === true && (identity.uid === 0 || identity.uid === uid)
  if (isKnown || isMountPoint(path)) return uid
  throw new StoreError(
    'other',
    `${path} belongs to another user (uid ${uid}): start as that user, or chown it to root`,
  )
}

/** Includes a bind mount within one file system, which has the same device as its parent. */
function isMountPoint(path: string): boolean {
  if (statSync(path).dev !== statSync(join(path, '..')).dev) return true
  const mounts = tryRead('/proc/self/mountinfo') ?? ''
  const escaped = path.replaceAll('\\', '\\134').replaceAll(' ', '\\040')
  return mounts.split('\n').some((line) => line.split(' ')[4] === escaped)
}

/**
 * A user who can write here can replace the stores' data, and read access exposes more than needed.
 * So the mode becomes 0700, except for a directory that also serves others, such as a home.
 */
function closeToOthers(path: string): boolean {
  const { mode } = statSync(path)
  if ((mode & 0o077) === 0) return false
  const names = readdirSync(path).filter((name) => name !== 'lost+found')
  const isOurs = names.length === 0 || names.includes(IDENTITY)
  const openly = `${path} is open to other users (mode ${(mode & 0o7777).toString(8)})`
  if (!isOurs) throw new StoreError('other', `${openly} and holds files of others; ${INSTEAD}`)
  try {
    chmodSync(path, 0o700)
    return true
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EPERM')) throw cause
    throw new StoreError('other', `${openly} and belongs to another user; ${INSTEAD}`)
  }
}

const INSTEAD = 'as --data name a directory inside it, which is made for this alone'

/**
 * Every file system can lock a file. Where possible the directory itself is locked as well: then a
 * person who takes the file for stale and removes it does not let another process in.
 */
async function takeLocks(path: string): Promise<readonly FileLock[] | undefined> {
  const file = await tryLockFile(join(path, 'sluice.lock'))
  if (file === undefined || process.platform !== 'linux') return file && [file]
  try {
    const directory = await tryLockDirectory(path)
    if (directory !== undefined) return [file, directory]
  } catch (cause) {
    // A network file system, which locks only what it can write to: the file's lock must do.
    if (cause instanceof StoreError) return [file]
    file.close()
    throw cause
  }
  file.close()
  return undefined
}

function inUse(path: string, pidFile: string): StoreError {
  const pid = tryRead(pidFile)?.trim() || 'unknown'
  const where = isAlive(Number(pid)) ? '' : ', which is not seen from here (another container?)'
  return new StoreError(
    'conflict',
    `data directory ${path} is in use by process ${pid}${where}; stop it or use another --data`,
  )
}

function readOrMakeIdentity(file: string): string {
  const known = tryRead(file)?.trim()
  if (known !== undefined && UUID.test(known)) return known
  // Written to a temporary file and renamed: a crash must not leave half an identity.
  writeFileSync(`${file}.new`, `${randomUUID()}\n`, { mode: 0o600, flush: true })
  renameSync(`${file}.new`, file)
  return readFileSync(file, 'utf8').trim()
}
