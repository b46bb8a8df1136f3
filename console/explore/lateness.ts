/**
 * How many events of the range came late, or bear a time that had not come yet. No query compares
 * two times of an event with each other, but it can compare both with fixed times: an event that
 * happened before 12:00 and came after 12:05 came more than five minutes late. With some fixed
 * times in the range nearly all late ones are counted, and never one that was not: it is a least.
 */
import { callJson } from '../base/api.ts'
import type { Clock } from '../base/clock.ts'
import { useLoaded } from '../base/loaded.ts'
import { momentMs } from '../base/time.ts'
import { readMembers, readPath } from './ask.ts'
import type { CountedAsk } from './counted.ts'

export interface Lateness {
  /** Came more than `LATE_MINUTES` after they happened; at least so many. */
  readonly late: number
  /** Happened, as they say, more than that after they came. */
  readonly early: number
  readonly total: number
}

export const LATE_MINUTES = 5
const LATE_MS = LATE_MINUTES * 60_000
/** Comparisons take the engine time: 12 are a tenth of a second for five million events. */
const FIXED_TIMES = 12
/** Below this share nobody is misled by it. */
export const SHARE_TOLD = 0.01

/** Undefined until it is known, and where nothing can be said. */
export function useLateness({ ask, key, isAsked, ready }: CountedAsk): Lateness | undefined {
  const { value, isStale } = useLoaded<Lateness | undefined>(
    `${key} ${isAsked}`,
    async (signal) => {
      const [fromMs, toMs] = [momentMs(ask.from), momentMs(ask.to)]
      if (!isAsked || fromMs === undefined || toMs === undefined || toMs <= fromMs) return undefined
      await ready()
      const { late, early } = latenessQueries(fromMs, toMs, ask.clock)
      const aggregates = [
        { fn: 'count', query: late, as: 'late' },
        { fn: 'count', query: early, as: 'early' },
      ]
      const answer = await callJson<{
        readonly total: number
        readonly rows: readonly { readonly late?: number; readonly early?: number }[]
      }>(readPath(ask, 'query'), {
        method: 'POST',
        body: { ...readMembers(ask), aggregates },
        signal,
      })
      const [row] = answer.rows
      return { late: row?.late ?? 0, early: row?.early ?? 0, total: answer.total }
    },
  )
  return isStale ? undefined : value
}

/** Of events in the range by `clock`: those that came late, and those that came early. */
export function latenessQueries(fromMs: number, toMs: number, clock: Clock) {
  const step = (toMs - fromMs) / FIXED_TIMES
  const times = Array.from({ length: FIXED_TIMES }, (_, at) => fromMs + at * step)
  const ends = times.map((ms) => ms + step)
  // The fixed times lie in the range by the clock that it is of.
  const isByEvent = clock === 'event_time'
  const late = isByEvent
    ? ends.map((ms) => clause('<', ms, '>=', ms + LATE_MS))
    : times.map((ms) => clause('<', ms - LATE_MS, '>=', ms))
  const early = isByEvent
    ? times.map((ms) => clause('>=', ms, '<', ms - LATE_MS))
    : ends.map((ms) => clause('>=', ms + LATE_MS, '<', ms))
  return { late: late.join(' OR '), early: early.join(' OR ') }
}

function clause(happened: string, happenedMs: number, came: string, cameMs: number): string {
  const at = (ms: number) => new Date(Math.round(ms)).toISOString()
  return `(_event_time:${happened}${at(happenedMs)} _ingested_at:${came}${at(cameMs)})`
}
