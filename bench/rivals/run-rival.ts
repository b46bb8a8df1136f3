/** One run against another service: fresh start, warm-up, load, settle, as `bench:e2e` does it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { subtractCpu, totalCpu } from '../e2e/cpu-ledger.ts'
import { driveLoad } from '../e2e/drive-load.ts'
import type { LoadConfig } from '../e2e/load-config.ts'
import { type CpuSample, ProcessWatch } from '../e2e/process-watch.ts'
import { settle } from '../e2e/settle.ts'
import type { Rival } from './rival.ts'

const START_MS_MAX = 120_000
const STOP_MS_MAX = 30_000
const POLL_MS = 200
const OUTPUT_CHARS_MAX = 16 * 1024
const MEASURED_SEED = 1
const WARM_UP_SEED = 7

export interface RivalOptions {
  readonly binary: string
  readonly seconds: number
  readonly warmUpSeconds: number
}

export interface RivalFigures {
  readonly eventsPerSecond: number
  /** CPU of all its processes until it is quiet again. */
  readonly microsPerEvent: number
  readonly acknowledgeP99Ms: number
  readonly peakBytes: number
  /** Requests that were not taken; anything but 0 makes the run worthless. */
  readonly failedRequests: number
  readonly firstFailure: string | undefined
}

export async function runRival(rival: Rival, options: RivalOptions): Promise<RivalFigures> {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-rival-'))
  const files = {
    configFile: join(directory, 'config.yaml'),
    dataDirectory: join(directory, 'data'),
  }
  mkdirSync(files.dataDirectory)
  const port = await freePort()
  writeFileSync(files.configFile, rival.configuration(port, files))
  const child = spawn(options.binary, rival.args(files), {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = collectOutput(child)
  try {
    await waitUntilReady(rival, port, child).catch((error: unknown) => {
      throw new Error(`${rival.name} did not start: ${error}\n${output()}`)
    })
    return await measure(rival, port, child.pid!, options)
  } finally {
    await stop(child)
    rmSync(directory, { recursive: true, force: true })
  }
}

async function measure(
  rival: Rival,
  port: number,
  pid: number,
  options: RivalOptions,
): Promise<RivalFigures> {
  const watch = new ProcessWatch({ pids: [pid], dataDirectory: undefined })
  watch.start()
  try {
    const isCaughtUp = async () => true
    await driveLoad(toLoadConfig(rival, port, options.warmUpSeconds, WARM_UP_SEED), () => {})
    await settle(watch, isCaughtUp)
    let start: CpuSample | undefined
    const load = await driveLoad(toLoadConfig(rival, port, options.seconds, MEASURED_SEED), () => {
      start = watch.sample()
    })
    const { sample } = await settle(watch, isCaughtUp)
    if (load.acknowledgedEvents === 0) throw new Error(`it took nothing: ${JSON.stringify(load)}`)
    const failed = Object.values(load.failures).reduce((sum, count) => sum + count, 0)
    return {
      eventsPerSecond: load.acknowledgedEvents / load.seconds,
      microsPerEvent: totalCpu(subtractCpu(sample.cpu, start!.cpu)) / load.acknowledgedEvents,
      acknowledgeP99Ms: load.acknowledge.p99,
      peakBytes: watch.memory().node.peakBytes,
      failedRequests: failed + load.refusals + load.lostRequests + load.unansweredRequests,
      firstFailure: load.firstFailure ?? load.firstLost,
    }
  } finally {
    watch.stop()
  }
}

/** The defaults of `bench:e2e`: four connections, 1,000 events a request. */
function toLoadConfig(rival: Rival, port: number, seconds: number, seed: number): LoadConfig {
  return {
    host: '127.0.0.1',
    port,
    surface: rival.surface,
    path: rival.path,
    keys: ['none'],
    connections: 4,
    eventsPerRequest: 1_000,
    eventsMax: Number.MAX_SAFE_INTEGER,
    secondsMax: seconds,
    rate: 0,
    isGzip: false,
    corpusFile: undefined,
    seed,
    distinctEvents: 40_000,
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

function collectOutput(child: ChildProcess): () => string {
  let text = ''
  const append = (chunk: Buffer) => {
    text = (text + chunk.toString()).slice(-OUTPUT_CHARS_MAX)
  }
  child.stdout!.on('data', append)
  child.stderr!.on('data', append)
  child.once('error', (error) => append(Buffer.from(String(error))))
  return () => text
}

async function waitUntilReady(rival: Rival, port: number, child: ChildProcess): Promise<void> {
  const deadlineMs = performance.now() + START_MS_MAX
  const url = `http://127.0.0.1:${port}${rival.ready.path}`
  while (performance.now() < deadlineMs) {
    if (child.pid === undefined) throw new Error('it cannot be executed')
    if (child.exitCode !== null) throw new Error(`it exited with code ${child.exitCode}`)
    const status = await fetch(url).then(
      (response) => response.status,
      () => 0, // Nobody listens yet.
    )
    if (status === rival.ready.status) return
    await sleep(POLL_MS)
  }
  throw new Error(`not ready within ${START_MS_MAX / 1_000} s`)
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
  await exited
  clearTimeout(timer)
}
