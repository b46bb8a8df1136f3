/** Turns a run into the figures that are compared, and prints them. */
import { formatNumber, formatTable, type TableRow } from '../table.ts'
import { ROLES, totalCpu } from './cpu-ledger.ts'
import type { Percentiles } from './latencies.ts'
import type { RunResult } from './run-scenario.ts'

const MIB = 1024 * 1024

export interface Figures {
  readonly jsonParseMicros: number
  readonly eventsPerSecond: number
  readonly acknowledgedMicrosPerEvent: number
  readonly settledMicrosPerEvent: number
  readonly settledTimesJsonParse: number
  /** By what it cost while the load ran; undefined when that is not known. */
  readonly settledTimesJsonParseDuring: number | undefined
  readonly clientMicrosPerEvent: number
  /** By the service's own account where it gives one, else from the file system. */
  readonly rawBytesPerEvent: number
  readonly projectionBytesPerEvent: number
}

export function toFigures(run: RunResult): Figures {
  const { before, after, during } = run.jsonParseMicros
  const jsonParseMicros = (before.mean + after.mean) / 2
  const events = run.load.acknowledgedEvents
  const settledMicrosPerEvent = totalCpu(run.settledCpu) / events
  const { rawBytes, projectionBytes } = run.stored
  return {
    jsonParseMicros,
    eventsPerSecond: events / run.load.seconds,
    acknowledgedMicrosPerEvent: totalCpu(run.acknowledgedCpu) / events,
    settledMicrosPerEvent,
    settledTimesJsonParse: settledMicrosPerEvent / jsonParseMicros,
    settledTimesJsonParseDuring: during && settledMicrosPerEvent / during,
    clientMicrosPerEvent: run.load.clientCpuMicros / events,
    rawBytesPerEvent: (run.disk?.postgresTables ?? rawBytes) / events,
    projectionBytesPerEvent:
      (projectionBytes > 0 ? projectionBytes : (run.disk?.clickhouse ?? Number.NaN)) / events,
  }
}

/** Everything about one run. */
export function formatRun(run: RunResult): string {
  const figures = toFigures(run)
  const { load, stored } = run
  const lines = [
    `\n${run.scenario.name}: ${run.scenario.title}`,
    `  events      ${load.acknowledgedEvents} acknowledged in ${load.seconds.toFixed(1)} s ` +
      `(${formatNumber(figures.eventsPerSecond / 1_000)} k/s); counted back: ` +
      `raw ${stored.rawEvents}, projection ${stored.projectionEvents}`,
    `  trouble     ${formatTrouble(run)}`,
    `  acknowledge ${formatPercentiles(load.acknowledge)}`,
    ...(load.refuse.count > 0 ? [`  refuse      ${formatPercentiles(load.refuse)}`] : []),
    `  settled     after ${run.settleSeconds.toFixed(1)} s${run.isQuiet ? '' : ', NOT QUIET'}`,
    `  JSON.parse  ${formatBaseline(run, figures)}`,
    `  load client ${formatNumber(figures.clientMicrosPerEvent)} µs an event, ` +
      `${formatNumber(load.clientCpuMicros / load.requests)} a request (not included below)`,
    `  disk        raw ${formatNumber(figures.rawBytesPerEvent)} B an event, ` +
      `projection ${formatNumber(figures.projectionBytesPerEvent)} B${formatDisk(run)}`,
    '',
    formatCpu(run, figures),
  ]
  return lines.join('\n')
}

function formatBaseline({ jsonParseMicros }: RunResult, figures: Figures): string {
  const { before, after, during } = jsonParseMicros
  const idle =
    `${before.mean.toFixed(2)} µs before, ${after.mean.toFixed(2)} after ` +
    `(in quiet moments ${before.quick.toFixed(2)}, ${after.quick.toFixed(2)})`
  const times = figures.settledTimesJsonParseDuring
  if (during === undefined || times === undefined) return idle
  return `${idle}; ${during.toFixed(2)} while the load ran, by which all is ${times.toFixed(2)} ×`
}

function formatTrouble({ load }: RunResult): string {
  const parts = [
    `${load.refusals} refused`,
    `${load.rejectedEvents} events rejected`,
    `${load.lostRequests} cut${load.firstLost === undefined ? '' : ` (${load.firstLost})`}`,
    `${load.unansweredRequests} unanswered`,
  ]
  for (const [status, count] of Object.entries(load.failures)) parts.push(`${count} × ${status}`)
  if (load.firstFailure !== undefined) parts.push(load.firstFailure)
  return parts.join(', ')
}

function formatPercentiles(latency: Percentiles): string {
  const { p50, p90, p99, p999, max } = latency
  const [a, b, c, d, e] = [p50, p90, p99, p999, max].map(formatNumber)
  return `p50 ${a}  p90 ${b}  p99 ${c}  p99.9 ${d}  max ${e} ms  (${latency.count} requests)`
}

function formatDisk({ disk, stored, load }: RunResult): string {
  const events = load.acknowledgedEvents
  if (disk === undefined) return ''
  const perEvent = (bytes: number) => formatNumber(bytes / events)
  return (
    ` (payloads ${perEvent(stored.rawBytes)}; grown on disk: ` +
    `PostgreSQL tables ${perEvent(disk.postgresTables)}, WAL ${perEvent(disk.postgresWal)}, ` +
    `ClickHouse with merged-away parts ${perEvent(disk.clickhouse)}, other ${perEvent(disk.other)})`
  )
}

function formatCpu(run: RunResult, { jsonParseMicros }: Figures): string {
  const events = run.load.acknowledgedEvents
  const toRow = (name: string, acknowledged: number, settled: number, memory: string[]) => [
    name,
    (acknowledged / events).toFixed(2),
    (settled / events).toFixed(2),
    (settled / events / jsonParseMicros).toFixed(2),
    ...memory,
  ]
  const memoryOf = (name: string) => {
    const { bytes, peakBytes } = run.memory[name]!
    return [peakBytes, bytes].map((value) => `${Math.round(value / MIB)} MiB`)
  }
  const rows: TableRow[] = ROLES.filter((role) => run.settledCpu[role] > 0).map((role) => {
    return toRow(role, run.acknowledgedCpu[role], run.settledCpu[role], memoryOf(role))
  })
  const mainThread = (run.mainThreadMicros / events).toFixed(2)
  const [acknowledged, settled] = [run.acknowledgedCpu, run.settledCpu].map(totalCpu)
  const total = toRow('all', acknowledged!, settled!, memoryOf('all'))
  const header = ['CPU µs an event', 'acknowledged', 'settled', '× JSON.parse', 'peak RSS', 'RSS']
  const table = formatTable(header, [...rows, ['  (main thread)', mainThread], total])
  return table.replaceAll(/^/gm, '  ')
}

/** The table of `performance.md` with what was measured beside what was promised. */
export function formatSummary(runs: readonly RunResult[]): string {
  const rows = runs.map((run) => {
    const figures = toFigures(run)
    const { target } = run.scenario
    return [
      run.scenario.title,
      formatNumber(figures.settledMicrosPerEvent),
      against(figures.settledTimesJsonParse, target.timesJsonParseMax, '≤'),
      figures.settledTimesJsonParseDuring?.toFixed(2) ?? '',
      against(figures.eventsPerSecond / 1_000, divide(target.eventsPerSecondMin, 1_000), '≥'),
      formatNumber(run.load.acknowledge.p50),
      against(run.load.acknowledge.p99, target.acknowledgeP99MsMax, '≤'),
      against(run.memory.node!.peakBytes / MIB, divide(target.nodeBytesMax, MIB), '≤'),
      against(run.memory.all!.peakBytes / MIB, divide(target.allBytesMax, MIB), '≤'),
      against(figures.rawBytesPerEvent, target.rawBytesPerEventMax, '≤'),
      against(figures.projectionBytesPerEvent, target.projectionBytesPerEventMax, '≤'),
      String(run.load.refusals),
      formatCountBack(run),
    ]
  })
  const header = [
    'work',
    'CPU µs/event, settled',
    '× JSON.parse',
    '× under load',
    'k ev/s',
    'ack p50 ms',
    'ack p99 ms',
    'Node peak MiB',
    'all peak MiB',
    'raw B/event',
    'proj. B/event',
    'refused',
    'counted back',
  ]
  return formatTable(header, rows)
}

function formatCountBack({ load, stored }: RunResult): string {
  const { acknowledgedEvents } = load
  // Requests that were cut are sent again, so more may be stored than was acknowledged, never less.
  const isWhole =
    stored.rawEvents >= acknowledgedEvents && stored.projectionEvents >= acknowledgedEvents
  return isWhole ? 'all' : `MISSING raw ${stored.rawEvents} proj. ${stored.projectionEvents}`
}

function against(value: number, bound: number | undefined, sign: '≤' | '≥'): string {
  if (bound === undefined) return formatNumber(value)
  const isMet = sign === '≤' ? value <= bound : value >= bound
  return `${formatNumber(value)} (${sign} ${bound}) ${isMet ? 'ok' : 'NO'}`
}

function divide(value: number | undefined, divisor: number): number | undefined {
  return value === undefined ? undefined : value / divisor
}
