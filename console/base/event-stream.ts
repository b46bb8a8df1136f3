/**
 * Server-sent events over `fetch`, as `EventSource` sends no header of ours. Reconnects by itself
 * with the last id after a connection broke.
 */

import { readServerEvents, type ServerEvent } from '../../src/cli/server-events.ts'
import { ApiError, call, failureText } from './api.ts'

export interface Listener {
  readonly onEvent: (event: ServerEvent) => void
  /** Told with the failure when the connection broke. */
  readonly onFailure: (failure: string) => void
  /** The connection is there (again); `isResumed`: it goes on where the one before ended. */
  readonly onOpen: (isResumed: boolean) => void
}

const RETRY_MS = 1_000
const RETRY_MS_MAX = 15_000

/** Goes on until `signal` is aborted, or the service says that it will not. */
export async function listen(
  path: string,
  query: Readonly<Record<string, string | undefined>>,
  { onEvent, onFailure, onOpen }: Listener,
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
      onOpen(lastId !== '')
      waitMs = RETRY_MS
      for await (const event of readServerEvents(response.body!)) {
        if (event.id !== '') lastId = event.id
        if (event.data !== '') onEvent(event)
      }
      onFailure('The connection ended; connecting again…')
    } catch (cause) {
      if (signal.aborted) return
      const isRefused = cause instanceof ApiError && isFinal(cause.status)
      onFailure(failureText(cause) ?? 'The connection was given up')
      if (isRefused) return
    }
    await new Promise((resolve) => setTimeout(resolve, waitMs))
    waitMs = Math.min(2 * waitMs, RETRY_MS_MAX)
  }
}

/** Whether the same request would be refused again; not when it was too slow or one of too many. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 429 && status !== 408
}
