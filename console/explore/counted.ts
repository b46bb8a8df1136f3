/** What Explore counts beside the rows: the histogram and the facets. */
import { callJson, callText } from '../base/api.ts'
import { apiField, type EventField, fieldText, isCounted, systemField } from '../base/field.ts'
import { type Loaded, useLoaded } from '../base/loaded.ts'
import { type AnswerState, readState } from './answer-state.ts'
import { type Ask, readMembers, readPath } from './ask.ts'
import type { Bucket } from './counts.ts'
import { type FacetsAnswer, readFacets } from './facet.ts'

export interface Histogram {
  readonly buckets: readonly Bucket[]
  readonly bucketMs: number
  readonly total: number
  readonly state: AnswerState
}

interface HistogramAnswer {
  readonly buckets: readonly {
    readonly _bucket: string
    readonly levels: Readonly<Record<string, number>>
  }[]
  readonly bucket_ms: number
  readonly total: number
}

export interface CountedAsk {
  readonly ask: Ask
  /** Changes when something else is asked, or the same once more. */
  readonly key: string
  /** Nothing is asked while false. */
  readonly isAsked: boolean
  /** What is counted waits for it: the rows come first. */
  readonly ready: () => Promise<void>
}

const FACET_VALUES = 8
/** As many as the service counts at a time. */
const FACETS_MAX = 12
/** While live the counts follow, but not with each event. */
const LIVE_REFRESH_MS = 5_000

export function useHistogram({ ask, key, isAsked, ready }: CountedAsk) {
  return useLoaded<Histogram | undefined>(
    `${key} ${isAsked}`,
    async (signal) => {
      if (!isAsked) return undefined
      await ready()
      const call = { method: 'POST', body: readMembers(ask), signal } as const
      const answer = await callJson<HistogramAnswer>(readPath(ask, 'histogram'), call)
      const buckets = answer.buckets.map(({ _bucket: time, levels }) => ({
        startMs: Date.parse(time),
        counts: levels,
      }))
      const { bucket_ms: bucketMs, total } = answer
      return { buckets, bucketMs, total, state: readState({ ...answer }) }
    },
    ask.isLive ? { refreshMs: LIVE_REFRESH_MS } : {},
  )
}

export function useFacets({
  ask,
  key,
  isAsked,
  ready,
}: CountedAsk): Loaded<FacetsAnswer | undefined> {
  const fields = facetFields(ask).map(apiField)
  return useLoaded<FacetsAnswer | undefined>(
    `${key} ${isAsked} ${JSON.stringify(fields)}`,
    async (signal) => {
      if (!isAsked) return undefined
      await ready()
      const text = await callText(readPath(ask, 'facets'), {
        method: 'POST',
        body: { ...readMembers(ask), fields, limit: FACET_VALUES },
        signal,
      })
      return readFacets(text)
    },
    ask.isLive ? { refreshMs: LIVE_REFRESH_MS } : {},
  )
}

function facetFields({ columns, facets }: Ask): readonly EventField[] {
  const all = [systemField('_level'), systemField('_service'), ...facets, ...columns]
  const byText = new Map(all.filter(isCounted).map((field) => [fieldText(field), field]))
  return [...byText.values()].filter((field) => !isLabelled(field)).slice(0, FACETS_MAX)
}

/** Whether a label that is always counted stands for it. */
export function isLabelled(field: EventField): boolean {
  return ['level', 'service'].includes(fieldText(field))
}
