/**
 * The figures of a run from what k6 hands to `handleSummary`, and how they are printed. Pure.
 */
const MIB = 1024 * 1024

/** `parts` are k6's scenarios in their order: k6 hands out its metrics in none. */
export function summarize(data, name, parts) {
  const value = (metric, stat) => data.metrics[metric]?.values[stat]
  const hasAnswers = (part) => {
    const refused = `refused{scenario:${part}}`
    return (value(refused, 'passes') ?? 0) + (value(refused, 'fails') ?? 0) > 0
  }
  const sending = parts.filter(hasAnswers)
  const rows = sending.map((part) => ({ part, ...figures(value, `{scenario:${part}}`) }))
  const isCounted = value('events_counted', 'value') !== undefined
  return {
    scenario: name,
    total: figures(value, ''),
    parts: rows.length > 1 ? rows : [],
    answers: answersByStatus(data),
    refusedUncleanly: value('refused_uncleanly', 'count') ?? 0,
    refusalMs: percentiles(value, 'refusal_ms'),
    failed: value('failed', 'count') ?? 0,
    rejected: value('events_rejected', 'count') ?? 0,
    droppedIterations: value('dropped_iterations', 'count') ?? 0,
    /** As far as the streams were made at all. */
    isCountWanted: data.setup_data?.isCounted ?? false,
    stored: isCounted ? value('events_counted', 'value') : undefined,
    missing: isCounted ? value('events_missing', 'count') : undefined,
    missingInQueries: isCounted ? value('events_missing_in_queries', 'count') : undefined,
    projectionSeconds: value('projection_seconds', 'value'),
    memoryMib: data.metrics.service_memory_mib?.values,
    memoryGrowthMib: value('service_memory_growth_mib', 'value'),
    failedThresholds: failedThresholds(data),
  }
}

export function formatSummary(summary) {
  if (Object.keys(summary.answers).length === 0) {
    return `\nload test ${summary.scenario}\n\nFAILED: nothing was sent, see the error\n\n`
  }
  const rows = [...summary.parts, { part: 'all', ...summary.total }]
  const lines = [
    '',
    `load test ${summary.scenario}`,
    '',
    ...formatTable([
      ['', 'acks', 'events', 'events/s', 'MiB/s', 'ack p50', 'p90', 'p99', 'max ms', 'refused'],
      ...rows.map((row) => [
        row.part,
        grouped(row.acknowledgements),
        grouped(row.events),
        grouped(row.eventsPerSecond),
        row.mibPerSecond.toFixed(1),
        ...[row.ackMs.p50, row.ackMs.p90, row.ackMs.p99, row.ackMs.max].map(milliseconds),
        `${(row.refusedShare * 100).toFixed(1)} %`,
      ]),
    ]),
    '',
    `answers    ${describeAnswers(summary)}`,
    ...describeRefusals(summary),
    `stored     ${describeStored(summary)}`,
    ...describeMemory(summary),
    ...describeDropped(summary),
    '',
    ...describeVerdict(summary),
    '',
  ]
  return `${lines.join('\n')}\n`
}

function figures(value, tag) {
  const events = value(`events_acknowledged${tag}`, 'count') ?? 0
  const first = value(`clock_ms${tag}`, 'min') ?? 0
  const seconds = ((value(`clock_ms${tag}`, 'max') ?? 0) - first) / 1_000
  const perSecond = (count) => (seconds > 0 ? count / seconds : 0)
  return {
    seconds,
    acknowledgements: value(`ack_ms${tag}`, 'count') ?? 0,
    events,
    eventsPerSecond: perSecond(events),
    mibPerSecond: perSecond(value(`bytes_acknowledged${tag}`, 'count') ?? 0) / MIB,
    ackMs: percentiles(value, `ack_ms${tag}`),
    refusedShare: value(`refused${tag}`, 'rate') ?? 0,
  }
}

function percentiles(value, metric) {
  return {
    p50: value(metric, 'p(50)') ?? 0,
    p90: value(metric, 'p(90)') ?? 0,
    p99: value(metric, 'p(99)') ?? 0,
    max: value(metric, 'max') ?? 0,
  }
}

/** Those of the known statuses that came, and `other` for the rest. */
function answersByStatus(data) {
  const answers = {}
  let known = 0
  for (const [metric, { values }] of Object.entries(data.metrics)) {
    const status = /^answers\{status:(\d+)\}$/.exec(metric)?.[1]
    if (status === undefined || values.count === 0) continue
    answers[status === '0' ? 'none' : status] = values.count
    known += values.count
  }
  const other = (data.metrics.answers?.values.count ?? 0) - known
  return other > 0 ? { ...answers, other } : answers
}

function failedThresholds(data) {
  return Object.entries(data.metrics).flatMap(([metric, { thresholds }]) =>
    Object.entries(thresholds ?? {})
      .filter(([, { ok }]) => !ok)
      .map(([expression]) => `${metric}: ${expression}`),
  )
}

function describeAnswers({ answers }) {
  return Object.entries(answers)
    .map(([status, count]) => `${status}: ${grouped(count)}`)
    .join('   ')
}

function describeRefusals({ answers, refusedUncleanly, refusalMs }) {
  if (answers[429] === undefined && answers[503] === undefined) return []
  const unclean = refusedUncleanly === 0 ? 'all' : `all but ${grouped(refusedUncleanly)}`
  const [p50, p99, max] = [refusalMs.p50, refusalMs.p99, refusalMs.max].map(milliseconds)
  return [`refusals   ${unclean} with Retry-After; p50 ${p50}, p99 ${p99}, max ${max} ms`]
}

function describeStored(summary) {
  const { total, stored, missing, missingInQueries, projectionSeconds } = summary
  if (summary.isCountWanted && stored === undefined) return 'could not be counted: see the error'
  if (stored === undefined) return 'not counted (needs TOKEN, and STREAM_ID with API_KEY)'
  const account =
    missing === 0
      ? 'as many as acknowledged'
      : `${grouped(Math.abs(missing))} ${missing > 0 ? 'LOST' : 'MORE'} than acknowledged`
  const queries =
    missingInQueries === 0
      ? `queries count the same after ${(projectionSeconds ?? 0).toFixed(1)} s`
      : `queries count ${grouped(stored - missingInQueries)}`
  return `${grouped(stored)} of ${grouped(total.events)}: ${account}; ${queries}`
}

function describeMemory({ memoryMib, memoryGrowthMib }) {
  if (memoryMib === undefined) return []
  const growth = memoryGrowthMib === undefined ? '' : `, second half ${signed(memoryGrowthMib)}`
  return [`memory     ${memoryMib.min.toFixed(0)} to ${memoryMib.max.toFixed(0)} MiB${growth}`]
}

function describeDropped({ droppedIterations }) {
  if (droppedIterations === 0) return []
  return [`not sent   ${grouped(droppedIterations)} requests were due with no user free: raise VUS`]
}

function describeVerdict({ failedThresholds }) {
  if (failedThresholds.length === 0) return ['passed: every threshold holds']
  return ['FAILED:', ...failedThresholds.map((text) => `  ${text}`)]
}

function formatTable(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]),
      )
      .join('  ')
      .trimEnd(),
  )
}

/** 1234567 as 1,234,567. */
function grouped(count) {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ',')
}

function milliseconds(ms) {
  return ms < 10 ? ms.toFixed(1) : ms.toFixed(0)
}

function signed(mib) {
  return `${mib < 0 ? '-' : '+'}${Math.abs(mib).toFixed(0)} MiB`
}
