/**
 * `npm run bench:alerts`: what rules of alerts cost beside a service that takes events, and how
 * long after the end of its window a rule is decided.
 *
 * A fresh service is filled, then gets events at a steady rate. The same minutes pass without rules
 * and with them; what the second ones take more is the rules' part, stores included. Then ingest at
 * full speed, in turns with all rules paused and going.
 */
import { parseArgs } from 'node:util'
import { CORPUS_SEED } from '../corpus.ts'
import { SERVICES } from '../corpus-words.ts'
import { type CpuMicros, ROLES, type Role, subtractCpu, totalCpu } from '../e2e/cpu-ledger.ts'
import { driveLoad } from '../e2e/drive-load.ts'
import type { LoadConfig } from '../e2e/load-config.ts'
import { type CpuSample, ProcessWatch } from '../e2e/process-watch.ts'
import { type BenchStream, call, createStream } from '../e2e/rest.ts'
import { type RunningService, startService } from '../e2e/service.ts'
import { formatTable } from '../table.ts'

const HELP = `npm run bench:alerts -- [--events 5000000] [--rules 1000] [--questions 250]
  [--minutes 3] [--rate 1000] [--turns 3] [--json]

--questions: how many different searches the rules are about; those of one are asked together`
const MICROS_PER_MS = 1_000
/** Rules are decided soon after the minute: a phase has whole minutes. */
const MINUTE_MS = 60_000
const DISTINCT_EVENTS = 200_000
const AT_ONCE = 16
/** A minute has the windows of all rules once. */
const FULL_SECONDS = 60

interface Row {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly must?: number
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      events: { type: 'string', default: '5000000' },
      rules: { type: 'string', default: '1000' },
      questions: { type: 'string', default: '250' },
      minutes: { type: 'string', default: '3' },
      rate: { type: 'string', default: '1000' },
      turns: { type: 'string', default: '3' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return console.log(HELP)
  const [events, rules, questions, minutes, rate] = [
    ...[values.events, values.rules, values.questions, values.minutes, values.rate].map(Number),
  ] as [number, number, number, number, number]
  const service = await startService({ nodeFlags: [], isDataKept: false })
  try {
    const stream = await createStream(service, 'alerts', {})
    const load = loadOf(service, stream)
    console.error(`filling ${events} events`)
    await driveLoad({ ...load, eventsMax: events, rate: 0 }, () => {})
    const bench = { service, load, rate, minutes }
    console.error(`${minutes} minutes without rules`)
    const without = await measureSteady(bench)
    console.error(`making ${rules} rules`)
    await putRules(service, stream, { rules, questions, paused: false })
    // The first windows of all of them come at the next minute.
    await untilMinute()
    const before = await decisions(service)
    const fromMs = Date.now()
    console.error(`${minutes} minutes with them`)
    const during = await measureSteady(bench)
    const decided = subtract(await decisions(service), before)
    const passed = (Date.now() - fromMs) / MINUTE_MS
    const more = subtractCpu(during, without)
    const of = { rules, questions, turns: Number(values.turns) }
    const full = await measureFull(bench, stream, of)
    const rows: Row[] = [
      { name: 'of a core, without rules', value: 100 * totalCpu(without), unit: '%' },
      { name: 'of a core, more with them', value: 100 * totalCpu(more), unit: '%', must: 5 },
      ...ROLES.map((role) => ({ name: `… of ${role}`, value: 100 * more[role], unit: '%' })),
      { name: 'windows decided in a minute', value: decided.count / passed, unit: '' },
      { name: 'decided after the end, p50', value: quantile(decided, 0.5), unit: 's' },
      { name: 'decided after the end, p99', value: quantile(decided, 0.99), unit: 's', must: 10 },
      { name: 'events a second at full speed, of those without rules', value: full, unit: '' },
    ]
    console.log(values.json ? JSON.stringify(rows) : tableOf(rows))
  } finally {
    await service.stop()
  }
}

interface Bench {
  readonly service: RunningService
  readonly load: LoadConfig
  /** Events a second while rules are measured. */
  readonly rate: number
  readonly minutes: number
}

function loadOf({ host, port }: RunningService, { key }: BenchStream): LoadConfig {
  return {
    ...{ host, port, surface: 'json', keys: [key], connections: 8, eventsPerRequest: 1_000 },
    ...{ eventsMax: Number.MAX_SAFE_INTEGER, secondsMax: 3_600, rate: 0, isGzip: false },
    ...{ corpusFile: undefined, seed: CORPUS_SEED, distinctEvents: DISTINCT_EVENTS },
  }
}

/** Cores that the service and its stores take while events come at the steady rate. */
async function measureSteady({ service, load, rate, minutes }: Bench): Promise<CpuMicros> {
  await untilMinute()
  const watch = new ProcessWatch({ pids: [service.pid], dataDirectory: service.dataDirectory })
  watch.start()
  try {
    let start: CpuSample | undefined
    const seconds = (minutes * MINUTE_MS) / 1_000
    const steady = { ...load, rate, secondsMax: seconds, eventsPerRequest: 100, connections: 2 }
    await driveLoad(steady, () => {
      start = watch.sample()
    })
    const end = watch.sample()
    const micros = subtractCpu(end.cpu, start!.cpu)
    const share = (role: Role) => micros[role] / MICROS_PER_MS / (end.atMs - start!.atMs)
    const [node, postgres, clickhouse, other] = ROLES.map(share) as [number, number, number, number]
    return { node, postgres, clickhouse, other }
  } finally {
    watch.stop()
  }
}

/** The median share of events that are taken at full speed while rules are decided; NaN of none. */
async function measureFull(
  { service, load }: Bench,
  stream: BenchStream,
  of: { readonly rules: number; readonly questions: number; readonly turns: number },
): Promise<number> {
  const shares: number[] = []
  for (let turn = 0; turn < of.turns; turn++) {
    const speeds: number[] = []
    for (const paused of [true, false]) {
      console.error(`full speed, rules ${paused ? 'paused' : 'going'}`)
      await putRules(service, stream, { ...of, paused })
      await untilMinute(MINUTE_MS / 2)
      const full = { ...load, secondsMax: FULL_SECONDS }
      const { acknowledgedEvents, seconds } = await driveLoad(full, () => {})
      speeds.push(acknowledgedEvents / seconds)
    }
    shares.push(speeds[1]! / speeds[0]!)
  }
  return shares.toSorted((a, b) => a - b)[Math.floor(shares.length / 2)] ?? Number.NaN
}

async function putRules(
  service: RunningService,
  { id }: BenchStream,
  of: { readonly rules: number; readonly questions: number; readonly paused: boolean },
): Promise<void> {
  let next = 0
  const putSome = async () => {
    for (let rule = next++; rule < of.rules; rule = next++) {
      const question = rule % of.questions
      const name = SERVICES[question % SERVICES.length]!
      await call(service, 'PUT', `/v1/alerts/rules/bench-${rule}`, {
        streams: [id],
        query: `service:${name} http.status:>=${400 + Math.floor(question / SERVICES.length)}`,
        group_by: question % 3 === 0 ? ['k8s.namespace'] : [],
        condition: { op: '>', value: 1_000 + rule },
        window: '1m',
        paused: of.paused,
      })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, putSome))
}

/** Until so long after the next full minute. */
async function untilMinute(offsetMs = 0): Promise<void> {
  const nowMs = Date.now()
  const waitMs = MINUTE_MS - (nowMs % MINUTE_MS) + offsetMs
  await new Promise((resolve) => setTimeout(resolve, waitMs % MINUTE_MS))
}

interface Decisions {
  readonly count: number
  /** How many were decided within so many seconds, from the least on. */
  readonly within: readonly (readonly [seconds: number, count: number])[]
}

async function decisions({ url, token }: RunningService): Promise<Decisions> {
  const headers = { Authorization: `Bearer ${token}` }
  const text = await (await fetch(`${url}/metrics`, { headers })).text()
  const lines = text.matchAll(/^ingest_alert_decision_seconds_bucket\{le="([^"]+)"\} (\d+)/gm)
  const within = [...lines].map(([, le, count]) => {
    return [le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le), Number(count)] as const
  })
  return { count: within.at(-1)?.[1] ?? 0, within }
}

function subtract(after: Decisions, before: Decisions): Decisions {
  const was = new Map(before.within)
  return {
    count: after.count - before.count,
    within: after.within.map(([le, count]) => [le, count - (was.get(le) ?? 0)] as const),
  }
}

/** The least bound of the histogram that so many are within. */
function quantile({ count, within }: Decisions, share: number): number {
  return within.find(([, some]) => some >= share * count)?.[0] ?? Number.NaN
}

function tableOf(rows: readonly Row[]): string {
  const cells = rows.map(({ name, value, unit, must }) => {
    const holds =
      must === undefined ? ['-', '-'] : [`${must} ${unit}`, value <= must ? 'yes' : 'NO']
    return [name, `${value.toFixed(2)} ${unit}`, ...holds]
  })
  return formatTable(['', 'measured', 'must', 'holds'], cells)
}

await main()
