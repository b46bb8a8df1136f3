import { callJson } from '../base/api.ts'
import { formatCount } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { Failure } from '../parts/failure.tsx'

interface FieldStats {
  readonly events: number
  readonly count: number
  readonly distinct: number
  readonly numbers: Readonly<Record<string, number>> | null
  readonly top: readonly { readonly value: unknown; readonly count: number }[]
}

const NUMBER_FIGURES = ['min', 'p50', 'p90', 'p99', 'max', 'average'] as const

/** How full a field is in the last day, and its most frequent values. */
export function FieldDetails({ streamId, path }: { streamId: string; path: string }) {
  const { value, failure } = useLoaded(`${streamId} ${path}`, (signal) => {
    const from = new Date(Date.now() - 86_400_000).toISOString()
    return callJson<FieldStats>(`streams/${streamId}/fields/${encodeURIComponent(path)}/stats`, {
      query: { from },
      signal,
    })
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
          <li key={JSON.stringify(one.value)}>
            <span class="mono">{JSON.stringify(one.value)}</span>{' '}
            <span class="quiet">{formatCount(one.count)}</span>
            <meter
              min={0}
              max={Math.max(1, value.count)}
              value={one.count}
              aria-label={`share of ${JSON.stringify(one.value)}`}
            />
          </li>
        ))}
      </ol>
    </div>
  )
}
