/**
 * Goal: the end-to-end bench works from start to table, so that it can be trusted on the day.
 * Method: a run of a fraction of a second against a stand-in for the service.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { formatRun, formatSummary, toFigures } from '../../../bench/e2e/report.ts'
import { type RunResult, runScenario } from '../../../bench/e2e/run-scenario.ts'
import { DEFAULT_SCENARIO, PRESETS } from '../../../bench/e2e/scenario.ts'

const FAKE_SERVICE = fileURLToPath(new URL('./fake-service.js', import.meta.url))

async function runFake(): Promise<RunResult> {
  const scenario = {
    ...DEFAULT_SCENARIO,
    seconds: 0.3,
    warmUpSeconds: 0.1,
    eventsPerRequest: 10,
    streams: 2,
    distinctEvents: 100,
    target: PRESETS[0]!.target,
  }
  const log = () => {}
  return runScenario(scenario, {
    entry: FAKE_SERVICE,
    nodeFlags: [],
    isDataKept: false,
    quietMs: 500,
    baselineMs: 100,
    running: undefined,
    log,
  })
}

test('a run counts events, CPU, memory and bytes, and its tables can be printed', async () => {
  const run = await runFake()
  const events = run.load.acknowledgedEvents
  assert(events > 0)
  assert.deepEqual(run.load.failures, {})
  assert.equal(run.stored.rawEvents, events)
  assert.equal(run.stored.projectionEvents, events)
  assert(run.isQuiet)
  assert(run.acknowledgedCpu.node > 0)
  assert(run.settledCpu.node >= run.acknowledgedCpu.node)
  assert.equal(run.settledCpu.postgres, 0)
  assert(run.memory.node!.peakBytes > 10_000_000)
  assert(run.memory.all!.bytes >= run.memory.node!.bytes)
  assert(run.memory.all!.peakBytes >= run.memory.all!.bytes)
  assert(run.load.clientCpuMicros > 0)

  const figures = toFigures(run)
  const { before, after } = run.jsonParseMicros
  assert.equal(figures.jsonParseMicros, (before.mean + after.mean) / 2)
  assert(figures.jsonParseMicros > 0.1 && figures.settledTimesJsonParse > 0)
  assert(Math.abs(figures.projectionBytesPerEvent - 2 * run.load.bodyBytesPerEvent) < 400)
  assert.match(formatRun(run), /acknowledge p50/)
  assert.match(formatSummary([run]), /all$/)
  const missing = { ...run, stored: { ...run.stored, rawEvents: events - 1 } }
  assert.match(formatSummary([missing]), /MISSING/)
})
