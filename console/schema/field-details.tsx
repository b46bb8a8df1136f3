import { visibleLine } from '../../src/language/visible-text.ts'
import { callText } from '../base/api.ts'
import { jsonElements, jsonObject, jsonText, wholeJson } from '../base/exact-json.ts'
import { apiPath } from '../base/field.ts'
import { formatCount } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { Failure } from '../parts/failure.tsx'

interface FieldStats {
  readonly events: number
  readonly count: number
  readonly distinct: number
  readonly numbers: Readonly<Record<string, number>> | null
  readonly top: readonly { readonly json: string; readonly count: number }[]
}

const NUMBER_FIGURES = ['min', 'p50', 'p90', 'p99', 'max', 'average'] as const

const STATS_RANGE = { from: '-24h', time_basis: 'event_time' } as const

/** How full a field is in the last day, and its most frequent values. */
export function FieldDetails({ streamId, path }: { streamId: string; path: string }) {
  const { value, failure } = useLoaded(`${streamId} ${path}`, async (signal) => {
    const at = `streams/${streamId}/fields/${encodeURIComponent(apiName(path))}/stats`
    return readStats(await callText(at, { query: STATS_RANGE, signal }))
  })
  if (failure !== undefined) return <Failure text={failure} />
  if (value === undefined) return <p class="quiet">Counting…</p>
  const share = value.events === 0 ? 0 : (100 * value.count) / value.events
  return (
    <div>
      <p>
        In the last 24 hours, by event time, {formatCount(value.count)} of{' '}
        {formatCount(value.events)} events have it ({share.toFixed(share < 10 ? 1 : 0)} %), with
        about {formatCount(value.distinct)} values.
      </p>
      {value.numbers !== null && (
        <p class="mono">
          {NUMBER_FIGURES.map((name) => `${name} ${figureText(name, value)}`).join('  ·  ')}
        </p>
      )}
      <ol class="top">
        {value.top.map((one) => (
          <li key={one.json}>
            <bdi class="mono">{one.json}</bdi> <span class="quiet">{formatCount(one.count)}</span>
            <meter
              min={0}
              max={Math.max(1, value.count)}
              value={one.count}
              aria-label={`share of ${one.json}`}
            />
          </li>
        ))}
      </ol>
    </div>
  )
}

/** An average has more digits than it means. */
function figureText(name: (typeof NUMBER_FIGURES)[number], { numbers }: FieldStats): string {
  const figure = numbers?.[name]
  return String(name === 'average' ? Number(figure?.toPrecision(6)) : figure)
}

/** In backquotes only what the service would take for a name in them: `[]` is of arrays here. */
function apiName(path: string): string {
  return path.includes('`') ? apiPath(path) : path
}

/** Values as they stand in the answer, every digit kept. */
function readStats(text: string): FieldStats {
  const members = jsonObject(wholeJson(text))
  const top = [...jsonElements(members.get('top')!)].map((one) => {
    const { count } = JSON.parse(jsonText(one)) as { readonly count: number }
    return { json: visibleLine(jsonText(jsonObject(one).get('value')!)), count }
  })
  return { ...(JSON.parse(text) as FieldStats), top }
}
