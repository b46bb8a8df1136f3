/** Explore: one screen from "something is wrong" to the one event that explains it. */
import { type Signal, useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { clockParam } from '../base/clock.ts'
import type { Loaded } from '../base/loaded.ts'
import { may, mayChangeStreams } from '../base/rights.ts'
import { route, setParams } from '../base/route.ts'
import { findStream, streams } from '../base/stream.ts'
import type { ViewInfo } from '../base/view.ts'
import { EventTable } from '../events/event-table.tsx'
import { ListTools, moreErrors } from '../events/list-tools.tsx'
import { ExportButton } from '../export/export-dialog.tsx'
import { FirstStart } from '../first-start/first-start.tsx'
import { ChooseStream } from '../parts/choose-stream.tsx'
import { Failure } from '../parts/failure.tsx'
import { OpenedView, useOpenedView } from '../views/opened-view.tsx'
import { SaveView } from '../views/save-view.tsx'
import { AnswerNote } from './answer-note.tsx'
import { ask } from './ask.ts'
import { ClockSwitch } from './clock-switch.tsx'
import { type CountedAsk, type Histogram as Counts, useHistogram } from './counted.ts'
import { EventLoader, type Gap } from './event-list.ts'
import { Facets } from './facets.tsx'
import { Groups } from './groups.tsx'
import { highlight } from './highlight.ts'
import { Histogram } from './histogram.tsx'
import { type Lateness, useLateness } from './lateness.ts'
import { follow, liveFailure } from './live.ts'
import { NothingFound } from './nothing-found.tsx'
import { QueryBox } from './query-box.tsx'
import { TimePicker } from './time-picker.tsx'

/** How long counting waits for the rows: they have the service's attention for so long. */
const ROWS_FIRST_MS = 300

export function ExploreScreen() {
  const { value: current } = ask
  const loader = useRef(new EventLoader()).current
  const turn = useSignal(0)
  const isGrouping = useSignal(false)
  const { streamId, query, from, to, clock, isLive } = current
  const key = [streamId, query, from, to, clock, turn.value].join('\n')
  const listKey = `${key}\n${current.order}`
  // What cannot be read is told at the query itself; nothing is asked with it.
  const isAsked = streams.value?.length !== 0 && highlight(query).error === undefined
  useRows(loader, listKey, isAsked)
  const ready = () => loader.settled(ROWS_FIRST_MS)
  const counted = { ask: current, key, isAsked, ready }
  const counts = useHistogram(counted)
  const lateness = useLateness(counted)
  const saves = useSignal(0)
  const opened = useOpenedView(streamId, route.value.params.get('view'), saves)
  if (streams.value?.length === 0) {
    return mayChangeStreams() ? <FirstStart /> : <ChooseStream screen="explore" />
  }
  const { failure: told } = loader.list.value
  const isWhole = !counts.isStale && counts.value?.state.isComplete
  const total = isWhole ? counts.value?.total : undefined
  const isGrouped = isGrouping.value || (route.value.params.get('by') ?? '') !== ''
  return (
    <section class="explore">
      <h1 class="unseen">Explore</h1>
      <Bar
        turn={turn}
        isGrouping={isGrouping}
        isGrouped={isGrouped}
        isAsked={isAsked}
        opened={opened.isStale ? undefined : opened.value}
        saves={saves}
      />
      <OpenedView opened={opened} />
      <CountsByTime counts={counts} isLive={isLive} told={told} />
      {isGrouped && (
        <Groups counted={counted} total={total} onClose={() => (isGrouping.value = false)} />
      )}
      {liveFailure.value !== undefined && <Failure text={liveFailure.value} />}
      <div class="explore-body">
        <Facets counted={counted} total={total} told={told} />
        <Rows loader={loader} counted={counted} counts={counts} lateness={lateness} />
      </div>
    </section>
  )
}

/** Asks for the rows before anything else is asked, and follows the stream while live. */
function useRows(loader: EventLoader, key: string, isAsked: boolean): void {
  const { isLive, streamId } = ask.value
  useLayoutEffect(() => {
    if (!isAsked) {
      loader.clear()
      return
    }
    const gone = new AbortController()
    if (isLive && streamId !== undefined) void follow(ask.value, loader, gone.signal)
    else void loader.start(ask.value)
    return () => {
      gone.abort()
      loader.stop()
      liveFailure.value = undefined
    }
  }, [key, isLive, isAsked])
}

interface BarProps {
  readonly turn: Signal<number>
  readonly isGrouping: Signal<boolean>
  readonly isGrouped: boolean
  /** The query can be read. */
  readonly isAsked: boolean
  /** The view that the address was opened from. */
  readonly opened: ViewInfo | undefined
  /** Rises when the view was saved. */
  readonly saves: Signal<number>
}

function saveTitle(streamId: string | undefined): string {
  if (!may('streams:write')) return 'To save a view needs a token with the scope streams:write'
  return streamId === undefined ? 'Choose a stream to save a view of it' : 'As a view'
}

function Bar({ turn, isGrouping, isGrouped, isAsked, opened, saves }: BarProps) {
  const isSaving = useSignal(false)
  const { streamId, isLive } = ask.value
  const group = () => {
    isGrouping.value = !isGrouped
    if (isGrouped) setParams({ by: undefined, fn: undefined, of: undefined, chart: undefined })
  }
  return (
    <div class="explore-bar">
      <TimePicker />
      <ClockSwitch />
      <QueryBox onAgain={() => turn.value++} />
      <button type="button" id="refresh" title="Ask again (r)" onClick={() => turn.value++}>
        <span aria-hidden="true">{'↻ '}</span>
        Refresh
      </button>
      <button
        type="button"
        id="live"
        aria-pressed={isLive}
        disabled={streamId === undefined}
        title={streamId === undefined ? 'Choose a stream to follow it' : 'Events as they come (l)'}
        onClick={() => setParams({ live: isLive ? undefined : '1' })}
      >
        <span aria-hidden="true">{isLive ? '■ ' : '▶ '}</span>
        Live
      </button>
      <button
        type="button"
        id="group"
        aria-expanded={isGrouped}
        title="Figures by a field, as a list and over time (g)"
        onClick={group}
      >
        <span aria-hidden="true">{'Σ '}</span>
        Group
      </button>
      <button
        type="button"
        disabled={streamId === undefined || !may('streams:write')}
        title={saveTitle(streamId)}
        onClick={() => {
          isSaving.value = true
        }}
      >
        <span aria-hidden="true">{'☆ '}</span>
        Save
      </button>
      <ExportButton isAsked={isAsked} />
      {isSaving.value && streamId !== undefined && (
        <SaveView
          streamId={streamId}
          opened={opened}
          onSaved={() => saves.value++}
          onClose={() => {
            isSaving.value = false
          }}
        />
      )}
    </div>
  )
}

interface RowsProps {
  readonly loader: EventLoader
  readonly counted: CountedAsk
  readonly counts: Loaded<Counts | undefined>
  readonly lateness: Lateness | undefined
}

function Rows({ loader, counted, counts, lateness }: RowsProps) {
  const { value: list } = loader.list
  const { ask: current, key, isAsked } = counted
  const jump = useRef<(step: 1 | -1) => void>(() => undefined)
  const isFailed = list.failure !== undefined
  const isNothing = list.rows.length === 0 && list.state !== undefined && !list.isLoading
  const hasTable = isFailed ? list.rows.length > 0 : !isNothing || current.isLive
  return (
    <div class="explore-main">
      {list.failure !== undefined && (
        <Failure text={list.failure}>
          <button type="button" onClick={() => void loader.tryAgain()}>
            Try again
          </button>
        </Failure>
      )}
      {!isAsked && <p class="empty">The query cannot be read: see what is underlined.</p>}
      <div class="list-head">
        {isAsked && !isFailed && (
          <AnswerNote
            ask={current}
            list={list}
            counts={counts.value}
            isStale={counts.isStale}
            lateness={lateness}
          />
        )}
        {isAsked && hasTable && <ListTools ask={current} jump={jump} />}
      </div>
      {isNothing && !isFailed && !current.isLive && <NothingFound ask={current} askKey={key} />}
      {isAsked && hasTable && (
        <EventTable
          list={list}
          ask={current}
          stream={findStream(current.streamId)}
          onMore={() => void loader.loadMore()}
          onLoadGap={loadGap}
          onFill={(at) => void loader.fill(at)}
          onMoreErrors={() => moreErrors(loader, current)}
          jump={jump}
        />
      )}
    </div>
  )
}

/** What a gap left out is looked at as a range of its own: of when they were received. */
function loadGap({ from, to }: Gap): void {
  setParams({ from, to, live: undefined, basis: clockParam('ingested_at') })
}

interface CountsProps {
  readonly counts: Loaded<Counts | undefined>
  readonly isLive: boolean
  /** A failure that is told already: once is enough. */
  readonly told: string | undefined
}

function CountsByTime({ counts: { value, failure, isStale }, isLive, told }: CountsProps) {
  if (failure !== undefined && failure !== told) {
    return <Failure text={`No histogram: ${failure}`} />
  }
  return (
    <Histogram
      buckets={value?.buckets ?? []}
      bucketMs={value?.bucketMs ?? 0}
      isStale={(isStale && !isLive) || failure !== undefined}
    />
  )
}
