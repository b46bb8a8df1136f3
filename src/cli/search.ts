import { brokenOff, readLines } from './client.ts'
import { CLOCK_HELP, CLOCK_OPTIONS, readClock } from './clock.ts'
import { type Command, EXIT_NOTHING, EXIT_OK, textOf } from './command.ts'
import type { EventRecord } from './terminal.ts'

const LIMIT_DEFAULT = '100'
/** How the last line of an incomplete answer begins. */
const INCOMPLETE = '{"complete":false,'

/** Prints the events that a query finds, the newest at the end; `*` is all streams. */
export const search: Command = {
  usage: '<stream | *> [query] [options]',
  summary: 'Find events. Prints the newest matches, the newest last.',
  positionalsMax: 2,
  options: {
    from: { type: 'string', short: 'f' },
    to: { type: 'string', short: 't' },
    limit: { type: 'string', short: 'n' },
    all: { type: 'boolean' },
    ...CLOCK_OPTIONS,
  },
  help: {
    from: 'Since when: -15m, -7d, 2026-01-31T12:00:00Z; an hour ago',
    to: 'Until when; now',
    limit: `The most events to print; ${LIMIT_DEFAULT}`,
    all: 'All events of the range, oldest first, as they arrive',
    ...CLOCK_HELP,
  },
  run: async ({ client, terminal, values, positionals }) => {
    const [name, query = ''] = positionals
    const path = name === '*' ? 'search' : `streams/${await client.findStream(name)}/search`
    const isAll = values.all === true
    const clock = readClock(values)
    const body = {
      query,
      time_basis: clock.basis,
      ...(values.from !== undefined && { from: values.from }),
      ...(values.to !== undefined && { to: values.to }),
      order: isAll ? 'oldest' : 'newest',
      ...(!isAll && { limit: Number(textOf(values.limit) ?? LIMIT_DEFAULT) }),
    }
    const headers = { Accept: 'application/x-ndjson' }
    const response = await client.call(path, { body, headers })
    terminal.note(`by ${clock.name} (UTC)`)
    const print = (line: string) => {
      if (values.json === true) terminal.json(line)
      else terminal.line(terminal.event(JSON.parse(line) as EventRecord, clock.basis))
    }
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
    let failure: unknown
    try {
      for await (const line of readLines(response.body!)) if (line !== '') take(line)
    } catch (cause) {
      failure = cause
    }
    for (const line of kept.reverse()) print(line)
    if (failure !== undefined) throw brokenOff(failure)
    if (count === 0) terminal.note('no event matches')
    return count === 0 ? EXIT_NOTHING : EXIT_OK
  },
}
