/**
 * Makes a checkout ready to run: installs dependencies and compiles, each only when needed. Runs
 * before `npm start`, `npm test` and the benches, so that they work on a bare clone.
 *
 * Plain Node without dependencies, as it runs before there are any. Writes only inside the
 * checkout. Two at once take turns.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))))

const BUILD_STAMP = 'dist/.build-stamp'
const LOCK = 'dist/.prepare-lock'
const COMPILED = ['src', 'workers', 'test', 'bench']
const SOURCES = [...COMPILED, 'kernels', 'console', 'proto', 'tsconfig.json', 'package.json']
const OTHER_OUTPUTS = ['dist/workers/kernel/kernels.wasm', 'dist/www/index.html']
const STEPS = [
  ['compiling (tsc)', 'node_modules/typescript/bin/tsc', '-p', '.'],
  [
    'compiling the kernels (asc)',
    'node_modules/assemblyscript/bin/asc.js',
    '--config',
    'kernels/asconfig.json',
  ],
  ['building the console (esbuild)', 'scripts/build-console.mjs'],
]
const LOCK_POLL_MS = 200
const LOCK_WITHOUT_OWNER_MS = 10_000
const PROGRESS_MS = 10_000

/** What a nested npm may inherit: where to get packages from. The rest describes the outer run. */
const NPM_SETTINGS_KEPT = new RegExp(
  '^npm_config_(registry|cache|userconfig|globalconfig|proxy|https_proxy|noproxy|ca|cafile|' +
    'strict_ssl|offline|prefer_offline|fetch_.*)$',
  'i',
)

async function main() {
  if (isInstalled() && isBuilt()) return
  await takeLock()
  try {
    if (!isInstalled()) await install()
    if (!isBuilt()) await build()
  } finally {
    rmSync(LOCK, { force: true })
  }
}

/** By npm's own record, which it writes when all else is in place. */
function isInstalled() {
  const record = tryRead('node_modules/.package-lock.json')
  if (record === undefined) return false
  const installed = JSON.parse(record).packages
  const wanted = JSON.parse(readFileSync('package-lock.json', 'utf8')).packages
  return Object.entries(wanted).every(
    ([path, { version, optional }]) =>
      path === '' || optional || installed[path]?.version === version,
  )
}

async function install() {
  const env = {}
  for (const [name, value] of Object.entries(process.env)) {
    if (!/^npm_/i.test(name) || NPM_SETTINGS_KEPT.test(name)) env[name] = value
  }
  const npmScript = process.env.npm_execpath ?? ''
  const npm = /\.c?js$/.test(npmScript) ? [process.execPath, npmScript] : ['npm']
  // Also with NODE_ENV=production: compiling needs the development dependencies.
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund']
  await run('installing dependencies (npm ci)', [...npm, ...args], env)
}

function isBuilt() {
  return tryRead(BUILD_STAMP) === sourcesHash() && outputs().every((path) => existsSync(path))
}

async function build() {
  // Taken first: what changes while the compiler runs is compiled next time.
  const hash = sourcesHash()
  rmSync(BUILD_STAMP, { force: true })
  const wanted = new Set(outputs())
  // A test that was deleted must not go on running.
  for (const path of COMPILED.flatMap((folder) => filesUnder(join('dist', folder)))) {
    if (path.endsWith('.js') && !wanted.has(path)) rmSync(path, { force: true })
  }
  // The compiler's record says what was emitted, not what is still there.
  if ([...wanted].some((path) => !existsSync(path))) rmSync('dist/.tsbuildinfo', { force: true })
  for (const [what, ...args] of STEPS) await run(what, [process.execPath, ...args], process.env)
  writeFileSync(BUILD_STAMP, hash)
}

/** Over names, sizes and times: finds changed, added and removed files, also after a checkout. */
function sourcesHash() {
  const lines = SOURCES.flatMap(filesUnder).map((path) => {
    const { size, mtimeMs } = statSync(path)
    return `${path} ${size} ${mtimeMs}`
  })
  return createHash('sha256')
    .update([process.versions.node, ...lines].join('\n'))
    .digest('hex')
}

function outputs() {
  const sources = COMPILED.flatMap(filesUnder).filter((path) => /(?<!\.d)\.ts$/.test(path))
  return [...sources.map((path) => join('dist', path.replace(/ts$/, 'js'))), ...OTHER_OUTPUTS]
}

function filesUnder(path) {
  if (!existsSync(path)) return []
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}

/** Runs a step with progress on stderr; a failure ends this process with the step's exit code. */
async function run(what, [command, ...args], env) {
  const startMs = Date.now()
  const say = (text) => console.error(`sluice: ${what}${text}`)
  const elapsed = () => `${Math.round((Date.now() - startMs) / 1000)} s`
  say(' ...')
  const progress = setInterval(() => say(`: ${elapsed()}`), PROGRESS_MS)
  // Stdout too goes to stderr: the stdout of `npm start` is the service's.
  const child = spawn(command, args, { env, stdio: ['ignore', 2, 2] })
  try {
    await new Promise((resolve, reject) => {
      child.on('error', (error) =>
        reject(new StepError(`${what} could not start: ${error.message}`, 1)),
      )
      child.on('exit', (code, signal) => {
        if (code === 0) resolve()
        else reject(new StepError(`${what} failed (${signal ?? `exit code ${code}`})`, code ?? 1))
      })
    })
    say(`: done in ${elapsed()}`)
  } finally {
    clearInterval(progress)
  }
}

class StepError extends Error {
  constructor(message, exitCode) {
    super(message)
    this.exitCode = exitCode
  }
}

/** Waits for another prepare of this checkout; takes over from one that died. */
async function takeLock() {
  mkdirSync(dirname(LOCK), { recursive: true })
  let told = false
  while (!tryTakeLock()) {
    if (isLockStale()) {
      removeStaleLock()
      continue
    }
    if (!told) console.error('sluice: waiting for another prepare of this checkout ...')
    told = true
    await sleep(LOCK_POLL_MS)
  }
}

function tryTakeLock() {
  try {
    writeFileSync(LOCK, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

function isLockStale() {
  const owner = Number(tryRead(LOCK))
  if (owner > 0) return !isAlive(owner)
  const stat = statSync(LOCK, { throwIfNoEntry: false })
  return stat !== undefined && Date.now() - stat.mtimeMs > LOCK_WITHOUT_OWNER_MS
}

/** Renaming lets one of several waiters win; a lock that was new after all is put back. */
function removeStaleLock() {
  const aside = `${LOCK}-${process.pid}`
  try {
    renameSync(LOCK, aside)
  } catch {
    return // Another waiter was faster.
  }
  const owner = Number(tryRead(aside))
  if (owner > 0 && isAlive(owner) && !existsSync(LOCK)) renameSync(aside, LOCK)
  else rmSync(aside, { recursive: true, force: true })
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

function tryRead(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

try {
  await main()
} catch (error) {
  console.error(`sluice: ${error instanceof StepError ? error.message : error.stack}`)
  process.exitCode = error.exitCode ?? 1
}
