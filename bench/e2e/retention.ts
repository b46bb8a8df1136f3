/**
 * `npm run bench:retention`: what removing many events does to ingest.
 *
 * One stream is filled, then capped so that most of it must go, while another stream gets half of
 * the load that the filling was able to take. Its acknowledge latencies are compared with those of
 * the same load before and after it, as merges of what was loaded earlier make every load differ
 * from the one before. Requests fall due at fixed times, so a stall is charged in full.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { formatTable, type TableRow } from '../table.ts'
import { driveLoad } from './drive-load.ts'
import type { Percentiles } from './latencies.ts'
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
  --events N   events to be removed (10000000)
  --seconds N  load before the removal, and at least as long during it (30)
  --batch N    events a request (1000)
  --rate N     events a second, 0 for half of what the filling took (0)
  --json       print JSON`

const OPTIONS = {
  events: { type: 'string', default: '10000000' },
  seconds: { type: 'string', default: '30' },
  batch: { type: 'string', default: '1000' },
  rate: { type: 'string', default: '0' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

/** Share of the filled events that is kept: the last partition has to be written anew. */
const KEPT_SHARE = 0.1
/** How much worse than before the 99th percentile may be. */
const RATIO_MAX = 2
const REMOVE_MS_MAX = 1_800_000
const POLL_MS = 250
/** Asking costs the service something, and it is not asked in the load it is compared with. */
const USAGE_POLL_MS = 1_000
const QUIET_MS = 10_000

type Usage = Awaited<ReturnType<typeof readUsage>>

interface Removal {
  readonly rawSeconds: number
  readonly projectionSeconds: number
  readonly before: Usage
  readonly after: Usage
}

async function run(): Promise<void> {
  const { values } = parseArgs({ options: OPTIONS })
  if (values.help) return console.log(USAGE)
  const [events, seconds, batch] = [values.events, values.seconds, values.batch].map(Number)
  if (!events || !seconds || !batch) throw new Error(USAGE)
  const service = await startService({ nodeFlags: [], isDataKept: false })
  try {
    const filled = await createStream(service, 'filled', {})
    const loaded = await createStream(service, 'loaded', {})
    const base = loadConfig(service, batch)
    const toFill = Math.ceil(events / (1 - KEPT_SHARE))
    say(`filling ${toFill} events`)
    const fill = await driveLoad({ ...base, keys: [filled.key], eventsMax: toFill }, () => {})
    await untilProjected(service, filled, fill.acknowledgedEvents)
    await sleep(QUIET_MS) // ClickHouse merges what the filling left: not part of the comparison.
    const full = fill.acknowledgedEvents / fill.seconds
    const rate = Number(values.rate) || Math.round(full / 2)
    const half: LoadConfig = { ...base, keys: [loaded.key], rate, secondsMax: seconds }
    say(`${Math.round(full)} events a second; warming up at ${rate}`)
    await driveLoad({ ...half, secondsMax: Math.min(5, seconds) }, () => {})
    say('load without removal')
    const without = await driveLoad(half, () => {})
    say('load with removal')
    const removing = remove(service, filled)
    const during: LoadResult[] = []
    let isOver = false
    const removal = removing.finally(() => {
      isOver = true
    })
    removal.catch(() => undefined) // Awaited below.
    do during.push(await driveLoad(half, () => {}))
    while (!isOver)
    const removed = await removal
    say('load without removal, again')
    const again = await driveLoad(half, () => {})
    print({ without: [without, again], during, removal: removed, rate, isJson: values.json })
  } finally {
    await service.stop()
  }
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

/** Caps the stream and waits until what is over the cap has left both stores. */
async function remove(service: ServiceAddress, stream: BenchStream): Promise<Removal> {
  const before = await readUsage(service, stream)
  const cap = Math.floor((before.rawBytes + before.projectionBytes) * KEPT_SHARE)
  const startedAtMs = performance.now()
  const secondsPassed = () => (performance.now() - startedAtMs) / 1_000
  await updateStream(service, stream, { max_stored_bytes: cap })
  let rawSeconds = Number.NaN
  for (;;) {
    const after = await readUsage(service, stream)
    const isRawDone = after.rawEvents <= before.rawEvents * KEPT_SHARE * 1.1
    if (isRawDone && Number.isNaN(rawSeconds)) rawSeconds = secondsPassed()
    // A quarter of the partition may wait.
    if (isRawDone && after.projectionBytes <= before.projectionBytes * KEPT_SHARE * 1.5) {
      return { rawSeconds, projectionSeconds: secondsPassed(), before, after }
    }
    if (secondsPassed() * 1_000 > REMOVE_MS_MAX) throw new Error('the removal does not end')
    await sleep(USAGE_POLL_MS)
  }
}

interface Outcome {
  /** Before the removal and after it. */
  readonly without: readonly [LoadResult, LoadResult]
  readonly during: readonly LoadResult[]
  readonly removal: Removal
  readonly rate: number
  readonly isJson: boolean
}

function print({ without, during, removal, rate, isJson }: Outcome): void {
  // Of several loads the worst: a mean would hide the one that met the removal.
  const worst = during.reduce((a, b) => (b.acknowledge.p99 > a.acknowledge.p99 ? b : a))
  const usual = (without[0].acknowledge.p99 + without[1].acknowledge.p99) / 2
  const ratio = worst.acknowledge.p99 / usual
  const removed = removal.before.rawEvents - removal.after.rawEvents
  const refused = during.reduce((sum, load) => sum + load.refusals, 0)
  if (isJson) {
    return console.log(JSON.stringify({ without, during, removal, rate, ratio, removed }))
  }
  console.log(
    formatTable(
      ['load', 'events/s', 'p50 ms', 'p90 ms', 'p99 ms', 'max ms'],
      [
        row('before removal', without[0]),
        row('with removal', worst),
        row('after removal', without[1]),
      ],
    ),
  )
  console.log(
    `\n${removed} events removed: raw store after ${removal.rawSeconds.toFixed(1)} s, ` +
      `projection after ${removal.projectionSeconds.toFixed(1)} s; ${refused} requests refused`,
  )
  const verdict = ratio <= RATIO_MAX ? 'met' : 'MISSED'
  console.log(
    `p99 with removal is ${ratio.toFixed(2)} x the mean without; target ${RATIO_MAX} x: ${verdict}`,
  )
}

function row(name: string, load: LoadResult): TableRow {
  const { p50, p90, p99, max }: Percentiles = load.acknowledge
  const rate = Math.round(load.acknowledgedEvents / load.seconds)
  return [name, String(rate), ...[p50, p90, p99, max].map((ms) => ms.toFixed(1))]
}

function say(line: string): void {
  console.error(`# ${line}`)
}

await run()
