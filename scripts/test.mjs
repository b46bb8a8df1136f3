/**
 * Runs the compiled tests: most four files at a time, then those that measure one at a time.
 * Stores and one service are started once for all that can share them. Ends with the totals of
 * both, in the words of Node's own test runner. Of a whole run, what failed is tried once more by
 * itself: what then passes is named at the end, a fault of the test or of ours that is still to be
 * found, and does not fail the run.
 *
 *   npm test                     everything
 *   npm test -- tape http/       test files whose path contains one of these
 *   npm test -- --name=repaired  tests whose name matches
 *   npm run test:long            the same with more random input, more kills, and what takes long
 *   npm test -- --times          at the end, how long each file took, and what it started
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, sep } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const testDir = join(root, 'dist', 'test')
/** Files that share the machine with nobody: they measure. */
const ALONE = [
  'e2e/limits/credential-burst',
  'e2e/limits/gone-clients',
  'e2e/limits/main-thread',
  'e2e/limits/slow-reads.long',
  'e2e/stores/many-streams',
  'e2e/stores/noisy-stream.long',
  'embedded/background-priority',
  'embedded/clickhouse-lanes',
  'embedded/read-cost',
].map(testPath)
/** Those that mostly wait: for services, stores and time. */
const WAITING = /^(app|e2e|crash|embedded|http|pool|machine|scripts|store\/raw\/take-over)\b/
/** Files at a time: one that works and three that wait, as long as there are both. */
const CONCURRENCY = 4
/** The longest, which begin first: whatever is long and begins late ends alone. */
const LONGEST = [
  'crash/failover.long',
  'e2e/lifecycle',
  'embedded/lifecycle',
  'e2e/stores/projection-faults.long',
  'e2e/stores/retention',
  'e2e/reads/bounds',
  'e2e/reads/tail',
  'e2e/stores/stores-away',
  'crash/kill-retention.long',
  'crash/kill-tail.long',
  'e2e/stores/real-clickhouse',
  'e2e/stores/clocks',
  'e2e/reads/new-paths',
  'e2e/reads/search',
  'crash/two-instances.long',
  'e2e/reads/steady-meaning.long',
  'http/reply-stream',
  'e2e/stores/projection-identity.long',
  'e2e/console/accessible',
  'e2e/console/clock.long',
  'crash/kill-postgres',
  'store/projection/compile/part-states',
  'store/projection/compile/differential',
  'serve/query-refusals',
  'e2e/patterns',
  'read/compare/compare-scenarios',
  'store/projection/compile/hostile',
  'language/engine',
  'store/projection/table-keeper',
  'retain/compaction',
  'retain/split',
  'e2e/surfaces/mixed-surfaces',
  'pool/pool',
  'embedded/clickhouse-orphan',
  'http/engines',
  'scripts/audit',
].map(testPath)
/** Files that only the long run has. */
const LONG = '.long.test.js'
/** For how long random input is tried, and how often is killed, as multiples: fuzzing.ts. */
const LONG_FUZZ_FACTOR = 5
const GATE_FUZZ_FACTOR = 0.3
/** Past it the whole run fails on an idle machine with two processors, and warns on another. */
const GATE_SECONDS_MAX = 600
const IDLE_SHARE_MIN = 0.85
/** So few files start their own stores and services; more share those of the run. */
const FILES_OF_THEIR_OWN_MAX = 3
/** Files of a whole run that are tried once more; where more failed it is no accident. */
const AGAIN_MAX = 3
const TOTALS = ['tests', 'suites', 'pass', 'fail', 'cancelled', 'skipped', 'todo']

/** The first Ctrl-C ends what runs, and then all that was started for it. */
const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => interrupted.abort())

const startMs = Date.now()
const args = process.argv.slice(2)
const names = args.filter((arg) => arg.startsWith('--name=')).map((arg) => arg.slice(7))
const filters = args.filter((arg) => !arg.startsWith('-'))
const showsTimes = args.includes('--times')
const isLong = args.includes('--long')
/** A test file that takes longer hangs. */
const FILE_MS_MAX = 5 * 60_000 * (isLong ? LONG_FUZZ_FACTOR : 1)
const unknown = args.filter((arg) => /^-/.test(arg) && !/^--(name=.*|times|long)$/.test(arg))
/** Seconds by file. */
const fileSeconds = new Map()
/** Counts by file, of its last run. */
const fileTotals = new Map()
const failed = new Set()
/** Tests append to a file in it what they started: see `test/support/times.ts`. */
const timesDir = showsTimes ? mkdtempSync(join(tmpdir(), 'sluice-times-')) : undefined
if (timesDir !== undefined) {
  process.env.TEST_TIMES = join(timesDir, 'times')
  process.once('exit', () => rmSync(timesDir, { recursive: true }))
  process.env.NODE_OPTIONS = `--import ${new URL('note-cpu.mjs', import.meta.url)}`
}

const found = readdirSync(testDir, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.js'))
  .filter((path) => filters.length === 0 || filters.some((filter) => path.includes(filter)))
  .sort()
/** Of the long run alone; a filter can name them. */
const longFiles = found.filter((path) => path.endsWith(LONG))
const files = isLong || filters.length > 0 ? found : found.filter((path) => !path.endsWith(LONG))
process.env.SLUICE_TEST_FUZZ_FACTOR ??= String(isLong ? LONG_FUZZ_FACTOR : GATE_FUZZ_FACTOR)
/** Its time is judged. */
const isGate = !isLong && filters.length === 0 && names.length === 0
const isAlone = (path) => ALONE.includes(path)

if (unknown.length > 0 || files.length === 0) {
  console.error(unknown.length > 0 ? `unknown: ${unknown.join(' ')}` : 'no such test file')
  process.exitCode = 1
} else {
  const shares = isGate ? [await measureShare()] : []
  const stopShared = files.length > FILES_OF_THEIR_OWN_MAX ? await startShared() : undefined
  await runGroup(
    files.filter((path) => !isAlone(path)),
    CONCURRENCY,
  )
  if (isGate) shares.push(await measureShare())
  await runGroup(files.filter(isAlone), 1)
  // What is tried again tells of a fault, and not of how much there is to run.
  const judgedMs = Date.now() - startMs
  const passedAgain = isGate ? await runAgain([...failed]) : []
  await stopShared?.()
  if (isGate) shares.push(await measureShare())
  const seconds = ((Date.now() - startMs) / 1000).toFixed(1)
  console.log(`\n${files.length} files in ${seconds} s`)
  if (timesDir !== undefined) printTimes(process.env.TEST_TIMES)
  if (isGate) {
    printBeyond()
    judgeDuration(judgedMs / 1_000, Math.min(...shares))
  }
  for (const path of passedAgain) console.log(`\nfailed beside others, passed alone: ${path}`)
  for (const name of TOTALS) {
    const counts = [...fileTotals.values()].map((of) => of.get(name) ?? 0)
    console.log(`# ${name} ${counts.reduce((sum, count) => sum + count, 0)}`)
  }
  console.log(`# duration_ms ${Date.now() - startMs}`)
  if (failed.size > 0) process.exitCode = 1
}

function testPath(path) {
  return `${path.replaceAll('/', sep)}.test.js`
}

/** Starts what tests share, and tells them by their environment; returns how to stop it. */
async function startShared() {
  // It ends when its stdin does: also when we are killed.
  const child = spawn(process.execPath, [join(testDir, 'support', 'run-stores.js')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  let text = ''
  for await (const some of child.stdout) {
    text += some
    if (text.includes('\n')) break
  }
  if (text === '') throw new Error('the stores that tests share did not start')
  Object.assign(process.env, JSON.parse(text))
  return async () => {
    child.stdin.end()
    await ended
  }
}

/** Runs files, so many at a time, with Node's spec reporter: what it says of one stays together. */
async function runGroup(group, concurrency) {
  if (group.length === 0) return
  const reporter = new spec()
  reporter.on('data', (text) => process.stdout.write(text))
  const takeNext = queueOf(group)
  const runSome = async () => {
    for (let next = takeNext(); next !== undefined; next = takeNext()) {
      for (const event of await runFile(next.path)) reporter.write(event)
      next.onEnd()
    }
  }
  await Promise.all(Array.from({ length: concurrency }, runSome))
  reporter.end()
  await new Promise((resolve) => reporter.on('end', resolve))
}

/** Runs these one at a time; those that pass. */
async function runAgain(paths) {
  if (paths.length === 0 || paths.length > AGAIN_MAX) return []
  console.log(`\nonce more, alone: ${paths.join(', ')}`)
  failed.clear()
  await runGroup(paths, 1)
  return paths.filter((path) => !failed.has(path))
}

/** Takes the next file: one that works where none of these runs, or where no other is left. */
function queueOf(group) {
  const byLength = [...LONGEST.filter((path) => group.includes(path)), ...group]
  const waiting = [...new Set(byLength)].filter((path) => WAITING.test(path))
  const working = [...new Set(byLength)].filter((path) => !WAITING.test(path))
  let worksNow = 0
  return () => {
    if (interrupted.signal.aborted) return
    const isWork = working.length > 0 && (worksNow === 0 || waiting.length === 0)
    const path = (isWork ? working : waiting).shift()
    if (path === undefined) return
    if (isWork) worksNow++
    return { path, onEnd: () => isWork && worksNow-- }
  }
}

/** What the reporter is to be told of a file, less the totals: those are added up here. */
async function runFile(path) {
  const events = run({
    files: [join(testDir, path)],
    timeout: FILE_MS_MAX,
    signal: interrupted.signal,
    testNamePatterns: names.length > 0 ? names.map((name) => new RegExp(name)) : undefined,
  })
  const told = []
  const totals = new Map()
  fileTotals.set(path, totals)
  for await (const event of events) {
    if (event.type === 'test:complete' && event.data.name === event.data.file) {
      fileSeconds.set(relative(testDir, event.data.file), event.data.details.duration_ms / 1000)
    }
    if (takesTotal(event, totals)) continue
    if (event.type === 'test:fail' && event.data.nesting === 0) failed.add(path)
    told.push(event)
  }
  if ((totals.get('fail') ?? 0) + (totals.get('cancelled') ?? 0) > 0) failed.add(path)
  return told
}

/** True for a total of the run of a file, which it notes. */
function takesTotal(event, totals) {
  if (event.type !== 'test:diagnostic' || event.data.nesting !== 0) return false
  const match = /^(\w+) ([\d.]+)$/.exec(event.data.message)
  if (match === null) return false
  if (match[1] === 'duration_ms') return true
  if (!TOTALS.includes(match[1])) return false
  totals.set(match[1], Number(match[2]))
  return true
}

/** What two threads of ours get of two processors, 0 to 1: below 1 others use them as well. */
async function measureShare() {
  const { user, system } = process.cpuUsage()
  const fromMs = performance.now()
  const loop = 'for (let i = 0, x = 1; i < 2e8; i++) x = Math.imul(x, 1664525) + i'
  const threads = [0, 1].map(() => new Worker(loop, { eval: true }))
  await Promise.all(threads.map((thread) => once(thread, 'exit')))
  const ms = performance.now() - fromMs
  const used = process.cpuUsage({ user, system })
  return (used.user + used.system) / 1_000 / (2 * ms)
}

/** The gate is kept short: whoever adds to it sees it fail, unless the machine was busy. */
function judgeDuration(seconds, share) {
  if (seconds <= GATE_SECONDS_MAX) return
  const fails = share >= IDLE_SHARE_MIN
  const got = `two threads got ${Math.round(share * 100)} % of two processors`
  console.log(`\n${fails ? '' : 'warning: '}longer than ${GATE_SECONDS_MAX} s; ${got}`)
  if (fails) process.exitCode = 1
}

function printBeyond() {
  const times = Math.round(LONG_FUZZ_FACTOR / GATE_FUZZ_FACTOR)
  console.log(
    `\nBeyond this, npm run test:long tries random input and kills ${times} times as long,`,
  )
  console.log(`and runs ${longFiles.map((path) => path.slice(0, -LONG.length)).join(', ')}.`)
}

/** Files from the slowest on, then folders: how long they took, and for what. */
function printTimes(timesFile) {
  const noted = new Map()
  const lines = existsSync(timesFile) ? readFileSync(timesFile, 'utf8').split('\n') : []
  for (const line of lines.filter((text) => text !== '')) {
    const { file, what, ms } = JSON.parse(line)
    if (file === undefined) continue // Of the stores that the run shares.
    const path = relative(testDir, file)
    const known = noted.get(path) ?? { cpu: 0, starts: 0, starting: 0 }
    if (what === 'cpu') known.cpu += ms / 1_000
    else {
      known.starts += what.startsWith('start') ? 1 : 0
      known.starting += ms / 1_000
    }
    noted.set(path, known)
  }
  const rows = [...fileSeconds].map(([path, seconds]) => {
    return { path, seconds, ...(noted.get(path) ?? { cpu: 0, starts: 0, starting: 0 }) }
  })
  printTable('file', rows)
  const folders = new Map()
  for (const row of rows) {
    const path = row.path.includes(sep) ? dirname(row.path) : '.'
    const sum = folders.get(path) ?? { path, seconds: 0, cpu: 0, starts: 0, starting: 0 }
    for (const name of ['seconds', 'cpu', 'starts', 'starting']) sum[name] += row[name]
    folders.set(path, sum)
  }
  printTable('folder', [...folders.values()])
}

function printTable(name, rows) {
  console.log(`\n${name}: seconds, of CPU, starts of services and stores, seconds for these`)
  rows.sort((a, b) => b.seconds - a.seconds)
  for (const { path, seconds, cpu, starts, starting } of rows) {
    const columns = [seconds.toFixed(1), cpu.toFixed(1), String(starts), starting.toFixed(1)]
    console.log(`${columns.map((text) => text.padStart(8)).join('')}  ${path}`)
  }
}
