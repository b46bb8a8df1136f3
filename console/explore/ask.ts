/** What Explore asks, as the address says it. */
import { computed } from '@preact/signals'
import { route } from '../base/route.ts'
import { DEFAULT_FROM } from '../base/time.ts'

export interface Ask {
  readonly streamId: string | undefined
  readonly query: string
  readonly from: string
  readonly to: string
  readonly timeBasis: 'ingested_at' | 'event_time'
  readonly columns: readonly string[]
  /** Fields whose values are counted, beside level, service and the columns. */
  readonly facets: readonly string[]
  readonly isLive: boolean
}

export const ask = computed<Ask>(() => {
  const { streamId, params } = route.value
  return {
    streamId,
    query: params.get('q') ?? '',
    from: params.get('from') ?? DEFAULT_FROM,
    to: params.get('to') ?? 'now',
    timeBasis: params.get('basis') === 'event_time' ? 'event_time' : 'ingested_at',
    columns: pathsOf(params.get('cols')),
    facets: pathsOf(params.get('facets')),
    isLive: params.get('live') === '1',
  }
})

function pathsOf(text: string | null): readonly string[] {
  return (text ?? '').split(',').filter((path) => path !== '')
}

/** The members that every read shares. */
export function readMembers({ query, from, to, timeBasis }: Ask) {
  return { query, from, to, time_basis: timeBasis }
}

/** The path of a read of this stream, or of all that the token sees. */
export function readPath({ streamId }: Ask, what: string): string {
  return streamId === undefined ? what : `streams/${streamId}/${what}`
}
