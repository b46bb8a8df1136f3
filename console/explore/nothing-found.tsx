/** In place of the events when there are none: why, and what would find some. */
import { visibleLine } from '../../src/language/visible-text.ts'
import { CLOCK_NAMES, type Clock, clockParam, otherClock } from '../base/clock.ts'
import { formatAgo, formatCount, formatEvents } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { setParams } from '../base/route.ts'
import { isolated } from '../base/shown-value.ts'
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
      {why !== undefined && <Why ask={ask} found={why} />}
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

function Why({ ask, found }: { ask: Ask; found: Found }) {
  const { total, empty, without, near } = found
  if (total === 0) return <NoEvents ask={ask} found={found} />
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
            <code key={clause}>
              <bdi>{visibleLine(clause)}</bdi>
            </code>
          </>
        ))}
      </p>
      {near.map(({ field, values }) => (
        <Chips key={field} label={`Perhaps ${isolated(visibleLine(field))}:`} all={values} />
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
          <bdi>{visibleLine(one.label)}</bdi>
          {one.count !== undefined && <span class="quiet"> {formatCount(one.count)}</span>}
        </button>
      ))}
    </p>
  )
}

const NONE: Readonly<Record<Clock, string>> = {
  event_time: 'Nothing happened in it at all, by the events’ own times.',
  ingested_at: 'Nothing was received in it at all.',
}
const BY_OTHER: Readonly<Record<Clock, string>> = {
  event_time: 'came in it, but happened at other times.',
  ingested_at: 'happened in it, but came at other times.',
}

function NoEvents({ ask, found }: { ask: Ask; found: Found }) {
  const { newestMs, byOtherClock } = found
  const other = otherClock(ask.clock)
  return (
    <>
      <p class="inline">
        <span>{NONE[ask.clock]}</span>
        {newestMs !== undefined && (
          <>
            <span>The newest event came {formatAgo(newestMs)}.</span>
            <button type="button" class="small" onClick={() => lookAtReceipt(newestMs)}>
              Look there
            </button>
          </>
        )}
      </p>
      {byOtherClock > 0 && (
        <p class="inline">
          <span>
            {formatEvents(byOtherClock)} {BY_OTHER[ask.clock]}
          </span>
          <button
            type="button"
            class="small"
            onClick={() => setParams({ basis: clockParam(other) })}
          >
            Show by {CLOCK_NAMES[other].toLowerCase()}
          </button>
        </p>
      )}
    </>
  )
}

/** By receipt, as that is what is known of the newest event. */
function lookAtReceipt(ms: number): void {
  setParams({
    from: new Date(ms - HALF_HOUR_MS).toISOString(),
    to: new Date(ms + 1_000).toISOString(),
    basis: clockParam('ingested_at'),
  })
}
