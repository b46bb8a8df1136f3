import { setTimeout as sleep } from 'node:timers/promises'
import { ApiFailure } from './client.ts'
import { CLOCK_HELP, CLOCK_OPTIONS, type Clock, readClock } from './clock.ts'
import { type Command, EXIT_OK, type Invocation, textOf } from './command.ts'
import { readServerEvents } from './server-events.ts'
import type { EventRecord } from './terminal.ts'

const RETRY_MS = 1_000
const RETRY_MS_MAX = 15_000
/** Reasons for an end that a new connection would not change. */
const FINAL_REASONS = new Set(['token_not_valid', 'stream_deleted'])

/** Prints events as they arrive, until Ctrl+C; resumes by itself after a broken connection. */
export const tail: Command = {
  usage: '<stream> [query] [options]',
  summary: 'Follow a stream: events as they arrive, until Ctrl+C.',
  positionalsMax: 2,
  options: {
    from: { type: 'string', short: 'f' },
    'limit-per-s': { type: 'string' },
    ...CLOCK_OPTIONS,
  },
  help: {
    from: 'Where to begin: now, -5m, or the id of an event; now',
    'limit-per-s': 'Leave out events above this many a second, and say so',
    ...CLOCK_HELP,
  },
  run: async (invocation) => {
    const { client, positionals, values, terminal, signal } = invocation
    const clock = readClock(values)
    const streamId = await client.findStream(positionals[0])
    const query = {
      query: positionals[1],
      from: textOf(values.from),
      limit_per_s: textOf(values['limit-per-s']),
    }
    terminal.note(`as they come; times are ${clock.name} (UTC)`)
    const place = { lastId: '' }
    let waitMs = RETRY_MS
    for (;;) {
      try {
        const headers = {
          Accept: 'text/event-stream',
          ...(place.lastId !== '' && { 'Last-Event-ID': place.lastId }),
        }
        const response = await client.call(`streams/${streamId}/tail`, { query, headers })
        waitMs = RETRY_MS
        const end = await print(invocation, response.body!, place, clock)
        if (end !== undefined && FINAL_REASONS.has(end)) return EXIT_OK
      } catch (cause) {
        // Refused before the first event: there is nothing to resume.
        if (cause instanceof ApiFailure && place.lastId === '') throw cause
        if (signal.aborted) return EXIT_OK
        terminal.note(`${cause instanceof Error ? cause.message : String(cause)}; connecting again`)
      }
      await sleep(waitMs, undefined, { signal })
      waitMs = Math.min(2 * waitMs, RETRY_MS_MAX)
    }
  },
}

/** Prints a connection's events; returns the service's reason for its end, if it gave one. */
async function print(
  { terminal, values }: Invocation,
  body: ReadableStream<Uint8Array>,
  place: { lastId: string },
  clock: Clock,
): Promise<string | undefined> {
  for await (const { name, data, id } of readServerEvents(body)) {
    if (id !== '') place.lastId = id
    const end = data === '' ? undefined : printEvent(name, data)
    if (end !== undefined) return end
  }
  return undefined

  function printEvent(kind: string, text: string): string | undefined {
    if (kind === 'message') {
      if (values.json === true) terminal.json(text)
      else terminal.line(terminal.event(JSON.parse(text) as EventRecord, clock.basis))
      return undefined
    }
    const told = JSON.parse(text) as Readonly<Record<string, unknown>>
    if (kind === 'end') {
      terminal.note(`the tail ended: ${String(told.reason)}`)
      return String(told.reason)
    }
    terminal.note(
      `${String(told.dropped)} events left out, ${told.from} to ${told.to} (${told.reason})`,
    )
    return undefined
  }
}
