/** Events as they come: the service's live tail, put on top of the list a few times a second. */
import { signal } from '@preact/signals'
import type { ServerEvent } from '../../src/cli/server-events.ts'
import { visibleLine } from '../../src/language/visible-text.ts'
import { listen } from '../base/event-stream.ts'
import { wholeJson } from '../base/exact-json.ts'
import { readEvent } from '../events/event.ts'
import type { Ask } from './ask.ts'
import type { EventLoader, Gap, Row } from './event-list.ts'

/** How often what came is shown: a page that changes with every event cannot be read. */
const SHOW_MS = 250
/** Past it the tail leaves events out, and says so: nobody reads faster. */
const EVENTS_A_SECOND = 200

export const liveFailure = signal<string | undefined>(undefined)

/** How long the list waits for the tail, so that no event is between the two. */
const TAIL_FIRST_MS = 300

/**
 * Follows the stream until `gone` is aborted. The list is loaded when the tail is there, and once
 * more after a break that the tail could not resume: so it has what came meanwhile.
 */
export async function follow(ask: Ask, loader: EventLoader, gone: AbortSignal): Promise<void> {
  const first = setTimeout(() => void loader.start(ask), TAIL_FIRST_MS)
  gone.addEventListener('abort', () => clearTimeout(first))
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
  const onFailure = (failure: string) => {
    liveFailure.value = failure
  }
  const onOpen = (isResumed: boolean) => {
    clearTimeout(first)
    liveFailure.value = undefined
    if (!isResumed || loader.list.value.failure !== undefined) void loader.start(ask)
  }
  const query = {
    query: ask.query || undefined,
    from: 'now',
    limit_per_s: String(EVENTS_A_SECOND),
  }
  await listen(`streams/${ask.streamId}/tail`, query, { onEvent, onFailure, onOpen }, gone)
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
  return ENDS[reason] ?? `The live tail ended (${visibleLine(reason)}); connecting again…`
}
