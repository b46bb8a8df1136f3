/** `npm run bench:rivals`: Sluice beside other systems, same load, same machine, in turns. */
import { parseArgs } from 'node:util'
import { measureJsonParse } from '../baseline.ts'
import { loadCorpus } from '../corpus.ts'
import { toFigures } from '../e2e/report.ts'
import { runScenario } from '../e2e/run-scenario.ts'
import { DEFAULT_SCENARIO } from '../e2e/scenario.ts'
import { formatNumber, formatTable } from '../table.ts'
import { collector } from './collector.ts'
import { loki } from './loki.ts'
import type { Rival } from './rival.ts'
import { runRival } from './run-rival.ts'

const RIVALS: readonly Rival[] = [loki, collector]
const MIB = 1024 * 1024

const USAGE = `usage: npm run bench:rivals -- [options]
Runs Sluice and others in turns and prints what an event costs each of them.
  --loki FILE          binary of Loki
  --collector FILE     binary of the OpenTelemetry Collector (see bench/README.md)
  --rounds N           turns (3)
  --seconds N          load of a run (20)
  --warmup-seconds N   load before it (20)`

interface Outcome {
  readonly title: string
  readonly ingest: string
  readonly acknowledges: string
  readonly eventsPerSecond: number
  readonly microsPerEvent: number
  readonly acknowledgeP99Ms: number
  readonly peakBytes: number
  readonly jsonParseMicros: number
}

interface Durations {
  readonly seconds: number
  readonly warmUpSeconds: number
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      loki: { type: 'string' },
      collector: { type: 'string' },
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '20' },
      'warmup-seconds': { type: 'string', default: '20' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) return console.log(USAGE)
  const durations = {
    seconds: toCount(values.seconds),
    warmUpSeconds: toCount(values['warmup-seconds']),
  }
  const binaries: Readonly<Record<string, string | undefined>> = {
    loki: values.loki,
    collector: values.collector,
  }
  const outcomes: Outcome[] = []
  for (let round = 1; round <= toCount(values.rounds); round++) {
    console.error(`# round ${round}`)
    for (const surface of ['json', 'otlp']) outcomes.push(await runSluice(surface, durations))
    for (const rival of RIVALS) {
      const binary = binaries[rival.name]
      if (binary === undefined) continue
      outcomes.push(await runOther(rival, binary, durations))
    }
  }
  for (const { name } of RIVALS) {
    if (binaries[name] === undefined) console.error(`# without --${name} it is left out`)
  }
  console.log(formatOutcomes(outcomes))
}

function toCount(text: string): number {
  const value = Number(text)
  if (!(value > 0)) throw new Error(`not a count: ${text}`)
  return value
}

async function runSluice(surface: string, durations: Durations): Promise<Outcome> {
  const scenario = { ...DEFAULT_SCENARIO, ...durations, surface }
  const run = await runScenario(scenario, {
    nodeFlags: [],
    isDataKept: false,
    running: undefined,
    log: () => {},
  })
  const figures = toFigures(run)
  return report({
    title: 'Sluice, parsed, typed, in both stores',
    ingest: surface,
    acknowledges: 'on disk, synced',
    eventsPerSecond: figures.eventsPerSecond,
    microsPerEvent: figures.settledMicrosPerEvent,
    acknowledgeP99Ms: run.load.acknowledge.p99,
    peakBytes: run.memory.all!.peakBytes,
    jsonParseMicros: figures.jsonParseMicros,
  })
}

async function runOther(rival: Rival, binary: string, durations: Durations): Promise<Outcome> {
  const lines = loadCorpus({ kind: 'json', count: 4_000 })
  const before = measureJsonParse(lines)
  const { failedRequests, firstFailure, ...figures } = await runRival(rival, {
    binary,
    ...durations,
  })
  if (failedRequests > 0) {
    console.error(`# ${rival.name}: ${failedRequests} requests failed: ${firstFailure}`)
  }
  const jsonParseMicros = (before.mean + measureJsonParse(lines).mean) / 2
  const { title, acknowledges, surface } = rival
  return report({ title, acknowledges, ingest: surface, jsonParseMicros, ...figures })
}

function report(outcome: Outcome): Outcome {
  const { title, ingest, eventsPerSecond, microsPerEvent, jsonParseMicros } = outcome
  console.error(
    `# ${title}, ${ingest}: ${microsPerEvent.toFixed(2)} µs an event, ` +
      `${formatNumber(eventsPerSecond / 1_000)} k/s, JSON.parse ${jsonParseMicros.toFixed(2)}`,
  )
  return outcome
}

/** The middle of the rounds, a line a system. */
function formatOutcomes(outcomes: readonly Outcome[]): string {
  const groups = new Map<string, Outcome[]>()
  for (const outcome of outcomes) {
    const key = `${outcome.title} ${outcome.ingest}`
    groups.set(key, [...(groups.get(key) ?? []), outcome])
  }
  const rows = [...groups.values()].map((group) => {
    const middle = (of: (outcome: Outcome) => number) => median(group.map(of))
    return [
      group[0]!.title,
      group[0]!.ingest,
      middle(({ microsPerEvent }) => microsPerEvent).toFixed(2),
      middle(({ microsPerEvent, jsonParseMicros }) => microsPerEvent / jsonParseMicros).toFixed(2),
      formatNumber(middle(({ eventsPerSecond }) => eventsPerSecond) / 1_000),
      formatNumber(middle(({ acknowledgeP99Ms }) => acknowledgeP99Ms)),
      String(Math.round(middle(({ peakBytes }) => peakBytes) / MIB)),
      group[0]!.acknowledges,
    ]
  })
  const header = [
    'system',
    'ingest',
    'CPU µs/event, settled',
    '× JSON.parse',
    'k ev/s',
    'ack p99 ms',
    'peak MiB',
    'acknowledged means',
  ]
  return formatTable(header, rows)
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

await main()
