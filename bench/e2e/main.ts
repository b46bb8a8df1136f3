/** `npm run bench:e2e`: the command line of the end-to-end bench. What it does: `README.md`. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { formatMinutes } from './minute-log.ts'
import { formatProfiles } from './profile.ts'
import { formatRun, formatSummary, toFigures } from './report.ts'
import { type RunOptions, type RunResult, runScenario } from './run-scenario.ts'
import { DEFAULT_SCENARIO, findPreset, PRESETS, type Scenario } from './scenario.ts'
import { SURFACE_NAMES } from './surfaces/all.ts'

const USAGE = `usage: npm run bench:e2e -- [options]
  --all               every preset: ${PRESETS.map(({ name }) => name).join(', ')}
  --scenario NAME     one preset (repeatable); the options below change it
  --surface NAME      ${SURFACE_NAMES.join(', ')} (json)
  --connections N     keep-alive connections (4)
  --batch N           events a request (1000)
  --seconds N         how long to send (20)
  --minutes N         the same in minutes, and how each of them went
  --events N          stop sending after so many events
  --warmup-seconds N  load before counting (20)
  --rate N            events a second, 0 for full load (0)
  --streams N         streams, requests go round them (1)
  --gzip              compress bodies
  --transforms        redaction and user agents on
  --corpus FILE       lines of FILE instead of generated ones
  --distinct N        events prebuilt as requests (40000)
  --url URL --token T a running service instead of a fresh one; --pids A,B: whose CPU to count
  --entry FILE        main.js of another build, to compare with
  --profile           CPU profiles of the service's threads
  --keep              keep the data directory
  --json              print JSON`

const OPTIONS = {
  all: { type: 'boolean' },
  scenario: { type: 'string', multiple: true },
  surface: { type: 'string' },
  connections: { type: 'string' },
  batch: { type: 'string' },
  seconds: { type: 'string' },
  minutes: { type: 'string' },
  events: { type: 'string' },
  'warmup-seconds': { type: 'string' },
  rate: { type: 'string' },
  streams: { type: 'string' },
  gzip: { type: 'boolean' },
  transforms: { type: 'boolean' },
  corpus: { type: 'string' },
  distinct: { type: 'string' },
  url: { type: 'string' },
  token: { type: 'string' },
  pids: { type: 'string' },
  entry: { type: 'string' },
  profile: { type: 'boolean' },
  keep: { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const

type Arguments = ReturnType<typeof parseArguments>

function parseArguments() {
  return parseArgs({ options: OPTIONS }).values
}

function selectScenarios(args: Arguments): Scenario[] {
  const chosen = args.all ? PRESETS : args.scenario?.map(findPreset)
  return (chosen ?? [DEFAULT_SCENARIO]).map((scenario) => overrideScenario(scenario, args))
}

function overrideScenario(scenario: Scenario, args: Arguments): Scenario {
  return {
    ...scenario,
    surface: args.surface ?? scenario.surface,
    connections: toCount(args.connections, scenario.connections),
    eventsPerRequest: toCount(args.batch, scenario.eventsPerRequest),
    seconds: toCount(args.seconds, toCount(args.minutes, scenario.seconds / 60) * 60),
    eventsMax: toCount(args.events, scenario.eventsMax),
    warmUpSeconds: toCount(args['warmup-seconds'], scenario.warmUpSeconds),
    rate: toCount(args.rate, scenario.rate),
    streams: toCount(args.streams, scenario.streams),
    isGzip: args.gzip ?? scenario.isGzip,
    transforms: args.transforms
      ? { redact_sensitive: true, parse_user_agents: true }
      : scenario.transforms,
    corpusFile: args.corpus ?? scenario.corpusFile,
    distinctEvents: toCount(args.distinct, scenario.distinctEvents),
  }
}

function toCount(text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback
  const value = Number(text)
  if (!(value >= 0)) throw new Error(`not a count: ${text}`)
  return value
}

function toRunOptions(args: Arguments, profileDirectory: string | undefined): RunOptions {
  if ((args.url === undefined) !== (args.token === undefined)) {
    throw new Error('--url and --token go together')
  }
  const running = args.url !== undefined && args.token !== undefined
  const pids = args.pids?.split(',').map(Number) ?? []
  return {
    entry: args.entry,
    nodeFlags:
      profileDirectory === undefined
        ? []
        : ['--cpu-prof', '--cpu-prof-interval', '1000', '--cpu-prof-dir', profileDirectory],
    isDataKept: args.keep ?? false,
    tellsMinutes: args.minutes !== undefined,
    running: running ? { url: args.url!, token: args.token!, pids } : undefined,
    log: (line) => console.error(`# ${line}`),
  }
}

/** A tenth of full load is a tenth of what this run showed full load to be. */
function adjustRate(scenario: Scenario, runs: readonly RunResult[], args: Arguments): Scenario {
  const full = runs.find((run) => run.scenario.name === 'json')
  if (scenario.name !== 'tenth' || full === undefined || args.rate !== undefined) return scenario
  return { ...scenario, rate: Math.round(toFigures(full).eventsPerSecond / 10) }
}

async function main(): Promise<void> {
  const args = parseArguments()
  if (args.help) return console.log(USAGE)
  const runs: RunResult[] = []
  for (const scenario of selectScenarios(args)) {
    const profileDirectory = args.profile
      ? mkdtempSync(join(tmpdir(), 'sluice-profile-'))
      : undefined
    const options = toRunOptions(args, profileDirectory)
    const run = await runScenario(adjustRate(scenario, runs, args), options)
    runs.push(run)
    if (args.keep) console.error(`# data kept in ${run.dataDirectory}`)
    if (!args.json) console.log(formatRun(run))
    if (!args.json && run.minutes.length > 0) console.log(formatMinutes(run.minutes))
    if (profileDirectory !== undefined) {
      console.error(`# profiles in ${profileDirectory}`)
      console.log(formatProfiles(profileDirectory))
    }
  }
  if (args.json) {
    const results = runs.map((run) => ({ ...run, figures: toFigures(run) }))
    console.log(JSON.stringify(results, undefined, 2))
  } else {
    console.log(`\n${formatSummary(runs)}`)
  }
}

await main()
