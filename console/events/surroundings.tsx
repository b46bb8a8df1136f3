import { useEffect, useRef } from 'preact/hooks'
import { callText } from '../base/api.ts'
import { clockParam } from '../base/clock.ts'
import { useLoaded } from '../base/loaded.ts'
import { href } from '../base/route.ts'
import { formatTime } from '../base/time.ts'
import { ask } from '../explore/ask.ts'
import { Failure } from '../parts/failure.tsx'
import { ShownText } from '../text/shown-text.tsx'
import type { Cells } from './cells.ts'
import { type EventRecord, readEvents, timeOf } from './event.ts'
import { LevelSign } from './level-sign.tsx'

const EACH_SIDE = 50

interface SurroundingsProps {
  readonly event: EventRecord
  readonly streamId: string
  readonly cells: Cells
}

/** The events that were received right before and after one, whatever the query. */
export function Surroundings({ event, streamId, cells }: SurroundingsProps) {
  const { clock } = ask.value
  const list = useRef<HTMLOListElement>(null)
  const { value, failure } = useLoaded(event.id, async (signal) => {
    const page = (cursor: 'before' | 'after') =>
      callText(`streams/${streamId}/events`, {
        query: { limit: EACH_SIDE, [cursor]: event.id },
        signal,
      })
    const [later, earlier] = await Promise.all([page('after'), page('before')])
    return [...readEvents(later).events, event, ...readEvents(earlier).events]
  })
  useEffect(() => {
    const current = list.current?.querySelector<HTMLElement>('.is-current')
    if (!list.current || !current) return
    list.current.scrollTop = current.offsetTop - list.current.clientHeight / 2
  }, [value])
  if (failure !== undefined) return <Failure text={failure} />
  if (value === undefined) return <p class="quiet">Loading…</p>
  return (
    <>
      {clock === 'event_time' && <p class="hint">In the order in which they were received.</p>}
      <ol
        class="around"
        ref={list}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys.
        tabIndex={0}
        aria-label="Events around it, the newest first"
      >
        {value.map((one) => (
          <li key={one.id} class={one === event ? 'is-current' : ''}>
            <a class="mono time" href={href('explore', streamId, aloneParams(one))}>
              {formatTime(timeOf(one, clock))}
            </a>{' '}
            <LevelSign event={one} />{' '}
            <span class="mono">
              <ShownText pieces={cells.lineOf(one)} />
            </span>
          </li>
        ))}
      </ol>
    </>
  )
}

/** The address of one event: it is found by when it was received, whenever it happened. */
function aloneParams({ id, ingestedAt }: EventRecord) {
  const at = (offsetMs: number) => new Date(Date.parse(ingestedAt) + offsetMs).toISOString()
  return {
    q: `_id:${id}`,
    from: at(-1_000),
    to: at(1_000),
    basis: clockParam('ingested_at'),
    event: id,
  }
}
