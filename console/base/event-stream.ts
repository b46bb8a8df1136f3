/**
 * Server-sent events over `fetch`, as `EventSource` sends no `Authorization`. Reconnects by itself
 * with the last id after a connection broke.
 */
import { ApiError, call } from './api.ts'
import { readServerEvents, type ServerEvent } from './server-events.ts'

export interface Listener {
  readonly onEvent: (event: ServerEvent) => void
  /** Told with the failure when the connection broke, with undefined when it is there (again). */
  readonly onState: (failure: string | undefined) => void
}

const RETRY_MS = 1_000
const RETRY_MS_MAX = 15_000

/** Goes on until `signal` is aborted, or the service says that it will not. */
export async function listen(
  path: string,
  query: Readonly<Record<string, string | undefined>>,
  { onEvent, onState }: Listener,
  signal: AbortSignal,
): Promise<void> {
  let lastId = ''
  let waitMs = RETRY_MS
  while (!signal.aborted) {
    try {
      const headers = {
        Accept: 'text/event-stream',
        ...(lastId !== '' && { 'Last-Event-ID': lastId }),
      }
      const response = await call(path, { query, headers, signal })
      onState(undefined)
      waitMs = RETRY_MS
      for await (const event of readServerEvents(response.body!)) {
        if (event.id !== '') lastId = event.id
        if (event.data !== '') onEvent(event)
      }
      onState('The connection ended; connecting again…')
    } catch (cause) {
      if (signal.aborted) return
      const isRefused = cause instanceof ApiError && cause.status >= 400 && cause.status < 429
      onState(cause instanceof Error ? cause.message : String(cause))
      if (isRefused) return
    }
    await new Promise((resolve) => setTimeout(resolve, waitMs))
    waitMs = Math.min(2 * waitMs, RETRY_MS_MAX)
  }
}
