import { type ChosenStreams, chooseStreams, STREAMS_USAGE } from './chosen-streams.ts'
import { brokenOff, readLines } from './client.ts'
import {
  CLOCK_CHOICES,
  CLOCK_HELP,
  CLOCK_OPTIONS,
  type Clock,
  RANGE_HELP,
  RANGE_OPTIONS,
  rangeOf,
  readClock,
} from './clock.ts'
import { type Command, EXIT_NOTHING, EXIT_OK, type Invocation, textOf } from './command.ts'
import {
  CONTEXT_HELP,
  CONTEXT_OPTIONS,
  type ContextSize,
  readContextSize,
} from './events/context.ts'
import { ContextOutput } from './events/context-output.ts'
import { EventOutput, OUTPUT_HELP, OUTPUT_OPTIONS } from './events/event-output.ts'
import { tellWhyNothing } from './hints.ts'
import { UsageError } from './usage-error.ts'

const LIMIT_DEFAULT = '100'
/** How the last line of an incomplete answer begins. */
const INCOMPLETE = '{"complete":false,'
/** Each takes two requests. */
const CONTEXT_MATCHES_MAX = 100

/** Prints the events that a query finds, the newest at the end; `*` is all streams. */
export const search: Command = {
  usage: `${STREAMS_USAGE} [query] [options]`,
  summary: 'Find events. Prints the newest matches, the newest last.',
  positionalsMax: 2,
  takesStream: true,
  options: {
    ...RANGE_OPTIONS,
    limit: { type: 'string', short: 'n' },
    all: { type: 'boolean' },
    ...OUTPUT_OPTIONS,
    ...CONTEXT_OPTIONS,
    ...CLOCK_OPTIONS,
  },
  help: {
    ...RANGE_HELP,
    limit: `The most events to print; ${LIMIT_DEFAULT}`,
    all: 'All events of the range, oldest first, as they arrive',
    ...OUTPUT_HELP,
    ...CONTEXT_HELP,
    ...CLOCK_HELP,
  },
  choices: CLOCK_CHOICES,
  run: async (invocation) => {
    const { client, terminal, values, positionals } = invocation
    const clock = readClock(values)
    const size = readContextSize(values)
    const isAll = values.all === true
    if (isAll && size !== undefined) {
      throw new UsageError('-A, -B and -C show what is around the newest matches: without --all')
    }
    const streams = await chooseStreams(client, positionals[0])
    const nameOf = streams.isSeveral ? streams.nameOf : undefined
    const hasContext = size !== undefined
    const output = new EventOutput({ terminal, values, clock, nameOf, hasContext })
    const query = positionals[1] ?? ''
    const asked: Asked = { streams, query, clock, paths: output.paths, isAll }
    const { kept, count, failure } = await read(invocation, asked, (text) => {
      output.print({ text, isMatch: true })
    })
    const matches = kept.reverse()
    if (size === undefined) output.printAll(matches.map((text) => ({ text, isMatch: true })))
    else await printAround(invocation, { ...asked, size, output }, matches)
    output.begin()
    if (failure !== undefined) throw brokenOff(failure)
    if (count === 0) await tellWhyNothing(invocation, { streams, clock, query })
    return count === 0 ? EXIT_NOTHING : EXIT_OK
  },
}

interface Asked {
  readonly streams: ChosenStreams
  readonly query: string
  readonly clock: Clock
  readonly paths: readonly string[] | undefined
  readonly isAll: boolean
}

/** Prints what comes, with `--all`, else keeps it: it comes the newest first. */
async function read(
  { client, terminal, values }: Invocation,
  { streams, query, clock, paths, isAll }: Asked,
  print: (text: string) => void,
) {
  const body = {
    query,
    ...streams.members,
    time_basis: clock.basis,
    ...rangeOf(values),
    order: isAll ? 'oldest' : 'newest',
    ...(!isAll && { limit: Number(textOf(values.limit) ?? LIMIT_DEFAULT) }),
    ...(paths !== undefined && { fields: paths }),
  }
  const headers = { Accept: 'application/x-ndjson' }
  const response = await client.call(streams.pathOf('search'), { body, headers })
  terminal.note(`by ${clock.name} (UTC)`)
  let count = 0
  const kept: string[] = []
  const take = (line: string) => {
    if (line.startsWith(INCOMPLETE)) {
      const { reason } = JSON.parse(line) as { readonly reason: string }
      terminal.note(`not all: ${reason}`)
      return
    }
    count++
    if (isAll) print(line)
    else kept.push(line)
  }
  try {
    for await (const line of readLines(response.body!)) if (line !== '') take(line)
  } catch (failure) {
    return { kept, count, failure }
  }
  return { kept, count, failure: undefined }
}

/** `matches` are in the order of the clock. */
async function printAround(
  { client, terminal }: Invocation,
  asked: Asked & { readonly size: ContextSize; readonly output: EventOutput },
  matches: readonly string[],
): Promise<void> {
  const { output, clock } = asked
  output.measure(matches.map((text) => ({ text, isMatch: true })))
  const bare = matches.slice(0, -CONTEXT_MATCHES_MAX)
  if (bare.length > 0) {
    terminal.note(`the newest ${CONTEXT_MATCHES_MAX} matches have events around them, others none`)
  }
  output.printAll(bare.map((text) => ({ text, isMatch: true })))
  const around = new ContextOutput({ ...asked, client, terminal, basis: clock.basis })
  for (const match of matches.slice(-CONTEXT_MATCHES_MAX)) await around.match(match)
  await around.end()
}
