/** One run against another service: fresh start, warm-up, load, settle, as `bench:e2e` does it. */
import type { ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { subtractCpu, totalCpu } from '../e2e/cpu-ledger.ts'
import { driveLoad } from '../e2e/drive-load.ts'
import { startMeasured } from '../e2e/measured-process.ts'
import { type CpuSample, ProcessWatch } from '../e2e/process-watch.ts'
import { toLoadConfig, WARM_UP_SEED } from '../e2e/run-scenario.ts'
import { DEFAULT_SCENARIO } from '../e2e/scenario.ts'
import { settle } from '../e2e/settled/settle.ts'
import { findFreePort } from './free-port.ts'
import type { Rival } from './rival.ts'

const START_MS_MAX = 120_000
const POLL_MS = 200

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
  const port = await findFreePort()
  writeFileSync(files.configFile, rival.configuration(port, files))
  const { child, output, stop } = startMeasured(options.binary, rival.args(files), {
    cwd: directory,
  })
  try {
    await waitUntilReady(rival, port, child).catch((error: unknown) => {
      throw new Error(`${rival.name} did not start: ${error}\n${output()}`)
    })
    return await measure(rival, port, child.pid!, options)
  } finally {
    await stop()
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
    const { surface, path } = rival
    const scenario = { ...DEFAULT_SCENARIO, surface, seconds: options.seconds }
    const config = { ...toLoadConfig(scenario, `http://127.0.0.1:${port}`, ['none']), path }
    const warmUp = { ...config, secondsMax: options.warmUpSeconds, seed: WARM_UP_SEED }
    await driveLoad(warmUp, () => {})
    await settle(watch, isCaughtUp)
    let start: CpuSample | undefined
    const load = await driveLoad(config, () => {
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
