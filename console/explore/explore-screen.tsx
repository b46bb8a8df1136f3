/** Explore: one screen from "something is wrong" to the one event that explains it. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { callJson, callText } from '../base/api.ts'
import { useLoaded } from '../base/loaded.ts'
import { setParams } from '../base/route.ts'
import { findStream, streams } from '../base/stream.ts'
import { FirstStart } from '../first-start/first-start.tsx'
import { Failure } from '../parts/failure.tsx'
import { SaveView } from '../views/save-view.tsx'
import { AnswerNote } from './answer-note.tsx'
import { type Ask, ask, readMembers, readPath } from './ask.ts'
import type { Bucket } from './counts.ts'
import { EventLoader, type Gap } from './event-list.ts'
import { EventTable } from './event-table.tsx'
import { readFacets } from './facet.ts'
import { Facets } from './facets.tsx'
import { Groups } from './groups.tsx'
import { Histogram } from './histogram.tsx'
import { follow, liveFailure } from './live.ts'
import { QueryBox } from './query-box.tsx'
import { TimePicker } from './time-picker.tsx'

interface HistogramAnswer {
  readonly buckets: readonly {
    readonly _bucket: string
    readonly levels: Readonly<Record<string, number>>
  }[]
  readonly bucket_ms: number
  readonly total: number
}

const FACET_VALUES = 8
/** As many as the service counts at a time. */
const FACETS_MAX = 12

export function ExploreScreen() {
  const { value: current } = ask
  const stream = findStream(current.streamId)
  const loader = useRef(new EventLoader()).current
  const turn = useSignal(0)
  const isSaving = useSignal(false)
  const { streamId, query, from, to, timeBasis, isLive } = current
  const key = [streamId, query, from, to, timeBasis].join('\n')
  const counts = useHistogram({ ask: current, askKey: key, turn: turn.value })
  useEffect(() => {
    if (streams.value?.length === 0) return
    void loader.start(ask.value)
    if (!isLive || streamId === undefined) return () => loader.stop()
    const gone = new AbortController()
    void follow(ask.value, loader, gone.signal)
    return () => {
      gone.abort()
      loader.stop()
      liveFailure.value = undefined
    }
  }, [key, isLive, turn.value])
  if (streams.value?.length === 0) return <FirstStart />
  const { value: list } = loader.list
  return (
    <section class="explore">
      <div class="explore-bar">
        <TimePicker />
        <QueryBox />
        <button
          type="button"
          id="refresh"
          onClick={() => {
            turn.value++
          }}
        >
          ↻ Refresh
        </button>
        <button
          type="button"
          id="live"
          aria-pressed={isLive}
          disabled={streamId === undefined}
          title={streamId === undefined ? 'Choose a stream to follow it' : 'Events as they come'}
          onClick={() => setParams({ live: isLive ? undefined : '1' })}
        >
          {isLive ? '■ Live' : '▶ Live'}
        </button>
        <button
          type="button"
          disabled={streamId === undefined}
          onClick={() => {
            isSaving.value = true
          }}
        >
          ☆ Save
        </button>
        {isSaving.value && streamId !== undefined && (
          <SaveView
            streamId={streamId}
            onClose={() => {
              isSaving.value = false
            }}
          />
        )}
      </div>
      <Counts counts={counts} />
      <Groups askKey={key} turn={turn.value} />
      {liveFailure.value !== undefined && <Failure text={liveFailure.value} />}
      <div class="explore-body">
        <FacetsPanel ask={current} askKey={key} turn={turn.value} />
        <div class="explore-main">
          {list.failure !== undefined && <Failure text={list.failure} />}
          <AnswerNote list={list} matched={counts.value?.total} />
          {list.rows.length === 0 && !list.isLoading && list.failure === undefined ? (
            <NothingFound ask={current} />
          ) : (
            <EventTable
              list={list}
              stream={stream}
              columns={current.columns}
              onMore={() => void loader.loadMore()}
              onLoadGap={loadGap}
            />
          )}
        </div>
      </div>
    </section>
  )
}

/** What a gap left out is looked at as a range of its own. */
function loadGap({ from, to }: Gap): void {
  setParams({ from, to, live: undefined })
}

interface PartProps {
  readonly ask: Ask
  readonly askKey: string
  readonly turn: number
}

/** Counts by time and level of what the address asks for. */
function useHistogram({ ask: asked, askKey, turn }: PartProps) {
  return useLoaded(`${askKey} ${turn}`, async (signal) => {
    if (streams.value?.length === 0) return undefined
    return await callJson<HistogramAnswer>(readPath(asked, 'histogram'), {
      method: 'POST',
      body: readMembers(asked),
      signal,
    })
  })
}

function Counts({ counts: { value, failure } }: { counts: ReturnType<typeof useHistogram> }) {
  if (failure !== undefined) return <Failure text={`No histogram: ${failure}`} />
  const buckets: Bucket[] = (value?.buckets ?? []).map(({ _bucket: time, levels }) => ({
    startMs: Date.parse(time),
    counts: levels,
  }))
  return <Histogram buckets={buckets} bucketMs={value?.bucket_ms ?? 0} />
}

function FacetsPanel({ ask: asked, askKey, turn }: PartProps) {
  const fields = facetFields(asked)
  const { value, failure } = useLoaded(`${askKey} ${turn} ${fields}`, async (signal) => {
    const text = await callText(readPath(asked, 'facets'), {
      method: 'POST',
      body: { ...readMembers(asked), fields, limit: FACET_VALUES },
      signal,
    })
    return readFacets(text)
  })
  if (failure !== undefined) return <Failure text={`No facets: ${failure}`} />
  return <Facets facets={value?.facets ?? []} isSampled={value?.isSampled ?? false} />
}

function facetFields({ columns, facets }: Ask): readonly string[] {
  const chosen = [...facets, ...columns].filter((path) => path !== 'service' && path !== 'level')
  return [...new Set(['_level', '_service', ...chosen])].slice(0, FACETS_MAX)
}

function NothingFound({ ask: { query, from } }: { ask: Ask }) {
  return (
    <div class="empty">
      <p>No event matches in this range.</p>
      <p class="inline">
        {query !== '' && (
          <button type="button" onClick={() => setParams({ q: undefined })}>
            Without the query
          </button>
        )}
        {from !== '-30d' && (
          <button type="button" onClick={() => setParams({ from: '-30d', to: undefined })}>
            In the last 30 days
          </button>
        )}
      </p>
    </div>
  )
}
