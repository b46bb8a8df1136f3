import { visibleLine } from '../../src/language/visible-text.ts'
import { callJson } from '../base/api.ts'
import { formatBytes, formatCount } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { TimeChart } from '../explore/time-chart.tsx'
import { Failure } from '../parts/failure.tsx'
import { Scrolled } from '../parts/scrolled.tsx'
import { explore, shownRange } from './range.tsx'
import { type Steps, stackedOf, stepText, timesOf } from './stacked.ts'

export interface KeyInfo {
  readonly id: string
  readonly name: string | null
  readonly prefix: string | null
  readonly revoked_at: string | null
}

interface Counts {
  readonly requests: number
  readonly events: number
  readonly bytes: number
}

interface Answer extends Steps {
  readonly keys: readonly (Counts & { readonly key: KeyInfo | null })[]
  readonly over_time: readonly (Counts & {
    readonly _bucket: string
    readonly key_id: string | null
  })[]
}

export function keyText(key: KeyInfo | null, none: string): string {
  if (key === null) return none
  const name = visibleLine(key.name || key.prefix || `key ${key.id}`)
  return key.revoked_at === null ? name : `${name} (revoked)`
}

/** What each API key sent, whether or not it is still held. */
export function SentByKey({ streamId }: { streamId: string }) {
  const range = shownRange()
  const { value, failure } = useLoaded(`${streamId} ${range}`, async (signal) => {
    const query = { from: range }
    return drawn(await callJson<Answer>(`streams/${streamId}/usage/keys`, { query, signal }))
  })
  return (
    <>
      <h2>Sent by key</h2>
      {failure !== undefined && <Failure text={failure} />}
      {value === undefined && failure === undefined && <p class="quiet">Loading…</p>}
      {value?.keys.length === 0 && <p class="quiet">No key sent anything in this time.</p>}
      {value !== undefined && value.keys.length > 0 && (
        <>
          <p class="hint">
            Bytes as sent, also of events that are not held any more; a bar is {value.step}. Counted
            since this version runs.
          </p>
          <TimeChart
            times={value.times}
            series={value.series}
            kind="bars"
            isStacked
            format={formatBytes}
            onRange={(from, to) => explore(streamId, from, to)}
          />
          <KeyTable keys={value.keys} />
        </>
      )}
    </>
  )
}

const AGENTS = 'agents, by a token'

function drawn(answer: Answer) {
  const names = new Map(answer.keys.map(({ key }) => [key?.id ?? null, keyText(key, AGENTS)]))
  const times = timesOf(answer)
  const figures = answer.over_time.map(({ _bucket: time, key_id: id, bytes }) => {
    return { time, label: names.get(id) ?? `key ${id}`, value: bytes }
  })
  const step = stepText(answer.bucket_ms)
  return { keys: answer.keys, times, series: stackedOf(times, figures), step }
}

function KeyTable({ keys }: Pick<Answer, 'keys'>) {
  const whole = keys.reduce((sum, { bytes }) => sum + bytes, 0)
  return (
    <Scrolled label="What each key sent">
      <table class="table is-narrow">
        <thead>
          <tr>
            <th scope="col">Key</th>
            {['Requests', 'Events', 'As sent', 'Share'].map((name) => (
              <th key={name} scope="col" class="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {keys.map(({ key, requests, events, bytes }) => (
            <tr key={key?.id}>
              <th scope="row">
                <bdi>{keyText(key, AGENTS)}</bdi>
              </th>
              <td class="number">{formatCount(requests)}</td>
              <td class="number">{formatCount(events)}</td>
              <td class="number">{formatBytes(bytes)}</td>
              <td class="number">{((100 * bytes) / Math.max(1, whole)).toFixed(0)} %</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolled>
  )
}
