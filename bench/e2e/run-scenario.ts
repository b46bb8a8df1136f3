/**
 * One end-to-end run: fresh service, warm-up, load, settle, count back.
 *
 * The order is the method. `JSON.parse` is timed while nothing else runs, before and after, and
 * apart from that while the load runs. CPU is read when the load starts, when the last event was
 * acknowledged, and when the service has become quiet. Only then is it asked what it stores, so
 * that asking is not billed.
 */
import { type JsonParseCost, JsonParseSampler, measureJsonParse } from '../baseline.ts'
import { loadCorpus } from '../corpus.ts'
import { type CpuMicros, subtractCpu } from './cpu-ledger.ts'
import { type DiskUse, measureDisk, subtractDisk } from './disk.ts'
import { driveLoad } from './drive-load.ts'
import type { LoadConfig, LoadResult } from './load-config.ts'
import { type Minute, MinuteLog } from './minute-log.ts'
import { type CpuSample, type MemoryUse, ProcessWatch } from './process-watch.ts'
import {
  type BenchStream,
  countStored,
  createStream,
  type ServiceAddress,
  type StoredCounts,
} from './rest.ts'
import type { Scenario } from './scenario.ts'
import { type RunningService, type ServiceOptions, startService } from './service.ts'
import { isMergeDue } from './settled/due-merges.ts'
import { type Settled, settle } from './settled/settle.ts'
import { findSurface } from './surfaces/all.ts'

const BASELINE_EVENTS = 4_000
/** A fresh service listens for gRPC too, and prints where; one that runs does so on that port. */
const GRPC_FLAGS = ['--otlp-grpc-port', '0']
const GRPC_PORT = /"port":(\d+)[^\n]*OTLP over gRPC/
const GRPC_PORT_USUAL = 4317
/** Other events than those that are counted. */
export const WARM_UP_SEED = 7

export interface RunOptions extends ServiceOptions {
  /** A service that runs already, instead of a fresh one. */
  readonly running: (ServiceAddress & { readonly pids: readonly number[] }) | undefined
  readonly log: (line: string) => void
  /** Tell how each minute of the load went. */
  readonly tellsMinutes?: boolean
  /** How long the service must be quiet to be settled; tests shorten it. */
  readonly quietMs?: number
  /** How long `JSON.parse` is timed before and after; tests shorten it. */
  readonly baselineMs?: number
}

export interface RunResult {
  readonly scenario: Scenario
  readonly load: LoadResult
  /** CPU of the service from start of load to last acknowledgement, and to the quiet after it. */
  readonly acknowledgedCpu: CpuMicros
  readonly settledCpu: CpuMicros
  readonly mainThreadMicros: number
  readonly settleSeconds: number
  readonly isQuiet: boolean
  readonly jsonParseMicros: {
    readonly before: JsonParseCost
    readonly after: JsonParseCost
    /** While the load ran; undefined when that was too short. */
    readonly during: number | undefined
  }
  /** What the load added, warm-up not included. */
  readonly stored: StoredCounts
  readonly disk: DiskUse | undefined
  readonly memory: Readonly<Record<string, MemoryUse>>
  readonly dataDirectory: string | undefined
  /** None unless they were asked for. */
  readonly minutes: readonly Minute[]
}

interface Target extends ServiceAddress {
  readonly pids: readonly number[]
  readonly dataDirectory: string | undefined
  /** Where the load goes, if not to the address for all else. */
  readonly loadUrl?: string | undefined
}

interface Session {
  readonly target: Target
  readonly streams: readonly BenchStream[]
  readonly watch: ProcessWatch
  readonly options: RunOptions
}

export async function runScenario(scenario: Scenario, options: RunOptions): Promise<RunResult> {
  const { log, baselineMs } = options
  const lines = loadCorpus({ kind: 'json', count: BASELINE_EVENTS })
  log('timing JSON.parse')
  const before = measureJsonParse(lines, baselineMs)
  log(`JSON.parse: ${before.mean.toFixed(2)} µs an event`)

  let service: RunningService | undefined
  const sampler = new JsonParseSampler(lines)
  let measured: Omit<RunResult, 'jsonParseMicros'>
  try {
    if (options.running === undefined) {
      log('starting a fresh service')
      const isGrpc = findSurface(scenario.surface).isGrpc === true
      service = await startService(isGrpc ? { ...options, serviceFlags: GRPC_FLAGS } : options)
    }
    measured = await measure(scenario, toTarget(scenario, service, options), {
      ...options,
      sampler,
    })
  } finally {
    await service?.stop()
  }
  const during = sampler.microsPerEvent
  const after = measureJsonParse(lines, baselineMs)
  return { ...measured, jsonParseMicros: { before, after, during } }
}

function toTarget(
  scenario: Scenario,
  service: RunningService | undefined,
  options: RunOptions,
): Target {
  const target =
    service === undefined
      ? { ...options.running!, dataDirectory: undefined }
      : { ...service, pids: [service.pid] }
  if (!findSurface(scenario.surface).isGrpc) return target
  const port = GRPC_PORT.exec(service?.output() ?? '')?.[1] ?? GRPC_PORT_USUAL
  const loadUrl = new URL(target.url)
  loadUrl.port = String(port)
  return { ...target, loadUrl: loadUrl.href }
}

async function measure(
  scenario: Scenario,
  target: Target,
  options: RunOptions & { readonly sampler: JsonParseSampler },
): Promise<Omit<RunResult, 'jsonParseMicros'>> {
  const { log } = options
  const watch = new ProcessWatch(target)
  watch.start()
  try {
    const streams = await createStreams(scenario, target)
    const keys = streams.map(({ key }) => key)
    const config = toLoadConfig(scenario, target.loadUrl ?? target.url, keys)
    const session = { target, streams, watch, options }
    await warmUp(scenario, config, session)
    const storedBefore = await countStored(target, streams)
    const { dataDirectory } = target
    const diskBefore = dataDirectory === undefined ? undefined : measureDisk(dataDirectory)

    log(`${scenario.title}: load for ${scenario.seconds} s at most`)
    let start: CpuSample | undefined
    const { url } = target
    const minuteLog = new MinuteLog({ url, dataDirectory, watch, log })
    const load = await driveLoad(config, () => {
      start = watch.sample()
      options.sampler.start()
      if (options.tellsMinutes) minuteLog.start().catch((cause) => log(`no minutes: ${cause}`))
    }).finally(() => options.sampler.stop())
    const minutes = minuteLog.stop()
    const acknowledged = watch.sample()
    log(`${load.acknowledgedEvents} events acknowledged, settling`)
    const events = storedBefore.projectionEvents + load.acknowledgedEvents
    const settled = await settleAt(session, events)
    const storedAfter = await countStored(target, streams)
    const diskAfter = dataDirectory === undefined ? undefined : measureDisk(dataDirectory)
    return {
      scenario,
      load,
      acknowledgedCpu: subtractCpu(acknowledged.cpu, start!.cpu),
      settledCpu: subtractCpu(settled.sample.cpu, start!.cpu),
      mainThreadMicros: acknowledged.mainThreadMicros - start!.mainThreadMicros,
      settleSeconds: (settled.sample.atMs - acknowledged.atMs) / 1_000,
      isQuiet: settled.isQuiet,
      stored: subtractStored(storedAfter, storedBefore),
      disk: diskAfter && diskBefore && subtractDisk(diskAfter, diskBefore),
      memory: watch.memory(),
      dataDirectory,
      minutes,
    }
  } finally {
    watch.stop()
  }
}

async function createStreams(scenario: Scenario, target: Target): Promise<BenchStream[]> {
  const streams: BenchStream[] = []
  // A running service may hold the streams of an earlier run.
  const suffix = Date.now().toString(36)
  for (let i = 0; i < scenario.streams; i++) {
    streams.push(await createStream(target, `bench-${suffix}-${i}`, scenario.transforms))
  }
  return streams
}

/** The load that a scenario asks for, with one API key a stream. */
export function toLoadConfig(scenario: Scenario, url: string, keys: readonly string[]): LoadConfig {
  const { hostname, port } = new URL(url)
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port),
    surface: scenario.surface,
    keys,
    connections: scenario.connections,
    eventsPerRequest: scenario.eventsPerRequest,
    eventsMax: scenario.eventsMax,
    secondsMax: scenario.seconds,
    rate: scenario.rate,
    isGzip: scenario.isGzip,
    corpusFile: scenario.corpusFile,
    seed: 1,
    distinctEvents: scenario.distinctEvents,
  }
}

/** Loads and settles, so that compilers, caches and connection pools are not billed to the run. */
async function warmUp(scenario: Scenario, config: LoadConfig, session: Session): Promise<void> {
  if (scenario.warmUpSeconds === 0) return
  session.options.log(`warming up for ${scenario.warmUpSeconds} s`)
  const warmUpConfig = {
    ...config,
    secondsMax: scenario.warmUpSeconds,
    eventsMax: Number.MAX_SAFE_INTEGER,
    seed: WARM_UP_SEED,
  }
  const { acknowledgedEvents, ...rest } = await driveLoad(warmUpConfig, () => {})
  if (acknowledgedEvents === 0) {
    throw new Error(`nothing was acknowledged in the warm-up: ${JSON.stringify(rest)}`)
  }
  await settleAt(session, acknowledgedEvents)
}

/** Waits until the projection holds `events` and the service is quiet. */
function settleAt({ target, streams, watch, options }: Session, events: number): Promise<Settled> {
  const isCaughtUp = async () => {
    try {
      return (await countStored(target, streams)).projectionEvents >= events
    } catch (error) {
      options.log(`cannot count yet: ${error}`) // A busy store may refuse; it is asked again.
      return false
    }
  }
  const isProfiled = options.nodeFlags?.includes('--cpu-prof') === true
  const { dataDirectory } = target
  const isDue = () => dataDirectory !== undefined && isMergeDue(dataDirectory)
  return settle(watch, isCaughtUp, { quietMs: options.quietMs, isProfiled, isMergeDue: isDue })
}

function subtractStored(end: StoredCounts, start: StoredCounts): StoredCounts {
  return {
    rawEvents: end.rawEvents - start.rawEvents,
    projectionEvents: end.projectionEvents - start.projectionEvents,
    rawBytes: end.rawBytes - start.rawBytes,
    projectionBytes: end.projectionBytes - start.projectionBytes,
  }
}
