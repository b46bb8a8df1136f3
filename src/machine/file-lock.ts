/**
 * Exclusive locks on files. The kernel drops a lock with the last process that has the file open,
 * however that process ends, so there is no stale lock. The lock belongs to the file, so it also
 * works against processes of other containers, which see other process ids and sockets than we do.
 *
 * Node has no call for it. On Linux a small program locks the descriptor that it inherits: the lock
 * belongs to the open file, so we keep it after the program has ended. Elsewhere, opening the file
 * locks it.
 */
import { spawn } from 'node:child_process'
import { type BigIntStats, closeSync, constants, fstatSync, openSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { StoreError } from '../store/store-error.ts'

export interface FileLock {
  /**
   * A child that inherits it holds the lock as well, until both have closed it. Children inherit it
   * only when they are told to.
   */
  readonly descriptor: number
  /** Safe to call twice. */
  close(): void
}

/** Give up after this many attempts when the file is replaced each time while we lock it. */
const OPEN_TRIES_MAX = 5
const RETRY_MS = 20
/** How long a locking program that does not wait may take. */
const LOCKER_MS_MAX = 10_000
/** The exit code of busybox when it was built without the program. */
const NO_APPLET = 127
/** Opens a file with flock(2) on the BSDs and macOS; Node has no name for it. */
const O_EXLOCK = 0x20
const { O_CREAT, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR } = constants

const PERL =
  'open(my $f, "+<&=", 3) or open($f, "<&=", 3) or die "$!\\n";' +
  'exit 0 if flock($f, $ARGV[0]); exit 1 if $!{EWOULDBLOCK}; die "$!\\n"'

/** Programs that lock descriptor 3. They end with 1 and say nothing when another has the lock. */
const LOCKERS = [
  { command: 'flock', now: ['-x', '-n', '3'], wait: ['-x', '3'] },
  { command: 'busybox', now: ['flock', '-x', '-n', '3'], wait: ['flock', '-x', '3'] },
  { command: 'perl', now: ['-e', PERL, '6'], wait: ['-e', PERL, '2'] },
] as const

/**
 * Creates the file if needed. Undefined when another process still has the lock after `waitMs`.
 * Throws `StoreError` where files cannot be locked.
 */
export async function tryLockFile(path: string, waitMs = 0): Promise<FileLock | undefined> {
  for (let tries = 1; tries <= OPEN_TRIES_MAX; tries++) {
    const lock = await tryOpenLocked(path, O_RDWR | O_CREAT | O_NOFOLLOW, waitMs)
    // If it was removed or replaced since we opened it, nobody else can find it: the lock is void.
    if (lock === undefined || isStill(path, lock)) return lock
    lock.close()
  }
  throw new StoreError('other', `${path} is being replaced again and again; it cannot be locked`)
}

/** As `tryLockFile`, for a directory; throws where the file system locks only files. */
export async function tryLockDirectory(path: string): Promise<FileLock | undefined> {
  const lock = await tryOpenLocked(path, O_RDONLY | O_DIRECTORY, 0)
  if (lock === undefined || isStill(path, lock)) return lock
  lock.close()
  throw new StoreError('other', `${path} was replaced while it was being locked`)
}

async function tryOpenLocked(
  path: string,
  flags: number,
  waitMs: number,
): Promise<FileLock | undefined> {
  if (process.platform !== 'linux') return await tryOpenExclusive(path, flags, waitMs)
  const lock = new OpenFile(openSync(path, flags, 0o600))
  try {
    if (await lockDescriptor(lock.descriptor, path, waitMs)) return lock
    lock.close()
    return undefined
  } catch (cause) {
    lock.close()
    throw cause
  }
}

class OpenFile implements FileLock {
  readonly descriptor: number
  #isOpen = true

  constructor(descriptor: number) {
    this.descriptor = descriptor
  }

  close(): void {
    if (this.#isOpen) closeSync(this.descriptor)
    this.#isOpen = false
  }
}

async function tryOpenExclusive(
  path: string,
  flags: number,
  waitMs: number,
): Promise<FileLock | undefined> {
  const deadline = performance.now() + waitMs
  for (;;) {
    try {
      return new OpenFile(openSync(path, flags | O_EXLOCK | O_NONBLOCK, 0o600))
    } catch (cause) {
      if (!(cause instanceof Error && 'code' in cause && cause.code === 'EAGAIN')) throw cause
    }
    if (performance.now() >= deadline) return undefined
    await sleep(RETRY_MS)
  }
}

async function lockDescriptor(descriptor: number, path: string, waitMs: number): Promise<boolean> {
  for (const { command, now, wait } of LOCKERS) {
    const args = waitMs > 0 ? wait : now
    const end = await runLocker(command, args, descriptor, waitMs || LOCKER_MS_MAX)
    if (end.kind === 'missing' || (end.kind === 'ended' && end.code === NO_APPLET)) continue
    if (end.kind === 'late') {
      if (waitMs > 0) return false
      throw new StoreError('other', `cannot lock ${path}: ${command} does not end`)
    }
    if (end.code === 0) return true
    if (end.code === 1 && end.text === '') return false
    throw new StoreError('other', `cannot lock ${path}: ${command} says: ${end.text}`)
  }
  throw new StoreError(
    'other',
    `cannot lock ${path}: there is neither flock (package util-linux or busybox) nor perl here; ` +
      'install one of them',
  )
}

type LockerEnd =
  | { readonly kind: 'missing' }
  | { readonly kind: 'late' }
  | { readonly kind: 'ended'; readonly code: number; readonly text: string }

function runLocker(
  command: string,
  args: readonly string[],
  descriptor: number,
  msMax: number,
): Promise<LockerEnd> {
  return new Promise((resolve) => {
    const stdio = ['ignore', 'ignore', 'pipe', descriptor] as const
    const child = spawn(command, args, { stdio: [...stdio], cwd: '/', env: lockerEnvironment() })
    let text = ''
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      child.kill('SIGKILL')
    }, msMax)
    child.stderr?.setEncoding('utf8').on('data', (part: string) => {
      text = (text + part).slice(0, 500)
    })
    child.once('error', (cause: NodeJS.ErrnoException) => {
      clearTimeout(timer)
      if (cause.code === 'ENOENT' || cause.code === 'EACCES') resolve({ kind: 'missing' })
      else resolve({ kind: 'ended', code: -1, text: cause.message })
    })
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      if (isLate) resolve({ kind: 'late' })
      else resolve({ kind: 'ended', code: code ?? -1, text: text.trim() || (signal ?? '') })
    })
  })
}

/** Makes programs report in English, since we parse their messages. */
function lockerEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH ?? '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }
}

function isStill(path: string, { descriptor }: FileLock): boolean {
  const there = statSync(path, { bigint: true, throwIfNoEntry: false })
  return there !== undefined && isSame(there, fstatSync(descriptor, { bigint: true }))
}

function isSame(left: BigIntStats, right: BigIntStats): boolean {
  return left.dev === right.dev && left.ino === right.ino
}
