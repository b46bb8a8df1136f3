import { callText } from '../base/api.ts'
import { useLoaded } from '../base/loaded.ts'
import type { StreamInfo } from '../base/stream.ts'
import { formatTime } from '../base/time.ts'
import { Failure } from '../parts/failure.tsx'
import { type EventRecord, lineOf, readEvents } from './event.ts'

const EACH_SIDE = 50

/** The events that were received right before and after one, whatever the query. */
export function Surroundings({ event, stream }: { event: EventRecord; stream: StreamInfo }) {
  const { value, failure } = useLoaded(event.id, async (signal) => {
    const page = (cursor: 'before' | 'after') =>
      callText(`streams/${stream.id}/events`, {
        query: { limit: EACH_SIDE, [cursor]: event.id },
        signal,
      })
    const [later, earlier] = await Promise.all([page('after'), page('before')])
    return [...readEvents(later).events, event, ...readEvents(earlier).events]
  })
  if (failure !== undefined) return <Failure text={failure} />
  if (value === undefined) return <p class="quiet">Loading…</p>
  return (
    <ol class="around">
      {value.map((one) => (
        <li key={one.id} class={one === event ? 'is-current' : ''}>
          <span class="mono time">{formatTime(one.eventMs)}</span>{' '}
          <span class="mono">{lineOf(one, stream.text_fields)}</span>
        </li>
      ))}
    </ol>
  )
}
