/**
 * `npm run bench:retention`: what removing many events does to ingest.
 *
 * One stream is filled, then a cap makes most of it go, while another stream gets half of the load
 * that it can take. On a machine that is shared with others latencies differ from minute to minute:
 * so the cap is taken away and put back, and windows of the same load without and with the removal
 * take turns until all is removed. Compared are the medians of their 99th percentiles. Requests
 * fall due at fixed times, so a stall is charged in full.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { formatTable, type TableRow } from '../table.ts'
import { driveLoad } from './drive-load.ts'
import type { LoadConfig, LoadResult } from './load-config.ts'
import {
  type BenchStream,
  countStored,
  createStream,
  readUsage,
  type ServiceAddress,
  updateStream,
} from './rest.ts'
import { type RunningService, startService } from './service.ts'

const USAGE = `usage: npm run bench:retention -- [options]
  --events N    events to be removed (10000000)
  --seconds N   one window of load (15)
  --batch N     events a request of that load (100)
  --rate N      events a second, 0 for half of what the service takes (0)
  --fill KIND   compact: events of about 120 B; ordinary: the corpus (compact)
  --json        print JSON`

const OPTIONS = {
  events: { type: 'string', default: '10000000' },
  seconds: { type: 'string', default: '15' },
  batch: { type: 'string', default: '100' },
  rate: { type: 'string', default: '0' },
  fill: { type: 'string', default: 'compact' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

/** Share of the filled events that is kept: the last partition has to be written anew. */
const KEPT_SHARE = 0.1
/** How much worse than without it the 99th percentile may be. */
const RATIO_MAX = 2
const FILL_BATCH_EVENTS = 1_000
const FILL_DISTINCT_EVENTS = 20_000
const FULL_LOAD_SECONDS = 8
const REMOVE_MS_MAX = 1_800_000
const POLL_MS = 250
/** Asking costs the service something, so it is asked as often in every window. */
const USAGE_POLL_MS = 1_000
/** ClickHouse merges what was loaded: not part of the comparison. */
const QUIET_MS = 10_000
/** After the cap was taken away: a pass of removal, or of trimming, ends first. */
const PAUSE_MS = 3_000

type Usage = Awaited<ReturnType<typeof readUsage>>
type WindowKind = 'without' | 'with'

interface Window {
  readonly kind: WindowKind
  readonly load: LoadResult
}

interface Outcome {
  readonly windows: readonly Window[]
  readonly removed: number
  readonly rawSeconds: number
  readonly projectionSeconds: number
  readonly rate: number
}

async function run(): Promise<void> {
  const { values } = parseArgs({ options: OPTIONS })
  const [events, seconds, batch] = [values.events, values.seconds, values.batch].map(Number)
  const isKnown = values.fill === 'compact' || values.fill === 'ordinary'
  if (values.help) return console.log(USAGE)
  if (!events || !seconds || !batch || !isKnown) throw new Error(USAGE)
  const service = await startService({ nodeFlags: [], isDataKept: false })
  const directory = mkdtempSync(join(tmpdir(), 'sluice-fill-'))
  try {
    const filled = await createStream(service, 'filled', {})
    const loaded = await createStream(service, 'loaded', {})
    const corpusFile = values.fill === 'compact' ? writeCompactEvents(directory) : undefined
    await fill(service, filled, { events: Math.ceil(events / (1 - KEPT_SHARE)), corpusFile })
    const base = { ...loadConfig(service, batch), keys: [loaded.key] }
    const full = await driveLoad({ ...base, secondsMax: FULL_LOAD_SECONDS }, () => {})
    const fullRate = full.acknowledgedEvents / full.seconds
    const rate = Number(values.rate) || Math.round(fullRate / 2)
    say(`${Math.round(fullRate)} events a second at full load; from now on ${rate}`)
    await sleep(QUIET_MS)
    const outcome = await alternate(service, filled, { ...base, rate, secondsMax: seconds })
    if (values.json) console.log(JSON.stringify(outcome))
    else print(outcome)
  } finally {
    rmSync(directory, { recursive: true, force: true })
    await service.stop()
  }
}

async function fill(
  service: RunningService,
  stream: BenchStream,
  { events, corpusFile }: { readonly events: number; readonly corpusFile: string | undefined },
): Promise<void> {
  say(`filling ${events} events`)
  const base = loadConfig(service, FILL_BATCH_EVENTS)
  const config = { ...base, distinctEvents: FILL_DISTINCT_EVENTS, corpusFile }
  const result = await driveLoad({ ...config, keys: [stream.key], eventsMax: events }, () => {})
  say(`filled at ${Math.round(result.acknowledgedEvents / result.seconds)} events a second`)
  await untilProjected(service, stream, result.acknowledgedEvents)
  await sleep(QUIET_MS)
}

/** Small events as a proxy writes them, so that ten million are there within minutes. */
function writeCompactEvents(directory: string): string {
  const lines = Array.from({ length: FILL_DISTINCT_EVENTS }, (_, n) => {
    const event = { level: n % 9 === 0 ? 'warn' : 'info', service: `svc-${n % 7}`, status: 200 }
    return JSON.stringify({ ...event, took_ms: (n * 7_919) % 1_500, trace: n * 2_654_435_761 })
  })
  const file = join(directory, 'compact.ndjson')
  writeFileSync(file, lines.join('\n'))
  return file
}

function loadConfig({ host, port }: RunningService, eventsPerRequest: number): LoadConfig {
  return {
    host,
    port,
    surface: 'json',
    keys: [],
    connections: 4,
    eventsPerRequest,
    eventsMax: Number.MAX_SAFE_INTEGER,
    secondsMax: 3_600,
    rate: 0,
    isGzip: false,
    corpusFile: undefined,
    seed: 1,
    distinctEvents: 40_000,
  }
}

async function untilProjected(
  service: ServiceAddress,
  stream: BenchStream,
  events: number,
): Promise<void> {
  const deadline = performance.now() + REMOVE_MS_MAX
  while ((await countStored(service, [stream])).projectionEvents < events) {
    if (performance.now() > deadline) throw new Error('the projection does not catch up')
    await sleep(POLL_MS)
  }
}

/** Windows without and with the removal in turn, until all is removed. */
async function alternate(
  service: ServiceAddress,
  stream: BenchStream,
  half: LoadConfig,
): Promise<Outcome> {
  const before = await readUsage(service, stream)
  const cap = Math.floor((before.rawBytes + before.projectionBytes) * KEPT_SHARE)
  const windows: Window[] = []
  const take = async (kind: WindowKind) => {
    say(`load ${kind} removal`)
    windows.push({ kind, load: await driveLoad(half, () => {}) })
  }
  await driveLoad({ ...half, secondsMax: Math.min(5, half.secondsMax) }, () => {})
  const watch = new RemovalWatch(service, stream, before)
  while (!watch.isOver) {
    await take('without')
    await updateStream(service, stream, { max_stored_bytes: cap })
    watch.resume()
    await take('with')
    if (watch.isOver) break
    await updateStream(service, stream, { max_stored_bytes: null })
    await sleep(PAUSE_MS)
    watch.pause()
  }
  watch.stop()
  await take('without')
  const { rawSeconds, projectionSeconds, last } = watch
  const removed = before.rawEvents - last.rawEvents
  return { windows, removed, rawSeconds, projectionSeconds, rate: half.rate }
}

/** How long the removal was at work until what is over the cap had left each store. */
class RemovalWatch {
  rawSeconds = 0
  projectionSeconds = 0
  isOver = false
  last: Usage
  readonly #before: Usage
  readonly #timer: NodeJS.Timeout
  #isOn = false
  #isRawDone = false

  constructor(service: ServiceAddress, stream: BenchStream, before: Usage) {
    this.#before = before
    this.last = before
    const endsAtMs = performance.now() + REMOVE_MS_MAX
    this.#timer = setInterval(() => {
      // A poll that fails is asked again.
      readUsage(service, stream).then((usage) => this.#saw(usage), say)
      if (performance.now() > endsAtMs) throw new Error('the removal does not end')
    }, USAGE_POLL_MS)
  }

  resume(): void {
    this.#isOn = true
  }

  pause(): void {
    this.#isOn = false
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #saw(usage: Usage): void {
    this.last = usage
    if (!this.#isOn || this.isOver) return
    if (!this.#isRawDone) this.rawSeconds += USAGE_POLL_MS / 1_000
    this.projectionSeconds += USAGE_POLL_MS / 1_000
    const { rawEvents, projectionBytes } = this.#before
    this.#isRawDone = usage.rawEvents <= rawEvents * KEPT_SHARE * 1.1
    // A quarter of the partition may wait.
    this.isOver = this.#isRawDone && usage.projectionBytes <= projectionBytes * KEPT_SHARE * 1.5
  }
}

function print({ windows, removed, rawSeconds, projectionSeconds, rate }: Outcome): void {
  console.log(
    formatTable(
      ['load', 'events/s', 'p50 ms', 'p90 ms', 'p99 ms', 'max ms'],
      windows.map(({ kind, load }) => row(`${kind} removal`, load)),
    ),
  )
  const refused = windows.reduce((sum, { load }) => sum + load.refusals, 0)
  console.log(
    `\n${removed} events removed in ${rawSeconds} s of removal from the raw store, in ` +
      `${projectionSeconds} s from both; ${refused} requests refused at ${rate} events a second`,
  )
  const p99 = (kind: WindowKind) => {
    const all = windows.filter((window) => window.kind === kind)
    return median(all.map(({ load }) => load.acknowledge.p99))
  }
  const ratio = p99('with') / p99('without')
  const verdict = ratio <= RATIO_MAX ? 'met' : 'MISSED'
  console.log(
    `median p99 ${p99('without').toFixed(1)} ms without, ${p99('with').toFixed(1)} ms with ` +
      `removal: ${ratio.toFixed(2)} x; target ${RATIO_MAX} x: ${verdict}`,
  )
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? NaN) + (sorted[Math.floor(middle)] ?? NaN)) / 2
}

function row(name: string, load: LoadResult): TableRow {
  const { p50, p90, p99, max } = load.acknowledge
  const rate = Math.round(load.acknowledgedEvents / load.seconds)
  return [name, String(rate), ...[p50, p90, p99, max].map((ms) => ms.toFixed(1))]
}

function say(line: unknown): void {
  console.error(`# ${line}`)
}

await run()
