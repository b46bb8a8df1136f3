/**
 * Events that the address opens and the list does not show, as it ends before them or looks for
 * others: each with its fields and what was received around it, above the list.
 */
import { useEffect, useRef } from 'preact/hooks'
import { ApiError, callText } from '../base/api.ts'
import { wholeJson } from '../base/exact-json.ts'
import { useLoaded } from '../base/loaded.ts'
import { keepOpened, type OpenedEvent, opened } from '../base/opened.ts'
import { arrivals } from '../base/route.ts'
import { findStream } from '../base/stream.ts'
import { formatTime } from '../base/time.ts'
import { cellsFor } from '../events/cells.ts'
import { type EventRecord, readEvent, readEvents, timeOf } from '../events/event.ts'
import { EventDetails } from '../events/event-details.tsx'
import { LevelSign } from '../events/level-sign.tsx'
import { Surroundings } from '../events/surroundings.tsx'
import { Failure } from '../parts/failure.tsx'
import { hasColors } from '../text/colors.ts'
import { ShownText } from '../text/shown-text.tsx'
import { type Ask, readPath } from './ask.ts'
import type { EventList } from './event-list.ts'

const SHOWN_MAX = 3

/** `question`: what the list answers, however often it is asked. */
export function LinkedEvents({
  ask,
  question,
  list,
}: {
  ask: Ask
  question: string
  list: EventList
}) {
  const arrived = useRef({ turn: arrivals.value, question })
  if (arrived.current.turn !== arrivals.value) {
    arrived.current = { turn: arrivals.value, question }
  }
  const isSettled = list.state !== undefined && !list.isStale && !list.isLoading
  const isListed = ({ id }: OpenedEvent) =>
    list.rows.some((row) => row.kind === 'event' && row.event.id === id)
  const missing = isSettled ? opened.value.filter((one) => !isListed(one)) : []
  const isLinked = arrived.current.question === question
  useEffect(() => {
    // Who asks for something else has left what it does not find.
    if (isLinked || missing.length === 0) return
    keepOpened(opened.value.filter(isListed))
  }, [isLinked, missing.length])
  if (!isLinked) return null
  return (
    <>
      {missing.slice(0, SHOWN_MAX).map(({ id }) => (
        <LinkedEvent key={`${ask.streamId} ${id}`} ask={ask} id={id} />
      ))}
    </>
  )
}

function LinkedEvent({ ask, id }: { ask: Ask; id: string }) {
  const { value, failure } = useLoaded(id, (signal) => loadEvent(ask, id, signal))
  const { event } = value ?? {}
  const stream = findStream(event?.streamId ?? ask.streamId)
  const streamId = event?.streamId ?? ask.streamId
  const cells = cellsFor(ask.query, stream?.text_fields, hasColors.value)
  return (
    <section class="card linked" aria-label="The event of the link">
      <div class="inline">
        <strong>The event of the link</strong>
        {event !== undefined && <span class="quiet">is not among those listed below</span>}
        <span class="spring" />
        <button
          type="button"
          class="plain"
          aria-label="Close the event of the link"
          onClick={() => keepOpened(opened.value.filter((one) => one.id !== id))}
        >
          ✕
        </button>
      </div>
      {failure !== undefined && <Failure text={failure} />}
      {value === undefined && failure === undefined && <p class="quiet">Loading…</p>}
      {value !== undefined && event === undefined && (
        <p>
          There is no event <code>{id}</code>
          {ask.streamId !== undefined && ' in this stream'} that this token sees. It may have been
          removed with its age.
        </p>
      )}
      {event !== undefined && streamId !== undefined && (
        <>
          <p class="linked-line mono">
            {formatTime(timeOf(event, ask.clock))} <LevelSign event={event} />{' '}
            <ShownText pieces={cells.lineOf(event)} />
          </p>
          <EventDetails event={event} stream={stream} cells={cells} />
          {viewOf(id) !== 'around' && (
            <>
              <h2>Around it</h2>
              <Surroundings event={event} streamId={streamId} cells={cells} />
            </>
          )}
        </>
      )}
    </section>
  )
}

function viewOf(id: string) {
  return opened.value.find((one) => one.id === id)?.view
}

interface Found {
  readonly event: EventRecord | undefined
}

async function loadEvent(ask: Ask, id: string, signal: AbortSignal): Promise<Found> {
  if (ask.streamId === undefined) return await findEvent(ask, id, signal)
  try {
    const text = await callText(`streams/${ask.streamId}/events/${id}`, { signal })
    return { event: readEvent(wholeJson(text)) }
  } catch (cause) {
    if (cause instanceof ApiError && cause.status === 404) return { event: undefined }
    throw cause
  }
}

/** Of whatever stream. Its id tells when it was received: no other time is looked at. */
async function findEvent(ask: Ask, id: string, signal: AbortSignal): Promise<Found> {
  const ms = Number(BigInt(id.split('-')[0] ?? '0') >> SEGMENT_LOW_BITS)
  const at = (offsetMs: number) => new Date(ms + offsetMs).toISOString()
  const body = { query: `_id:${id}`, from: at(-1), to: at(2), time_basis: 'ingested_at', limit: 1 }
  const text = await callText(readPath(ask, 'search'), { method: 'POST', body, signal })
  return { event: readEvents(text).events[0] }
}

/** Of a segment's id, below the milliseconds since 1970 at which its events were received. */
const SEGMENT_LOW_BITS = 21n
