/** What Explore asks, as the address says it. */
import { computed } from '@preact/signals'
import { type Clock, readClock } from '../base/clock.ts'
import { type EventField, readColumns, readFieldList } from '../base/field.ts'
import { route } from '../base/route.ts'
import { DEFAULT_FROM } from '../base/time.ts'
import { readOrder } from '../base/view.ts'

export interface Ask {
  readonly streamId: string | undefined
  readonly query: string
  readonly from: string
  readonly to: string
  /** Which time the range, the counts and the Time column are about. */
  readonly clock: Clock
  readonly columns: readonly EventField[]
  /** Fields whose values are counted, beside level, service and the columns. */
  readonly facets: readonly EventField[]
  readonly isLive: boolean
  /** Which events of the list come first; while live the newest do. */
  readonly order: 'newest' | 'oldest'
}

export const ask = computed<Ask>(() => {
  const { streamId, params } = route.value
  const isLive = params.get('live') === '1'
  return {
    streamId,
    query: params.get('q') ?? '',
    from: params.get('from') ?? DEFAULT_FROM,
    to: params.get('to') ?? 'now',
    clock: readClock(params),
    columns: readColumns(params),
    facets: readFieldList(params.get('facets') ?? ''),
    isLive,
    order: isLive ? 'newest' : readOrder(params),
  }
})

/** The members that every read shares. */
export function readMembers({ query, from, to, clock }: Ask) {
  return { query, from, to, time_basis: clock }
}

/** The path of a read of this stream, or of all that the token sees. */
export function readPath({ streamId }: Ask, what: string): string {
  return streamId === undefined ? what : `streams/${streamId}/${what}`
}
