/**
 * `npm run bench:compare`: how long a comparison takes over millions of events, and whether the
 * incident is its first finding.
 *
 * A fresh service gets the events of a baseline, then those of a window for each scenario, as fast
 * as it takes them; each window is compared to the baseline a few times.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { driveLoad } from '../e2e/drive-load.ts'
import type { LoadConfig } from '../e2e/load-config.ts'
import { type BenchStream, countStored, createStream } from '../e2e/rest.ts'
import { type RunningService, startService } from '../e2e/service.ts'
import { RestClient } from '../query/rest-client.ts'
import { Random } from '../random.ts'
import { formatTable } from '../table.ts'
import { INCIDENTS, NOTHING, type Scenario, scriptedEvent } from './scenarios.ts'

const HELP = `npm run bench:compare -- [--events 5000000] [--scenarios 0,2,3,10] [--runs 5] [--json]

--events: of both ranges together; --scenarios: incidents from 0, then those without one`
const SEED = 20_261_127
const DISTINCT_EVENTS = 200_000
const GOAL_MS = 1_000
/** Parts of the last inserts are merged into wide ones after a minute. */
const SETTLE_MS = 90_000
const POLL_MS = 200
const CATCH_UP_MS_MAX = 300_000
const ALL = [...INCIDENTS, ...NOTHING]

interface Answer {
  readonly findings: readonly { readonly text: string }[]
  readonly looked_at: { readonly events: number; readonly fields: readonly string[] }
  readonly whole: { readonly window: Counted; readonly baseline: Counted }
}

interface Counted {
  readonly count: number
}

interface Range {
  readonly from: string
  readonly to: string
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      events: { type: 'string', default: '5000000' },
      scenarios: { type: 'string', default: '0,2,3,10' },
      runs: { type: 'string', default: '5' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return console.log(HELP)
  const [events, runs] = [Number(values.events), Number(values.runs)]
  const scenarios = values.scenarios.split(',').map((at) => ALL[Number(at)])
  if (!events || !runs || scenarios.includes(undefined)) throw new Error(HELP)
  const service = await startService({ nodeFlags: [], isDataKept: false })
  const directory = mkdtempSync(join(tmpdir(), 'sluice-compare-'))
  const rest = new RestClient(service)
  try {
    const stream = await createStream(service, 'compare', {})
    const fill = (scenario: Scenario, isWindow: boolean) => {
      console.error(`filling: ${scenario.name}`)
      return fillRange({ service, stream, directory }, scenario, { isWindow, events: events / 2 })
    }
    const baseline = await fill(NOTHING[0]!, false)
    const windows: Range[] = []
    for (const scenario of scenarios) windows.push(await fill(scenario!, true))
    await sleep(SETTLE_MS)
    const rows = []
    for (const [at, window] of windows.entries()) {
      const path = `/v1/streams/${stream.id}/compare`
      rows.push(await measure(rest, path, { window, baseline }, scenarios[at]!, runs))
    }
    if (values.json) return console.log(JSON.stringify(rows, undefined, 2))
    const heads = ['scenario', 'events', 'fields', 'ms', `goal ${GOAL_MS}`, 'first finding']
    const told = rows.map((row) => [
      ...[row.name, String(row.events), String(row.fields), row.medianMs.toFixed(0)],
      ...[row.isFound ? 'found' : 'WRONG', row.first],
    ])
    console.log(formatTable(heads, told))
    if (rows.some(({ isFound }) => !isFound)) process.exitCode = 1
  } finally {
    rest.close()
    await service.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

interface Filling {
  readonly service: RunningService
  readonly stream: BenchStream
  readonly directory: string
}

async function fillRange(
  { service, stream, directory }: Filling,
  scenario: Scenario,
  { isWindow, events }: { readonly isWindow: boolean; readonly events: number },
): Promise<Range> {
  const random = new Random(SEED + (isWindow ? 1 : 0))
  const distinct = Math.min(DISTINCT_EVENTS, events)
  const lines = Array.from({ length: distinct }, (_, number) => {
    const place = { isWindow, at: number / distinct, number }
    return JSON.stringify(scriptedEvent(scenario, place, () => random.unit()))
  })
  const corpusFile = join(directory, 'corpus.ndjson')
  writeFileSync(corpusFile, lines.join('\n'))
  // Making lines held up what tells of connections that were closed.
  await sleep(POLL_MS)
  const before = (await countStored(service, [stream])).projectionEvents
  const from = new Date().toISOString()
  const load = { ...loadOf(service, stream, corpusFile), eventsMax: events }
  const { acknowledgedEvents } = await driveLoad(load, () => {})
  const to = new Date(Date.now() + 1).toISOString()
  const deadlineMs = performance.now() + CATCH_UP_MS_MAX
  while ((await countStored(service, [stream])).projectionEvents < before + acknowledgedEvents) {
    if (performance.now() > deadlineMs) throw new Error('the projection does not catch up')
    await sleep(POLL_MS)
  }
  return { from, to }
}

async function measure(
  rest: RestClient,
  path: string,
  body: object,
  { name, expected }: Scenario,
  runs: number,
) {
  const times: number[] = []
  let answer: Answer | undefined
  for (let run = 0; run <= runs; run++) {
    const reply = await rest.post(path, body)
    answer = reply.answer as Answer
    if (run > 0) times.push(reply.ms)
  }
  const { findings, looked_at: looked, whole } = answer!
  const first = findings[0]?.text ?? ''
  return {
    name,
    events: whole.window.count + whole.baseline.count,
    lookedAt: looked.events,
    fields: looked.fields.length,
    medianMs: times.sort((a, b) => a - b)[Math.floor(times.length / 2)]!,
    first,
    isFound: expected === undefined ? first === '' : expected.every((part) => part.test(first)),
  }
}

function loadOf(
  { host, port }: RunningService,
  { key }: BenchStream,
  corpusFile: string,
): LoadConfig {
  return {
    ...{ host, port, corpusFile },
    surface: 'json',
    keys: [key],
    connections: 4,
    eventsPerRequest: 1_000,
    eventsMax: Number.MAX_SAFE_INTEGER,
    secondsMax: 3_600,
    rate: 0,
    isGzip: false,
    seed: 1,
    distinctEvents: DISTINCT_EVENTS,
  }
}

await main()
