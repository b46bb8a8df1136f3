/**
 * `npm run bench:tail`: from an acknowledgement to the reader of a live tail, at half of full load;
 * and what 64 tails with filters cost ingest at full load, in turns with none.
 *
 * With `--nodes 2` the reader is on the other node; the stores are then servers of the bench's own
 * behind ports, which cost it time too.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startEmbeddedClickHouse } from '../../src/embedded/clickhouse.ts'
import { startEmbeddedPostgres } from '../../src/embedded/postgres.ts'
import { openTcpFront } from '../../test/support/store-socket.ts'
import { driveLoad } from '../e2e/drive-load.ts'
import { Latencies } from '../e2e/latencies.ts'
import type { LoadConfig } from '../e2e/load-config.ts'
import { type BenchStream, createStream } from '../e2e/rest.ts'
import { type RunningService, startService } from '../e2e/service.ts'
import { formatNumber, formatTable } from '../table.ts'
import { filterOf } from './filters.ts'
import { createReaderToken, readTail } from './tail-client.ts'

const USAGE = `usage: npm run bench:tail -- [options]
  --seconds N   of each load (5)
  --rounds N    of full load without tails and with them (4)
  --nodes N     1, or 2: the reader is on the other node, and cost is left out (1)
  --json        print JSON`

const OPTIONS = {
  seconds: { type: 'string', default: '5' },
  rounds: { type: 'string', default: '4' },
  nodes: { type: 'string', default: '1' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

const WARM_UP_SECONDS = 6
const PROBE_MS = 25
const TAILS = 64
const TAILS_PER_TOKEN = 8
const SETTLE_MS = 1_500
/** Behind full load ClickHouse still merges, and has to catch up. */
const QUIET_MS = 7_000

type Result = Record<string, number>

async function run(): Promise<void> {
  const { values } = parseArgs({ options: OPTIONS })
  const [seconds, rounds, nodes] = [values.seconds, values.rounds, values.nodes].map(Number)
  if (values.help || !seconds || !rounds || !nodes) return console.log(USAGE)
  const rig = nodes === 1 ? await startOne() : await startTwo()
  try {
    const [node, other] = rig.services as [RunningService, RunningService | undefined]
    const stream = await createStream(node, 'watched', {})
    const config = loadConfig(node, stream.key)
    const full = await loadFor(config, WARM_UP_SECONDS)
    await sleep(QUIET_MS)
    const half = { ...config, rate: Math.round(full / 2) }
    const result: Result = { full, half: half.rate }
    Object.assign(result, await measureLag(half, { node, reader: other ?? node, stream, seconds }))
    if (other === undefined)
      Object.assign(result, await measureCost(config, node, stream, { seconds, rounds }))
    if (values.json) console.log(JSON.stringify(result))
    else print(result)
  } finally {
    await rig.stop()
  }
}

/** Milliseconds from the answer to a probe's ingest to its event in a tail, beside a load. */
async function measureLag(
  half: LoadConfig,
  {
    node,
    reader,
    stream,
    seconds,
  }: {
    readonly node: RunningService
    readonly reader: RunningService
    readonly stream: BenchStream
    readonly seconds: number
  },
): Promise<Result> {
  const acknowledged = new Map<number, number>()
  const seen = new Map<number, number>()
  let gaps = 0
  const tail = await readTail(reader, stream.id, {
    token: node.token,
    query: 'probe:*',
    onEvent: (record) => {
      const { probe } = (JSON.parse(record) as { payload: { probe: number } }).payload
      seen.set(probe, performance.now())
    },
    onGap: () => gaps++,
  })
  const loading = loadFor(half, seconds * 2)
  await sleep(1_000)
  for (let probe = 0; probe < ((seconds * 2 - 2) * 1_000) / PROBE_MS; probe++) {
    const headers = { 'x-api-key': stream.key, 'content-type': 'application/json' }
    const body = JSON.stringify({ probe })
    void fetch(`${node.url}/v1/ingest`, { method: 'POST', headers, body }).then((answer) => {
      if (answer.status === 200) acknowledged.set(probe, performance.now())
    })
    await sleep(PROBE_MS)
  }
  const loaded = await loading
  await sleep(SETTLE_MS)
  tail.stop()
  const lags = new Latencies()
  let missing = 0
  for (const [probe, at] of acknowledged) {
    const seenAt = seen.get(probe)
    if (seenAt === undefined) missing++
    else lags.add(Math.max(0, seenAt - at))
  }
  const { count, p50, p99, max } = lags.percentiles()
  return { loaded, probes: count, missing, gaps, lagP50: p50, lagP99: p99, lagMax: max }
}

/**
 * Events a second at full load without tails and with 64. Stores get slower as they fill: so each
 * goes first as often as the other, after a rest.
 */
async function measureCost(
  config: LoadConfig,
  node: RunningService,
  stream: BenchStream,
  { seconds, rounds }: { readonly seconds: number; readonly rounds: number },
): Promise<Result> {
  const sums = { without: 0, beside: 0 }
  const each: Result = {}
  const heard = { events: 0, gaps: 0 }
  const tokens: string[] = []
  for (let i = 0; i < TAILS / TAILS_PER_TOKEN; i++) tokens.push(await createReaderToken(node))
  const measure = async (name: 'without' | 'beside') => {
    const tails = name === 'without' ? [] : await openTails(node, stream, tokens, heard)
    const rate = await loadFor(config, seconds)
    for (const tail of tails) tail.stop()
    return rate
  }
  await measure('beside') // Ingest is warm; what tails need is compiled now.
  for (let round = 0; round < rounds; round++) {
    const names = ['without', 'beside'] as const
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      await sleep(QUIET_MS)
      const rate = await measure(name)
      sums[name] += rate
      each[`${name}${round + 1}`] = rate
    }
  }
  const [without, beside] = [sums.without / rounds, sums.beside / rounds]
  const { events, gaps: tailGaps } = heard
  return { ...each, without, beside, cost: 1 - beside / without, events, tailGaps }
}

function openTails(
  node: RunningService,
  stream: BenchStream,
  tokens: readonly string[],
  heard: { events: number; gaps: number },
): Promise<{ stop: () => void }[]> {
  const tails = Array.from({ length: TAILS }, (_, i) => {
    return readTail(node, stream.id, {
      token: tokens[i % tokens.length]!,
      query: filterOf(i),
      onEvent: () => heard.events++,
      onGap: () => heard.gaps++,
    })
  })
  return Promise.all(tails)
}

async function loadFor(config: LoadConfig, secondsMax: number): Promise<number> {
  const { acknowledgedEvents, seconds } = await driveLoad({ ...config, secondsMax }, () => {})
  return acknowledgedEvents / seconds
}

async function startOne() {
  const service = await startService({ nodeFlags: [], isDataKept: false })
  return { services: [service], stop: () => service.stop() }
}

async function startTwo() {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-bench-stores-'))
  const ignore = () => undefined
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore }
  const stores = [
    await startEmbeddedPostgres({ dataDir, log }),
    await startEmbeddedClickHouse({ dataDir, log }),
  ]
  const fronts = [await openTcpFront(stores[0]!.url), await openTcpFront(stores[1]!.url)]
  process.env.SLUICE_POSTGRES_URL = fronts[0]!.url
  process.env.SLUICE_CLICKHOUSE_URL = fronts[1]!.url
  const first = await startService({ nodeFlags: [], isDataKept: false })
  const base = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const dataDirectory = join(base, 'data')
  mkdirSync(dataDirectory, { mode: 0o700 })
  writeFileSync(join(dataDirectory, 'admin-token'), first.token) // Where the bench looks for it.
  const second = await startService({ nodeFlags: [], isDataKept: false, dataDirectory })
  const stop = async () => {
    for (const service of [second, first]) await service.stop()
    for (const front of fronts) await front.close()
    for (const store of stores.reverse()) await store.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
  return { services: [first, second], stop }
}

function loadConfig({ host, port }: RunningService, key: string): LoadConfig {
  return {
    host,
    port,
    surface: 'json',
    keys: [key],
    connections: 4,
    eventsPerRequest: 500,
    eventsMax: Number.MAX_SAFE_INTEGER,
    secondsMax: 0,
    rate: 0,
    isGzip: false,
    corpusFile: undefined,
    seed: 1,
    distinctEvents: 20_000,
  }
}

function print(result: Result): void {
  const names: Record<string, string> = {
    full: 'full ingest at the node that is sent to, events/s',
    half: 'half of it, asked for',
    loaded: 'and acknowledged',
    lagP50: 'acknowledged to reader, p50 ms',
    lagP99: 'p99 ms',
    lagMax: 'most ms',
    missing: 'probes that never came',
    without: 'full ingest without tails, events/s',
    beside: 'beside 64 tails',
    cost: 'what they cost, share',
  }
  const rows = Object.entries(result).map(([key, value]) => [
    names[key] ?? key,
    formatNumber(value),
  ])
  console.log(formatTable(['what', 'value'], rows))
}

await run()
