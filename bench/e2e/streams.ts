/** `npm run bench:streams`: the command line of `many-streams.ts`. */
import { parseArgs } from 'node:util'
import { formatTable, type TableRow } from '../table.ts'
import { ROLES } from './cpu-ledger.ts'
import { type ManyStreamsResult, measureManyStreams, type StreamsRun } from './many-streams.ts'

const USAGE = `usage: npm run bench:streams -- [options]
  --streams N      streams that requests go round (1000)
  --seconds N      each load (12)
  --rounds N       loads of each kind, in turns (3)
  --connections N  keep-alive connections (64)
  --batch N        events a request (10)
  --distinct N     events prebuilt as requests (40000)
  --gzip           compressed requests
  --entry FILE     main.js of another build, to compare with
  --prof DIR       CPU profiles of the service's threads
  --json           print JSON`

const OPTIONS = {
  streams: { type: 'string', default: '1000' },
  seconds: { type: 'string', default: '12' },
  rounds: { type: 'string', default: '3' },
  connections: { type: 'string', default: '64' },
  batch: { type: 'string', default: '10' },
  distinct: { type: 'string', default: '40000' },
  gzip: { type: 'boolean', default: false },
  entry: { type: 'string' },
  prof: { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

const RATIO_MIN = 0.6
const LAG_SECONDS_MAX = 10
const MIB = 1024 * 1024

async function main(): Promise<void> {
  const { values } = parseArgs({ options: OPTIONS })
  if (values.help) return console.log(USAGE)
  const count = (name: 'streams' | 'seconds' | 'rounds' | 'connections' | 'batch' | 'distinct') => {
    const value = Number(values[name])
    if (!(value > 0)) throw new Error(USAGE)
    return value
  }
  const result = await measureManyStreams({
    streams: count('streams'),
    seconds: count('seconds'),
    rounds: count('rounds'),
    connections: count('connections'),
    eventsPerRequest: count('batch'),
    distinctEvents: count('distinct'),
    isGzip: values.gzip,
    entry: values.entry,
    nodeFlags: values.prof === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', values.prof],
    log: (line) => console.error(`# ${line}`),
  })
  console.log(values.json ? JSON.stringify(result, undefined, 2) : format(result))
}

function format({ createSeconds, first, runs }: ManyStreamsResult): string {
  const columns = ['load', 'events/s', 'p50 ms', 'p99 ms', 'max ms', 'refused', 'lag s', 'drain s']
  const cpuColumns = ['µs/event', ...ROLES, 'commits', 'segments', 'inserts', 'replayed']
  const all = [first, ...runs.flat()]
  const ratios = runs.map(([one, many]) => many.eventsPerSecond / one.eventsPerSecond)
  const ratio = median(ratios)
  const lag = Math.max(...all.map((run) => run.lagSecondsMax))
  const peaks = ROLES.map((role) => {
    return `${role} ${Math.round((all.at(-1)!.memory[role]?.peakBytes ?? 0) / MIB)} MiB`
  })
  return [
    formatTable(columns, all.map(toRow)),
    '',
    'CPU until drained, and what was done:',
    formatTable(['load', ...cpuColumns], all.map(toCpuRow)),
    '',
    `streams made in ${createSeconds.toFixed(1)} s; peak RSS: ${peaks.join(', ')}`,
    `ratio ${ratio.toFixed(2)} (${ratios.map((each) => each.toFixed(2)).join(', ')}), ` +
      `target ${RATIO_MIN}: ${verdict(ratio >= RATIO_MIN)}`,
    `lag ${lag.toFixed(1)} s at most, target ${LAG_SECONDS_MAX}: ${verdict(lag < LAG_SECONDS_MAX)}`,
  ].join('\n')
}

function toRow(run: StreamsRun, index: number): TableRow {
  const { p50, p99, max } = run.load.acknowledge
  const ms = [p50, p99, max].map((value) => value.toFixed(1))
  const rate = String(Math.round(run.eventsPerSecond))
  const seconds = [run.lagSecondsMax, run.drainSeconds].map((value) => value.toFixed(1))
  return [nameOf(run, index), rate, ...ms, String(run.load.refusals), ...seconds]
}

function toCpuRow(run: StreamsRun, index: number): TableRow {
  const events = run.load.acknowledgedEvents
  const perEvent = ROLES.map((role) => (run.drainedCpu[role] / events).toFixed(1))
  const sum = ROLES.reduce((total, role) => total + run.drainedCpu[role], 0)
  const { commits, segments, inserts, replayed } = run.counts
  const counts = [commits, segments, inserts, replayed].map(String)
  return [nameOf(run, index), (sum / events).toFixed(1), ...perEvent, ...counts]
}

function nameOf({ streams }: StreamsRun, index: number): string {
  const name = streams === 1 ? '1 stream' : `${streams} streams`
  return index === 0 ? `${name}, first` : name
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

function verdict(isMet: boolean): string {
  return isMet ? 'met' : 'MISSED'
}

await main()
