/** The rows as a table for each state. */
import { formatNumber, formatTable } from '../table.ts'
import { isMustMet, type RowResult } from './measure-rows.ts'
import { type RunResult, STATES, type State } from './run-states.ts'

/** How much worse acknowledgements and queries may be while the other goes on. */
const ACKNOWLEDGE_RATIO_MAX = 1.3
const QUERY_RATIO_MAX = 3

const TITLES: Readonly<Record<State, string>> = {
  fresh: 'on fresh parts',
  settled: 'settled',
  loaded: 'at half of full ingest load',
}

export function formatResult({ events, rowsOf, acknowledged }: RunResult): string {
  const lines = STATES.flatMap((state) => {
    const rows = rowsOf[state]
    if (rows === undefined) return []
    const settled = state === 'loaded' ? rowsOf.settled : undefined
    return [`${events} events, ${TITLES[state]}; ms`, formatRows(rows, settled), '']
  })
  if (acknowledged === undefined) return lines.join('\n')
  const { p99Without, p99With, rate } = acknowledged
  const ratio = p99With / p99Without
  return [
    ...lines,
    `acknowledgements at ${rate} events a second: p99 ${formatNumber(p99Without)} ms without ` +
      `queries, ${formatNumber(p99With)} with: ${ratio.toFixed(2)} x, ` +
      `must ${ACKNOWLEDGE_RATIO_MAX}: ${verdict(ratio <= ACKNOWLEDGE_RATIO_MAX)}`,
  ].join('\n')
}

function formatRows(rows: readonly RowResult[], settled: readonly RowResult[] | undefined): string {
  const header = ['row', 'median', 'best', 'engine', 'best', 'x engine', 'must', 'goal', 'holds']
  const isLoaded = settled !== undefined
  return formatTable(
    isLoaded ? [...header, 'x settled'] : header,
    rows.map((row) => {
      const { name, rest, engine, mustMs, goalMs, isEqual } = row
      const before = settled?.find((other) => other.name === name)
      const slower = before && rest.medianMs / before.rest.medianMs
      const isMet = slower === undefined ? isMustMet(row) : slower <= QUERY_RATIO_MAX
      const times = [rest.medianMs, rest.bestMs, engine?.medianMs, engine?.bestMs]
      const ratio = engine && rest.medianMs / engine.medianMs
      return [
        isEqual ? name : `${name} (ANSWERS DIFFER)`,
        ...[...times, ratio].map((value) => (value === undefined ? '-' : formatNumber(value))),
        String(mustMs),
        String(goalMs),
        rest.medianMs <= goalMs ? 'goal' : verdict(isMet),
        ...(slower === undefined ? [] : [slower.toFixed(2)]),
      ]
    }),
  )
}

function verdict(isMet: boolean): string {
  return isMet ? 'must' : 'MISSED'
}
