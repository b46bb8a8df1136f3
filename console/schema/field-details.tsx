import { callText } from '../base/api.ts'
import { jsonElements, jsonObject, jsonText, wholeJson } from '../base/exact-json.ts'
import { formatCount } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { visibleText } from '../events/event.ts'
import { Failure } from '../parts/failure.tsx'

interface FieldStats {
  readonly events: number
  readonly count: number
  readonly distinct: number
  readonly numbers: Readonly<Record<string, number>> | null
  readonly top: readonly { readonly json: string; readonly count: number }[]
}

const NUMBER_FIGURES = ['min', 'p50', 'p90', 'p99', 'max', 'average'] as const

/** How full a field is in the last day, and its most frequent values. */
export function FieldDetails({ streamId, path }: { streamId: string; path: string }) {
  const { value, failure } = useLoaded(`${streamId} ${path}`, async (signal) => {
    const at = `streams/${streamId}/fields/${encodeURIComponent(path)}/stats`
    return readStats(await callText(at, { query: { from: '-24h' }, signal }))
  })
  if (failure !== undefined) return <Failure text={failure} />
  if (value === undefined) return <p class="quiet">Counting…</p>
  const share = value.events === 0 ? 0 : (100 * value.count) / value.events
  return (
    <div>
      <p>
        In the last 24 hours {formatCount(value.count)} of {formatCount(value.events)} events have
        it ({share.toFixed(share < 10 ? 1 : 0)} %), with about {formatCount(value.distinct)} values.
      </p>
      {value.numbers !== null && (
        <p class="mono">
          {NUMBER_FIGURES.map((name) => `${name} ${value.numbers?.[name]}`).join('  ·  ')}
        </p>
      )}
      <ol class="top">
        {value.top.map((one) => (
          <li key={one.json}>
            <span class="mono">{one.json}</span> <span class="quiet">{formatCount(one.count)}</span>
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

/** Values as they stand in the answer, every digit kept. */
function readStats(text: string): FieldStats {
  const members = jsonObject(wholeJson(text))
  const top = [...jsonElements(members.get('top')!)].map((one) => {
    const { count } = JSON.parse(jsonText(one)) as { readonly count: number }
    return { json: visibleText(jsonText(jsonObject(one).get('value')!)), count }
  })
  return { ...(JSON.parse(text) as FieldStats), top }
}
