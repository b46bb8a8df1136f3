/** Values of windows over time, with what they are compared with as a line. */
import { useMemo } from 'preact/hooks'
import { visibleLine } from '../../src/language/visible-text.ts'
import { judgedWords } from '../../src/model/alerts/rule-words.ts'
import { callJson } from '../base/api.ts'
import { formatFigure, formatOf } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { go } from '../base/route.ts'
import { formatTime } from '../base/time.ts'
import { TimeChart } from '../explore/time-chart.tsx'
import { Failure } from '../parts/failure.tsx'
import {
  type DecidedWindow,
  isCounting,
  type RuleInfo,
  type RuleSettings,
  rulePath,
} from './rule.ts'
import { rangeAddress } from './why.ts'

const WINDOWS_MAX = 1_000

export function RuleChart({ rule, askKey }: { rule: RuleInfo; askKey: string }) {
  const { value, failure } = useLoaded(askKey, async (signal) => {
    const query = { limit: WINDOWS_MAX }
    const path = `${rulePath(rule)}/windows`
    const page = await callJson<{ readonly windows: readonly DecidedWindow[] }>(path, {
      ...{ query, signal },
    })
    return page.windows.toReversed()
  })
  if (failure !== undefined && value === undefined) return <Failure text={failure} />
  if (value === undefined) return <p class="quiet">Loading…</p>
  const [first] = value
  if (first === undefined) {
    return <p class="empty">No window is decided yet: the first one ends within {rule.every}.</p>
  }
  const gaps = value.filter(({ outcome }) => outcome === 'gap').length
  const explore = (from: string, to: string) => {
    const address = rangeAddress(rule, { from, to })
    if (address !== undefined) go(address)
  }
  return (
    <figure class="rule-chart card">
      <figcaption class="quiet">
        {valueName(rule)}: {formatOf(value.length, 'window')} since{' '}
        {formatTime(Date.parse(first.from), 0)}
        {gaps > 0 && <span class="warn"> · ▲ {formatOf(gaps, 'gap')}: not looked at</span>}
      </figcaption>
      <WindowsChart rule={rule} windows={value} onRange={explore} />
    </figure>
  )
}

/** What a window's value is. */
export function valueName(rule: RuleSettings): string {
  const { group_by: by, condition } = rule
  const name = visibleLine(judgedWords(rule))
  if (by.length === 0) return name
  return `${name}, of the group with the ${condition.op.startsWith('<') ? 'smallest' : 'largest'}`
}

interface ChartProps {
  readonly rule: RuleSettings
  /** The oldest first. */
  readonly windows: readonly Pick<DecidedWindow, 'to' | 'outcome' | 'value'>[]
  readonly onRange: (from: string, to: string) => void
}

export function WindowsChart({ rule, windows, onRange }: ChartProps) {
  const { condition } = rule
  const none = isCounting(rule) ? 0 : null
  const [times, series] = useMemo(() => {
    const shown = windows.map(({ to }) => Date.parse(to) / 1_000)
    const values = windows.map(({ outcome, value }) => {
      return outcome === 'gap' ? null : (value ?? none)
    })
    const limit = windows.map(() => condition.value)
    return [
      shown,
      [
        { label: valueName(rule), values },
        { label: `fires at ${condition.op} ${formatFigure(condition.value)}`, values: limit },
      ],
    ] as const
  }, [windows, condition.op, condition.value])
  return <TimeChart times={times} series={series} format={formatFigure} onRange={onRange} />
}
