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
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const installStamp = join(root, 'node_modules', '.sluice-stamp')
const buildStamp = join(root, 'dist', '.build-stamp')
const lockDir = join(root, 'dist', '.prepare-lock')
const SOURCES = [
  'src',
  'workers',
  'kernels',
  'console',
  'test',
  'bench',
  'proto',
  'tsconfig.json',
  'package.json',
]
const COMPILED = ['src', 'workers', 'test', 'bench']
const KERNELS = join(root, 'dist', 'workers', 'kernel', 'kernels.wasm')
const CONSOLE = join(root, 'dist', 'www', 'index.html')
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
    rmSync(lockDir, { recursive: true, force: true })
  }
}

function isInstalled() {
  const wanted = hashOf(readFileSync(join(root, 'package-lock.json')))
  if (tryRead(installStamp) === wanted) return true
  if (!isInstalledByHand()) return false
  writeFileSync(installStamp, wanted)
  return true
}

/** True after somebody ran `npm ci` or `npm install`: npm's own record says what is there. */
function isInstalledByHand() {
  if (existsSync(installStamp)) return false
  const record = tryRead(join(root, 'node_modules', '.package-lock.json'))
  if (record === undefined) return false
  const installed = JSON.parse(record).packages
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
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
  // Also with NODE_ENV=production: compiling needs the development dependencies.
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund']
  const npmScript = process.env.npm_execpath
  const command =
    npmScript !== undefined && /\.c?js$/.test(npmScript)
      ? [process.execPath, npmScript, ...args]
      : ['npm', ...args]
  await run('installing dependencies (npm ci)', command, env)
  writeFileSync(installStamp, hashOf(readFileSync(join(root, 'package-lock.json'))))
}

function isBuilt() {
  return tryRead(buildStamp) === sourcesHash() && missingOutputs().length === 0
}

async function build() {
  // Taken first: what changes while the compiler runs is compiled next time.
  const hash = sourcesHash()
  removeStaleOutputs()
  // The incremental record says what was emitted, not what is still there.
  if (missingOutputs().length > 0) rmSync(join(root, 'dist', '.tsbuildinfo'), { force: true })
  rmSync(buildStamp, { force: true })
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  await run('compiling (tsc)', [process.execPath, tsc, '-p', '.'], process.env)
  const asc = join(root, 'node_modules', 'assemblyscript', 'bin', 'asc.js')
  const kernels = [process.execPath, asc, '--config', join('kernels', 'asconfig.json')]
  await run('compiling the kernels (asc)', kernels, process.env)
  const page = [process.execPath, join('scripts', 'build-console.mjs')]
  await run('building the console (esbuild)', page, process.env)
  writeFileSync(buildStamp, hash)
}

/** Over names, sizes and times: finds changed, added and removed files, also after a checkout. */
function sourcesHash() {
  const lines = [process.versions.node]
  for (const source of SOURCES) {
    for (const path of filesUnder(join(root, source))) {
      const { size, mtimeMs } = statSync(path)
      lines.push(`${relative(root, path)} ${size} ${mtimeMs}`)
    }
  }
  return hashOf(lines.join('\n'))
}

function missingOutputs() {
  const compiled = COMPILED.flatMap((folder) => filesUnder(join(root, folder)))
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))
    .map((path) => join(root, 'dist', relative(root, path).replace(/\.ts$/, '.js')))
  return [...compiled, KERNELS, CONSOLE].filter((path) => !existsSync(path))
}

/** A test that was deleted must not go on running. */
function removeStaleOutputs() {
  for (const folder of COMPILED) {
    for (const path of filesUnder(join(root, 'dist', folder))) {
      const source = join(root, relative(join(root, 'dist'), path).replace(/\.js$/, '.ts'))
      if (path.endsWith('.js') && !existsSync(source)) rmSync(path, { force: true })
    }
  }
}

function filesUnder(path) {
  if (!existsSync(path)) return []
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const child = join(path, entry.name)
      return entry.isDirectory() ? filesUnder(child) : [child]
    })
}

/** Runs a step with progress on stderr; a failure ends this process with the step's exit code. */
function run(what, [command, ...args], env) {
  const startMs = Date.now()
  const elapsed = () => `${Math.round((Date.now() - startMs) / 1000)} s`
  console.error(`sluice: ${what} ...`)
  return new Promise((resolve, reject) => {
    const progress = setInterval(() => console.error(`sluice: ${what}: ${elapsed()}`), PROGRESS_MS)
    // Stdout too goes to stderr: the stdout of `npm start` is the service's.
    const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 2, 2] })
    child.on('error', (error) => {
      clearInterval(progress)
      reject(new StepError(`${what} could not start: ${error.message}`, 1))
    })
    child.on('exit', (code, signal) => {
      clearInterval(progress)
      if (code === 0) {
        console.error(`sluice: ${what}: done in ${elapsed()}`)
        resolve()
      } else {
        reject(new StepError(`${what} failed (${signal ?? `exit code ${code}`})`, code ?? 1))
      }
    })
  })
}

class StepError extends Error {
  constructor(message, exitCode) {
    super(message)
    this.exitCode = exitCode
  }
}

/** Waits for another prepare of this checkout; takes over from one that died. */
async function takeLock() {
  mkdirSync(dirname(lockDir), { recursive: true })
  let told = false
  while (!tryTakeLock()) {
    if (isLockStale()) {
      removeStaleLock()
      continue
    }
    if (!told) console.error('sluice: waiting for another prepare of this checkout ...')
    told = true
    await new Promise((resolve) => setTimeout(resolve, LOCK_POLL_MS))
  }
}

function tryTakeLock() {
  try {
    mkdirSync(lockDir)
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
  writeFileSync(join(lockDir, 'pid'), String(process.pid))
  return true
}

function isLockStale() {
  const pid = Number(tryRead(join(lockDir, 'pid')))
  if (pid > 0) return !isAlive(pid)
  try {
    return Date.now() - statSync(lockDir).mtimeMs > LOCK_WITHOUT_OWNER_MS
  } catch {
    return false // Just released.
  }
}

/** Renaming lets one of several waiters win; a lock that was new after all is put back. */
function removeStaleLock() {
  const aside = `${lockDir}-${process.pid}`
  try {
    renameSync(lockDir, aside)
  } catch {
    return // Another waiter was faster.
  }
  const pid = Number(tryRead(join(aside, 'pid')))
  if (pid > 0 && isAlive(pid) && !existsSync(lockDir)) renameSync(aside, lockDir)
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

function hashOf(data) {
  return createHash('sha256').update(data).digest('hex')
}

try {
  await main()
} catch (error) {
  console.error(`sluice: ${error instanceof StepError ? error.message : error.stack}`)
  process.exitCode = error.exitCode ?? 1
}
