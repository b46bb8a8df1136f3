import { callJson } from '../base/api.ts'
import { formatAgo, formatBytes, formatCount } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { TimeChart } from '../explore/time-chart.tsx'
import { Failure } from '../parts/failure.tsx'
import { Scrolled } from '../parts/scrolled.tsx'
import { shownRange } from './range.tsx'
import { type KeyInfo, keyText } from './sent-by-key.tsx'
import { type Steps, stackedOf, stepText, timesOf } from './stacked.ts'

interface Refused {
  readonly key: KeyInfo | null
  readonly reason: string
  readonly cause: string
  readonly requests: number
  readonly events: number | null
  readonly bytes: number
  readonly last_at: string
}

interface Answer extends Steps {
  readonly refused: readonly Refused[]
  readonly over_time: readonly {
    readonly _bucket: string
    readonly reason: string
    readonly requests: number
  }[]
}

interface Props {
  readonly title: string
  readonly none: string
  /** Of the API. */
  readonly path: string
}

/** Who was refused, which limit was met, how much and when. */
export function RefusedRequests({ title, none, path }: Props) {
  const range = shownRange()
  const { value, failure } = useLoaded(`${path} ${range}`, async (signal) => {
    return drawn(await callJson<Answer>(path, { query: { from: range }, signal }))
  })
  return (
    <>
      <h2>{title}</h2>
      {failure !== undefined && <Failure text={failure} />}
      {value === undefined && failure === undefined && <p class="quiet">Loading…</p>}
      {value?.refused.length === 0 && <p class="quiet">{none}</p>}
      {value !== undefined && value.refused.length > 0 && (
        <>
          <p class="hint">Requests by reason; a bar is {value.step}.</p>
          <TimeChart
            times={value.times}
            series={value.series}
            kind="bars"
            isStacked
            format={formatCount}
            onRange={() => undefined}
          />
          <RefusedTable refused={value.refused} />
        </>
      )}
    </>
  )
}

function drawn(answer: Answer) {
  const times = timesOf(answer)
  const figures = answer.over_time.map(({ _bucket: time, reason, requests }) => {
    return { time, label: reason.replaceAll('_', ' '), value: requests }
  })
  const step = stepText(answer.bucket_ms)
  return { refused: answer.refused, times, series: stackedOf(times, figures), step }
}

function RefusedTable({ refused }: { refused: readonly Refused[] }) {
  return (
    <Scrolled label="Refused requests">
      <table class="table is-narrow">
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col">Reason</th>
            <th scope="col">Limit, or what was wrong</th>
            {['Requests', 'Events', 'Bytes'].map((name) => (
              <th key={name} scope="col" class="number">
                {name}
              </th>
            ))}
            <th scope="col">Last</th>
          </tr>
        </thead>
        <tbody>
          {refused.map(({ key, reason, cause, requests, events, bytes, last_at: lastAt }) => (
            <tr key={`${key?.id} ${reason} ${cause}`}>
              <th scope="row">
                <bdi>{keyText(key, 'no known key')}</bdi>
              </th>
              <td>{reason.replaceAll('_', ' ')}</td>
              <td class="mono">{cause || '–'}</td>
              <td class="number">{formatCount(requests)}</td>
              <td class="number">{events === null ? 'not counted' : formatCount(events)}</td>
              <td class="number">{formatBytes(bytes)}</td>
              <td class="when">{formatAgo(Date.parse(lastAt))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolled>
  )
}
