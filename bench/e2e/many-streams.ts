/**
 * What many streams cost: the same requests to one stream and round-robin to many, in turns, with
 * what the service reports and the kernel counts meanwhile. `streams.ts` is its command line.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type CpuMicros, subtractCpu } from './cpu-ledger.ts'
import { driveLoad } from './drive-load.ts'
import type { LoadConfig, LoadResult } from './load-config.ts'
import { type MemoryUse, ProcessWatch } from './process-watch.ts'
import { type BenchStream, createStream, type ServiceAddress } from './rest.ts'
import { type RunningService, startService } from './service.ts'

export interface ManyStreamsOptions {
  readonly streams: number
  readonly seconds: number
  /** How often each of the two loads runs. */
  readonly rounds: number
  readonly connections: number
  readonly eventsPerRequest: number
  readonly distinctEvents: number
  readonly isGzip: boolean
  /** The `main.js` of another build. */
  readonly entry?: string | undefined
  readonly nodeFlags?: readonly string[]
  readonly log: (line: string) => void
}

/** One load of one kind. */
export interface StreamsRun {
  readonly streams: number
  readonly load: LoadResult
  readonly eventsPerSecond: number
  /** Highest `ingest_projection_lag_seconds` from the load's start until all was projected. */
  readonly lagSecondsMax: number
  /** From the last acknowledgement until nothing lagged. */
  readonly drainSeconds: number
  readonly cpu: CpuMicros
  /** The same, the drain included. */
  readonly drainedCpu: CpuMicros
  readonly counts: Counts
  /** Peaks of the service so far, by process. */
  readonly memory: Readonly<Record<string, MemoryUse>>
}

export interface ManyStreamsResult {
  readonly createSeconds: number
  /** The first load of all streams, which teaches them their fields; in no ratio. */
  readonly first: StreamsRun
  /** In turns: one stream, many streams. */
  readonly runs: readonly (readonly [one: StreamsRun, many: StreamsRun])[]
}

/** Counters of the service that tell what a load made of it. */
const COUNTERS = {
  commits: 'ingest_commit_groups_total',
  segments: 'ingest_commit_segments_total',
  inserts: 'ingest_materialize_inserts_total',
  replayed: 'ingest_replayed_segments_total',
} as const
export type Counts = Readonly<Record<keyof typeof COUNTERS, number>>

const LAG = 'ingest_projection_lag_seconds'
const LAG_POLL_MS = 250
const DRAIN_MS_MAX = 120_000
const CREATE_AT_ONCE = 8
const WARM_UP_SECONDS_MAX = 5

export async function measureManyStreams(options: ManyStreamsOptions): Promise<ManyStreamsResult> {
  const { log } = options
  const { entry, nodeFlags = [] } = options
  const service = await startService({ entry, nodeFlags, isDataKept: false })
  const { pid, dataDirectory } = service
  const watch = new ProcessWatch({ pids: [pid], dataDirectory })
  watch.start()
  try {
    const startedAt = performance.now()
    const streams = await createStreams(service, options.streams + 1)
    const createSeconds = (performance.now() - startedAt) / 1_000
    const one = streams.slice(0, 1)
    const many = streams.slice(1)
    log(`${streams.length} streams made in ${createSeconds.toFixed(1)} s; warming up`)
    const warmUp = { ...options, seconds: Math.min(WARM_UP_SECONDS_MAX, options.seconds) }
    await runLoad(service, one, watch, warmUp)
    const first = await runLoad(service, many, watch, options)
    const runs: [StreamsRun, StreamsRun][] = []
    for (let round = 1; round <= options.rounds; round++) {
      log(`round ${round} of ${options.rounds}`)
      const single = await runLoad(service, one, watch, options)
      runs.push([single, await runLoad(service, many, watch, options)])
    }
    return { createSeconds, first, runs }
  } finally {
    watch.stop()
    await service.stop()
  }
}

async function createStreams(service: ServiceAddress, count: number): Promise<BenchStream[]> {
  const streams: BenchStream[] = []
  let next = 0
  const create = async () => {
    while (next < count) {
      const index = next++
      streams[index] = await createStream(service, `bench-${index}`, {})
    }
  }
  await Promise.all(Array.from({ length: CREATE_AT_ONCE }, create))
  return streams
}

async function runLoad(
  service: RunningService,
  streams: readonly BenchStream[],
  watch: ProcessWatch,
  options: ManyStreamsOptions,
): Promise<StreamsRun> {
  const lag = new LagWatch(service)
  let start = watch.sample()
  const before = await readCounts(service)
  const load = await driveLoad(toLoadConfig(service, streams, options), () => {
    start = watch.sample()
    lag.start()
  })
  const acknowledged = watch.sample()
  const drainSeconds = await lag.untilNone()
  const after = await readCounts(service)
  const drained = watch.sample()
  const run = {
    streams: streams.length,
    load,
    eventsPerSecond: load.acknowledgedEvents / load.seconds,
    lagSecondsMax: lag.secondsMax,
    drainSeconds,
    cpu: subtractCpu(acknowledged.cpu, start.cpu),
    drainedCpu: subtractCpu(drained.cpu, start.cpu),
    counts: subtractCounts(after, before),
    memory: watch.memory(),
  }
  options.log(
    `${run.streams} streams: ${Math.round(run.eventsPerSecond)} events/s, ` +
      `lag ${run.lagSecondsMax.toFixed(1)} s, ${run.counts.inserts} inserts`,
  )
  return run
}

function toLoadConfig(
  { host, port }: RunningService,
  streams: readonly BenchStream[],
  options: ManyStreamsOptions,
): LoadConfig {
  return {
    host,
    port,
    surface: 'json',
    keys: streams.map(({ key }) => key),
    connections: options.connections,
    eventsPerRequest: options.eventsPerRequest,
    eventsMax: Number.MAX_SAFE_INTEGER,
    secondsMax: options.seconds,
    rate: 0,
    isGzip: options.isGzip,
    corpusFile: undefined,
    seed: 1,
    distinctEvents: options.distinctEvents,
  }
}

/** Asks the service for its lag, as an operator's monitoring would. */
class LagWatch {
  readonly #service: ServiceAddress
  secondsMax = 0
  #polling: Promise<void> = Promise.resolve()
  #isEnding = false
  #isNone = false

  constructor(service: ServiceAddress) {
    this.#service = service
  }

  start(): void {
    this.#polling = this.#poll()
  }

  /** Goes on until nothing lags; resolves with how many seconds that took. */
  async untilNone(): Promise<number> {
    const startedAt = performance.now()
    this.#isEnding = true
    await this.#polling
    if (!this.#isNone) throw new Error(`the projection lags after ${DRAIN_MS_MAX / 1_000} s`)
    return (performance.now() - startedAt) / 1_000
  }

  async #poll(): Promise<void> {
    let deadline = Number.POSITIVE_INFINITY
    for (;;) {
      const seconds = (await readMetrics(this.#service)).get(LAG) ?? Number.NaN
      this.secondsMax = Math.max(this.secondsMax, seconds)
      this.#isNone = this.#isEnding && seconds === 0
      if (this.#isEnding) deadline = Math.min(deadline, performance.now() + DRAIN_MS_MAX)
      if (this.#isNone || performance.now() > deadline) return
      await sleep(LAG_POLL_MS)
    }
  }
}

async function readCounts(service: ServiceAddress): Promise<Counts> {
  const metrics = await readMetrics(service)
  const count = (name: keyof Counts) => metrics.get(COUNTERS[name]) ?? Number.NaN
  return {
    commits: count('commits'),
    segments: count('segments'),
    inserts: count('inserts'),
    replayed: count('replayed'),
  }
}

function subtractCounts(end: Counts, start: Counts): Counts {
  return {
    commits: end.commits - start.commits,
    segments: end.segments - start.segments,
    inserts: end.inserts - start.inserts,
    replayed: end.replayed - start.replayed,
  }
}

/** Metrics without labels, by name. */
async function readMetrics({ url }: ServiceAddress): Promise<Map<string, number>> {
  const response = await fetch(`${url}/metrics`)
  const text = await response.text()
  if (!response.ok) throw new Error(`/metrics: ${response.status}`)
  return new Map(
    text.split('\n').flatMap((line) => {
      const [, name, value] = /^(\w+) (\S+)$/.exec(line) ?? []
      return name === undefined ? [] : [[name, Number(value)] as const]
    }),
  )
}
