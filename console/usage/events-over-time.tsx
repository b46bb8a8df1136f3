import { callJson } from '../base/api.ts'
import { clockParam } from '../base/clock.ts'
import { formatCount, formatEvents } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { go, href, route, setParams } from '../base/route.ts'
import { formatTime } from '../base/time.ts'
import { readState } from '../explore/answer-state.ts'
import { LEVEL_KEYS } from '../explore/counts.ts'
import { type Series, TimeChart } from '../explore/time-chart.tsx'
import { Failure } from '../parts/failure.tsx'
import { Tabs } from '../parts/tabs.tsx'

const RANGES = [
  ['-24h', '24 hours'],
  ['-7d', '7 days'],
  ['-30d', '30 days'],
  ['-90d', '90 days'],
] as const

/** What a stream takes is counted when it is taken. */
const basis = clockParam('ingested_at')

interface Answer {
  readonly buckets: readonly {
    readonly _bucket: string
    readonly levels: Readonly<Record<string, number>>
  }[]
  readonly bucket: string
  readonly total: number
}

/** Events of the stream by when they were received, as far as they are still held. */
export function EventsOverTime({ streamId }: { streamId: string }) {
  const asked = route.value.params.get('last')
  const range = RANGES.find(([known]) => known === asked)?.[0] ?? '-7d'
  const { value, failure } = useLoaded(`${streamId} ${range}`, async (signal) => {
    const call = { method: 'POST', body: { from: range }, signal } as const
    return seriesOf(await callJson<Answer>(`streams/${streamId}/histogram`, call))
  })
  return (
    <>
      <h2>Events over time</h2>
      <Tabs
        label="How far back"
        tabs={RANGES}
        selected={range}
        onSelect={(last) => setParams({ last })}
      />
      {failure !== undefined && <Failure text={failure} />}
      {value === undefined && failure === undefined && <p class="quiet">Counting…</p>}
      {value !== undefined && (
        <>
          <p role="status">
            <strong>{formatEvents(value.total)}</strong>
            <span class="quiet"> received, and held until now; a bar is {value.bucket}</span>
            {!value.state.isComplete && <span class="warn"> · ▲ partial: not all was counted</span>}
          </p>
          <TimeChart
            times={value.times}
            series={value.series}
            kind="bars"
            isStacked
            format={formatCount}
            onRange={(from, to) => go(href('explore', streamId, { from, to, basis }))}
          />
          <TopBars value={value} />
        </>
      )}
    </>
  )
}

function seriesOf(answer: Answer) {
  const { buckets, bucket, total } = answer
  const levels = LEVEL_KEYS.filter((level) => buckets.some(({ levels: all }) => all[level]))
  const series: Series[] = levels.map((level) => ({
    label: level,
    values: buckets.map(({ levels: all }) => all[level] ?? 0),
    color: level,
  }))
  const times = buckets.map(({ _bucket: time }) => Date.parse(time) / 1_000)
  return { times, series, bucket, total, state: readState({ ...answer }) }
}

/** The same in words, for those who do not see the chart: when the most came. */
function TopBars({ value: { times, series } }: { value: ReturnType<typeof seriesOf> }) {
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
