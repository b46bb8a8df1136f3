/** In place of the events when there are none: why, and what would find some. */
import { formatAgo, formatCount, formatEvents } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { setParams } from '../base/route.ts'
import type { Ask } from './ask.ts'
import { explainNothing, type NothingFound as Found, type Instead } from './nothing.ts'

const HALF_HOUR_MS = 1_800_000

export function NothingFound({ ask, askKey }: { ask: Ask; askKey: string }) {
  const { value, isStale } = useLoaded(askKey, (signal) => explainNothing(ask, signal))
  const why = isStale ? undefined : value
  return (
    <div class="empty nothing">
      <p>
        <strong>No event matches in this range.</strong>
      </p>
      {why !== undefined && <Why found={why} />}
      <p class="inline">
        {ask.query !== '' && (
          <button type="button" onClick={() => setParams({ q: undefined })}>
            Without the query
          </button>
        )}
        {ask.from !== '-30d' && (
          <button type="button" onClick={() => setParams({ from: '-30d', to: undefined })}>
            In the last 30 days
          </button>
        )}
      </p>
    </div>
  )
}

function Why({ found }: { found: Found }) {
  const { total, empty, without, near, newestMs } = found
  if (total === 0) return <NoEvents newestMs={newestMs} />
  return (
    <>
      <p>
        The range has {formatEvents(total)};{' '}
        {empty.length === 0
          ? 'each clause alone matches some of them, but none matches all clauses.'
          : 'none matches '}
        {empty.map((clause, index) => (
          <>
            {index > 0 && ', nor '}
            <code key={clause}>{clause}</code>
          </>
        ))}
      </p>
      {near.map(({ field, values }) => (
        <Chips key={field} label={`Perhaps ${field}:`} all={values} />
      ))}
      {without.length > 0 && <Chips label="Without" all={without} />}
    </>
  )
}

function Chips({ label, all }: { label: string; all: readonly Instead[] }) {
  return (
    <p class="inline">
      <span>{label}</span>
      {all.map((one) => (
        <button
          key={one.query}
          type="button"
          class="small mono"
          onClick={() => setParams({ q: one.query })}
        >
          <bdi>{one.label}</bdi>
          {one.count !== undefined && <span class="quiet"> {formatCount(one.count)}</span>}
        </button>
      ))}
    </p>
  )
}

function NoEvents({ newestMs }: { newestMs: number | undefined }) {
  if (newestMs === undefined) return <p>Nothing was received in it at all.</p>
  const show = () =>
    setParams({
      from: new Date(newestMs - HALF_HOUR_MS).toISOString(),
      to: new Date(newestMs + 1_000).toISOString(),
    })
  return (
    <p class="inline">
      <span>Nothing was received in it at all. The newest event came {formatAgo(newestMs)}.</span>
      <button type="button" class="small" onClick={show}>
        Look there
      </button>
    </p>
  )
}
