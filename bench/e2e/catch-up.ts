/**
 * `npm run bench:catch-up`: how fast the projection is filled from the raw store, beside how fast
 * events are taken in at full load in the same run.
 *
 * A stream is filled at full load. Then the engine's data is removed and the service started again:
 * it notices, and brings everything in from the first event, with nothing else to do.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { formatNumber, formatTable } from '../table.ts'
import { driveLoad } from './drive-load.ts'
import type { LoadConfig } from './load-config.ts'
import { createStream } from './rest.ts'
import { type RunningService, startService } from './service.ts'

const USAGE = `usage: npm run bench:catch-up -- [options]
  --seconds N   of full load (15)
  --surface S   json or text (json)
  --entry FILE  main.js of another build
  --json        print JSON`

const OPTIONS = {
  seconds: { type: 'string', default: '15' },
  surface: { type: 'string', default: 'json' },
  entry: { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

const WARM_UP_SECONDS = 5
const POLL_MS = 100
const CAUGHT_UP_MS_MAX = 900_000

async function run(): Promise<void> {
  const { values } = parseArgs({ options: OPTIONS })
  const secondsMax = Number(values.seconds)
  if (values.help || !secondsMax) return console.log(USAGE)
  const options = { nodeFlags: [], entry: values.entry }
  let service = await startService({ ...options, isDataKept: true })
  try {
    const { key } = await createStream(service, 'filled', {})
    const config = loadConfig(service, values.surface, key)
    const warm = await driveLoad({ ...config, secondsMax: WARM_UP_SECONDS }, () => {})
    const load = await driveLoad({ ...config, secondsMax }, () => {})
    const events = warm.acknowledgedEvents + load.acknowledgedEvents
    const ingestRate = load.acknowledgedEvents / load.seconds
    await service.stop()
    rmSync(join(service.dataDirectory, 'clickhouse'), { recursive: true })
    const { dataDirectory } = service
    service = await startService({ ...options, dataDirectory, isDataKept: false })
    const { seconds, stepSeconds } = await untilCaughtUp(service, events)
    const catchUpRate = events / stepSeconds
    const result = { events, ingestRate, catchUpRate, ratio: catchUpRate / ingestRate, seconds }
    if (values.json) console.log(JSON.stringify(result))
    else print(result)
  } finally {
    await service.stop()
  }
}

async function untilCaughtUp(service: RunningService, events: number) {
  const startedAt = performance.now()
  for (;;) {
    const done = await readMetric(service, 'ingest_catch_up_events_total')
    const seconds = (performance.now() - startedAt) / 1_000
    if (done >= events) {
      if (done > events) throw new Error(`${done} events were inserted, of ${events}`)
      return { seconds, stepSeconds: await readMetric(service, 'ingest_catch_up_seconds_total') }
    }
    if (seconds * 1_000 > CAUGHT_UP_MS_MAX) throw new Error(`only ${done} events of ${events}`)
    await sleep(POLL_MS)
  }
}

async function readMetric({ url }: RunningService, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0)
}

function loadConfig({ host, port }: RunningService, surface: string, key: string): LoadConfig {
  return {
    host,
    port,
    surface,
    keys: [key],
    connections: 4,
    eventsPerRequest: 1_000,
    eventsMax: Number.MAX_SAFE_INTEGER,
    secondsMax: 0,
    rate: 0,
    isGzip: false,
    corpusFile: undefined,
    seed: 1,
    distinctEvents: 20_000,
  }
}

function print(result: Readonly<Record<string, number>>): void {
  const { events = 0, ingestRate = 0, catchUpRate = 0, ratio = 0, seconds = 0 } = result
  const rows = [
    ['events', String(events)],
    ['full ingest, k events/s', formatNumber(ingestRate / 1_000)],
    ['catch-up, k events/s', formatNumber(catchUpRate / 1_000)],
    ['catch-up of full ingest', formatNumber(ratio)],
    ['seconds until all was there', formatNumber(seconds)],
  ]
  console.log(formatTable(['what', 'value'], rows))
}

await run()
