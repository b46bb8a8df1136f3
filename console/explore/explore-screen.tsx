/** Explore: one screen from "something is wrong" to the one event that explains it. */
import { type Signal, useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { clockParam } from '../base/clock.ts'
import type { Loaded } from '../base/loaded.ts'
import { may, mayChangeStreams } from '../base/rights.ts'
import { go, href, route, setParams } from '../base/route.ts'
import { findStream, streams } from '../base/stream.ts'
import type { ViewInfo } from '../base/view.ts'
import { ChangesPanel } from '../changes/changes-panel.tsx'
import { AddColumn } from '../events/add-column.tsx'
import { EventTable } from '../events/event-table.tsx'
import { type ListActs, ListTools, moreErrors } from '../events/list-tools.tsx'
import { ExportButton } from '../export/export-dialog.tsx'
import { FirstStart } from '../first-start/first-start.tsx'
import { ChooseStream } from '../parts/choose-stream.tsx'
import { Failure } from '../parts/failure.tsx'
import { LackingStream } from '../parts/lacking.tsx'
import { highlight } from '../query/highlight.ts'
import { QueryBox } from '../query/query-box.tsx'
import { ShareButton } from '../share/share.tsx'
import { OpenedView, useOpenedView } from '../views/opened-view.tsx'
import { SaveView } from '../views/save-view.tsx'
import { AnswerNote } from './answer-note.tsx'
import { ask, readPath } from './ask.ts'
import { ClockSwitch } from './clock-switch.tsx'
import { type CountedAsk, type Histogram as Counts, useHistogram } from './counted.ts'
import { EventLoader, type Gap } from './event-list.ts'
import { Facets } from './facets.tsx'
import { Groups } from './groups.tsx'
import { Histogram } from './histogram.tsx'
import { type Lateness, useLateness } from './lateness.ts'
import { LinkedEvents } from './linked-event.tsx'
import { follow, liveFailure } from './live.ts'
import { NothingFound } from './nothing-found.tsx'
import { TimePicker } from './time-picker.tsx'

/** How long counting waits for the rows: they have the service's attention for so long. */
const ROWS_FIRST_MS = 300

export function ExploreScreen() {
  const { value: current } = ask
  const loader = useRef(new EventLoader()).current
  const turn = useSignal(0)
  const { streamId, query, from, to, clock, isLive } = current
  const question = [streamId, query, from, to, clock].join('\n')
  const key = `${question}\n${turn.value}`
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
  const { params } = route.value
  const isGrouped = params.get('group') === '1' || (params.get('by') ?? '') !== ''
  return (
    <section class="explore">
      <h1 class="unseen">Explore</h1>
      <Bar
        turn={turn}
        isGrouped={isGrouped}
        isAsked={isAsked}
        opened={opened.isStale ? undefined : opened.value}
        saves={saves}
      />
      <OpenedView opened={opened} />
      <CountsByTime counts={counts} isLive={isLive} told={told} />
      {isGrouped && <Groups counted={counted} total={total} onClose={closeGroups} />}
      {params.get('explain') === '1' && (
        <ChangesPanel
          path={readPath(current, 'compare')}
          {...{ query, clock, isAsked }}
          window={{ from, to }}
          askKey={key}
          onClose={closeChanges}
        />
      )}
      {liveFailure.value !== undefined && <Failure text={liveFailure.value} />}
      <div class="explore-body">
        <Facets counted={counted} total={total} told={told} />
        <Rows
          loader={loader}
          counted={counted}
          question={question}
          counts={counts}
          lateness={lateness}
        />
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

function Bar({ turn, isGrouped, isAsked, opened, saves }: BarProps) {
  const isSaving = useSignal(false)
  const { streamId, isLive } = ask.value
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
        onClick={() => (isGrouped ? closeGroups() : setParams({ group: '1' }, 'keep'))}
      >
        <span aria-hidden="true">{'Σ '}</span>
        Group
      </button>
      <button
        type="button"
        id="explain"
        aria-expanded={route.value.params.get('explain') === '1'}
        title="What is different in this range from before"
        onClick={() => {
          if (route.value.params.get('explain') === '1') closeChanges()
          else setParams({ explain: '1' }, 'keep')
        }}
      >
        <span aria-hidden="true">{'Δ '}</span>
        Explain
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
      {may('alerts:write') && (
        <button
          type="button"
          id="alert"
          disabled={!isAsked}
          title="A rule that tells when this is found (w)"
          onClick={() => go(alertAddress())}
        >
          <span aria-hidden="true">{'▲ '}</span>
          Alert…
        </button>
      )}
      <ExportButton isAsked={isAsked} />
      <ShareButton />
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

/** Of the form of a rule about what is looked for. */
function alertAddress(): string {
  const { streamId, params } = route.value
  const asked = ['q', 'by', 'fn', 'of'].map((name) => [name, params.get(name) ?? undefined])
  return href('alerts', streamId, { edit: 'new', ...Object.fromEntries(asked) })
}

function closeChanges(): void {
  setParams({ explain: undefined, against: undefined }, 'keep')
}

/** With what was chosen in them. */
function closeGroups(): void {
  const none = { by: undefined, fn: undefined, of: undefined, chart: undefined }
  setParams({ ...none, group: undefined })
}

interface RowsProps {
  readonly loader: EventLoader
  readonly counted: CountedAsk
  /** What is asked, however often. */
  readonly question: string
  readonly counts: Loaded<Counts | undefined>
  readonly lateness: Lateness | undefined
}

function Rows({ loader, counted, question, counts, lateness }: RowsProps) {
  const { value: list } = loader.list
  const { ask: current, key, isAsked } = counted
  const acts = useRef<ListActs>({ jump: () => undefined, trace: () => undefined })
  const isFailed = list.failure !== undefined
  const isHidden = isFailed && list.code === 'not_found' && current.streamId !== undefined
  const isNothing = list.rows.length === 0 && list.state !== undefined && !list.isLoading
  const hasTable = isFailed ? list.rows.length > 0 : !isNothing || current.isLive
  return (
    <div class="explore-main">
      {isHidden && <LackingStream id={current.streamId!} />}
      {list.failure !== undefined && !isHidden && (
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
        {isAsked && hasTable && <AddColumn />}
        {isAsked && hasTable && <ListTools ask={current} acts={acts} />}
      </div>
      {isAsked && !isFailed && <LinkedEvents ask={current} question={question} list={list} />}
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
          acts={acts}
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
  // What is there may be of another question; while live it is of this one, and a little old.
  const isLost = failure !== undefined && !isLive
  return (
    <Histogram
      buckets={isLost ? [] : (value?.buckets ?? [])}
      bucketMs={value?.bucketMs ?? 0}
      isStale={isLive ? failure !== undefined : isStale}
    />
  )
}
