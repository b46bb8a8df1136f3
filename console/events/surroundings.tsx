import { useEffect, useRef } from 'preact/hooks'
import { callText } from '../base/api.ts'
import { useLoaded } from '../base/loaded.ts'
import { href } from '../base/route.ts'
import { formatTime } from '../base/time.ts'
import { Failure } from '../parts/failure.tsx'
import { type EventRecord, lineOf, readEvents, visibleText } from './event.ts'
import { LevelSign } from './level-sign.tsx'

const EACH_SIDE = 50

interface SurroundingsProps {
  readonly event: EventRecord
  readonly streamId: string
  readonly textFields: readonly string[] | undefined
}

/** The events that were received right before and after one, whatever the query. */
export function Surroundings({ event, streamId, textFields }: SurroundingsProps) {
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
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys.
    <ol class="around" ref={list} tabIndex={0} aria-label="Events around it, the newest first">
      {value.map((one) => (
        <li key={one.id} class={one === event ? 'is-current' : ''}>
          <a
            class="mono time"
            href={href('explore', streamId, { q: `_id:${one.id}`, from: '-30d' })}
          >
            {formatTime(one.eventMs)}
          </a>{' '}
          <LevelSign event={one} /> <bdi class="mono">{visibleText(lineOf(one, textFields))}</bdi>
        </li>
      ))}
    </ol>
  )
}
