/**
 * The data directory: made for us alone, used by one process at a time, and home of the node's
 * identity. The lock is a listening socket whose name has no file: the kernel drops it with the
 * process, however that ends, so there is no stale lock.
 */
import { randomUUID } from 'node:crypto'
import {
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { isAlive, tryRead } from './embedded/processes.ts'
import { StoreError } from './store-error.ts'

export interface DataDirectory {
  /** Absolute, without links. */
  readonly path: string
  /** A UUID that stays with the directory: who this node is, see `node-lease.ts`. */
  readonly nodeIdentity: string
  /** Lets another process have it. Safe to call twice. */
  close(): Promise<void>
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Creates `path` if need be and locks it. Throws `StoreError` when another process has it. */
export async function openDataDirectory(path: string): Promise<DataDirectory> {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const real = realpathSync(path)
  const pidFile = join(real, 'sluice.pid')
  const lock = await takeLock(real, pidFile)
  writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 })
  let closed = false
  return {
    path: real,
    nodeIdentity: readOrMakeIdentity(join(real, 'node-identity')),
    close: async () => {
      if (closed) return
      closed = true
      rmSync(pidFile, { force: true })
      await new Promise<void>((resolve) => {
        if (lock === undefined) resolve()
        else lock.close(() => resolve())
      })
    },
  }
}

async function takeLock(path: string, pidFile: string): Promise<Server | undefined> {
  if (process.platform !== 'linux') {
    // No such sockets here: the pid file must do, unless its process is gone.
    const pid = Number(tryRead(pidFile) ?? 0)
    if (pid > 1 && pid !== process.pid && isAlive(pid)) throw inUse(path, pidFile)
    return undefined
  }
  const { dev, ino } = statSync(path)
  const server = createServer((socket) => socket.destroy())
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      // Named after the directory, not its path: mounts and links lead to the same lock.
      server.listen(`\0sluice-${dev}-${ino}`, resolve)
    })
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE') {
      throw inUse(path, pidFile)
    }
    throw cause
  }
  server.unref()
  return server
}

function inUse(path: string, pidFile: string): StoreError {
  const pid = tryRead(pidFile)?.trim() || 'unknown'
  return new StoreError(
    'conflict',
    `data directory ${path} is in use by process ${pid}; stop it or use another --data`,
  )
}

function readOrMakeIdentity(file: string): string {
  const known = tryRead(file)?.trim()
  if (known !== undefined && UUID.test(known)) return known
  // Written aside and renamed: a crash must not leave half an identity behind.
  writeFileSync(`${file}.new`, `${randomUUID()}\n`, { mode: 0o600, flush: true })
  renameSync(`${file}.new`, file)
  return readFileSync(file, 'utf8').trim()
}
