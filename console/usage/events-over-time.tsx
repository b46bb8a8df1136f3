import { callJson } from '../base/api.ts'
import { formatCount, formatEvents } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { route, setParams } from '../base/route.ts'
import { shownValue } from '../base/shown-value.ts'
import { formatTime } from '../base/time.ts'
import { readState } from '../explore/answer-state.ts'
import { LEVEL_KEYS } from '../explore/counts.ts'
import { type Series, TimeChart } from '../explore/time-chart.tsx'
import { Failure } from '../parts/failure.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { explore, shownRange } from './range.tsx'
import { stackedOf } from './stacked.ts'

const KINDS = [
  ['level', 'By level'],
  ['service', 'By service'],
] as const
/** Services that are told apart. */
const SERVICES_MAX = 30

interface Answer {
  readonly buckets: readonly {
    readonly _bucket: string
    readonly levels: Readonly<Record<string, number>>
  }[]
  readonly bucket: string
  readonly total: number
}

interface Grouped {
  readonly rows: readonly {
    readonly _bucket: string
    readonly _service: string | null
    readonly count: number
  }[]
  readonly bucket: string
  readonly total: number
  readonly groups: number
}

/** Events of the stream by when they were received, as far as they are still held. */
export function EventsOverTime({ streamId }: { streamId: string }) {
  const range = shownRange()
  const kind = route.value.params.get('per') === 'service' ? 'service' : 'level'
  const { value, failure } = useLoaded(`${streamId} ${range} ${kind}`, (signal) => {
    return kind === 'service'
      ? byService(streamId, range, signal)
      : byLevel(streamId, range, signal)
  })
  return (
    <>
      <h2>Events over time</h2>
      <Tabs
        label="By what"
        tabs={KINDS}
        selected={kind}
        onSelect={(per) => setParams({ per: per === 'level' ? undefined : per })}
      />
      {failure !== undefined && <Failure text={failure} />}
      {value === undefined && failure === undefined && <p class="quiet">Counting…</p>}
      {value !== undefined && (
        <>
          <p role="status">
            <strong>{formatEvents(value.total)}</strong>
            <span class="quiet"> received, and held until now; a bar is {value.bucket}</span>
            {value.hidden > 0 && (
              <span class="quiet"> · {formatCount(value.hidden)} more services are not shown</span>
            )}
            {!value.state.isComplete && <span class="warn"> · ▲ partial: not all was counted</span>}
          </p>
          <TimeChart
            times={value.times}
            series={value.series}
            kind="bars"
            isStacked
            format={formatCount}
            onRange={(from, to) => explore(streamId, from, to)}
          />
          <TopBars value={value} />
        </>
      )}
    </>
  )
}

interface Counted {
  readonly times: readonly number[]
  readonly series: readonly Series[]
  readonly bucket: string
  readonly total: number
  readonly hidden: number
  readonly state: ReturnType<typeof readState>
}

async function byLevel(streamId: string, from: string, signal: AbortSignal): Promise<Counted> {
  const call = { method: 'POST', body: { from }, signal } as const
  const answer = await callJson<Answer>(`streams/${streamId}/histogram`, call)
  const { buckets, bucket, total } = answer
  const levels = LEVEL_KEYS.filter((level) => buckets.some(({ levels: all }) => all[level]))
  const series = levels.map((level) => ({
    label: level,
    values: buckets.map(({ levels: all }) => all[level] ?? 0),
    color: level,
  }))
  const times = buckets.map(({ _bucket: time }) => Date.parse(time) / 1_000)
  return { times, series, bucket, total, hidden: 0, state: readState({ ...answer }) }
}

async function byService(streamId: string, from: string, signal: AbortSignal): Promise<Counted> {
  const body = { from, group_by: ['_service', { bucket: 'auto' }], limit: SERVICES_MAX }
  const call = { method: 'POST', body, signal } as const
  const answer = await callJson<Grouped>(`streams/${streamId}/query`, call)
  const { rows, bucket, total, groups } = answer
  const times = [...new Set(rows.map(({ _bucket: time }) => Date.parse(time) / 1_000))]
  times.sort((a, b) => a - b)
  const figures = rows.map(({ _bucket: time, _service: service, count }) => {
    return {
      time,
      label: service === null ? 'none' : shownValue(JSON.stringify(service)),
      value: count,
    }
  })
  const hidden = Math.max(0, groups - SERVICES_MAX)
  const series = stackedOf(times, figures)
  return { times, series, bucket, total, hidden, state: readState({ ...answer }) }
}

/** The same in words, for those who do not see the chart: when the most came. */
function TopBars({ value: { times, series } }: { value: Counted }) {
  const sums = times.map((_, at) => series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0))
  const most = Math.max(0, ...sums)
  if (most === 0) return null
  return (
    <p class="quiet">
      The most in a bar: {formatCount(most)}, from{' '}
      {formatTime(times[sums.indexOf(most)]! * 1_000, 0)} on. Draw over a stretch to look at it.
    </p>
  )
}
