import { setTimeout as sleep } from 'node:timers/promises'
import { type ChosenStreams, chooseStreams, STREAMS_USAGE } from './chosen-streams.ts'
import { ApiFailure } from './client.ts'
import { CLOCK_CHOICES, CLOCK_HELP, CLOCK_OPTIONS, readClock } from './clock.ts'
import { type Command, EXIT_OK, type Invocation, textOf } from './command.ts'
import { CONTEXT_HELP, CONTEXT_OPTIONS, readContextSize, withStream } from './events/context.ts'
import { ContextOutput } from './events/context-output.ts'
import { EventOutput, OUTPUT_HELP, OUTPUT_OPTIONS } from './events/event-output.ts'
import { readServerEvents } from './server-events.ts'
import { UsageError } from './usage-error.ts'

const RETRY_MS = 1_000
const RETRY_MS_MAX = 15_000
/** How often is looked for what follows a match. */
const AFTER_MS = 1_000
/** The tails of a token at a time. */
const STREAMS_MAX = 8
/** Reasons for an end that a new connection would not change. */
const FINAL_REASONS = new Set(['token_not_valid', 'stream_deleted'])

/** Prints events as they arrive, until Ctrl+C; resumes by itself after a broken connection. */
export const tail: Command = {
  usage: `${STREAMS_USAGE} [query] [options]`,
  summary: 'Follow streams: events as they arrive, until Ctrl+C.',
  positionalsMax: 2,
  takesStream: true,
  options: {
    from: { type: 'string', short: 'f' },
    'limit-per-s': { type: 'string' },
    ...OUTPUT_OPTIONS,
    ...CONTEXT_OPTIONS,
    ...CLOCK_OPTIONS,
  },
  help: {
    from: 'Where to begin: now, -5m, or the id of an event; now',
    'limit-per-s': 'Leave out events above this many a second of a stream, and say so',
    ...OUTPUT_HELP,
    ...CONTEXT_HELP,
    ...CLOCK_HELP,
  },
  choices: CLOCK_CHOICES,
  run: async (invocation) => {
    const { client, positionals, values, terminal, signal } = invocation
    const clock = readClock(values)
    const size = readContextSize(values)
    const streams = await chooseStreams(client, positionals[0])
    if (streams.streams.length === 0) throw new UsageError('there is no stream to follow')
    if (streams.streams.length > STREAMS_MAX) {
      throw new UsageError(
        `a token follows ${STREAMS_MAX} streams at a time, these are ${streams.streams.length}`,
      )
    }
    const nameOf = streams.isSeveral ? streams.nameOf : undefined
    const hasContext = size !== undefined
    const output = new EventOutput({ terminal, values, clock, nameOf, hasContext })
    const print = new Printer(
      output,
      size &&
        new ContextOutput({
          ...{ client, terminal, output, streams, size },
          // In the order in which they come.
          basis: 'ingested_at',
          paths: undefined,
        }),
    )
    terminal.note(`as they come; times are ${clock.name} (UTC)`)
    output.begin()
    const failed = new AbortController()
    const stop = AbortSignal.any([signal, failed.signal])
    const follow = async (streamId: string) => {
      try {
        await followStream({ ...invocation, signal: stop }, { streams, streamId, print })
      } catch (cause) {
        failed.abort() // Of several none is left behind.
        throw cause
      }
    }
    try {
      await Promise.all(streams.streams.map(({ id }) => follow(id)))
    } finally {
      await print.end()
    }
    return EXIT_OK
  },
}

/** Prints events one after another, also those of several streams. */
class Printer {
  readonly #output: EventOutput
  readonly #context: ContextOutput | undefined
  #turn: Promise<void> = Promise.resolve()
  readonly #timer: NodeJS.Timeout | undefined

  constructor(output: EventOutput, context: ContextOutput | undefined) {
    this.#output = output
    this.#context = context
    if (context === undefined) return
    // What cannot be had now is asked for again with the next.
    const look = () => this.#inTurn(() => context.end()).catch(() => undefined)
    this.#timer = setInterval(() => void look(), AFTER_MS)
  }

  /** Resolves when it is printed: a reader that waits reads no further. */
  async event(text: string): Promise<void> {
    const context = this.#context
    if (context === undefined) this.#output.print({ text, isMatch: true })
    else await this.#inTurn(() => context.match(text))
  }

  async end(): Promise<void> {
    clearInterval(this.#timer)
    await this.#turn
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => undefined)
    await done
  }
}

interface Followed {
  readonly streams: ChosenStreams
  readonly streamId: string
  readonly print: Printer
}

/** Resolves when the stream is over, or with Ctrl+C. Throws when it is refused at the start. */
async function followStream(invocation: Invocation, followed: Followed): Promise<void> {
  const { client, positionals, values, terminal, signal } = invocation
  const { streams, streamId } = followed
  const query = {
    query: positionals[1],
    from: textOf(values.from),
    limit_per_s: textOf(values['limit-per-s']),
  }
  const of = streams.isSeveral ? `${streams.nameOf(streamId)}: ` : ''
  const place = { lastId: '' }
  let waitMs = RETRY_MS
  for (;;) {
    try {
      const headers = {
        Accept: 'text/event-stream',
        ...(place.lastId !== '' && { 'Last-Event-ID': place.lastId }),
      }
      const response = await client.call(`streams/${streamId}/tail`, { query, headers, signal })
      waitMs = RETRY_MS
      const end = await printAll(invocation, response.body!, { ...followed, of, place })
      if (end !== undefined && FINAL_REASONS.has(end)) return
    } catch (cause) {
      if (signal.aborted) return
      // Refused before the first event: there is nothing to resume.
      if (cause instanceof ApiFailure && place.lastId === '') throw cause
      const text = cause instanceof Error ? cause.message : String(cause)
      terminal.note(`${of}${text}; connecting again`)
    }
    try {
      await sleep(waitMs, undefined, { signal })
    } catch {
      return // Only the signal ends it early.
    }
    waitMs = Math.min(2 * waitMs, RETRY_MS_MAX)
  }
}

/** Prints a connection's events; returns the service's reason for its end, if it gave one. */
async function printAll(
  { terminal }: Invocation,
  body: ReadableStream<Uint8Array>,
  {
    streams,
    streamId,
    print,
    of,
    place,
  }: Followed & { readonly of: string; readonly place: { lastId: string } },
): Promise<string | undefined> {
  for await (const { name, data, id } of readServerEvents(body)) {
    if (id !== '') place.lastId = id
    if (data === '') continue
    if (name === 'message') {
      await print.event(streams.isSeveral ? withStream(data, streamId) : data)
      continue
    }
    const told = JSON.parse(data) as Readonly<Record<string, unknown>>
    if (name === 'end') {
      terminal.note(`${of}the tail ended: ${String(told.reason)}`)
      return String(told.reason)
    }
    terminal.note(
      `${of}${String(told.dropped)} events left out, ${told.from} to ${told.to} (${told.reason})`,
    )
  }
  return undefined
}
