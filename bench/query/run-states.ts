/**
 * One run: a fresh service, filled with the corpus, asked in three states. On fresh parts, as they
 * are when the load has ended; settled, when no merge is due; and at half of full ingest load, with
 * windows of the same load without and with queries in turns. The range of the queries ends where
 * the filling did, so all states ask for the same events.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { driveLoad } from '../e2e/drive-load.ts'
import type { LoadConfig } from '../e2e/load-config.ts'
import { ProcessWatch } from '../e2e/process-watch.ts'
import { type BenchStream, countStored, createStream } from '../e2e/rest.ts'
import { type RunningService, startService } from '../e2e/service.ts'
import { isMergeDue } from '../e2e/settled/due-merges.ts'
import { settle } from '../e2e/settled/settle.ts'
import { ENGINE_FLAGS, EngineClient } from './engine-client.ts'
import {
  type MeasureOptions,
  measureRows,
  type RowResult,
  type Subject,
  timing,
} from './measure-rows.ts'
import { queryCorpus } from './query-corpus.ts'
import { RestClient } from './rest-client.ts'
import { takeTurn } from './turn.ts'

export const STATES = ['fresh', 'settled', 'loaded'] as const
export type State = (typeof STATES)[number]

export interface RunOptions extends MeasureOptions {
  readonly events: number
  readonly states: readonly State[]
  /** One window of load. */
  readonly seconds: number
  /** The `main.js` of another build. */
  readonly entry?: string | undefined
  /** Runs its arguments when the machine is ours; none measures at once. */
  readonly turnCommand?: string | undefined
  readonly log: (line: string) => void
}

export interface Acknowledged {
  readonly p99Without: number
  readonly p99With: number
  /** Events a second, half of what was reached when filling. */
  readonly rate: number
}

export interface RunResult {
  readonly events: number
  readonly rowsOf: Partial<Record<State, readonly RowResult[]>>
  readonly acknowledged: Acknowledged | undefined
}

const DISTINCT_EVENTS = 200_000
const CATCH_UP_MS_MAX = 300_000
const POLL_MS = 200
const LOADED_RUNS = 3

export async function runStates(options: RunOptions): Promise<RunResult> {
  const { entry, log } = options
  const service = await startService({ entry, nodeFlags: ENGINE_FLAGS, isDataKept: false })
  const directory = mkdtempSync(join(tmpdir(), 'sluice-corpus-'))
  const rest = new RestClient(service)
  const engine = new EngineClient(service.dataDirectory)
  try {
    const stream = await createStream(service, 'bench', {})
    const corpusFile = join(directory, 'corpus.ndjson')
    writeFileSync(corpusFile, queryCorpus(Math.min(DISTINCT_EVENTS, options.events)).join('\n'))
    const load = loadConfig(service, stream, corpusFile)
    const fromMs = Date.now()
    log(`filling ${options.events} events`)
    const filled = await driveLoad({ ...load, eventsMax: options.events }, () => {})
    await untilProjected(service, stream, filled.acknowledgedEvents)
    const scene = { table: `sluice.events_${stream.id}`, fromMs, toMs: Date.now() + 1 }
    const rate = Math.round(filled.acknowledgedEvents / filled.seconds / 2)
    log(`${filled.acknowledgedEvents} events at ${rate * 2} a second`)
    const bench = { service, load: { ...load, rate }, options }
    const subject = { rest, engine, stream, scene }
    const states = await measureStates(bench, subject)
    return { events: filled.acknowledgedEvents, ...states }
  } finally {
    rest.close()
    await engine.close()
    await service.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

interface Bench {
  readonly service: RunningService
  /** At half of full load. */
  readonly load: LoadConfig
  readonly options: RunOptions
}

async function measureStates(
  { service, load, options }: Bench,
  subject: Subject,
): Promise<Omit<RunResult, 'events'>> {
  const { log, states } = options
  const rowsOf: Partial<Record<State, readonly RowResult[]>> = {}
  const measure = async (state: State) => {
    if (!states.includes(state)) return
    log(`asking: ${state}`)
    rowsOf[state] = await takeTurn(options.turnCommand, () => measureRows(subject, options))
  }
  await measure('fresh')
  if (!states.includes('settled') && !states.includes('loaded')) {
    return { rowsOf, acknowledged: undefined }
  }
  log('waiting until no merge is due')
  await untilSettled(service, log)
  await measure('settled')
  if (!states.includes('loaded')) return { rowsOf, acknowledged: undefined }
  log(`asking: at ${load.rate} events a second`)
  const { rows, acknowledged } = await takeTurn(options.turnCommand, () => {
    return measureLoaded(subject, load, options)
  })
  return { rowsOf: { ...rowsOf, loaded: rows }, acknowledged }
}

/**
 * Windows of load without and with queries in turns, until each row was measured within one; the
 * service alone, then beside the engine's own time, where no acknowledgements are measured. A row
 * that a window's end cut short is measured again, unless it is longer than a window.
 */
async function measureLoaded(subject: Subject, load: LoadConfig, options: RunOptions) {
  const p99 = { without: [] as number[], with: [] as number[] }
  const windowLoad = { ...load, secondsMax: options.seconds }
  const alone = await measureInWindows(subject, windowLoad, options, {
    isServiceAlone: true,
    before: async () => {
      p99.without.push((await driveLoad(windowLoad, () => {})).acknowledge.p99)
    },
    onAcknowledged: (ms) => p99.with.push(ms),
  })
  const beside = await measureInWindows(subject, windowLoad, options, { isServiceAlone: false })
  const rows = alone.map((row) => {
    const { engine, isEqual } = beside.find(({ name }) => name === row.name) ?? row
    return { ...row, engine, isEqual: row.isEqual && isEqual }
  })
  const acknowledged = {
    p99Without: timing(p99.without).medianMs,
    p99With: timing(p99.with).medianMs,
    rate: load.rate,
  }
  return { rows, acknowledged }
}

interface Windows {
  readonly isServiceAlone: boolean
  /** Before each window. */
  readonly before?: () => Promise<void>
  /** What each window's p99 of acknowledgements was, milliseconds. */
  readonly onAcknowledged?: (p99Ms: number) => void
}

async function measureInWindows(
  subject: Subject,
  load: LoadConfig,
  options: RunOptions,
  { isServiceAlone, before, onAcknowledged }: Windows,
): Promise<RowResult[]> {
  const of = { runs: LOADED_RUNS, isServiceAlone }
  const left: MeasureOptions[] = options.rows.map((row) => ({
    ...of,
    rows: [row],
    hasFirst: false,
  }))
  if (options.hasFirst && isServiceAlone) left.push({ ...of, rows: [], hasFirst: true })
  const rows: RowResult[] = []
  while (left.length > 0) {
    await before?.()
    let isOver = false
    let startRows = () => {}
    const isLoaded = new Promise<void>((resolve) => {
      startRows = resolve
    })
    const loading = driveLoad(load, startRows).finally(() => {
      isOver = true
    })
    // The load client builds its requests first: nothing is sent so far.
    await Promise.race([isLoaded, loading])
    try {
      for (let isFirst = true; !isOver && left[0] !== undefined; isFirst = false) {
        const asked = await measureRows(subject, left[0])
        if (isOver && !isFirst) break
        rows.push(...asked)
        left.shift()
      }
    } finally {
      // A row that fails must not leave its load behind.
      await Promise.allSettled([loading])
    }
    const { acknowledge } = await loading
    onAcknowledged?.(acknowledge.p99)
  }
  return rows
}

async function untilProjected(service: RunningService, stream: BenchStream, events: number) {
  const deadline = performance.now() + CATCH_UP_MS_MAX
  while ((await countStored(service, [stream])).projectionEvents < events) {
    if (performance.now() > deadline) throw new Error('the projection does not catch up')
    await sleep(POLL_MS)
  }
}

async function untilSettled({ pid, dataDirectory }: RunningService, log: RunOptions['log']) {
  const watch = new ProcessWatch({ pids: [pid], dataDirectory })
  watch.start()
  const isDue = () => isMergeDue(dataDirectory)
  const { isQuiet } = await settle(watch, async () => true, { isMergeDue: isDue })
  watch.stop()
  if (!isQuiet) log('it is not quiet yet, or merges are due: measured all the same')
}

function loadConfig(
  { host, port }: RunningService,
  { key }: BenchStream,
  corpusFile: string,
): LoadConfig {
  return {
    host,
    port,
    surface: 'json',
    keys: [key],
    connections: 4,
    eventsPerRequest: 1_000,
    eventsMax: Number.MAX_SAFE_INTEGER,
    secondsMax: 3_600,
    rate: 0,
    isGzip: false,
    corpusFile,
    seed: 1,
    distinctEvents: DISTINCT_EVENTS,
  }
}
