/**
 * Runs a load test of `load-tests/` with k6, on a service of yours or on one that it starts on
 * empty data, and stops and removes again.
 *
 *   npm run load -- mixed                                  one command, nothing to set up
 *   npm run load -- soak --duration 2h --rate 20000
 *   BASE_URL=https://logs.internal TOKEN=lap_… npm run load -- mixed --surfaces bulk
 *   npm run load -- --help
 *
 * Ends with k6's exit code: 0 passed, 99 a threshold does not hold.
 */
import { spawn } from 'node:child_process'
import {
  accessSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bodiesOf, defaultOf, OPTIONS, readOptions } from '../load-tests/options.mjs'
import { CORPUS_EVENTS, SCENARIOS } from '../load-tests/scenarios.mjs'
import { formatAborts, judgeAborts, startAborts } from '../load-tests/support/aborts.mjs'
import { fileOf } from '../load-tests/support/bodies.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const HELP_FLAGS = ['--help', '-h', 'help']
const EXIT_USAGE = 2
/** k6's, when a threshold does not hold. */
const EXIT_THRESHOLD = 99

const NO_K6 = `k6 was not found: not as K6, not in PATH, GOBIN, GOPATH/bin or ~/go/bin.
It is a program of its own (Grafana k6, AGPL-3.0), not part of Sluice. One of these installs it:

  go install go.k6.io/k6@latest          needs Go; some minutes; lands in ~/go/bin
  brew install k6                        macOS
  https://grafana.com/docs/k6/latest/set-up/install-k6/    packages and binaries

Where it lies elsewhere: K6=/path/to/k6 npm run load -- mixed`

class UsageError extends Error {}

async function main(args) {
  if (args.length === 0 || args.some((arg) => HELP_FLAGS.includes(arg))) {
    console.log(describeUsage())
    return args.length === 0 ? EXIT_USAGE : 0
  }
  const { scenario, environment, k6Args } = parseArguments(args)
  const options = readOptionsOrExplain(environment, scenario)
  if (options.PREPARE !== '') return await prepare(scenario, options)
  const k6 = findK6()
  if (k6 === undefined) {
    console.error(NO_K6)
    return 1
  }
  const folder = mkdtempSync(join(tmpdir(), 'sluice-load-'))
  const stops = [() => rmSync(folder, { recursive: true, force: true })]
  try {
    await writeBodies(folder, options)
    const given = { ...environment, BODIES: folder }
    if (options.SUMMARY_JSON !== '') given.SUMMARY_JSON = resolve(options.SUMMARY_JSON)
    if (options.BASE_URL === '') {
      const service = await startThrowAwayService(options)
      stops.push(service.stop)
      Object.assign(given, { BASE_URL: service.url, TOKEN: service.token, API_KEY: '' })
    }
    if (isInterrupted) return 1
    if (options.ABORTS === 0) return await runK6(k6, scenario, given, k6Args)
    return await runBesideAborts(given, options, () => runK6(k6, scenario, given, k6Args))
  } finally {
    for (const stop of stops.reverse()) await stop()
  }
}

async function prepare(scenario, options) {
  const folder = resolve(options.PREPARE)
  mkdirSync(folder, { recursive: true })
  await writeBodies(folder, options)
  console.log(`The bodies are in ${folder}. With load-tests/ beside them, on any machine:

  BODIES=${folder} BASE_URL=... TOKEN=... k6 run load-tests/${scenario}.mjs`)
  return 0
}

/** A flag wins over the environment. What follows a lone `--` is for k6. */
function parseArguments(args) {
  const separator = args.indexOf('--')
  const own = separator < 0 ? args : args.slice(0, separator)
  const k6Args = separator < 0 ? [] : args.slice(separator + 1)
  const environment = Object.fromEntries(OPTIONS.map(({ env }) => [env, process.env[env] ?? '']))
  const names = []
  for (let i = 0; i < own.length; i++) {
    const [flag, inline] = splitFlag(own[i])
    if (!flag.startsWith('-')) {
      names.push(flag)
      continue
    }
    const option = OPTIONS.find((one) => one.flag === flag)
    if (option === undefined) throw new UsageError(`no such option: ${flag}`)
    if (option.kind === 'flag' && inline === undefined) environment[option.env] = '1'
    else {
      const value = inline ?? own[++i]
      if (value === undefined) throw new UsageError(`${flag} needs a value`)
      environment[option.env] = value
    }
  }
  if (names.length !== 1) throw new UsageError('name one scenario')
  if (!Object.hasOwn(SCENARIOS, names[0])) throw new UsageError(`no such scenario: ${names[0]}`)
  return { scenario: names[0], environment, k6Args }
}

function splitFlag(arg) {
  const equals = arg.indexOf('=')
  return arg.startsWith('--') && equals > 0
    ? [arg.slice(0, equals), arg.slice(equals + 1)]
    : [arg, undefined]
}

function readOptionsOrExplain(environment, scenario) {
  let options
  try {
    options = readOptions(environment, scenario)
  } catch (error) {
    throw new UsageError(error.message)
  }
  const { PREPARE } = options
  if (PREPARE === '' && options.BASE_URL !== '' && options.TOKEN === '' && options.API_KEY === '') {
    throw new UsageError('with BASE_URL set TOKEN (to make a stream) or API_KEY in the environment')
  }
  if (options.ABORTS > 0 && options.BASE_URL !== '' && options.TOKEN === '') {
    throw new UsageError('ABORTS needs TOKEN, to make a stream for what is broken off')
  }
  return options
}

/** K6 in the environment counts alone, so that a wrong path is not papered over. */
function findK6() {
  const { K6, PATH = '', GOBIN, GOPATH } = process.env
  if (K6) return isProgram(K6) ? resolve(K6) : undefined
  const name = process.platform === 'win32' ? 'k6.exe' : 'k6'
  const folders = [
    ...PATH.split(delimiter),
    GOBIN,
    ...(GOPATH ?? '').split(delimiter).map((path) => path && join(path, 'bin')),
    join(homedir(), 'go', 'bin'),
  ]
  return folders
    .filter(Boolean)
    .map((folder) => join(folder, name))
    .find(isProgram)
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

async function startThrowAwayService({ SERVICE_FLAGS }) {
  const { startService } = await import('../dist/bench/e2e/service.js')
  console.error('load: starting a service on empty data ...')
  const serviceFlags = SERVICE_FLAGS.split(' ').filter(Boolean)
  // k6 still counts what is stored after an interrupt.
  const own = { isDataKept: false, isDetached: true }
  const service = await startService({ nodeFlags: [], serviceFlags, ...own })
  console.error(`load: it listens on ${service.url}, process ${service.pid}`)
  const stop = async () => {
    console.error('load: stopping it, removing its data')
    await service.stop()
  }
  return { ...service, stop }
}

/** They need room at times, so that others are refused: that is no failure unless it is said. */
async function runBesideAborts(given, options, run) {
  if (given.REFUSED_SHARE_MAX === '') given.REFUSED_SHARE_MAX = '1'
  const { BASE_URL: url, TOKEN: token } = given
  const aborts = await startAborts({ url, token, count: options.ABORTS })
  let code = EXIT_THRESHOLD
  let report
  try {
    code = await run()
  } finally {
    report = await aborts.stop()
  }
  const failures = judgeAborts(report, options.MEMORY_GROWTH_MIB_MAX)
  process.stdout.write(formatAborts(report, failures))
  if (given.SUMMARY_JSON) {
    const summary = JSON.parse(readFileSync(given.SUMMARY_JSON, 'utf8'))
    writeFileSync(given.SUMMARY_JSON, JSON.stringify({ ...summary, aborts: report }))
  }
  return code === 0 && failures.length > 0 ? EXIT_THRESHOLD : code
}

/** The bodies, of the corpus that the benches use or of a file's lines. */
async function writeBodies(folder, options) {
  // Needs what `npm install` brings: not for who only asks for help.
  const { encodeBodies } = await import('../load-tests/support/make-bodies.mjs')
  const { loadCorpus } = await import('../dist/bench/corpus.js')
  const file = options.CORPUS === '' ? undefined : options.CORPUS
  const lines = loadLines(() => loadCorpus({ kind: 'json', count: CORPUS_EVENTS, file }))
  for (const { surface, eventCount } of bodiesOf(options)) {
    const path = join(folder, fileOf(surface, eventCount))
    writeFileSync(path, encodeBodies(lines, surface, eventCount))
  }
}

/** Lines of a file are checked here, once: else each request would have an event rejected. */
function loadLines(load) {
  try {
    const lines = load()
    for (const line of lines) {
      if (!/^\s*\{/.test(line)) throw new Error('a line is no object')
      JSON.parse(line)
    }
    return lines
  } catch (error) {
    // What JSON.parse says quotes the line, which is nobody else's business.
    const reason = error instanceof SyntaxError ? 'a line is no JSON' : error.message
    throw new UsageError(`CORPUS cannot be used: ${reason}`)
  }
}

/** Options go by the environment: arguments can be seen by everyone on the machine. */
function runK6(k6, scenario, environment, k6Args) {
  const file = join(root, 'load-tests', `${scenario}.mjs`)
  const quiet = process.stdout.isTTY ? [] : ['--quiet']
  const env = { ...process.env, K6_NO_USAGE_REPORT: 'true', ...environment }
  const child = spawn(k6, ['run', ...quiet, ...k6Args, file], { env, stdio: 'inherit' })
  // A terminal sends an interrupt to k6 too, which then ends in good order.
  onInterrupt = (signal) => signal === 'SIGTERM' && child.kill(signal)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve(signal === null ? code : 1))
  })
}

function describeUsage() {
  const scenarios = Object.entries(SCENARIOS).map(
    ([name, { sentence }]) => `  ${name.padEnd(8)} ${sentence}`,
  )
  const options = OPTIONS.map(({ env, flag, sentence }) => {
    const text = defaultOf('mixed', env)
    const note = text === '' ? '' : ` (${text})`
    return `  ${(flag ?? '').padEnd(25)} ${env.padEnd(23)} ${sentence}${note}`
  })
  const differences = Object.entries(SCENARIOS)
    .filter(([, { defaults }]) => Object.keys(defaults).length > 0)
    .map(([name, { defaults }]) => {
      const texts = Object.entries(defaults).map(([env, value]) => `${env} ${value}`)
      return `  ${name.padEnd(8)} ${texts.join(', ')}`
    })
  return [
    'usage: npm run load -- <scenario> [options] [-- options of k6 run]',
    '',
    'Scenarios (load-tests/<scenario>.mjs):',
    ...scenarios,
    '',
    'Options, as a flag or in the environment; credentials in the environment only:',
    ...options,
    '',
    'Other defaults:',
    ...differences,
    '',
    'Without BASE_URL a service is started on empty data, and stopped and removed afterwards.',
    'k6 is looked for as K6 (a path), then in PATH, GOBIN, GOPATH/bin and ~/go/bin.',
  ].join('\n')
}

/** What an interrupt does now; nothing dies of it before what was started is stopped. */
let onInterrupt = () => {}
let isInterrupted = false
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    isInterrupted = true
    onInterrupt(signal)
  })
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  const isUsage = error instanceof UsageError
  console.error(isUsage ? `load: ${error.message}; see --help` : `load: ${error.stack}`)
  process.exitCode = isUsage ? EXIT_USAGE : 1
}
