/** Events as they come: the service's live tail, put on top of the list a few times a second. */
import { signal } from '@preact/signals'
import { listen } from '../base/event-stream.ts'
import { wholeJson } from '../base/exact-json.ts'
import type { ServerEvent } from '../base/server-events.ts'
import { readEvent } from '../events/event.ts'
import type { Ask } from './ask.ts'
import type { EventLoader, Gap, Row } from './event-list.ts'

/** How often what came is shown: a page that changes with every event cannot be read. */
const SHOW_MS = 250
/** Past it the tail leaves events out, and says so: nobody reads faster. */
const EVENTS_A_SECOND = 200

export const liveFailure = signal<string | undefined>(undefined)

/** Follows the stream until `signal` is aborted. */
export async function follow(ask: Ask, loader: EventLoader, gone: AbortSignal): Promise<void> {
  let waiting: Row[] = []
  let gaps = 0
  const show = setInterval(() => {
    if (waiting.length === 0) return
    loader.prepend(waiting.reverse())
    waiting = []
  }, SHOW_MS)
  gone.addEventListener('abort', () => clearInterval(show))
  const onEvent = ({ name, data }: ServerEvent) => {
    if (name === 'message') waiting.push({ kind: 'event', event: readEvent(wholeJson(data)) })
    else if (name === 'gap' || name === 'sampled') {
      waiting.push({ kind: 'gap', gap: readGap(data, ++gaps) })
    } else if (name === 'end') liveFailure.value = endText(data)
  }
  const onState = (failure: string | undefined) => {
    liveFailure.value = failure
  }
  const query = {
    query: ask.query || undefined,
    from: 'now',
    limit_per_s: String(EVENTS_A_SECOND),
  }
  await listen(`streams/${ask.streamId}/tail`, query, { onEvent, onState }, gone)
}

function readGap(data: string, number: number): Gap {
  const { dropped, from, to, exact } = JSON.parse(data) as {
    dropped: number
    from?: string
    to?: string
    exact?: boolean
  }
  return { id: `${from} ${number}`, dropped, from, to, isExact: exact !== false }
}

const ENDS: Readonly<Record<string, string>> = {
  token_not_valid: 'The token is not valid any more.',
  stream_deleted: 'The stream was deleted.',
  service_stops: 'The service stops; connecting again…',
}

function endText(data: string): string {
  const { reason } = JSON.parse(data) as { reason: string }
  return ENDS[reason] ?? `The live tail ended (${reason}); connecting again…`
}
